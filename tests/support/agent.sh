# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For drivers of the agent, in place of lib.sh, which it sources: an agent of the test's own (start_agent, stop_agent), which ends with the driver.
# crun wants control groups of one version: the driver is in a mount namespace with those of version 1 only, where both are mixed.
if [ -z "${HERMIT_TEST_CGROUPS:-}" ] && [ -d /sys/fs/cgroup/unified ]; then
	export HERMIT_TEST_CGROUPS=1
	exec unshare -m --propagation private bash "$0" "$@"
fi
# shellcheck source=tests/integration/lib.sh
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
supervisor=$top_builddir/hermit-supervisor
agent=

stop_agent()
{
	[ -n "$agent" ] && kill "$agent" && wait "$agent"
	agent=
}

# Its metrics are there when it listens; those of the one before say nothing.
start_agent()
{
	rm -f "$work/reports/metrics.prom"
	"$supervisor" agent --listen="$work/socket" --directory="$work/reports" >>agent.log 2>&1 &
	agent=$!
	until [ -e "$work/reports/metrics.prom" ]; do
		kill -0 $agent || exit 99
		sleep 0.05
	done
}

trap 'stop_agent; cd /; umount -R -l "$work/groups" 2>/dev/null; rm -rf "$work"' EXIT
if [ -n "${HERMIT_TEST_CGROUPS:-}" ]; then
	mkdir groups
	mount -t tmpfs groups groups
	for name in cpu,cpuacct cpu cpuacct cpuset memory devices freezer blkio pids systemd; do
		[ -d "/sys/fs/cgroup/$name" ] && mkdir "groups/$name" && mount --bind "/sys/fs/cgroup/$name" "groups/$name"
	done
	mount --rbind groups /sys/fs/cgroup
fi
