#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A bundle that joins a network namespace which somebody else has made, as container engines do: a device whose other end is outside, with
# another number and another random MAC each time. What the guest hears, and what it says in these terms, is the same.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
supervisor=$top_builddir/hermit-supervisor
[ "$(id -u)" = 0 ] || { echo 'only root may join namespaces of others'; exit 77; }
command -v ip >/dev/null || { echo 'iproute2 is not installed'; exit 77; }
if ! unshare -n true 2>"$work/err"; then
	echo "no network namespace can be made here: $(cat "$work/err")"
	exit 77
fi
holders=
# shellcheck disable=SC2086 # numbers
trap 'kill $holders; rm -rf "$work"' EXIT

# hold: a network namespace of its own that lasts; its process in $holder.
hold()
{
	unshare -n sh -c 'echo; exec sleep 600' >"$work/fifo" &
	holder=$!
	holders="$holders $holder"
	read -r _ <"$work/fifo"
}
mkfifo "$work/fifo"
at() { nsenter --net="/proc/$1/ns/net" "${@:2}"; }

# network HISTORY: one of a host and one of a container, joined by a pair, after so many other devices.
network()
{
	local host
	hold
	host=$holder
	hold
	for _ in $(seq "$1"); do
		at "$host" ip link add old type veth peer name older && at "$host" ip link del old
		at "$holder" ip link add old type veth peer name older && at "$holder" ip link del old
	done
	at "$host" ip link add outer type veth peer name eth0 netns "$holder"
	at "$host" ip addr add 10.0.0.1/24 dev outer
	at "$host" ip link set outer up
	at "$holder" sh -c 'echo 3 >/proc/sys/net/ipv6/conf/eth0/dad_transmits'
	at "$holder" ip link set lo up
	at "$holder" ip link set eth0 up
	at "$holder" ip addr add 10.0.0.2/24 dev eth0
	at "$holder" ip route add default via 10.0.0.1
}

cat >look.py <<'X'
import fcntl, os, socket, struct
print(socket.if_nameindex())
for name in ("addr_assign_type address broadcast carrier carrier_changes flags ifindex iflink mtu operstate speed "
             "statistics/rx_bytes tx_queue_len type uevent").split():
    print(name, open("/sys/class/net/eth0/" + name).read())
for place in "", "queues", "queues/rx-0", "queues/tx-0", "statistics":
    print(place, os.listdir("/sys/class/net/eth0/" + place))
print(open("/sys/class/net/eth0/queues/rx-0/rps_cpus").read())
index = socket.if_nametoindex("eth0")
own = [line.split() for line in open("/proc/net/if_inet6") if line.split()[-1] == "eth0"]
address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(own[0][0]))
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
print(fcntl.ioctl(s, 0x8927, b"eth0".ljust(40, b"\0"))[16:24].hex())
s.bind((address, 5000, 0, index))
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
s.sendto(b"to itself", (address, 5000, 0, index))
print(s.getsockname(), s.recvmsg(20, 100))
t = socket.socket()
try:
    t.connect(("10.0.0.1", 1))
except OSError as error:
    print(error)
X
cat >look.sh <<'X'
ip -d -s -j link
ip -d addr
ip route show table all
ip -6 route show table all
ip -s neigh
ip ntable
ip netconf
ip maddr
ss -anpe
cd /proc/net && cat dev if_inet6 igmp igmp6 dev_mcast route ipv6_route
python3 /look.py
X

