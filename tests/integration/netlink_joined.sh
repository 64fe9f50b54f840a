#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A bundle that joins a network namespace which somebody else has made, as container engines do: a device whose other end is outside, with
# another number and another random MAC each time. What the guest hears, and what it says in these terms, is the same.
. "$top_srcdir/tests/integration/lib.sh"
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
	local host i
	hold
	host=$holder
	hold
	for i in $(seq "$1"); do
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

# bundle HOLDER
bundle()
{
	local mounts= dir
	rm -rf one
	mkdir -p one/rootfs
	cp look.py look.sh one/rootfs
	for dir in /usr /bin /lib /lib64; do
		[ ! -e $dir ] || mounts="$mounts{\"destination\":\"$dir\",\"type\":\"bind\",\"source\":\"$dir\",\"options\":[\"rbind\",\"ro\"]},"
	done
	cat >one/config.json <<-END
	{ "ociVersion": "1.0.2", "hostname": "box", "root": { "path": "rootfs" },
	  "process": { "cwd": "/", "user": { "uid": 0, "gid": 0 }, "env": [ "PATH=/usr/sbin:/usr/bin:/bin" ],
	    "args": [ "/bin/sh", "/look.sh" ] },
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
finish
