#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Netlink sockets of guests: every call with every shape of buffer gives what it gives natively; a dump that differs between two
# fresh namespaces is the same between two runs, and for root and an ordinary user. That programs give the same in many runs is
# same.sh's affair (net-*.case).
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
guest=$top_builddir/tests/guests/netlink_calls
natively="unshare --user --map-root-user --net"

# shellcheck disable=SC2086 # words
if ! $natively true 2>/dev/null; then
	echo "no network namespaces here"
	exit 77
fi

# An ordinary user must be able to reach the program.
cp "$hermit" "$guest" .
chmod 755 .
hermit=$work/hermit guest=$work/netlink_calls
user=
[ "$(id -u)" = 0 ] && user="setpriv --reuid=65534 --regid=65534 --clear-groups"

run "$hermit" run --strict --bind="$guest" -- "$guest"
expect 0 "calls"
cp out calls
# shellcheck disable=SC2086 # words
ok "calls give what they give natively" natively_so calls $natively sh -c "ip link set lo up && exec '$guest'"

cat >dumps.sh <<'X'
ip link add one type veth peer name two
ip -d -s link; ip -d addr; ip route show table all; ss -anpe
cat /proc/net/dev /proc/net/netlink
X
run $natively sh dumps.sh
cp out first
run $natively sh dumps.sh
ok "natively two namespaces differ" test "$(cksum <first)" != "$(cksum <out)"
run "$hermit" run -- sh dumps.sh
expect 0 "dumps"
cp out first
run "$hermit" run -- sh dumps.sh
ok "dumps are the same" cmp first out
if [ -n "$user" ]; then
	# shellcheck disable=SC2086 # words
	run $user "$hermit" run --strict -- sh dumps.sh
	expect 0 "dumps of an ordinary user"
	ok "dumps are the same for an ordinary user" cmp first out
	# shellcheck disable=SC2086 # words
	run $user "$hermit" run --strict --bind="$guest" -- "$guest"
	expect 0 "calls of an ordinary user"
	ok "calls of an ordinary user give the same" diff calls out
fi

# What was left out is counted, and said.
run "$hermit" run --summary --report=report.json -- ip link
expect 0 "a report"
ok "a report has what was read by netlink" jq -e '.netlink | .messages > 0 and .attributes > .messages and .malformed == 0 and has("unknown_attributes")' report.json
expect_err_has '^  netlink +[0-9]+ messages, [0-9]+ attributes; left out as unknown: [0-9]+ and [0-9]+$' "a summary has it, too"
echo "of $(jq .netlink.attributes report.json) attributes that this kernel sends, $(jq .netlink.unknown_attributes report.json) are unknown"

# Every value of every attribute of every dump: equal in two fresh containers two seconds apart, but not natively.
cp "$top_builddir/tests/support/nl_capture" .
all="link link6 bridge addr route neigh fdb neightbl rule qdisc netconf nsid stats nexthop multicast anycast addrlabel"
for i in 1 2; do
	[ $i = 1 ] || sleep 2
	# shellcheck disable=SC2086 # words
	"$hermit" run --strict --bind="$work" -- ./nl_capture -b $all >run.$i.bin
	# shellcheck disable=SC2086 # words
	$natively sh -c "ip link set lo up && exec ./nl_capture -b $all" >native.$i.bin
	for way in run native; do
		"$hermit" netlink-dump --raw $way.$i.bin | sort >$way.$i
	done
done
echo "of $(grep -c : run.1) values $(diff run.1 run.2 | grep -c '^<') differ between two containers, $(diff native.1 native.2 | grep -c '^<') natively"
ok "there are values to compare" test "$(grep -c : run.1)" -gt 99
ok "no value differs between two containers" cmp run.1 run.2
ok "natively some do" test "$(diff native.1 native.2 | grep -c '^<')" -gt 5

