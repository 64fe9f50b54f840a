# SPDX-License-Identifier: BSD-3-Clause
"""Every socket call that names a link, on a pair of links aa and zz that are up: the same output natively and in a run."""
import ctypes
import errno
import fcntl
import os
import socket
import struct
from socket import AF_INET, AF_INET6, IPPROTO_IP, IPPROTO_IPV6, SOCK_DGRAM, SOCK_STREAM, SOL_SOCKET

A, Z = socket.if_nametoindex("aa"), socket.if_nametoindex("zz")
LOCAL_A, LOCAL_Z = "fe80::a", "fe80::ff:fe00:3"  # the second is made from the MAC
MCAST_JOIN_GROUP, MCAST_LEAVE_GROUP, MCAST_MSFILTER = 42, 45, 48
IP_PKTINFO, IP_UNICAST_IF, SO_BINDTOIFINDEX = 8, 50, 62
IPV6_UNICAST_IF, IPV6_2292PKTOPTIONS, IPV6_2292PKTINFO = 76, 6, 2


def show(what, function):
    try:
        print(what, function())
    except OSError as error:
        print(what, errno.errorcode[error.errno])


def udp(family=AF_INET6):
    s = socket.socket(family, SOCK_DGRAM)
    s.settimeout(5)
    return s


def shown(*addresses):
    """Ports that the kernel chose are not the point."""
    return [(address[0], "free" if address[1] >= 32768 else address[1], *address[2:]) for address in addresses]


def came(data, *rest):
    return (data, *rest[:-1], *shown(rest[-1]))


def controls(ancillary):
    return [(level, kind, data.hex()) for level, kind, data in ancillary]


print("indexes", A, Z)

# addresses: bind, getsockname, sendto, recvfrom, connect, getpeername, accept
a, z = udp(), udp()
a.bind((LOCAL_A, 5000, 0, A))
z.bind((LOCAL_Z, 0, 0, Z))
print("bound", shown(a.getsockname(), z.getsockname()))
show("no such link", lambda: udp().bind((LOCAL_A, 1, 0, 77)))
show("the other link", lambda: udp().bind((LOCAL_A, 1, 0, Z)))
a.sendto(b"there", (LOCAL_Z, z.getsockname()[1], 0, A))
print("came", came(*z.recvfrom(10)))
z.sendto(b"back", (LOCAL_A, 5000, 0, Z))
print("peeked", came(*a.recvfrom(10, socket.MSG_PEEK)))
print("came", came(*a.recvfrom_into(bytearray(10))))
a.connect((LOCAL_Z, 7, 0, A))
print("connected", a.getpeername(), a.getsockname())
listener = socket.socket(AF_INET6)
listener.bind((LOCAL_Z, 6000, 0, Z))
listener.listen()
client = socket.socket(AF_INET6)
client.connect((LOCAL_Z, 6000, 0, Z))
server, peer = listener.accept()
print("accepted", shown(peer, server.getpeername(), client.getpeername(), client.getsockname()))
client.sendall(b"stream")
print("stream", server.recvfrom(10)[0])

