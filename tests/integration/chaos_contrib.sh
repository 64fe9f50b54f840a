#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The examples of explorations on many machines: they are documents of the form that they should have, and their commands work.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
if ! python3 -c 'import yaml' 2>/dev/null; then
	echo "python3-yaml is not installed: the examples were not read"
	exit 77
fi
job=$top_srcdir/contrib/kubernetes/chaos-job.yaml
actions=$top_srcdir/contrib/ci/github-chaos.yml

# value FILE PYTHON: of the document d.
value()
{
	python3 -c 'import sys, yaml; d = yaml.safe_load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# same WHAT EXPECTED FILE PYTHON
same()
{
	checks=$((checks + 1))
	[ "$(value "$3" "$4" 2>&1)" = "$2" ] || fail "$1: '$(value "$3" "$4" 2>&1)' is not '$2'"
}

same "the kind of the job" "batch/v1 Job Indexed" "$job" "d['apiVersion'] + ' ' + d['kind'] + ' ' + d['spec']['completionMode']"
same "all shards run at once" True "$job" "d['spec']['completions'] == d['spec']['parallelism'] and d['spec']['backoffLimit'] == 0"
same "a pod that ends is not started again" Never "$job" "d['spec']['template']['spec']['restartPolicy']"
same "volumes are declared" True "$job" \
	"{m['name'] for c in d['spec']['template']['spec']['containers'] for m in c['volumeMounts']} <= {v['name'] for v in d['spec']['template']['spec']['volumes']}"
same "the jobs have a matrix" "[1, 2, 3, 4]" "$actions" "d['jobs']['schedules']['strategy']['matrix']['shard']"
same "one that fails does not stop the others" False "$actions" "d['jobs']['schedules']['strategy']['fail-fast']"
same "each step does something" True "$actions" "all(('run' in s) != ('uses' in s) for s in d['jobs']['schedules']['steps'])"

# Their commands, with a program that is there and few runs: the shards are the whole.
cp "$top_builddir/tests/guests/bug_order" run-tests || exit 99
mkdir bin results
cat >bin/hermit <<END
#!/bin/sh
exec "$hermit" "\$@"
END
printf '#!/bin/sh\n[ "$1" = -E ] && shift\nexec "$@"\n' >bin/sudo
chmod +x bin/hermit bin/sudo
PATH=$work/bin:$PATH
command=$(value "$job" "d['spec']['template']['spec']['containers'][0]['args'][0]" | sed "s/--runs=8000/--runs=16/; s/--quiet //; s,/results,$work/results,")
for index in 0 1 2 3 4 5 6 7; do
	JOB_COMPLETION_INDEX=$index sh -c "$command" </dev/null
done 2>/dev/null | grep -E '^[0-9]+ +(pass|FAIL) ' | sed 's/ .*//' | sort -n >seeds
ok "eight pods have sixteen seeds" [ "$(xargs <seeds)" = "$(seq 0 15 | xargs)" ]
command=$(value "$actions" "[s['run'] for s in d['jobs']['schedules']['steps'] if 'matrix' in str(s.get('env'))][0]" |
	sed 's/--runs=2000/--runs=8/; s/--quiet //')
for shard in 1 2 3 4; do
	SHARD=$shard sh -c "$command" </dev/null
done 2>/dev/null | grep -E '^[0-9]+ +(pass|FAIL) ' | sed 's/ .*//' | sort -n >seeds
ok "four jobs have eight seeds" [ "$(xargs <seeds)" = "$(seq 0 7 | xargs)" ]
ok "a failing run is kept for the artifact" [ -s chaos/fail.schedule ]
finish
