# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What drivers of real network namespaces share, after lib.sh. "${enter[@]}" COMMAND... runs it in a fresh one, as root there: where that is not possible
# the test is skipped. In there `. "$work/fresh"`, with $history set, does what a container does to its namespace before the guest starts.
command -v ip >/dev/null || { echo 'iproute2 is not installed'; exit 77; }
enter=(unshare -n)
[ "$(id -u)" = 0 ] || enter=(unshare -rn)
if ! "${enter[@]}" true 2>"$work/err"; then
	echo "no network namespace can be made here: $(cat "$work/err")"
	exit 77
fi
cat >"$work/fresh" <<'EOF'
# No random wait for duplicate addresses.
echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad
# Indexes and random numbers of this namespace depend on what was before.
for i in $(seq "$history"); do ip link add old type veth peer name older && ip link del old; done
# The routes and groups of an IPv6 address come from a work queue of the kernel's, also where no duplicates are looked for.
usable() { until ! ip -6 addr show | grep -q tentative; do :; done; }
# The kernel's link watch says up to a second later that a link is up.
settle() { until [ "$(ip -o link show up | grep -c 'state UP')" = "$1" ]; do :; done; }
EOF