# control messages: both families, both ways
s = udp()
s.bind(("::", 5001))
s.setsockopt(IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
s.sendmsg([b"to ", b"aa"], [(IPPROTO_IPV6, socket.IPV6_PKTINFO, socket.inet_pton(AF_INET6, LOCAL_A) + struct.pack("I", A))], 0,
          (LOCAL_A, 5001, 0, A))
data, ancillary, flags, name = s.recvmsg(10, 200)
print("pktinfo", data, controls(ancillary), flags, name)
show("pktinfo of no link", lambda: s.sendmsg([b"x"], [(IPPROTO_IPV6, socket.IPV6_PKTINFO, bytes(16) + struct.pack("I", 77))], 0, ("::1", 5001)))
for room in 4, 8, 16:  # the rest of the address, and of the message, is not there
    s.sendto(b"cut", (LOCAL_Z, 5001, 0, Z))
    data, ancillary, flags, name = s.recvmsg(4, socket.CMSG_LEN(room))
    print("pktinfo cut", controls(ancillary), flags & socket.MSG_CTRUNC, name)
libc = ctypes.CDLL(None, use_errno=True)
for room in 0, 8, 16, 24, 28:  # of an address; what is behind is not touched
    s.sendto(b"cut", (LOCAL_Z, 5001, 0, Z))
    buffer, length = (ctypes.c_ubyte * 64)(*[0x77] * 64), ctypes.c_uint(room)
    print("name cut", libc.recvfrom(s.fileno(), ctypes.create_string_buffer(8), 8, 0, buffer, ctypes.byref(length)), length.value,
          bytes(buffer).hex())
s.sendto(b"long message", (LOCAL_A, 5001, 0, A))
data, ancillary, flags, name = s.recvmsg(4, socket.CMSG_LEN(8))
print("cut", data, controls(ancillary), bool(flags & socket.MSG_TRUNC), bool(flags & socket.MSG_CTRUNC), name)
s4 = udp(AF_INET)
s4.bind(("0.0.0.0", 5002))
s4.setsockopt(IPPROTO_IP, IP_PKTINFO, 1)
s4.sendmsg([b"four"], [(IPPROTO_IP, IP_PKTINFO, struct.pack("I4s4s", A, bytes(4), bytes(4)))], 0, ("10.0.0.1", 5002))
data, ancillary, flags, name = s4.recvmsg(10, 200)
print("pktinfo", data, controls(ancillary), flags, name)
for room in 4, 8:
    s4.sendto(b"cut", ("10.0.0.1", 5002))
    data, ancillary, flags, name = s4.recvmsg(10, socket.CMSG_LEN(room))
    print("pktinfo cut", controls(ancillary), flags & socket.MSG_CTRUNC, name)

# errors that came back: the offender's address
e = udp()
e.setsockopt(IPPROTO_IPV6, 25, 1)
e.connect((LOCAL_A, 9, 0, A))
e.send(b"nobody is there")
show("refused", lambda: e.recv(10))
data, ancillary, flags, name = e.recvmsg(100, 200, socket.MSG_ERRQUEUE)
print("error queue", data, controls(ancillary), name)

# options
for family, level, name, value in (
        (AF_INET6, IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, struct.pack("I", A)),
        (AF_INET6, IPPROTO_IPV6, IPV6_UNICAST_IF, struct.pack("!I", Z)),
        (AF_INET, IPPROTO_IP, IP_UNICAST_IF, struct.pack("!I", A)),
        (AF_INET, SOL_SOCKET, SO_BINDTOIFINDEX, struct.pack("I", Z)),
        (AF_INET6, SOL_SOCKET, SO_BINDTOIFINDEX, struct.pack("I", 77)),
        (AF_INET, SOL_SOCKET, socket.SO_BINDTODEVICE, b"zz")):
    o = udp(family)
    show("set %d %d" % (level, name), lambda: o.setsockopt(level, name, value))
    show("got %d %d" % (level, name), lambda: o.getsockopt(level, name, 16))
    print("value is still", value)
    if name == socket.SO_BINDTODEVICE:
        print("as a number", o.getsockopt(SOL_SOCKET, SO_BINDTOIFINDEX))
group6, group4 = socket.inet_pton(AF_INET6, "ff02::123"), socket.inet_aton("224.9.9.9")
to6 = struct.pack("=I4xHHI16sI", Z, AF_INET6, 0, 0, group6, 0).ljust(136, b"\0")
to4 = struct.pack("=I4xHH4s", Z, AF_INET, 0, group4).ljust(136, b"\0")
source4 = to4 + struct.pack("=HH4s", AF_INET, 0, socket.inet_aton("10.0.0.9")).ljust(128, b"\0")
for family, level, name, value in (
        (AF_INET6, IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group6 + struct.pack("I", A)),
        (AF_INET6, IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group6 + struct.pack("I", 77)),
        (AF_INET6, IPPROTO_IPV6, MCAST_JOIN_GROUP, to6),
        (AF_INET, IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group4 + bytes(4) + struct.pack("I", A)),
        (AF_INET, IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group4 + socket.inet_aton("10.0.0.1")),
        (AF_INET, IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(8) + struct.pack("I", Z)),
        (AF_INET, IPPROTO_IP, MCAST_JOIN_GROUP, to4),
        (AF_INET, IPPROTO_IP, 46, source4)):
    o = udp(family)
    show("set %d %d" % (level, name), lambda: o.setsockopt(level, name, value))
    listed = "/proc/net/igmp6" if family == AF_INET6 else "/proc/net/igmp"
    wanted = group6.hex() if family == AF_INET6 else "090909E0"
    link = None
    for line in open(listed):
        fields = line.split()
        if family == AF_INET and fields[0].isdigit():
            link = fields[:2]
        if wanted in line:
            print("joined at", fields[:2] if family == AF_INET6 else link)
o = udp(AF_INET)
o.setsockopt(IPPROTO_IP, 46, source4)
libc = ctypes.CDLL(None, use_errno=True)
question = ctypes.create_string_buffer(to4 + struct.pack("=II", 0, 4), 136 + 8 + 4 * 128)
length = ctypes.c_uint(len(question))
print("filter", libc.getsockopt(o.fileno(), IPPROTO_IP, MCAST_MSFILTER, question, ctypes.byref(length)),
      struct.unpack("=II", question.raw[136:144]), question.raw[:4] == to4[:4])

# several messages at once
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(Iovec)), ("iovlen", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_long), ("len", ctypes.c_uint)]


