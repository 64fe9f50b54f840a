#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What comes from outside while nobody can go on is waited for, in whatever way a program waits: late input, and networks that others can reach. What
# cannot be reached is not: time passes there at once.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
supervisor=$top_builddir/hermit-supervisor
PATH=/usr/bin:$PATH # runs have that python3, too

cat >wait.py <<'END'
import os, select, selectors, sys
def of_set(kind):
    s = kind()
    s.register(0, selectors.EVENT_READ)
    s.select()
    s.close()
def nested():
    inner, outer = select.epoll(), select.epoll()
    inner.register(0, select.EPOLLIN)
    outer.register(inner, select.EPOLLIN)
    outer.poll()
def duplicate():
    e, fd = select.epoll(), os.dup(0)
    e.register(fd, select.EPOLLIN)
    os.close(fd)
    e.poll()
ways = {
    "read": lambda: None,
    "select": lambda: select.select([0], [], []),
    "poll": lambda: of_set(selectors.PollSelector),
    "epoll": lambda: of_set(selectors.EpollSelector),
    "nested": nested,
    "duplicate": duplicate,
}
ways[sys.argv[1]]()
print(os.read(0, 100))
END
for way in read select poll epoll nested duplicate; do
	status=0
	(sleep 0.5; echo late) | timeout -s KILL "$(at_most 30)" "$hermit" run -- python3 wait.py $way >out 2>err || status=$?
	expect 0 "late input, $way"
	expect_out "b'late\n'" "late input, $way"
done

# A service that the host has in a file that the run sees.
cat >service.py <<'END'
import socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("service")
s.listen()
print("ready", flush=True)
for i in range(2):
    c, _ = s.accept()
    c.recv(100)
    time.sleep(0.5)
    c.sendall(b"answer")
    c.close()
END
cat >asking.py <<'END'
import select, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("service")
s.sendall(b"question")
if sys.argv[1] == "epoll":
    e = select.epoll()
    e.register(s, select.EPOLLIN)
    e.poll()
print(s.recv(100))
END
# A service of the run's own that does not answer. Who has listened is gone: its children are the guest's all the same.
cat >own.py <<'END'
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind("own")
pid = os.fork()
if pid == 0:
    s.listen()
    os._exit(0)
os.waitpid(pid, 0)
c = socket.socket(socket.AF_UNIX)
c.connect("own")
c.recv(1)
END
# await_line FILE PID: its first line is there, or the process has ended.
await_line()
{
	while ! grep -q . "$1" && kill -0 "$2" 2>/dev/null; do sleep 0.05; done
}

python3 service.py >service.out &
service=$!
await_line service.out $service
for way in recv epoll; do
	run "$hermit" run -- python3 asking.py $way
	expect 0 "a service of the host's, $way"
	expect_out "b'answer'" "a service of the host's, $way"
	expect_err "hermit: uncontrolled: connection to a process outside: service" "a service of the host's, $way"
done
kill $service 2>/dev/null
# A socket that the run is given listens: whom it accepts is outside, too.
cat >given.py <<'END'
import socket, subprocess, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind("given")
s.listen()
c = socket.socket(socket.AF_UNIX)
c.connect("given")
p = subprocess.Popen(sys.argv[1:], stdin=s)
s.close()
time.sleep(0.5)
c.sendall(b"late")
sys.exit(p.wait())
END
cat >accepting.py <<'END'
import select, socket
c, _ = socket.socket(fileno=0).accept()
e = select.epoll()
e.register(c, select.EPOLLIN)
e.poll()
print(c.recv(100))
END
run python3 given.py "$hermit" run -- python3 accepting.py
expect 0 "a socket that listens is given"
expect_out "b'late'" "a socket that listens is given"
run "$hermit" run -- python3 own.py
expect 120 "a service of the run's own"
expect_err_has "deadlock" "a service of the run's own"

# server PORT ADDRESS WAY: says that it is ready, answers two clients, and ends.
cat >server.py <<'END'
import selectors, socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[2], int(sys.argv[1])))
s.listen()
e = selectors.EpollSelector()
e.register(s, selectors.EVENT_READ)
print("ready at", s.getsockname()[1], flush=True)
for i in range(2):
    if sys.argv[3] == "epoll":
        e.select()
    c, _ = s.accept()
    print(c.recv(100), flush=True)
    c.sendall(b"answer")
    c.close()
END
cat >client.py <<'END'
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]) if len(sys.argv) > 3 else None)
s.sendall(b"question")
print(s.recv(100))
END
# A server that takes its time.
cat >slow.py <<'END'
import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
for i in range(3):
    c, _ = s.accept()
    c.recv(100)
    time.sleep(0.5)
    c.sendall(b"answer")
    c.close()
