# SPDX-License-Identifier: BSD-3-Clause
# TCP over loopback: what each call finds depends on windows, delayed acknowledgements, and packets under way.
import select, socket, threading, time


def pair():
    one = socket.create_connection(listener.getsockname()[:2])
    return one, listener.accept()[0]


def bulk():
    def send():
        for i in range(300):
            one.sendall(b"x" * (8192 if i % 3 else 100))
        one.shutdown(socket.SHUT_WR)

    one, two = pair()
    sender = threading.Thread(target=send)
    sender.start()
    sizes = []
    while data := two.recv(8192 * (1 + len(sizes) % 9)):
        sizes.append(len(data))
    sender.join()
    print("bulk", sizes)


def nonblocking():
    one, two = pair()
    one.setblocking(False)
    two.setblocking(False)
    counts = []
    while len(counts) < 300:
        try:
            counts.append(one.send(b"y" * 30000))
        except BlockingIOError:
            counts.append(-len(two.recv(100000)))
            readable, writable, _ = select.select([two], [one], [], 0)
            counts.append((len(readable), len(writable)))
    print("without blocking", counts)


def write_write_read():
    """The pattern that Nagle's algorithm and delayed acknowledgements make slow: natively 40 ms a turn."""
    def serve():
        data = b""
        while more := two.recv(100):
            found.append(len(more))
            data += more
            while len(data) >= 8:
                data = data[8:]
                two.send(b"answer")

    one, two = pair()
    found = []
    server = threading.Thread(target=serve)
    server.start()
    for _ in range(60):
        one.send(b"head")
        one.send(b"body")
        assert one.recv(100) == b"answer"
    one.close()
    server.join()
    print("write, write, read", found)


def trickle():
    """Small writes, looked for between them."""
    one, two = pair()
    two.setblocking(False)
    found = []
    for i in range(200):
        one.send(b"z" * (1 + i % 3))
        try:
            found.append(len(two.recv(1000)) if i % 5 else 0)
        except BlockingIOError:
            found.append(-1)
    one.shutdown(socket.SHUT_WR)
    time.sleep(0.1)
    found.append(len(two.recv(1000)))
    print("trickle", found)


for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    listener = socket.socket(family)
    listener.bind((address, 0))
    listener.listen()
    bulk()
    nonblocking()
    write_write_read()
    trickle()
print(time.time())
