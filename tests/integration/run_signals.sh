#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Signals to hermit itself: the first asks the guest, the second ends everything; kill -9 leaves nothing behind.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
set -m # background jobs keep the default for SIGINT

# A word by which the guests of this test are found among all processes.
mark=hermit-signal-test-$$

# start SCRIPT [INPUT]: runs it under hermit in the background and waits until it says ready; $job is the supervisor.
start()
{
	rm -f fifo && mkfifo fifo
	# whoever runs the tests may ignore some (nohup, a background job)
	env --default-signal=HUP,INT,QUIT "$hermit" run -- bash -c "$1" "$mark" >fifo 2>"$work/err" <"${2:-/dev/null}" &
	job=$!
	exec 7<fifo
	read -r -t "$(at_most 60)" word <&7 && [ "$word" = ready ] || fail "the guest did not start: $1"
}

# finished: waits for the supervisor; what the guest said meanwhile is in $work/out.
finished()
{
	timeout "$(at_most 60)" cat <&7 >"$work/out"
	exec 7<&-
	status=0
	wait "$job" || status=$?
}

nobody_left()
{
	local tries=0
	# Processes that were just killed are gone when init has reaped them: that is not ours to speed up.
	while pgrep -f "$mark" >/dev/null && [ $tries -lt 1200 ]; do
		tries=$((tries + 1))
		sleep 0.05
	done
	[ $tries -lt 1200 ]
}

for signal in INT TERM HUP QUIT; do
	start "trap 'echo caught; exit 7' $signal; echo ready; while :; do :; done"
	kill -$signal $job
	finished
	expect 7 "the guest handles SIG$signal"
	expect_out caught "the guest handles SIG$signal"
done

start "echo ready; while :; do :; done"
kill -TERM $job
finished
expect 143 "SIGTERM ends a guest that does not handle it"

start "trap : TERM; trap 'echo again; trap \"\" USR1' USR1; echo ready; while :; do :; done"
kill -TERM $job
kill -USR1 $job
read -r -t "$(at_most 60)" word <&7
ok "the guest lives on after the first SIGTERM" [ "$word" = again ]
kill -TERM $job
finished
expect 143 "the second SIGTERM ends everything"
ok "nothing is left after the second SIGTERM" nobody_left

start "sleep 1000 & (while :; do :; done) & echo ready; while :; do :; done"
kill -KILL $job
finished
expect 137 "kill -9 of the supervisor"
ok "nothing is left after kill -9" nobody_left

# Whenever it comes, also before the guest's program is loaded, it is the signal that ends the run, and nothing is wrong with the program.
for delay in 0.01 0.02 0.03 0.04 0.05 0.06 0.07 0.08; do
	env --default-signal=USR1 "$hermit" run -- sh -c 'while :; do :; done' "$mark" >"$work/out" 2>"$work/err" </dev/null &
	job=$!
	sleep $delay
	kill -USR1 $job
	status=0
	wait $job || status=$?
	expect 138 "SIGUSR1 after $delay s"
	expect_err "" "SIGUSR1 after $delay s"
done

start "trap 'echo size; exit 0' WINCH; echo ready; while :; do :; done"
kill -WINCH $job
finished
expect_out size "SIGWINCH is handed on"
expect 0 "SIGWINCH is handed on"

# Signals from outside to a guest whose call is taken apart into several (recvmmsg), at any moment of that.
cp "$top_builddir/tests/guests/many_messages" . || exit 99

# descendants PID: their numbers
descendants()
{
	local pid
	for pid in $(pgrep -P "$1"); do
		echo "$pid"
		descendants "$pid"
	done
}

# pestered SIGNAL ARGUMENT...: many_messages, whose processes get the signal again and again until it ends; it goes on when one has got it
pestered()
{
	local signal=$1 sent=0 goes="" pid guests
	shift
	rm -f go && mkfifo go
	exec 8<>go
	start "exec ./many_messages $*" go
	guests=$(descendants $job)
	while kill -0 $job 2>/dev/null; do
		for pid in $guests; do
			# not process 1 of the container, which is ours
			[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = many_messages ] && kill -"$signal" "$pid" 2>/dev/null && sent=$((sent + 1))
		done
		[ $sent = 0 ] || [ -n "$goes" ] || { echo >&8 && goes=yes; }
	done
	exec 8>&-
	finished
	expect 0 "many messages and SIG$signal"
	ok "SIG$signal has been sent" [ $sent -gt 0 ]
}
for signal in URG WINCH CONT; do
	pestered $signal
	expect_out "3000 messages in 1000 calls" "SIG$signal, which is ignored, disturbs no call"
done
pestered USR1 handled
expect_out "3000 messages, handled: 1" "a signal that is handled loses no message"
finish
