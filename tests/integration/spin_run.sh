#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that wait by spinning end, and do so in the same way in each run, half of them beside busy loops: same output, same events.
# HERMIT_SPIN_RUNS says how often each is run (4), HERMIT_SPIN_WAITS which ones (all).
# shellcheck source=tests/integration/lib.sh
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
runs=${HERMIT_SPIN_RUNS:-4}
waits=${HERMIT_SPIN_WAITS:-spinlock test-and-set compare-and-swap ticket flag restored handler pending pending-flag itimer-real itimer-virtual \
	itimer-prof itimer-ticks tsc tsc-flag shared}
CC=${CC##ccache } # a small program
# shellcheck disable=SC2086
$CC -O2 -g -pthread -o spin_waits "$top_srcdir/tests/guests/spin_waits.c" || { fail "the guest does not build"; finish; }

# once NAME N: result.N has output, status and events. The limit would be an uncontrolled happening, which is output.
once()
{
	run "$hermit" run --spin-limit=30 --log-events=events."$2" -- ./spin_waits "$1"
	cat out err > "result.$2"
	echo "status $status" >> "result.$2"
}

same_each_time()
{
	local n
	once "$1" 1
	expect 0 "$1"
	for n in $(seq 2 "$runs"); do
		progress "$n" "$runs" "$1"
		[ "$n" -le $((runs / 2)) ] || start_load
		once "$1" "$n"
		checks=$((checks + 2))
		cmp -s result.1 "result.$n" || { cp "result.$n" out; fail "$1: run $n gives something else"; }
		cmp -s events.1 "events.$n" || { "$hermit" log-diff events.1 "events.$n" > out; fail "$1: run $n goes another way"; }
	done
	stop_load
}

for wait in $waits; do
	same_each_time "$wait"
done

# The control: natively the counter has gone on.
for n in 1 2; do
	./spin_waits tsc
done | sort -u > native
[ "$(wc -l < native)" = 2 ] || fail "natively the counter gives the same each time: these tests show nothing"

# Times that are known: a timer of real or of processor time is due at its time.
for timer in real virtual prof; do
	run "$hermit" run -- ./spin_waits itimer-$timer
	grep -q ' at 120\.03' out || fail "itimer-$timer: not after 30 ms"
	grep -q '^processor time 0\.030' out || fail "itimer-$timer: spinning is no processor time"
done

run "$hermit" run -- ./spin_waits pending
expect_out "signals 5 5, codes 0 0, then -1" "signals that wait"
run "$hermit" run --strict -- ./spin_waits pending-flag
expect 0 "a wait for others, with signals that wait"
grep -qx 'signals 5 5, then -1' out || fail "signals that wait while others are waited for"
run ./spin_waits pending
expect_out "signals 5 5, codes 0 0, then -1" "signals that wait, natively"

# Nobody will ever change what it waits for.
run "$hermit" run -- ./spin_waits nobody
expect_err_has 'deadlock: nobody can ever go on' "a loop without hope"
expect_err_has 'spins: it goes round in a loop that changes nothing' "a loop without hope"
expect_err_has '#0 wait_for_nobody .*spin_waits.c:[0-9]+' "where it spins"

# A loop that counts is left after the limit; the warning comes at once, the end says it again.
run "$hermit" run --spin-limit=0.5 -- ./spin_waits counting
expect 0 "a loop that counts"
expect_out 'done' "a loop that counts"
[ "$(grep -c 'left at the limit of real time: thread 2 in wait_counting .*spin_waits.c:[0-9]*)' err)" -ge 2 ] ||
	fail "thread, function and line are not named, at once and at the end"
head -n 1 err | grep -q 'warning: a loop without end' || fail "no warning when it happens"
run "$hermit" run --strict --spin-limit=0.5 -- ./spin_waits counting
expect 122 "a loop that counts, --strict"
expect_err_has 'ended under --strict: a loop without end.*thread 2 in wait_counting .*spin_waits.c' "a loop that counts, --strict"
run "$hermit" run --timeout=2 --spin-limit=0 -- ./spin_waits counting
expect 124 "a loop that counts, without a limit"
expect_err_has '  thread ([0-9]+) of process \1 computes, and makes no call$' "the time limit: who computes"
expect_err_has 'virtual time stands still .*--spin-limit \(0: never\)$' "the time limit: why nobody else goes on"
run "$hermit" run --timeout=2 -- ./spin_waits counting
expect_err_has 'virtual time stands still .*--spin-limit \(60 s of real time\)$' "the time limit: how long it would have taken"
run "$hermit" run --timeout=2 -- ./spin_waits counting-alone
expect_err_has '  thread ([0-9]+) of process \1 computes, and makes no call$' "the time limit: who computes, alone"
[ "$(grep -c spin-limit err)" = 0 ] || fail "the limit of spinning has nothing to do with a thread that nobody waits for"
finish
