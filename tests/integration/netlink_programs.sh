#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ip, tc, ss and bridge with netlink/ between them and the kernel (tests/support/nl_preload.c): do they take what is rewritten, does
# the kernel take what is translated, and is what they print the same in two namespaces and in 20 runs?
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
preload=$top_builddir/tests/support/nl_preload.so
# shellcheck source=tests/support/network.sh
. "$top_srcdir/tests/support/network.sh"

# Everything that is configured is configured through the translated numbers; plain() is the kernel's own view.
cat >"$work/configure" <<'EOF'
plain() { LD_PRELOAD= "$@"; }
. "$dir/fresh"
export LD_PRELOAD=$preload
ip link set lo up
ip link add zz type veth peer name aa
ip link set aa up
ip link set zz up
settle 2
LD_PRELOAD= settle 2
ip addr add 10.0.0.1/24 dev aa
ip addr add 10.0.0.2/24 dev zz
ip addr add fd00::1/64 dev aa
LD_PRELOAD= usable
ip route add 10.9.0.0/16 via 10.0.0.9 dev aa
ip route add 10.8.0.0/16 nexthop via 10.0.0.7 dev aa nexthop via 10.0.0.8 dev zz
ip neigh add 10.0.0.9 lladdr 02:00:00:00:aa:01 dev aa nud permanent
ip rule add from 10.0.0.0/8 table 77
tc qdisc add dev aa root pfifo
EOF

cat >"$work/look" <<'EOF'
ip -d -s link
ip -d -s -j link
ip -d addr
ip route show table all
ip -6 route show table all
ip -s neigh
ip ntable
ip rule
ip netconf
ip maddr show dev lo
tc -s qdisc show
ss -tuxnae
bridge fdb
ip route get 10.9.1.1
ip link show dev aa
EOF

cat >"$work/twenty" <<'EOF'
for i in $(seq 20); do
	for n in $(seq $((i % 4))); do echo x > /dev/udp/10.0.0.2/9; echo x > /dev/udp/127.0.0.1/9; done
	. "$dir/look" > "$dir/run.$i"
	cmp "$dir/run.1" "$dir/run.$i"
done
EOF

in_namespace()
{
	run timeout -s KILL "$(at_most 60)" "${enter[@]}" bash -e -c \
		"history=$1 preload='$preload' dir='$work'; . '$work/configure'; $2"
}

for history in 0 3; do
	in_namespace "$history" ". '$work/look' > '$work/look.$history'"
	expect 0 "the programs work after $history other links"
	expect_err '' "nothing is complained about after $history other links"
done
ok 'there is something to compare' test "$(wc -l <"$work/look.0")" -gt 100
ok 'two namespaces print the same' cmp "$work/look.0" "$work/look.3"
ok 'links are numbered by name when they come together' grep -q '^2: aa@zz: ' "$work/look.3"
ok 'the MAC follows the number' grep -q 'link/ether 02:00:00:00:00:02 ' "$work/look.3"
ok 'and the address follows the MAC' grep -q 'inet6 fe80::ff:fe00:2/64' "$work/look.3"

# The kernel's own view: what was asked for in virtual numbers has happened to the links that were meant.
in_namespace 3 'plain ip -o addr show dev zz; plain ip -o route show 10.8.0.0/16; plain ip neigh show; plain tc qdisc show dev aa'
expect 0 'the kernel has what was configured'
ok 'an address' grep -q 'inet 10.0.0.2/24 .* zz' "$work/out"
ok 'next hops' grep -q 'nexthop via 10.0.0.7 dev aa.*nexthop via 10.0.0.8 dev zz' "$work/out"
ok 'a neighbour' grep -q '^10.0.0.9 dev aa lladdr 02:00:00:00:aa:01 PERMANENT' "$work/out"
ok 'a queueing discipline' grep -q '^qdisc pfifo' "$work/out"

in_namespace 3 'ip link del aa; ip link add index 9 name chosen type veth peer name other; ip -o link show dev chosen'
ok 'a chosen index is kept' grep -q '^9: chosen@other' "$work/out"
in_namespace 3 'ip link set dev 77 up'
ok 'an index that is none names no link' test "$status" != 0
in_namespace 3 'ip neigh get 127.0.0.1 dev lo'
ok 'what is hidden is not there' grep -q 'No such file or directory' "$work/err"
in_namespace 3 'bridge mdb'
ok 'what is not modelled is refused' grep -q 'Operation not supported' "$work/err"

in_namespace 0 ". '$work/twenty'"
expect 0 'twenty runs with traffic between them print the same'
finish
