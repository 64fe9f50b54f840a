#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# FIFOs and names of UNIX sockets in directories that the host shares with a run: whoever comes there from outside is waited for, and named. In what is the
# run's own nobody comes: that is a deadlock.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
PATH=/usr/bin:$PATH # runs have that python3, too
named="hermit: uncontrolled: exchange with a process outside: "

# What comes late is late for certain: the run is told to be at its end when it has said that it begins, and by then it has nothing else to do.
# late FILE COMMAND: runs it half a second after the file has something; not at all if the run has ended without.
late()
{
	while [ ! -s "$1" ]; do
		[ ! -e over ] || return
		sleep 0.05
	done
	sleep 0.5
	sh -c "$2"
}
# meet WHAT OUT ERR LATE ARGUMENT...: a run that says something first, and somebody who comes late; the whole output, and what is reported.
meet()
{
	local what=$1 out=$2 err=$3 late=$4 other
	shift 4
	rm -f over
	: >out
	late "$work/out" "$late" >other &
	other=$!
	run "$hermit" run "$@"
	: >over
	wait $other
	sed -i 's/ ([0-9]* times)$//' err # which is theirs to say
	expect "${meet_status:-0}" "$what"
	expect_out "$out" "$what"
	expect_err "$err" "$what"
}

cat >ends.py <<'END'
import os, select, sys
way, name = sys.argv[1:]
print("begun", flush=True)
if way == "open":
    f = os.open(name, os.O_RDONLY)
elif way in ("both", "timed"):
    f = os.open(name, os.O_RDWR)
else:
    f = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
if way == "select":
    select.select([f], [], [])
elif way == "timed":
    assert select.select([f], [], [], 30)[0]
elif way == "poll":
    p = select.poll()
    p.register(f, select.POLLIN)
    p.poll()
elif way in ("epoll", "nested"):
    e = select.epoll()
    e.register(f, select.EPOLLIN)
    if way == "nested":
        inner, e = e, select.epoll()
        e.register(inner, select.EPOLLIN)
    e.poll()
print(os.read(f, 100))
END
mkfifo ff
for way in open both timed select poll epoll nested; do
	meet "a FIFO of the host's, $way" "begun
b'late\n'" "$named$work/ff" "echo late >$work/ff" -- python3 ends.py $way ff
done
meet "a FIFO of the host's is written" "begun
done" "$named$work/ff" "cat $work/ff" -- sh -c 'echo begun; echo text >ff; echo done'
ok "what is written comes out" [ "$(cat other)" = text ]

# Who opens it and says nothing until it is answered; and who was there before the run.
mkfifo back
meet "who opens says nothing" "begun
question" "$named$work/ff
$named$work/back" "exec 3>$work/ff; read -r x <$work/back; echo \$x; echo question >&3" -- sh -c 'echo begun; exec 3<ff; echo ready >back; read -r x <&3; echo $x'
ok "it was answered" [ "$(cat other)" = ready ]
for n in 1 2 3 4 5 6 7 8 9 10; do
	echo "early $n" >ff &
	run "$hermit" run -- cat ff
	wait $!
	sed -i 's/ ([0-9]* times)$//' err
	expect_out "early $n" "who was there before, $n"
	expect_err "$named$work/ff" "who was there before, $n"
done
cat ff >other &
run "$hermit" run -- sh -c 'echo early >ff'
wait $!
sed -i 's/ ([0-9]* times)$//' err
expect_err "$named$work/ff" "who has read before"
ok "what it has read" [ "$(cat other)" = early ]

# Under --strict that is the end, when somebody comes.
meet_status=122 meet "strict" "begun" "hermit: ended under --strict: exchange with a process outside: $work/ff (strict)
$named$work/ff" "timeout 2 sh -c 'echo late >$work/ff'" --strict -- python3 ends.py open ff

# Where the host has it, and where it has not. In /tmp of a run nobody else is; a copy-on-write view has FIFOs of its own.
mkdir shared
mkfifo shared/ff
meet "a bind" "begun
b'late\n'" "${named}/mnt/ff" "echo late >$work/shared/ff" --fs=overlay "--bind=$work/shared:/mnt" -- python3 ends.py open /mnt/ff
meet "--tmp" "begun
b'late\n'" "${named}/tmp/ff" "echo late >$work/shared/ff" --fs=overlay "--tmp=$work/shared" -- python3 -c "$(cat ends.py)" poll /tmp/ff
meet "--fs=host" "begun
b'late\n'" "$named$work/shared/ff" "echo late >$work/shared/ff" --fs=host --tmp=/tmp -- python3 ends.py open "$work/shared/ff"
mkdir layer
for way in open both epoll; do
	for option in --fs=overlay "--fs=overlay:$work/layer"; do
		run "$hermit" run "$option" -- python3 ends.py $way ff
		expect 120 "a FIFO of the view's own, $option, $way"
		expect_err_has "deadlock" "a FIFO of the view's own, $option, $way"
	done
	run "$hermit" run -- sh -c "mkfifo /tmp/mine; exec python3 ends.py $way /tmp/mine"
	expect 120 "a FIFO in a /tmp of the run's own, $way"
