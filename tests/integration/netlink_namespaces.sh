#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two real network namespaces of equal configuration, two seconds apart, with other interface indexes, other traffic and other
# random numbers: after rewriting, not one attribute of any dump may differ. As a control, without rewriting many must.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
capture=$top_builddir/tests/support/nl_capture
dumps="link link6 bridge addr route neigh fdb neightbl rule qdisc netconf nsid stats nexthop multicast anycast addrlabel"

# shellcheck source=tests/support/network.sh
. "$top_srcdir/tests/support/network.sh"

cat >"$work/prepare" <<'EOF'
. "$work/fresh"
echo 1 > /proc/sys/net/ipv6/conf/default/addr_gen_mode
ip link set lo up
# pair A B: two links that are up.
pair() { ip link add "$1" type veth peer name "$2" && ip link set "$1" up && ip link set "$2" up; }
traffic() { for i in $(seq $((3 + history))); do echo x > "/dev/udp/$1/9"; done; }
EOF

cat >"$work/loopback" <<'EOF'
traffic 127.0.0.1
EOF

cat >"$work/veth" <<'EOF'
if [ "$history" = 0 ]; then pair va vb; else pair vb va; fi
settle 2
ip addr add 10.0.0.1/24 dev va
ip addr add 10.0.0.2/24 dev va
ip addr add fd00::1/64 dev va
usable
ip route add 10.9.0.0/16 via 10.0.0.9 dev va
ip neigh add 10.0.0.9 lladdr 02:00:00:00:aa:01 dev va nud permanent
traffic 10.0.0.2
traffic 10.0.0.9
EOF

cat >"$work/many" <<'EOF'
for i in $(seq 32); do pair "a$i" "b$i"; done
settle 64
for i in $(seq 32); do ip addr add "10.0.$i.1/24" dev "a$i"; done
traffic 10.0.7.1
EOF

# take SCENARIO NAME HISTORY
take()
{
	timeout -s KILL "$(at_most 60)" "${enter[@]}" bash -e -c "history=$3 work=$work; . '$work/prepare'; . '$work/$1'; '$capture' -b $dumps" \
		>"$work/$2.bin" 2>"$work/err" || fail "$1: no capture: $(cat "$work/err")"
	for way in raw canonical; do
		"$hermit" netlink-dump "--$way" "$work/$2.bin" | sort >"$work/$2.$way" || fail "$1: not decoded"
	done
}

# How many of the values of one are not in the other.
differences()
{
	comm -3 "$work/first.$1" "$work/second.$1" | wc -l
}

for scenario in loopback veth many; do
	take $scenario first 0
	sleep 2
	take $scenario second 3
	paths=$(wc -l <"$work/first.canonical")
	raw=$(differences raw)
	canonical=$(differences canonical)
	echo "$scenario: of $paths values $canonical differ; without rewriting $raw"
	ok "$scenario: there is something to compare" test "$paths" -gt 300
	ok "$scenario: the control differs" test "$raw" -gt 5
	comm -3 "$work/first.canonical" "$work/second.canonical" | cut -c1-120 >"$work/out"
	ok "$scenario: equal when rewritten" test "$canonical" = 0
done
finish
