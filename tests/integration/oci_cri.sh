#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The pods of contrib/kubernetes as a node runs them: containerd, configured by contrib/kubernetes/containerd.toml, is told by CRI calls, as a kubelet
# makes them (tests/support/kubelet.py), to run them in the handler of the runtime class.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
documents=$top_srcdir/contrib/kubernetes
python=/usr/bin/python3
for program in containerd ctr runc curl; do command -v $program >/dev/null || skip "needs $program"; done
$python -c 'import yaml' 2>/dev/null || skip "needs python3-yaml"
curl --version | grep -q HTTP2 || skip "needs a curl that speaks HTTP/2"

rootfs "$work/rootfs"
kubelet=("$python" "$top_srcdir/tests/support/kubelet.py")
image=localhost/busy:1
"${kubelet[@]}" image image.tar $image rootfs || exit 99
# A network that has nothing in it; addresses are what containerd insists on.
mkdir cni cni/bin cni/conf
cat >cni/bin/null <<'END'
#!/bin/sh
cat >/dev/null
case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "0.3.1", "supportedVersions": ["0.3.1"]}' ;;
ADD) echo '{"cniVersion": "0.3.1", "interfaces": [{"name": "'"$CNI_IFNAME"'", "sandbox": "'"$CNI_NETNS"'"}],
	"ips": [{"version": "4", "interface": 0, "address": "10.9.0.2/24"}]}' ;;
esac
END
chmod +x cni/bin/null
cp cni/bin/null cni/bin/loopback
echo '{"cniVersion": "0.3.1", "name": "none", "plugins": [{"type": "null"}]}' >cni/conf/null.conflist
cat >ctrd.toml <<END
version = 2
root = "$work/ctrd/root"
state = "$work/ctrd/state"
[grpc]
  address = "$work/ctrd/s"
[ttrpc]
  address = "$work/ctrd/t"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$image"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "$work/cni/bin"
  conf_dir = "$work/cni/conf"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  pod_annotations = ["org.hermit.*"]
  container_annotations = ["org.hermit.*"]
END
sed "s|/usr/local/bin/hermit-supervisor|$supervisor|" "$documents/containerd.toml" >>ctrd.toml
containerd -c ctrd.toml >ctrd.log 2>&1 &
daemon=$!
agent=
# Its shims outlive it, and what is mounted for a pod that was not removed.
# shellcheck disable=SC2317 # a trap
stop()
{
	kill "$daemon" ${agent:+"$agent"} 2>/dev/null
	wait "$daemon" 2>/dev/null
	for shim in $(pgrep -f -- "-address $work/ctrd/s"); do kill "$shim"; done
	mount | sed -n "s|.* on \($work/ctrd[^ ]*\) .*|\1|p" | sort -r | while read -r point; do umount "$point"; done
	rm -rf "$work"
}
trap stop EXIT
# shellcheck disable=SC2317 # until_true calls it
answers()
{
	! kill -0 "$daemon" 2>/dev/null || "${kubelet[@]}" version "$work/ctrd/s" >answer 2>/dev/null
}
until_true answers
grep -q "'containerd'" answer || skip "containerd does not start here: $(tail -n 1 ctrd.log)"
run ctr -a "$work/ctrd/s" -n k8s.io image import --snapshotter native image.tar
expect 0 "the image"

# pod DOCUMENT [CLASS] [-- COMMAND...]
pods=0
pod()
{
	pods=$((pods + 1))
	mkdir "logs$pods"
	run "${kubelet[@]}" run "$work/ctrd/s" "$documents/$1" $image "$work/logs$pods" "${@:2}"
}

pod pod.yaml -- /bin/true
[ "$status" = 0 ] || skip "no pod runs here, with runc either: $(cat err)"
pod pod.yaml
expect 0 "pod.yaml with runc"
cp out native1
pod pod.yaml
ok "the control: with runc two runs differ" sh -c '! cmp -s native1 out'
class=$documents/runtimeclass.yaml
for i in 1 2 3 4 5; do
	pod pod.yaml "$class"
	expect 0 "pod.yaml, run $i"
	[ $i != 1 ] || cp out first
	ok "pod.yaml: run $i is the first again" cmp first out
done
ok "pod.yaml: the date is that of its annotation" grep -q '^Thu Jan  1 00:00:00 UTC 2026$' first
sed 's/hermit.seed: "7"/hermit.seed: "8"/' "$documents/pod.yaml" >other.yaml
documents=$work pod other.yaml "$class"
expect 0 "another seed"
ok "another seed, another run" sh -c '! cmp -s first out'
pod pod.yaml "$class" -- /bin/sh -c 'echo out; echo err >&2; exit 7'
expect 7 "the exit status"
expect_out out "standard output"
expect_err err "standard error"

# A name that somebody has given stays; one that is made for each pod anew does not.
# shellcheck disable=SC2016 # for the container's shell
names=(-- /bin/sh -c 'echo $(hostname) $(uname -n) $(cat /etc/hostname /proc/sys/kernel/hostname) $HOSTNAME')
pod pod.yaml "$class" "${names[@]}"
expect_out "deterministic deterministic deterministic deterministic deterministic" "the name of a pod"
for suffix in x7k2p q4zbv; do
	sed "s/^  name: deterministic/  name: job-0-$suffix/" "$documents/pod.yaml" >other.yaml
	documents=$work pod other.yaml "${names[@]}"
	expect_out "job-0-$suffix job-0-$suffix job-0-$suffix job-0-$suffix job-0-$suffix" "the name of a Job's pod, with runc"
	documents=$work pod other.yaml "$class" "${names[@]}"
	expect_out "hermit hermit hermit hermit hermit" "the name of a Job's pod"
done
pod pod.yaml "$class" -- /no/such/program
ok "a program that is missing is named" grep -q '/no/such/program' err

mkdir containers
# The node's agent: the profile is made as pod-agent.yaml says, and the container is stock runc's.
sed -n "s/^# *\(echo '{.*}'\) |$/\1/p" "$documents/pod-agent.yaml" | sh | "$supervisor" hook precreate 2>/dev/null | jq --arg s "$work/agent.s" '.linux.seccomp | .listenerPath = $s' >hermit.json
"$supervisor" agent --listen="$work/agent.s" --directory="$work/containers" 2>agent.log &
agent=$!
ok "the agent listens" until_true sh -c "[ -S agent.s ] || ! kill -0 $agent"
for i in 1 2 3; do
	pod pod-agent.yaml
	expect 0 "pod-agent.yaml, run $i"
	[ $i != 1 ] || cp out first
	ok "pod-agent.yaml: run $i is the first again" cmp first out
done
pod pod-agent.yaml "${names[@]}"
name=deterministic-by-agent
expect_out "$name $name $name $name $name" "pod-agent.yaml: the name of the pod"
ok "pod-agent.yaml: the date" grep -q '^Thu Jan  1 00:00:00 UTC 2026$' first
kill $agent
wait $agent
finish
