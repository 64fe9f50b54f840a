#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# /sys/class/net follows what the guest does to its links, and says what netlink and the requests of ioctl say of them.
. "$top_srcdir/tests/integration/lib.sh"
natively="unshare --user --map-root-user --net --mount"

# shellcheck disable=SC2086 # words
if ! $natively mount -t sysfs sysfs /sys 2>/dev/null; then
	echo "no network namespaces with a /sys of theirs here"
	exit 77
fi
for program in ip python3; do
	command -v $program >/dev/null || { echo "$program is not installed"; exit 77; }
done

# An ordinary user must be able to reach the program.
cp "$hermit" .
chmod 755 .
hermit=$work/hermit
user=
[ "$(id -u)" = 0 ] && user="setpriv --reuid=65534 --regid=65534 --clear-groups"

# Every device by three doors; complains where they do not agree.
cat >look.py <<'X'
import fcntl, json, os, socket, struct, subprocess
AT = "/sys/class/net"
def read(name, file):
    try:
        return open(f"{AT}/{name}/{file}").read().rstrip("\n")
    except OSError as error:
        return error.strerror
def ask(request, name):
    return fcntl.ioctl(s, request, name.encode().ljust(40, b"\0"))[16:]
s = socket.socket()
links = {link["ifname"]: link for link in json.loads(subprocess.run(["ip", "-j", "link"], capture_output=True).stdout)}
names = os.listdir(AT)
print(names, {name: os.readlink(f"{AT}/{name}") for name in names})
assert names == sorted(links) == sorted(os.listdir("/sys/devices/virtual/net")), links
assert dict(socket.if_nameindex()) == {int(read(name, "ifindex")): name for name in names}
for name, link in links.items():
    assert int(read(name, "ifindex")) == link["ifindex"] == struct.unpack("i", ask(0x8933, name)[:4])[0]
    assert int(read(name, "mtu")) == link["mtu"] == struct.unpack("i", ask(0x8921, name)[:4])[0]
    assert int(read(name, "tx_queue_len")) == link.get("txqlen", 0) == struct.unpack("i", ask(0x8942, name)[:4])[0]
    assert read(name, "address") == link["address"]
    assert ask(0x8927, name)[2:8] == bytes.fromhex(link["address"].replace(":", ""))
    assert read(name, "operstate").upper() == link["operstate"]
    up, flags = "UP" in link["flags"], int(read(name, "flags"), 16)
    assert flags & 1 == struct.unpack("H", ask(0x8913, name)[:2])[0] & 1 == up
    assert read(name, "carrier") == (str(int("LOWER_UP" in link["flags"])) if up else "Invalid argument")
    assert read(name, "uevent").splitlines()[-1] == f"IFINDEX={link['ifindex']}"
    for directory, others, files in sorted(os.walk(f"{AT}/{name}/")):
        for file in files + [other for other in others if os.path.islink(f"{directory}/{other}")]:
            path = os.path.relpath(os.path.join(directory, file), AT)
            print(path, read(*path.split("/", 1)) if not os.path.islink(f"{AT}/{path}") else os.readlink(f"{AT}/{path}"))
X
cat >links.sh <<'X'
show() { echo "== $1"; python3 "$look" || exit; }
[ -z "$natively" ] || mount -t sysfs sysfs /sys
show 'as it comes'
ip link add zz type veth peer name aa && show 'a pair is added'
exec 3</sys/class/net/zz/mtu
ip link set aa name mm && show 'one is renamed'
ip link set mm mtu 1400 up && ip link set zz up && show 'a change, and up'
ip link set zz address 02:61:62:63:64:65 && show 'with a chosen address'
ip link del mm && show 'both are deleted'
cat <&3
ip link add bb type veth peer name aa && show 'others come'
ip link add link aa name over type macvlan 2>/dev/null && show 'one that is over another'
ip tuntap add mode tap name tt 2>/dev/null && show 'a tap'
ip link add br type bridge 2>/dev/null && ip link set aa master br && show 'a bridge'
exit 0
X

# shellcheck disable=SC2086 # words
run $natively env natively=1 look="$work/look.py" sh links.sh
cp out native
export look=$work/look.py
run "$hermit" run --strict -e look -- sh links.sh
expect 0 "/sys/class/net agrees with the other doors"
expect_err "cat: -: No such device" "a file of a device that is gone"
cp out first
ok "all changes were seen" test "$(grep -c '^==' first)" -ge 7
ok "the devices are there" grep -qF "['lo', 'mm', 'zz'] {'lo': '../../devices/virtual/net/lo', 'mm': '../../devices/virtual/net/mm'," first
ok "and gone" grep -qxF "['lo'] {'lo': '../../devices/virtual/net/lo'}" first
ok "what was set is seen" grep -qx 'mm/mtu 1400' first
ok "numbers are the guest's" grep -qx 'mm/ifindex 2' first
ok "as MAC addresses are" grep -qx 'mm/address 02:00:00:00:00:02' first
ok "those of queues as well" grep -qx 'mm/queues/rx-0/rps_cpus 0*' first
if grep -q '^== one that is over another' first; then
	ok "a link has the name of the one below" grep -qx 'over/lower_aa ../aa' first
	ok "and this of the one above" grep -qx 'aa/upper_over ../over' first
fi
ok "natively it is otherwise" test "$(cksum <first)" != "$(cksum <native)"
run "$hermit" run --strict -e look -- sh links.sh
ok "the same again" cmp first out
if [ -n "$user" ]; then
	# shellcheck disable=SC2086 # words
	run $user "$hermit" run --strict -e look -- sh links.sh
	expect 0 "/sys/class/net of an ordinary user"
	grep -v '^tt/\(owner\|group\)' first >wanted
	grep -v '^tt/\(owner\|group\)' out >got
	ok "the same for an ordinary user" cmp wanted got

	# Where the kernel lets an ordinary user have no sysfs because a part of the host's is hidden.
	run unshare --mount sh -c "mount -t tmpfs none /sys/kernel && exec $user '$hermit' run --strict -- sh -c \
		'ip link add zz type veth peer name aa; ls /sys/class/net; cat /sys/class/net/lo/ifindex'"
	expect_out "lo
1" "without a sysfs there are the devices of the start"
fi
finish
