# SPDX-License-Identifier: BSD-3-Clause
"""Changes links and addresses, N times each way, and counts how often the result is there in the next call."""
import errno
import fcntl
import os
import socket
import struct
import sys
import tempfile
from socket import AF_INET6, AF_NETLINK, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM

ROUNDS = int(sys.argv[1])
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR = 0x8913, 0x8914, 0x8916
RTM_NEWADDR, NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE = 20, 1, 4, 0x400
IFA_F_TENTATIVE, IFA_F_NODAD = 0x40, 0x02
SYSCTL = "/proc/sys/net/ipv6/conf/"

asker = socket.socket(AF_INET6, SOCK_DGRAM)
route = socket.socket(AF_NETLINK, SOCK_RAW, 0)


def by_ioctl(link, address):
    fcntl.ioctl(asker, SIOCSIFADDR, address + struct.pack("II", 64, link))


def by_netlink(link, address, flags=0):
    body = struct.pack("BBBBI", AF_INET6, 64, flags, 0, link) + struct.pack("HH", 20, 1) + address
    route.send(struct.pack("IHHII", 16 + len(body), RTM_NEWADDR, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK, 1, 0) + body)
    answer = route.recv(4096)
    assert struct.unpack("i", answer[16:20])[0] == 0, os.strerror(-struct.unpack("i", answer[16:20])[0])


def by_netlink_nodad(link, address):
    by_netlink(link, address, IFA_F_NODAD)


def can_be_used(address, scope=0):
    try:
        with socket.socket(AF_INET6, SOCK_STREAM) as s:
            s.bind((socket.inet_ntop(AF_INET6, address), 0, 0, scope))
        return True
    except OSError as e:
        assert e.errno == errno.EADDRNOTAVAIL
        return False


def has_route(address):
    return any(line.startswith(address.hex() + " 80") for line in open("/proc/net/ipv6_route"))


def is_ready(address):
    return [not int(line.split()[4], 16) & IFA_F_TENTATIVE for line in open("/proc/net/if_inet6") if line.startswith(address.hex())] == [True]


def count(name, questions, change):
    """The questions take turns at coming first."""
    answers = [0] * len(questions)
    for i in range(ROUNDS):
        what = change(i)
        for j in range(len(questions)):
            k = (i + j) % len(questions)
            answers[k] += questions[k](what)
    print(name, *answers, flush=True)


def adding(number, way, link):
    def change(i):
        address = struct.pack(">HHQI", 0xfd00, number, 0, i + 1)
        way(link, address)
        return address
    return change


def flags_of(name):
    return struct.unpack("16sH", fcntl.ioctl(asker, SIOCGIFFLAGS, struct.pack("16s24x", name.encode()))[:18])[1]


def set_up(name, up):
    fcntl.ioctl(asker, SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), (flags_of(name) & ~1) | up))


def by_sendfile(out, value):
    with tempfile.TemporaryFile() as f:
        f.write(value)
        f.flush()
        os.sendfile(out, f.fileno(), 0, len(value))


def by_splice(out, value):
    r, w = os.pipe()
    os.write(w, value)
    os.splice(r, out, len(value))
    os.close(r)
    os.close(w)


WRITERS = [os.write, by_sendfile, by_splice, lambda out, value: os.pwrite(out, value, 0), lambda out, value: os.writev(out, [value]),
           lambda out, value: os.pwritev(out, [value], 0)]


def again(i):
    """IPv6 of the link is switched off and on: its address is made anew."""
    for value in b"1", b"0":
        out = os.open(SYSCTL + "aa/disable_ipv6", os.O_WRONLY)
        WRITERS[i % len(WRITERS)](out, value)
        os.close(out)
    return own


def routes_through(name):
    return sum(line.split()[-1] == name for line in open("/proc/net/ipv6_route"))


def toggle(i):
    set_up("zz", i % 2)
    return i % 2


with open(SYSCTL + "default/addr_gen_mode", "w") as f:
    f.write("0")
assert os.system("ip link set lo up; ip link add index 2 name aa address 02:00:00:00:00:02 type veth peer name zz index 3 address 02:00:00:00:00:03"
                 "; ip link add index 4 name bb type veth peer name yy index 5") == 0
for name in "aa", "zz", "bb":
    set_up(name, 1)
LINK = socket.if_nametoindex("aa")
own = bytes.fromhex("fe80000000000000000000fffe000002")
addresses = [can_be_used, has_route, is_ready]
count("ioctl", addresses, adding(1, by_ioctl, LINK))
count("netlink", addresses, adding(2, by_netlink, LINK))
count("netlink, nodad", addresses, adding(3, by_netlink_nodad, LINK))
count("no carrier", addresses, adding(4, by_netlink, socket.if_nametoindex("bb")))
count("down", addresses[1:], adding(5, by_netlink, socket.if_nametoindex("yy")))
count("sysctl", [lambda a: can_be_used(a, LINK), has_route, is_ready], again)
count("link", [lambda up: bool(routes_through("zz")) == bool(up), lambda up: bool(flags_of("zz") & 0x40) == bool(up)], toggle)
