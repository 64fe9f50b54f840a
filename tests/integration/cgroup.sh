#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Cgroups in the layout that this host has and, in a mount namespace of the test's own, in the unified one. Needs root and
# writable cgroups; what an ordinary user gets is tested always.
set -u
probe=$top_builddir/tests/integration/cgroup_probe
work=$(mktemp -d "${TMPDIR:-/tmp}/hermit-cgroup.XXXXXX") || exit 99
trap 'cd /; rm -rf "$work"' EXIT
chmod 755 "$work"
passed=0 failed=0
id=${HERMIT_TEST_ID:-hermit-test-$$}; export HERMIT_TEST_ID="$id"

check() { # WHAT EXPECTED ACTUAL
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL [%s] %s\n  expected: %s\n  got:      %s\n' "$layout" "$1" "$2" "$3"
	fi
}

# with RESOURCES COMMAND ARG: the probe with these resources
with() {
	printf '{ "ociVersion": "1.2.0", "root": { "path": "rootfs" }, "linux": { "cgroupsPath": "/%s/inner", "resources": { %s } } }' "$id" "$1" > "$work/config.json"
	shift
	$become "$probe" "$work/config.json" "$id" "$@" 2>&1
}

version_1() {
	layout=v1
	check 'memory, memory and swap' '134217728 268435456' "$(with '"memory":{"limit":134217728,"swap":268435456}' run \
		'cd /sys/fs/cgroup/memory$(sed -n "s/^[0-9]*:memory://p" /proc/self/cgroup); cat memory.limit_in_bytes memory.memsw.limit_in_bytes' | xargs)"
	check 'unlimited swap' '134217728' "$(with '"memory":{"limit":134217728,"swap":-1}' run \
		'cd /sys/fs/cgroup/memory$(sed -n "s/^[0-9]*:memory://p" /proc/self/cgroup); cat memory.limit_in_bytes')"
	check 'zero is unset' 'unlimited' "$(with '"memory":{"limit":0},"cpu":{"shares":0},"blockIO":{"weight":0}' run \
		'cd /sys/fs/cgroup/memory$(sed -n "s/^[0-9]*:memory://p" /proc/self/cgroup); [ $(cat memory.limit_in_bytes) -gt 1000000000000 ] && echo unlimited')"
	check 'cpu' '512 50000 100000' "$(with '"cpu":{"shares":512,"quota":50000,"period":100000}' run \
		'cd /sys/fs/cgroup/cpu$(sed -n "s/^[0-9]*:cpu:\|^[0-9]*:cpu,cpuacct://p" /proc/self/cgroup); cat cpu.shares cpu.cfs_quota_us cpu.cfs_period_us' | xargs)"
	check 'cpuset' '0' "$(with '"cpu":{"cpus":"0","mems":"0"}' run 'grep Cpus_allowed_list /proc/self/status | cut -f2')"
	check 'cpuset inherited when not set' '0' "$(with '' run 'true'; echo $?)"
	check 'pids' '17' "$(with '"pids":{"limit":17}' run 'cat /sys/fs/cgroup/pids$(sed -n "s/^[0-9]*:pids://p" /proc/self/cgroup)/pids.max')"
	check 'devices: a rule denies, the standard ones stay' 'null denied' \
		"$(with '"devices":[{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":10,"minor":229,"access":"r"}]' run \
		'echo x > /dev/null && echo null; (: < /dev/kmsg) 2>/dev/null && echo kmsg || echo denied' | xargs)"
	check 'unified is refused' 'cgroup_probe: linux.resources.unified: this host has cgroups of version 1' \
		"$(with '"unified":{"memory.high":"1G"}' run true)"
	[ -d /sys/fs/cgroup/hugetlb ] ||
		check 'a missing controller is named' "cgroup_probe: linux.resources.hugepageLimits: there is no cgroup controller 'hugetlb' here" \
		"$(with '"hugepageLimits":[{"pageSize":"2MB","limit":0}]' run true)"
	check 'freeze, kill, remove' '20 frozen, 20 dead, 0 left' "$(with '' kill 20)"
	check 'description' "memory /$id/inner" "$(with '' hold x | grep ^memory)"
	check 'nothing left' '' "$(find /sys/fs/cgroup -maxdepth 3 -name inner -path "*/$id/*" 2>/dev/null)"
}

version_2() {
	layout=v2
	check 'freeze, kill, remove' '20 frozen, 20 dead, 0 left' "$(with '' kill 20)"
	check 'description' " /$id/inner" "$(with '' hold x)"
	check 'devices: a rule denies, the standard ones stay' 'null denied' \
		"$(with '"devices":[{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":10,"minor":229,"access":"r"}]' run \
		'echo x > /dev/null && echo null; (: < /dev/kmsg) 2>/dev/null && echo kmsg || echo denied' | xargs)"
	check 'devices: a later rule wins' 'kmsg' \
		"$(with '"devices":[{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":1,"minor":11,"access":"r"}]' run \
		': < /dev/kmsg && echo kmsg')"
	check 'devices: not more than the rule gives' 'denied' \
		"$(with '"devices":[{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":1,"minor":11,"access":"r"}]' run \
		'(: <> /dev/kmsg) 2>/dev/null || echo denied')"
	check 'unified' '7' "$(with '"unified":{"cgroup.max.depth":"7"}' run 'cat /sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)/cgroup.max.depth')"
	grep -qw memory /sys/fs/cgroup/cgroup.controllers ||
		check 'a missing controller is named' "cgroup_probe: linux.resources.memory.limit: there is no cgroup controller 'memory' here" \
		"$(with '"memory":{"limit":134217728}' run true)"
}

ordinary_user() {
	layout=user
	become='setpriv --reuid=65534 --regid=65534 --clear-groups'
	[ "$(id -u)" = 0 ] || become=''
	check 'without cgroups' 'ran' "$(with '' run 'echo ran')"
	check 'limits cannot be had' 'refused' "$(with '"pids":{"limit":17}' run true | grep -q "there is no cgroup controller 'pids'" && echo refused)"
}

become='' layout=''
if [ "${1-}" = unified ]; then
	mount -t cgroup2 none /sys/fs/cgroup || exit 99
	version_2
	rmdir "/sys/fs/cgroup/$id"
	echo "cgroup unified: $passed passed, $failed failed"
	exit "$failed"
fi
kinds=user
if [ "$(id -u)" = 0 ] && mkdir "/sys/fs/cgroup/memory/$id" 2>/dev/null; then
	rmdir "/sys/fs/cgroup/memory/$id"
	kinds='user v1 v2'
	version_1
	unshare -m sh "$0" unified || failed=$((failed + 1))
	for d in /sys/fs/cgroup/*/"$id"; do [ ! -d "$d" ] || rmdir "$d"; done
fi
ordinary_user
echo "cgroup: $passed passed, $failed failed (of: $kinds)"
[ "$failed" = 0 ]
