#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The commands where cgroups are one hierarchy of version 2. Hosts that have version 1 show the same in a mount namespace of its own; which
# controllers are in it then is up to them, so that limits are tried where there are some.
if [ -z "${OWN_CGROUP2:-}" ]; then
	if ! unshare -m --propagation private mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null; then
		echo "skipped: cannot mount cgroups of version 2 in a namespace"
		exit 77
	fi
	# shellcheck disable=SC2016
	OWN_CGROUP2=1 exec unshare -m --propagation private sh -c 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh bash "$0" "$@"
fi
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
name=hermit-two-$$
group=/sys/fs/cgroup/$name
: >in

bundle two 'echo up; while :; do sleep 0.1; done' ".linux.cgroupsPath = \"/$name\""
rt create --bundle two two <in >two.out 2>&1
ok "its cgroup" test -d "$group"
equal "0::/$name" "$(grep ^0:: "/proc/$(field two .init.pid)/cgroup")" "process 1 is in it"
run rt start two
expect 0 start
until_true grep -q up two.out
run rt exec two /bin/echo inside
expect_out inside exec
equal "$(field two .init.pid)" "$(rt ps -f json two | jq '.[]' | head -1)" ps
run rt pause two
expect 0 pause
equal paused "$(status_of two)" "pause: status"
equal 1 "$(cat "$group/cgroup.freeze")" "pause: the freezer is told"
run rt resume two
expect 0 resume
equal 0 "$(cat "$group/cgroup.freeze")" "resume: the freezer is told"
mkdir "$group/below"
run rt exec --detach --pid-file below.pid --cgroup below two /bin/sleep 5000
expect 0 "exec --cgroup"
ok "exec --cgroup: it is there" grep -qx "$(cat below.pid)" "$group/below/cgroup.procs"
run rt events --stats two
ok "events: processor time" jq -e '.data.cpu.usage.total > 0' out
ok "events: its parts" jq -e '.data.cpu.usage.kernel + .data.cpu.usage.user <= .data.cpu.usage.total and .data.cpu.throttling' out
equal "blkio cpu cpuset hugetlb intel_rdt memory network_interfaces pids" "$(jq -r '.data | keys | join(" ")' out)" "events: members"
equal "kernel kernelTCP swap usage" "$(jq -r '.data.memory | keys - ["cache", "raw"] | join(" ")' out)" "events: members of memory"
if grep -qw hugetlb /sys/fs/cgroup/cgroup.controllers && [ -e /sys/kernel/mm/hugepages/hugepages-2048kB ] && [ -e "$group/hugetlb.2MB.current" ]; then
	equal '{"failcnt":0}' "$(jq -c '.data.hugetlb["2MB"]' out)" "events: huge pages"
fi
if grep -qw pids /sys/fs/cgroup/cgroup.controllers; then
	run rt update --pids-limit 500 two
	expect 0 "update"
	equal 500 "$(cat "$group/pids.max")" "update: the file"
else
	run rt update --pids-limit 500 two
	expect 1 "update without the controller"
	expect_err_has "no cgroup controller 'pids'" "update without the controller"
fi
# another container does not move in with it
bundle guest 'echo never' ".linux.cgroupsPath = \"/$name\""
run rt create --bundle guest guest
expect 1 "a cgroup that is not empty"
expect_err_has "cgroup" "a cgroup that is not empty"
run rt kill --all two KILL
expect 0 "kill --all"
until_true status_is two stopped
run rt delete two
expect 0 delete
ok "nothing is left of its cgroup" test ! -e "$group"

# Devices: a program at the cgroup decides, for nodes that anybody makes.
for allowed in false true; do
	bundle dev 'head -c 1 /dev/zero | wc -c; mknod /tmp/log c 1 11 && head -c 1 /tmp/log 2>&1 >/dev/null | sed "s/.*: //"' ".linux.cgroupsPath = \"/$name\" |
		.process.capabilities[] += [\"CAP_MKNOD\", \"CAP_SYSLOG\"] | .annotations[\"org.hermit.off\"] = \"true\" |
		.linux.resources.devices = [{allow: false, access: \"rwm\"}, {allow: true, type: \"c\", access: \"m\"}, {allow: $allowed, type: \"c\", major: 1, minor: 11, access: \"r\"}] |
		.mounts += [{destination: \"/tmp\", type: \"tmpfs\", source: \"tmpfs\"}]"
	run rt run --bundle dev dev
	if [ $allowed = false ]; then
		expect_out "1
Operation not permitted" "devices: one that is not allowed"
	else
		expect_out 1 "devices: one that is allowed"
	fi
done
finish
