#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A chroot that debootstrap made, as the root of a bundle: its programs say the same each time, half of the times beside busy loops.
# HERMIT_SAME_RUNS says how often (20). Needs a Debian mirror.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
runs=${HERMIT_SAME_RUNS:-20}
command -v debootstrap >/dev/null || skip "needs debootstrap"
timeout 900 debootstrap --variant=minbase bookworm "$work/rootfs" >"$work/log" 2>&1 || skip "debootstrap: $(tail -n 1 "$work/log")"

bundle debian 'cat /etc/os-release; dpkg -l | md5sum; apt-cache policy | head -5; perl -e "my %h = map { \$_ => rand } 1 .. 20; print keys %h, time, \$\$"
	bash -c "echo \$RANDOM \$EPOCHREALTIME \$BASHPID; for i in 1 2 3; do (sleep 0.\$i; echo \$i) & done; wait"
	cd /tmp && mktemp -u && for i in 1 2 3; do date +%N >f$i; done && tar czf t.tgz f1 f2 f3 && sha256sum t.tgz && ls -lai --full-time
	find / -xdev -newer /tmp/f1 2>/dev/null | sort | head; ls -la --full-time / | md5sum; ps -e 2>/dev/null; df -h /tmp; mount | md5sum' \
	'.root.readonly = true | .mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["size=8m"]}]'
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
trap 'stop_load; clear_containers; cd /; rm -rf "$work"' EXIT
for i in $(seq "$runs"); do
	[ "$i" -le $((runs / 2)) ] || start_load
	progress "$i" "$runs"
	run rt run --bundle debian debian
	expect 0 "run $i"
	[ "$i" != 1 ] || cp out first
	ok "run $i is the same as the first" cmp first out
done
stop_load
checks=$((checks + 1))
grep -q bookworm first || fail "the chroot said nothing"
finish
