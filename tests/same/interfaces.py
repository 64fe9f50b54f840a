# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces as C programs, Python and psutil read them, with several netlink sockets in one process."""
import ctypes
import socket

try:
    import psutil
except ImportError:
    psutil = None


class Address(ctypes.Structure):
    pass


Address._fields_ = [("next", ctypes.POINTER(Address)), ("name", ctypes.c_char_p), ("flags", ctypes.c_uint), ("address", ctypes.c_void_p)]


def getifaddrs():
    libc = ctypes.CDLL(None)
    first = ctypes.POINTER(Address)()
    assert libc.getifaddrs(ctypes.byref(first)) == 0
    one = first
    while one:
        one = one.contents
        # families have different lengths: packet addresses 20, IPv4 16, IPv6 28
        size = {17: 20, 2: 16, 10: 28}.get(ctypes.c_ushort.from_address(one.address).value, 2) if one.address else 0
        yield one.name, hex(one.flags), ctypes.string_at(one.address, size).hex() if size else ""
        one = one.next
    libc.freeifaddrs(first)


held = [socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) for _ in range(3)]
for s in held:
    s.bind((0, 0))
print([s.getsockname() for s in held])
print(socket.if_nameindex(), [socket.if_indextoname(index) for index, _ in socket.if_nameindex()])
for _ in range(3):
    print(list(getifaddrs()))
    print(socket.getaddrinfo("localhost", 80, proto=socket.IPPROTO_TCP), socket.getaddrinfo(None, 80, type=socket.SOCK_STREAM))
if psutil:
    print(psutil.net_if_addrs(), psutil.net_if_stats(), psutil.net_io_counters(pernic=True), psutil.net_connections())