def messages(names, texts):
    buffers = [ctypes.create_string_buffer(text, 16) for text in texts]
    vectors = [Iovec(ctypes.addressof(b), len(t)) for b, t in zip(buffers, texts)]
    return buffers, vectors, (Message * len(texts))(*[
        Message(ctypes.addressof(n), 28, ctypes.pointer(v), 1, None, 0, 0, 0) for n, v in zip(names, vectors)])


names = [ctypes.create_string_buffer(struct.pack("=HHI16sI", AF_INET6, socket.htons(5001), 0, socket.inet_pton(AF_INET6, address), index), 28)
         for address, index in ((LOCAL_A, A), (LOCAL_Z, Z))]
keep = messages(names, [b"one", b"second"])
sender = udp()
print("sendmmsg", libc.sendmmsg(sender.fileno(), keep[2], 2, 0), [m.len for m in keep[2]], [struct.unpack("=I", n.raw[24:]) for n in names])
names = [ctypes.create_string_buffer(28) for _ in range(2)]
s.setblocking(True)
keep = messages(names, [bytes(16), bytes(16)])
print("recvmmsg", libc.recvmmsg(s.fileno(), keep[2], 2, 0, None), [b.value for b in keep[0]],
      [struct.unpack("=I", n.raw[24:28]) for n in names])

# requests about links
print("by name", struct.unpack("16sI", fcntl.ioctl(a, 0x8933, struct.pack("16s24x", b"zz"))[:20])[1])
print("by number", fcntl.ioctl(a, 0x8910, struct.pack("16sI20x", b"", A))[:4].rstrip(b"\0"))
fcntl.ioctl(a, 0x8916, socket.inet_pton(AF_INET6, "fd00::77") + struct.pack("II", 64, Z))
# Natively its route comes a little later; a file that is read while it comes can show a line twice.
while not any(line.startswith("fd000000000000000000000000000077 80") for line in open("/proc/net/ipv6_route")):
    pass
fcntl.ioctl(a, 0x890B, socket.inet_pton(AF_INET6, "fd11::") + bytes(16) + socket.inet_pton(AF_INET6, "fe80::9")
            + struct.pack("IHHIQII", 0, 64, 0, 5, 0, 3, A))  # struct in6_rtmsg
print("route", [line.split()[-1] for line in open("/proc/net/ipv6_route") if line.startswith("fd11")])
flags = struct.unpack("16sH", fcntl.ioctl(a, 0x8913, struct.pack("16s24x", b"zz"))[:18])[1]
print("flags", hex(flags))
fcntl.ioctl(a, 0x8914, struct.pack("16sH22x", b"zz", flags & ~1))
print("down", hex(struct.unpack("16sH", fcntl.ioctl(a, 0x8913, struct.pack("16s24x", b"zz"))[:18])[1]))
fcntl.ioctl(a, 0x8924, struct.pack("16sH6s16x", b"zz", 1, bytes.fromhex("021122334455")))
print("its own MAC", fcntl.ioctl(a, 0x8927, struct.pack("16s24x", b"zz"))[16:24].hex(), open("/proc/net/if_inet6").read().count("aa"))
fcntl.ioctl(a, 0x8923, struct.pack("16s16s8x", b"zz", b"yy"))
print("renamed", socket.if_nameindex())
for line in sorted(open("/proc/net/if_inet6")):
    print(line.split()[0], line.split()[1], line.split()[-1])
