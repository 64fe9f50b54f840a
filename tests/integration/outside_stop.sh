#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -STOP from outside, of all processes of a run or of one: the run stands still until SIGCONT, and is the same run as one that nobody has stopped. A guest that
# stops itself, with nobody in it to continue it, is a deadlock.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
PATH=/usr/bin:$PATH # runs have that python3, too
mkdir in && cd in || exit 99

# descendants PID: one a line.
descendants()
{
	local child
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		echo "$child"
		descendants "$child"
	done
}
# guests PID: those of a run that are the program's, so all but the container's first process.
guests()
{
	local pid
	for pid in $(descendants "$1"); do
		[ "$({ tr -d '\0' <"/proc/$pid/cmdline"; } 2>/dev/null)" = init ] || echo "$pid"
	done
}
# state PID: its letter in /proc.
state()
{
	sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null
}
# logged NAME ARGUMENT...: a run with its log in NAME.log, its output in NAME.out.
logged()
{
	local name=$1
	shift
	exec timeout -s KILL "$(at_most 60)" "$hermit" run --log-events="$work/$name.log" "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null
}

cat >count.sh <<'END'
count() { n=0; while [ $n -lt 150000 ]; do n=$((n+1)); done; }
echo begun
count & count; wait
date +%s.%N
sleep 3; count
date +%s.%N
END
cat >mix.py <<'END'
import hashlib, queue, signal, subprocess, sys, threading, time
print("begun", flush=True)
# Of several threads the kernel chooses one for a signal of the process, by what has been sent to them: so there are no signals beside threads.
q = queue.Queue()
def work(n):
    for i in range(250):
        hashlib.sha256(b"x" * 200000).hexdigest()
        time.sleep(0.001)
        q.put((n, i, time.monotonic_ns()))
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
if sys.argv[1] == "threads":
    for t in threads: t.start()
    for t in threads: t.join()
    while not q.empty(): print(q.get())
    sys.exit()
hits = []
signal.signal(signal.SIGALRM, lambda *a: hits.append(time.monotonic_ns()))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for i in range(6):
    print(subprocess.run(["sh", "-c", "printf 'b\\na\\n' | sort | md5sum; sleep 0.01; echo $$"], capture_output=True).stdout)
    hashlib.sha256(b"x" * 5000000).hexdigest()
print(hits)
END
# stopped WHAT WHOM LIMIT ARGUMENT...: as often as it lives for, at most LIMIT times, "all" of the run or its "first" process is stopped and continued. Some stop for certain: who
# has the turn, if it is one of them, is seen to stand.
stopped()
{
	local what=$1 whom=$2 limit=$3 pid supervisor stops=0 standing=0 list each
	shift 3
	(logged plain "$@") || fail "$what: the run that nobody stops"
	: >"$work/again.out"
	(logged again "$@") &
	pid=$!
	while [ ! -s "$work/again.out" ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
	supervisor=$(cat /proc/$pid/task/*/children)
	supervisor=${supervisor%% *}
	while [ $stops -lt "$limit" ] && kill -0 $pid 2>/dev/null; do
		list=$(guests "$supervisor")
		[ "$whom" = all ] || list=${list%%[!0-9]*}
		# shellcheck disable=SC2086 # one word each
		kill -STOP $list 2>/dev/null
		sleep 0.0$((RANDOM % 6))
		for each in $list; do
			[ "$(state "$each")" != t ] || standing=1
		done
		# shellcheck disable=SC2086
		kill -CONT $list 2>/dev/null
		sleep 0.0$((RANDOM % 4))
		stops=$((stops + 1))
	done
	status=0
	wait $pid || status=$?
	cp "$work/again.out" "$work/out"
	cp "$work/again.err" "$work/err"
	expect 0 "$what"
	ok "$what: its output" cmp "$work/plain.out" "$work/again.out"
	ok "$what: what it says" cmp "$work/plain.err" "$work/again.err"
	ok "$what: its log" cmp "$work/plain.log" "$work/again.log"
	[ $standing = 1 ] || echo "$what: nobody was seen to stand, in $stops stops"
}
for n in 1 2; do
	stopped "a count, all stopped, $n" all 5 -- sh count.sh
	stopped "a count, the first process stopped, $n" first 5 -- sh count.sh
	for way in threads children; do
		stopped "$way, all stopped, $n" all 1000 -- python3 mix.py $way
		stopped "$way, the first process stopped, $n" first 1000 -- python3 mix.py $way
		stopped "$way, in another order, $n" all 1000 --chaos -- python3 mix.py $way
	done
done

# It stands for as long as it is stopped, however long that is: a log that does not grow.
: >"$work/long.out"
(logged long -- sh -c 'echo begun; while [ ! -e go ]; do n=$((n+1)); done; echo $n >/dev/null; echo end') &
pid=$!
while [ ! -s "$work/long.out" ]; do sleep 0.01; done
supervisor=$(cat /proc/$pid/task/*/children)
list=$(guests "${supervisor%% *}")
# shellcheck disable=SC2086
kill -STOP $list
# shellcheck disable=SC2086
while [ "$(state $list)" != t ]; do sleep 0.01; done
size=$(stat -c %s "$work/long.log")
echo >go
sleep 1
ok "who is stopped stands still" [ "$(stat -c %s "$work/long.log")" = "$size" ]
# shellcheck disable=SC2086
kill -CONT $list
wait $pid
ok "who is continued goes on" [ "$(tail -n 1 "$work/long.out")" = end ]

# Whoever is stopped can be killed.
: >"$work/long.out"
(logged long -- sh -c 'echo begun; while :; do n=$((n+1)); done') &
pid=$!
while [ ! -s "$work/long.out" ]; do sleep 0.01; done
supervisor=$(cat /proc/$pid/task/*/children)
list=$(guests "${supervisor%% *}")
# shellcheck disable=SC2086
kill -STOP $list
# shellcheck disable=SC2086
kill -KILL $list
status=0
wait $pid || status=$?
expect 137 "who is stopped is killed"

# Its own stops are Linux's.
run "$hermit" run -- sh -c 'kill -STOP $$'
expect 120 "who stops itself"
expect_err_has "is stopped by a signal" "who stops itself"
run "$hermit" run -- python3 -c '
import os, signal
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(7)
print(os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]))
os.kill(pid, signal.SIGCONT)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
expect 0 "who stops and is continued"
expect_out "True
7" "who stops and is continued"
run "$hermit" run -- python3 -c '
import os, signal, time
pid = os.fork()
if pid == 0:
    time.sleep(1000)
    os._exit(7)
time.sleep(1)
os.kill(pid, signal.SIGSTOP)
print(os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]), time.monotonic() < 200)'
expect_out "True True" "who is parked is stopped at once"
finish
