# SPDX-License-Identifier: BSD-3-Clause
# What differs from run to run natively: times, numbers, the order of threads and children.
import os, queue, random, subprocess, threading, time, uuid
print(time.time_ns(), time.monotonic_ns(), os.getpid(), os.uname().nodename)
print(os.urandom(8).hex(), random.random(), uuid.uuid4(), list({"a", "b", "c", "d", "e", "f"}), id(object()))
order = []
def work(name):
    for _ in range(300):
        order.append(name)
        time.sleep(0)
threads = [threading.Thread(target=work, args=(name,)) for name in "ABCD"]
for t in threads: t.start()
for t in threads: t.join()
print("".join(order))
children = [subprocess.Popen(["sh", "-c", "sleep 0.0%d; echo child %d $$; date +%%N" % (i, i)]) for i in range(3)]
print([c.wait() for c in children])
