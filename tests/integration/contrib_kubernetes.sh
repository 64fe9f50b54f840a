#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The documents of contrib/kubernetes fit the schema of Kubernetes' API, and the check that says so finds errors that are planted.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
documents=$top_srcdir/contrib/kubernetes
check=$top_srcdir/tests/support/kube_schema.py
python=/usr/bin/python3

[ -x $python ] || { echo "skipped: needs $python"; exit 77; }
run $python "$check"
[ "$status" != 77 ] || { cat out; exit 77; }

for file in "$documents"/*.yaml; do
	run $python "$check" "$file"
	expect 0 "${file##*/} fits the schema"
done

# planted FILE SED PROBLEM: with this change there is one problem, and it is this one.
planted()
{
	sed "$2" "$documents/$1" >planted.yaml
	checks=$((checks + 1))
	if cmp -s "$documents/$1" planted.yaml; then fail "$1: $2 changes nothing"; fi
	run $python "$check" planted.yaml
	expect 1 "$1 with $2"
	expect_out "planted.yaml: $3" "$1 with $2"
}

container='Job.spec.template.spec.containers[0]'
planted chaos-job.yaml 's/backoffLimit/backofLimit/' 'Job.spec.backofLimit: V1JobSpec has no such field'
planted chaos-job.yaml 's/^spec:/specs:/' 'Job.specs: V1Job has no such field'
planted chaos-job.yaml 's/completions: 8/completions: "8"/' 'Job.spec.completions: is str, not int'
planted chaos-job.yaml 's/\["SYS_ADMIN", .*/"SYS_ADMIN"/' "$container.securityContext.capabilities.add: is str, not list[str]"
planted chaos-job.yaml 's/cpu: "2"/cpu: 2/' "$container.resources.requests['cpu']: is int, not str"
planted chaos-job.yaml 's/claimName: .*/claim: {}/' 'Job.spec.template.spec.volumes[0].persistentVolumeClaim.claim: V1PersistentVolumeClaimVolumeSource has no such field
planted.yaml: Job.spec.template.spec.volumes[0].persistentVolumeClaim.claimName: is required'
planted chaos-job.yaml 's/fieldPath: metadata.name/fieldPath: 1/' "$container.env[1].valueFrom.fieldRef.fieldPath: is int, not str"
planted chaos-collect.yaml 's/value: "8"/value: 8/' "$container.env[1].value: is int, not str"
planted chaos-results.yaml 's/\["ReadWriteMany"\]/ReadWriteMany/' 'PersistentVolumeClaim.spec.accessModes: is str, not list[str]'
planted chaos-results.yaml 's/storage: .*/storage: 1/' "PersistentVolumeClaim.spec.resources.requests['storage']: is int, not str"
planted chaos-files.yaml 's/command:.*/command: sleep/' 'Pod.spec.containers[0].command: is str, not list[str]'
planted chaos-job.yaml '/- name: explorer/{s/- .*/-/}' "$container.name: is required"
planted chaos-job.yaml '/mountPath/d' "$container.volumeMounts[0].mountPath: is required"
planted chaos-job.yaml 's/: Indexed/: Indexes/' "Job.spec.completionMode: 'Indexes' is none of its values"
planted chaos-job.yaml 's/: Never/: never/' "Job.spec.template.spec.restartPolicy: 'never' is none of its values"
planted chaos-job.yaml 's,batch/v1,apps/v1,' 'no Job can be created in apps/v1'
planted pod.yaml 's/"7"/7/' "Pod.metadata.annotations['org.hermit.seed']: is int, not str"
planted pod.yaml 's/runtimeClassName/runtimeClass/' 'Pod.spec.runtimeClass: V1PodSpec has no such field'
planted pod-agent.yaml 's/: Localhost/: LocalHost/' "Pod.spec.containers[0].securityContext.seccompProfile.type: 'LocalHost' is none of its values"
planted pod-agent.yaml '/kind:/d' 'apiVersion and kind are needed'
planted runtimeclass.yaml '/^handler/d' 'RuntimeClass.handler: is required'
planted runtimeclass.yaml 's/k8s.io/k8s.org/' 'no RuntimeClass can be created in node.k8s.org/v1'
finish