# bundle HOLDER [ANNOTATIONS] [SCRIPT]
bundle()
{
	local mounts='' dir
	rm -rf one
	mkdir -p one/rootfs
	cp look.py ./*.sh one/rootfs
	for dir in /usr /bin /lib /lib64; do
		[ ! -e $dir ] || mounts="$mounts{\"destination\":\"$dir\",\"type\":\"bind\",\"source\":\"$dir\",\"options\":[\"rbind\",\"ro\"]},"
	done
	cat >one/config.json <<-END
	{ "ociVersion": "1.0.2", "hostname": "box", "root": { "path": "rootfs" }, "annotations": { ${2-} },
	  "process": { "cwd": "/", "user": { "uid": 0, "gid": 0 }, "env": [ "PATH=/usr/sbin:/usr/bin:/bin" ],
	    "capabilities": { "bounding": [ "CAP_NET_ADMIN" ], "effective": [ "CAP_NET_ADMIN" ], "permitted": [ "CAP_NET_ADMIN" ] },
	    "args": [ "/bin/sh", "/${3-look.sh}" ] },
	  "mounts": [ $mounts { "destination": "/proc", "type": "proc", "source": "proc" },
	    { "destination": "/sys", "type": "sysfs", "source": "sysfs", "options": [ "ro" ] } ],
	  "linux": { "namespaces": [ { "type": "pid" }, { "type": "mount" }, { "type": "uts" }, { "type": "ipc" },
	    { "type": "network", "path": "/proc/$1/ns/net" } ] } }
	END
}

for history in 0 3; do
	network $history
	bundle "$holder"
	# Its address cannot be used for some seconds: the guest starts when it can.
	at "$holder" sh -c 'ip -d link; ip addr' >"native.$history"
	run "$supervisor" --bundle one --strict
	expect 0 "a guest of a network that was made by others"
	cp out "out.$history"
done
echo "when the runs began, $(grep -l tentative native.0 native.3 | wc -l) of 2 addresses could not be used yet"
ok "natively the two differ" test "$(cksum <native.0)" != "$(cksum <native.3)"
ok "in runs they do not" diff out.0 out.3
ok "the device has the second number" grep -q "^2: eth0" out.0
ok "and the MAC that goes with it" grep -q "link/ether 02:00:00:00:00:02" out.0
ok "from which its address is made" grep -q "inet6 fe80::ff:fe00:2/64" out.0
ok "which works" grep -q "('fe80::ff:fe00:2', 5000, 0, 2) (b'to itself'" out.0

# The namespace is configured: no wait for duplicates, neither for what is there nor for what the guest makes, and nothing that is drawn.
knobs="all/accept_dad default/accept_dad eth0/accept_dad default/dad_transmits all/use_tempaddr default/use_tempaddr eth0/use_tempaddr default/addr_gen_mode"
at "$holder" sh -c "cd /proc/sys/net/ipv6/conf && cat $knobs" | xargs >out
: >err
ok "settings of the namespace" test "$(cat out)" = "0 0 0 0 0 0 0 1"
ok "a link that has its address keeps the way to have it" test "$(at "$holder" cat /proc/sys/net/ipv6/conf/eth0/addr_gen_mode)" = 0
ok "and its MAC address is the one that it was given" test "$(at "$holder" cat /sys/class/net/eth0/address 2>/dev/null || at "$holder" ip -o link show eth0)" != 02:00:00:00:00:02
cat >make.sh <<'X'
ip link add aa type veth peer name bb && ip link set aa up && ip link set bb up && ip addr add fd00::7/64 dev aa && ip -o addr show dev aa && ip -o link
X
for history in 0 3; do
	network $history
	bundle "$holder" '' make.sh
	run "$supervisor" --bundle one --strict
	expect 0 "a guest that makes links of its own"
	cp out "made.$history"
done
ok "an address that is added can be used at once" grep -q 'inet6 fd00::7/64 ' made.0
ok "no duplicates are looked for" test "$(grep -c tentative made.0)" = 0
ok "no address is drawn" test "$(grep -c fe80 made.0)" = 0
ok "links that are made are the same" diff made.0 made.3
bundle "$holder" '' make.sh
jq '.linux.sysctl = { "net.ipv6.conf.default.addr_gen_mode": "2" }' one/config.json >config && mv config one/config.json
run "$supervisor" --bundle one
ok "what the document sets comes after that" test "$(at "$holder" cat /proc/sys/net/ipv6/conf/default/addr_gen_mode)" = 2

# A loopback that is down stays without addresses: the kernel would look for duplicates of ::1 when it comes up.
hold
echo 'cat /proc/net/if_inet6' >six.sh
bundle "$holder" '' six.sh
run "$supervisor" --bundle one --strict
expect 0 "a guest of a namespace whose loopback is down"
expect_out "" "it has no address"
at "$holder" ip -6 -o addr show lo >out
ok "nor has it got one" test ! -s out

# MAC addresses are the kernel's own where that is asked for: then nothing of them is rewritten, and others are told.
cat >mac.sh <<'X'
ip -o link show dev eth0; ip -o addr show dev eth0; python3 look.py | tail -n 3
X
for history in 0 3; do
	network $history
	native=$(at "$holder" ip -o link show eth0 | grep -o 'link/ether [0-9a-f:]*')
	bundle "$holder" '"org.hermit.fixed-macs": "true"' mac.sh
	run "$supervisor" --bundle one --strict
	expect 0 "a guest with MAC addresses that are fixed"
	cp out "mac.$history"
	ok "natively it is another one" test "$native" != "link/ether 02:00:00:00:00:02"
	at "$holder" ip -o link show eth0 >out
	ok "the device has the MAC address of its number" grep -q 'link/ether 02:00:00:00:00:02' out
	at "$holder" ip -o -6 addr show dev eth0 >out
	ok "and the IPv6 address that is made of it, and no other" test "$(grep -o 'inet6 [^ ]*' out)" = "inet6 fe80::ff:fe00:2/64"
	at "$(echo "$holders" | awk '{ print $(NF - 1) }')" ip neigh show 10.0.0.2 >out
	ok "its neighbour knows" grep -q 'lladdr 02:00:00:00:00:02' out
done
ok "the same in two networks" diff mac.0 mac.3
network 0
bundle "$holder" '"org.hermit.fixed-macs": "perhaps"' mac.sh
run "$supervisor" --bundle one
expect 125 "an annotation that is neither true nor false"
expect_err_has "org.hermit.fixed-macs: 'perhaps' is neither true nor false" "an annotation that is neither true nor false"

# The host's own namespace is nobody's to configure. (Process 1 of a pid namespace of our own stands for the host's first one.)
bundle 1 '"org.hermit.fixed-macs": "true"' mac.sh
cat >host.sh <<X
ip link set lo up && ip link add eth0 type veth peer name outer && ip link set outer up && ip link set eth0 up && ip addr add 10.0.0.2/24 dev eth0
cd /proc/sys/net/ipv6/conf && echo 1 >default/accept_dad && echo 0 >default/addr_gen_mode && cd - >/dev/null
ip -o link show eth0 | grep -o 'link/ether [0-9a-f:]*' >mac.before
unshare -n "$supervisor" --bundle one --strict >ran
ip -o link show eth0 | grep -o 'link/ether [0-9a-f:]*' >mac.after
cat /proc/sys/net/ipv6/conf/default/accept_dad /proc/sys/net/ipv6/conf/default/addr_gen_mode
X
run unshare -n -p -f --mount-proc sh host.sh
expect 0 "a guest in the host's own network"
expect_out "1
0" "settings of the host's own network are left alone"
ok "it was joined" grep -q 'link/ether 02:00:00:00:00:02' ran
ok "MAC addresses there, too" cmp mac.before mac.after
finish