# One numbering by every door.
run "$hermit" run --strict -- sh -c 'ip link add zz type veth peer name aa; ip -o link | cut -d: -f1-2; python3 -c "
import socket; print(socket.if_nametoindex(\"zz\"), socket.if_indextoname(2), socket.if_nameindex())"'
expect_out "1: lo
2: aa@zz
3: zz@aa
3 aa [(1, 'lo'), (2, 'aa'), (3, 'zz')]" "numbers of links"

# A pair of devices from the start, with numbers and addresses that need no translation.
for become in "" "$user"; do
	# shellcheck disable=SC2086 # words
	run $become "$hermit" run --strict --network=veth -- sh -c 'ip -br link; ip -br addr; ip route; ls /sys/class/net | xargs
		cat /sys/class/net/*/address | xargs; ip link del eth0; ip -br link'
	expect_out "lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP> 
eth0@peer0       UP             02:00:00:00:00:02 <BROADCAST,MULTICAST,UP,LOWER_UP> 
peer0@eth0       UP             02:00:00:00:00:03 <BROADCAST,MULTICAST,UP,LOWER_UP> 
lo               UNKNOWN        127.0.0.1/8 ::1/128 
eth0@peer0       UP             10.0.0.2/32 fd00::2/128 
peer0@eth0       UP             
eth0 lo peer0
02:00:00:00:00:02 00:00:00:00:00:00 02:00:00:00:00:03
lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP> " "a pair of devices${become:+ for an ordinary user}"
done

# Every call that names a link, where the kernel's numbers are those that a run shows, and in a run where they are not: of two links
# that are made together the second is numbered first.
cat >links.sh <<'X'
ip link set lo up
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode
eval "$add"
ip link set aa up
ip link set zz up
# Natively it takes a moment.
until [ "$(ip -o link show up | grep -c 'aa.*LOWER_UP.* state UP\|zz.*LOWER_UP.* state UP')" = 2 ]; do :; done
ip addr add fe80::a/64 dev aa nodad
ip addr add fe80::ff:fe00:3/64 dev zz nodad
ip addr add 10.0.0.1/24 dev aa
exec python3 "$links"
X
export add links=$top_srcdir/tests/guests/link_calls.py
rest=$top_srcdir/tests/guests/link_rest.py
for add in "ip link add aa type veth peer name zz" "ip link add zz type veth peer name aa"; do
	run "$hermit" run --strict -e add -e links -- sh links.sh
	expect 0 "calls that name links"
	[ -e links ] || cp out links
	ok "calls that name links give the same: $add" diff links out
done
add="ip link add index 2 name aa address 02:00:00:00:00:02 type veth peer name zz index 3 address 02:00:00:00:00:03"
# shellcheck disable=SC2086 # words
ok "calls that name links give what they give natively" natively_so links $natively sh links.sh

# What the kernel does by itself after a change is over before the next call, whichever way the change is made.
run "$hermit" run --strict --bind="$rest" -- python3 "$rest" 40
expect 0 "addresses and links are ready at once"
expect_out "ioctl 40 40 40
netlink 40 40 40
netlink, nodad 40 40 40
no carrier 40 40 40
down 40 40
sysctl 40 40 40
link 40 40" "addresses can be used, have a route and are not tentative; links run"
cp out first
start_load
run "$hermit" run --strict --bind="$rest" -- python3 "$rest" 40
stop_load
ok "the same with both cores busy" cmp first out
# shellcheck disable=SC2086 # words
run $natively python3 "$rest" 40
# There the kernel looks for duplicates of each address, for a second at least.
ok "natively they are not" test -z "$(grep -x 'ioctl 40 40 40' out)"

run "$hermit" run --strict -- sh -c 'ip link add aa type veth peer name zz; ip link set aa up; ip addr add fd00::1/64 dev aa
	ip -6 route del local fd00::1 dev aa table local; ip addr add fd00::2/64 dev aa; ip -6 route show table local dev aa | cut -d" " -f1-2'
expect_out "local fd00::2
multicast ff00::/8" "a local route that was taken away is not waited for"
# shellcheck disable=SC2016 # for the guest's shell
run "$hermit" run --strict -- sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/keep_addr_on_down; ip link add aa type veth peer name zz; ip link set zz up
	ip link set aa up; ip addr add fd00::1/64 dev aa nodad; ip link set aa down
	ip -6 addr show dev aa | grep -o "fd00::1/64"; ip -6 route show table local dev aa; ip link set aa up; ip -6 route show table local dev aa | grep -o "^local fd00::1"'
expect_out "fd00::1/64
local fd00::1" "an address that a link keeps while it is down has no route to be waited for"
expect 0 "an address that a link keeps while it is down"

run "$hermit" run --strict -- ss -tinpe
expect 0 "ss sees nothing that is not modelled"

run "$hermit" run --strict -- sh -c 'ip link add one type veth peer name two; ip -o monitor link & sleep 0.1
	python3 -c "
import fcntl, socket
s = socket.socket()
fcntl.ioctl(s, 0x8924, b\"two\".ljust(16, b\"\\0\") + b\"\\1\\0\\2abcde\" + bytes(16))"; sleep 0.1'
ok "a MAC that was chosen is what is told of it" grep -q "^3: two.* 02:61:62:63:64:65 " out

# What only means something in the guest's own hands.
run "$hermit" run --strict -- sh -c 'ip link add one type veth peer name two; ip link set one netns 1'
expect 2 "a link cannot go to another namespace"
run "$hermit" run --strict -- python3 -c 'import socket
import errno
for family, number in [(socket.AF_NETLINK, n) for n in range(32)] + [(socket.AF_PACKET, 0)]:
    try: socket.socket(family, socket.SOCK_RAW, number); print(family, number)
    except OSError as e: assert e.errno == (errno.EPROTONOSUPPORT if family == socket.AF_NETLINK else errno.EAFNOSUPPORT)'
expect_out "16 0
16 4" "families that are not modelled are refused"
run "$hermit" run --strict -- sh -c 'ip link add one type veth peer name two; exec python3 -c "
import ctypes, errno, fcntl, socket, struct
s = socket.socket()
for name in b\"lo\", b\"one\", b\"none\":
    for command in 1, 3, 10, 0x1d, 0x48:
        value = ctypes.create_string_buffer(struct.pack(\"I\", command), 4096)
        try: fcntl.ioctl(s, 0x8946, struct.pack(\"16sQ16x\", name, ctypes.addressof(value))); print(name, command)
        except OSError as e: assert e.errno == errno.EOPNOTSUPP, e"'
expect 0 "requests of ethtool"
expect_out "" "requests of ethtool are refused, whatever they are about"
finish
