#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# /sys/class/net follows what the guest does to its links, and says what netlink and the requests of ioctl say of them.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
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

# What was opened before its device got another name is still that device's, whoever has the name by now; with the device it goes.
cat >opened.py <<'X'
import errno, os, socket, subprocess
AT = "/sys/class/net"
FILES = "ifindex address mtu operstate tx_queue_len type uevent statistics/rx_bytes carrier_changes".split()
def ip(line):
    subprocess.run(["ip", *line.split()], check=True)
def attempt(what, *arguments):
    try:
        return what(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
def again(f):
    return attempt(os.lseek, f, 0, os.SEEK_SET), attempt(os.read, f, 4096)
def part(f):
    return attempt(os.lseek, f, 1, os.SEEK_SET), attempt(os.read, f, 4096)
def vector(f):
    buffers = [bytearray(1), bytearray(4000)]
    n = attempt(os.preadv, f, buffers, 0)
    return n if isinstance(n, str) else (n, b"".join(buffers)[:n])
def by(directory, file):
    try:
        f = os.open(file, os.O_RDONLY, dir_fd=directory)
    except OSError as error:
        return errno.errorcode[error.errno]
    try:
        return attempt(os.read, f, 4096)
    finally:
        os.close(f)
ip("link add aa type veth peer name zz")
ip("link set aa mtu 1400")
mine = {file: os.open(f"{AT}/aa/{file}", os.O_RDONLY) for file in FILES}
read = {file: os.open(f"{AT}/aa/{file}", os.O_RDONLY) for file in FILES}
for f in read.values():
    os.read(f, 4096)
directory = os.open(f"{AT}/aa", os.O_RDONLY | os.O_DIRECTORY)
ip("link set aa name mm")
ip("link add aa type veth peer name bb")
for file in FILES:
    now, other = open(f"{AT}/mm/{file}", "rb").read(), open(f"{AT}/aa/{file}", "rb").read()
    print(file, attempt(os.read, mine[file], 4096) == now, again(mine[file])[1] == now, part(mine[file])[1] == now[1:], vector(mine[file])[1] == now,
          again(read[file])[1] == now, by(directory, file) == now, now == other)
print(int(attempt(os.pread, mine["ifindex"], 10, 0)) == socket.if_nametoindex("mm"), sorted(os.listdir(directory)) == sorted(os.listdir(f"{AT}/mm")))
ip("link del mm")
for file in FILES:
    print(file, again(mine[file]), part(mine[file]), vector(mine[file]), attempt(os.pread, read[file], 10, 1), by(directory, file))
print(os.listdir(directory))
X

# shellcheck disable=SC2086 # words
run $natively sh -c 'mount -t sysfs sysfs /sys && python3 opened.py'
expect 0 "natively, what is open stays"
cp out native
run "$hermit" run --strict -- python3 opened.py
expect 0 "what is open stays"
ok "as natively" diff native out
ok "of nine files, with other contents than those of who has the name" test "$(grep -c 'True True True True True True' out)" = 9

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