done

# One that the run has made itself: nobody is held up for it, but when there is nothing else it is waited for.
run "$hermit" run -- sh -c 'mkfifo mine; (sleep 36000; echo "ten hours later" >mine) & read -r x <mine; echo $x'
expect 0 "a FIFO for the run itself"
expect_out "ten hours later" "a FIFO for the run itself"
expect_err "" "a FIFO for the run itself"
rm mine
meet "a FIFO that the run makes" "begun
late" "$named$work/mine" "echo late >$work/mine" -- sh -c 'mkfifo mine; echo begun; read -r x <mine; echo $x'
rm mine

# All who wait are let through, as by fifo(7); who gives up is no partner any more.
cat >many.py <<'END'
import os, signal, sys, threading
os.mkfifo(sys.argv[1])
def reader(n):
    with open(sys.argv[1], "rb", buffering=0) as f:
        got.append((n, f.read(2)))
got = []
threads = [threading.Thread(target=reader, args=(n,)) for n in range(3)]
for t in threads: t.start()
with open(sys.argv[1], "wb", buffering=0) as f:
    for n in range(3): f.write(b"ab")
for t in threads: t.join()
print(sorted(b for n, b in got))
def given_up(*_): raise InterruptedError
signal.signal(signal.SIGALRM, given_up)
signal.alarm(5)
try:
    os.open(sys.argv[1], os.O_RDONLY)
except InterruptedError:
    print("given up")
try:
    os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
except OSError as e:
    print(e.strerror)
END
for place in many /tmp/many; do
	run "$hermit" run -- python3 many.py $place
	expect 0 "several readers, $place"
	expect_out "[b'ab', b'ab', b'ab']
given up
No such device or address" "several readers, $place"
	expect_err "" "several readers, $place"
done

# UNIX sockets with a name that the host finds.
cat >listen.py <<'END'
import select, socket, sys
way, name = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if way.startswith("dgram") else socket.SOCK_SEQPACKET if way == "packets" else socket.SOCK_STREAM)
s.bind(name.replace("@", "\0"))
if not way.startswith("dgram"):
    s.listen()
print("begun", flush=True)
if way == "select":
    select.select([s], [], [])
elif way in ("poll", "dgram-poll"):
    p = select.poll()
    p.register(s, select.POLLIN)
    p.poll()
elif way in ("epoll", "dgram-epoll"):
    e = select.epoll()
    e.register(s, select.EPOLLIN)
    e.poll()
if not way.startswith("dgram"):
    s, _ = s.accept()
print(s.recv(100))
END
cat >send.py <<'END'
import socket, sys
way, name = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if way.startswith("dgram") else socket.SOCK_SEQPACKET if way == "packets" else socket.SOCK_STREAM)
s.connect(name.replace("@", "\0"))
s.send(b"late")
if not way.startswith("dgram"):
    s.recv(1)
END
for way in accept select poll epoll packets dgram dgram-poll dgram-epoll; do
	from="connection from a process outside: "
	[ "${way#dgram}" = "$way" ] || from="exchange with a process outside: "
	meet "a name in a shared directory, $way" "begun
b'late'" "hermit: uncontrolled: ${from}name" "python3 $work/send.py $way $work/name" -- python3 listen.py $way name
	rm name
	run "$hermit" run -- python3 listen.py $way /tmp/name
	expect 120 "a name in a /tmp of the run's own, $way"
	run "$hermit" run -- python3 listen.py $way @hermit-test-$$
	expect 120 "an abstract name in a network of the run's own, $way"
	run "$hermit" run --fs=overlay -- python3 listen.py $way name
	expect 120 "a name in the view's own, $way"
	meet "an abstract name in the host's network, $way" "begun
b'late'" "hermit: uncontrolled: network: the host's
hermit: uncontrolled: ${from}hermit-test-$$" "python3 $work/send.py $way @hermit-test-$$" --network=host -- python3 listen.py $way @hermit-test-$$
done
# Nobody is held up for it while there is something else, nor for what is only the run's own.
cat >server.py <<'END'
import asyncio
async def main():
    await asyncio.start_unix_server(lambda r, w: None, "served")
    await asyncio.sleep(36000)
asyncio.run(main())
print("ten hours later")
END
RUN_LIMIT=20 run "$hermit" run -- python3 server.py
expect_out "ten hours later" "a server that sleeps"
finish