END

# The host's network: whoever waits for it gets it, with a limit of time too.
python3 slow.py >slow.out &
slow=$!
await_line slow.out $slow
for limit in "" 30; do
	# shellcheck disable=SC2086 # none or one
	run "$hermit" run --network=host -- python3 client.py 127.0.0.1 "$(cat slow.out)" $limit
	expect 0 "a client in the host's network ${limit:+with a limit}"
	expect_out "b'answer'" "a client in the host's network ${limit:+with a limit}"
done
kill $slow 2>/dev/null

# served WHAT ADDRESS SERVER...: two clients outside are served.
served()
{
	local what=$1 address=$2 pid n port
	shift 2
	: >server.out
	timeout -s KILL "$(at_most 60)" "$@" >server.out 2>server.err </dev/null &
	pid=$!
	await_line server.out $pid
	port=$(sed -n 's/^ready at //p' server.out)
	for n in 1 2; do
		run python3 client.py "$address" "${port:-1}"
		expect_out "b'answer'" "$what: client $n"
	done
	wait $pid
	status=$?
	cp server.out out
	cp server.err err
	expect 0 "$what: the server"
	[ "$(grep -c question out)" = 2 ] || fail "$what: the questions"
}
for way in accept epoll; do
	served "a server in the host's network, $way" 127.0.0.1 "$hermit" run --network=host -- python3 server.py 0 0.0.0.0 $way
done

# What a program has in a set for itself alone (asyncio has a pair of sockets there) holds nobody up.
cat >sleeper.py <<'END'
import asyncio
asyncio.run(asyncio.sleep(36000))
print("ten hours later")
END
RUN_LIMIT=20 run "$hermit" run --network=host -- python3 sleeper.py
expect_out "ten hours later" "a set with nothing that others reach"

# A namespace that somebody has made, with a link to the outside. Whoever else is in there reaches its loopback, too: nobody is held up for that, but who does nothing else
# waits for it.
if [ "$(id -u)" != 0 ] || ! command -v ip >/dev/null || ! unshare -n true 2>/dev/null; then
	echo "no network namespaces can be made here: links to the outside are not tested"
	finish
fi
mkfifo started
unshare -n sh -c 'echo >started; exec sleep 600' &
holder=$!
link=hermit$((holder % 100000))
trap 'kill $holder 2>/dev/null; ip link del $link 2>/dev/null; rm -rf "$work"' EXIT
read -r _ <started
ip link add $link type veth peer name eth0 netns $holder
ip addr add 169.254.213.1/30 dev $link
ip link set $link up
nsenter --net=/proc/$holder/ns/net sh -c 'ip addr add 169.254.213.2/30 dev eth0; ip link set eth0 up; ip link set lo up'
mkdir bundle
# bundled ARGUMENT...: as the bundle's program.
bundled()
{
	jq -n --arg work "$work" --arg net "/proc/$holder/ns/net" '{ociVersion: "1.0.2", root: {path: "/", readonly: true},
		annotations: {"org.hermit.pace": "none"}, process: {user: {uid: 0, gid: 0}, args: $ARGS.positional, env: ["PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"], cwd: $work},
		mounts: [{destination: "/proc", type: "proc", source: "proc"}],
		linux: {namespaces: [{type: "mount"}, {type: "pid"}, {type: "ipc"}, {type: "uts"}, {type: "network", path: $net}]}}' \
		--args "$@" >bundle/config.json
}
for way in accept epoll; do
	bundled /usr/bin/python3 server.py 0 0.0.0.0 $way
	served "a server behind a link, $way" 169.254.213.2 "$supervisor" --root "$work/state" run --bundle bundle "server-$way-$$"
done
bundled /usr/bin/python3 server.py 0 127.0.0.1 accept
: >server.out
timeout -s KILL "$(at_most 60)" "$supervisor" --root "$work/state" run --bundle bundle "neighbour-$$" >server.out 2>server.err </dev/null &
pid=$!
await_line server.out $pid
for n in 1 2; do
	run nsenter --net=/proc/$holder/ns/net python3 client.py 127.0.0.1 "$(sed -n 's/^ready at //p' server.out)"
	expect_out "b'answer'" "a neighbour on loopback: client $n"
done
wait $pid
ok "a neighbour on loopback: the server" [ $? = 0 ]
cat >loopback.py <<'END'
import socket, threading, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
threading.Thread(target=s.accept, daemon=True).start()
time.sleep(36000)
print("ten hours later")
END
bundled /usr/bin/python3 loopback.py
RUN_LIMIT=20 run "$supervisor" --root "$work/state" run --bundle bundle "loopback-$$"
expect 0 "what is not in reach"
expect_out "ten hours later" "what is not in reach"
finish
