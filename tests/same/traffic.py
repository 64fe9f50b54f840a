# SPDX-License-Identifier: BSD-3-Clause
# Traffic over the loopback: what it leaves in counters, neighbours and sockets is not to show.
import socket

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
for _ in range(20):
    client.sendall(b"x" * 1000)
    server.recv(65536)
datagram = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
datagram.bind(("::1", 0))
datagram.sendto(b"hello", datagram.getsockname())
print(datagram.recv(10))
