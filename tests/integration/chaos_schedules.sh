#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Schedules as files, and as wishes: recorded and followed, with turns that end inside code; --interrupt-at, --happens-before, --stop-at-turn,
# --stacktrace-at.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
guests=$work
for guest in bug_abba bug_order bug_window four letters dlopened forks; do
	cp "$top_builddir/tests/guests/$guest" "$work" || exit 99
done
${CC:-cc} -shared -fPIC -O1 -o libdlopened.so "$top_srcdir/tests/guests/dlopened_lib.c" || exit 77
run "$hermit" run -q --chaos --record-schedule=order.schedule -- "$guests/bug_order"

# Schedules: other options, other programs, broken files.
run "$hermit" run --chaos --seed=77 --replay-schedule=order.schedule -- "$guests/bug_order"
expect 125 "a schedule of other options"
expect_err_has 'is one of other options: no such option in it, --seed=77 in this run; it was made by: hermit run .*--chaos' \
	"the option that differs, and the command of the schedule"
cp bug_order program
run "$hermit" run --chaos --seed=3 --record-schedule=program.schedule -- "$work/program"
cp bug_abba program
run "$hermit" run --chaos --seed=3 --replay-schedule=program.schedule -- "$work/program"
expect 119 "another program under the same name"
expect_err_has 'no longer fits the schedule: turn [0-9]+, thread [0-9]+: ' "where it no longer fits"
cp bug_order program
run "$hermit" run --chaos --seed=3 --replay-schedule=program.schedule -- "$work/program"
ok "the same program again" [ "$status" -le 1 ]
for bytes in 0 1 200 300; do
	head -c "$bytes" program.schedule >broken.schedule
	run "$hermit" run --chaos --seed=3 --replay-schedule=broken.schedule -- "$work/program"
	expect 125 "a schedule of which $bytes bytes are left"
done
run "$hermit" run --record-schedule=plain.schedule -- "$guests/four"
run "$hermit" run --replay-schedule=plain.schedule --record-schedule=again.schedule -- "$guests/four"
expect 0 "a schedule of the default kind"
grep -c '"turn"' plain.schedule >plain.choices
grep -c '"turn"' again.schedule >again.choices
ok "as many choices when it is followed" cmp plain.choices again.choices

# window OUTPUT OPTION...: a run whose output, messages and exit status are in this file.
window()
{
	local output=$1
	shift
	run "$hermit" run -q --chaos "$@" -- ./bug_window
	{
		cat "$work/out" "$work/err"
		echo "status $status"
	} >"$output"
	checks=$((checks + 1))
	[ "$status" -le 1 ] || fail "$*: status $status"
}

# Turns that end inside code: the same with a log and without, and when they are followed.
for preempt in steps functions; do
	for seed in 1 2 3 4 5 6; do
		window one --preempt=$preempt --seed=$seed --record-schedule=one.schedule
		window two --preempt=$preempt --seed=$seed --record-schedule=two.schedule --log-events=two.log
		window three --preempt=$preempt --seed=$seed --record-schedule=three.schedule --replay-schedule=one.schedule
		for file in one two three; do
			jq 'del(.command, .choices[].why)' $file.schedule >$file.plain
		done
		ok "--preempt=$preempt, seed $seed: the same with a log" cmp one.plain two.plain
		ok "--preempt=$preempt, seed $seed: the same when it is followed" cmp one.plain three.plain
		ok "--preempt=$preempt, seed $seed: the same output" cmp one two
		ok "--preempt=$preempt, seed $seed: the same output when it is followed" cmp one three
		cat one.schedule >>all.$preempt
	done
	ok "--preempt=$preempt ends turns inside code" grep -q '"after"' all.$preempt
	run "$hermit" run -q --chaos --preempt=$preempt --seed=3 --report=report.json -- ./bug_window
	ok "--preempt=$preempt: the cost is reported" \
		[ "$(jq '.preemption | .instructions_stepped + .places_passed > 0 and .real_ns > 0' report.json)" = true ]
	run "$hermit" run -q --chaos --preempt=$preempt --preempt-budget=10 --seed=3 --report=report.json -- ./bug_window
	ok "--preempt=$preempt: the budget is kept, but for the last turn" \
		[ "$(jq '.preemption | .instructions_stepped + .places_passed < 9000' report.json)" = true ]
done
run "$hermit" run -q --chaos --preempt=functions --preempt-modules='no-such-*' --seed=3 --report=report.json -- ./bug_window
expect 0 "--preempt-modules"
ok "nothing is watched in other files" [ "$(jq '.preemption.places' report.json)" = 0 ]

# Priorities of PCT: of each thread when it is born, at change points, when it yields; the same when they are followed.
for preempt in syscalls steps functions; do
	for seed in 1 2 3 4 5 6 7 8; do
		window one --sched-heuristic=pct:9 --preempt=$preempt --seed=$seed --record-schedule=one.schedule
		window two --sched-heuristic=pct:9 --preempt=$preempt --seed=$seed --record-schedule=two.schedule --replay-schedule=one.schedule
		ok "pct, --preempt=$preempt, seed $seed: the same output when it is followed" cmp one two
		for file in one two; do
			jq 'del(.command, .choices[].why)' $file.schedule >$file.plain
		done
		ok "pct, --preempt=$preempt, seed $seed: the same schedule" cmp one.plain two.plain
		ok "pct, --preempt=$preempt, seed $seed: each thread is born with a priority" \
			[ "$(jq -c '[.choices[].thread] | unique' one.schedule)" = "$(jq -c '[.priorities[] | select(.why == "born").thread] | unique' one.schedule)" ]
		jq -r '.priorities[].why' one.schedule >>why.$preempt
	done
	ok "pct, --preempt=$preempt: change points are in schedules" grep -q point why.$preempt
done
run "$hermit" run -q --chaos --sched-heuristic=pct --quantum=0.00001 --record-schedule=yield.schedule -- ./four
ok "pct: who yields loses its priority" grep -q yielded yield.schedule
run "$hermit" run -q --chaos --sched-heuristic=random --record-schedule=random.schedule -- ./bug_window
ok "who does not draw priorities has none" [ "$(jq '.priorities | length' random.schedule)" = 0 ]

# Breakpoints follow fork, vfork, exec and dlopen.
run "$hermit" run -q -- ./forks
expect 0 "children"
cp "$work/out" plain
for seed in 1 2 3 4; do
	run "$hermit" run -q --chaos --preempt=functions --seed=$seed -- ./forks
	expect 0 "breakpoints in children, seed $seed"
	ok "breakpoints in children, seed $seed" cmp "$work/out" plain
	run "$hermit" run -q --chaos --preempt=functions --seed=$seed --report=report.json -- ./dlopened
	expect 0 "breakpoints in a library that comes later, seed $seed"
done
ok "places of the library are passed" [ "$(jq '.preemption | .places > 24 and .places_passed > 100' report.json)" = true ]

# --interrupt-at: the last letter comes first when its thread is interrupted in front of it.
run "$hermit" run --log-events=plain.log -- ./letters
first=$(head -c 1 "$work/out")
turn=$("$hermit" log-print plain.log | sed -n "s/^ *\\([0-9]*\\) .* \\([0-9]*\\)  write(1, \"$first\".*/\\1/p")
thread=$("$hermit" log-print plain.log | sed -n "s/^ *[0-9]* *[0-9.]* *\\([0-9]*\\)  write(1, \"$first\".*/\\1/p")
run "$hermit" run --interrupt-at="$thread:$turn" --record-schedule=interrupt.schedule -- ./letters
ok "the other letter comes first" [ "$(head -c 1 "$work/out")" != "$first" ]
ok "nothing is amiss" [ ! -s "$work/err" ]
cp "$work/out" interrupted
run "$hermit" run --interrupt-at="$thread:$turn" --replay-schedule=interrupt.schedule -- ./letters
ok "the same when it is followed" cmp "$work/out" interrupted
run "$hermit" run --interrupt-at="$thread:$((turn - 1))+5" --record-schedule=steps.schedule -- ./letters
ok "after five instructions, too" cmp "$work/out" interrupted
ok "which is in the schedule" grep -q '"after": 5, "of": "instructions"' steps.schedule
run "$hermit" run --interrupt-at="$thread:$((turn - 1))+5" --replay-schedule=steps.schedule -- ./letters
ok "and is followed" cmp "$work/out" interrupted
sed 's/"after": 5/"after": 100000/' steps.schedule >long.schedule
run "$hermit" run --interrupt-at="$thread:$((turn - 1))+5" --replay-schedule=long.schedule -- ./letters
expect 119 "a point that is never reached"
expect_err_has "turn $((turn - 1)), thread $thread: expected its turn to end after 100000 instructions, got write" "where it no longer fits"
run "$hermit" run --interrupt-at=99:5 -- ./letters
expect_err_has '--interrupt-at=99:5: the thread did not go on at that turn' "a thread that there is not"
run "$hermit" run --interrupt-at="$thread:$turn+1000000" -- ./letters
expect_err_has 'something else happened before so many instructions' "too many instructions"
for text in 4 4: :5 4:5+ 4:5+0 x:1; do
	run "$hermit" run --interrupt-at="$text" -- ./letters
	expect 125 "--interrupt-at=$text"
done

# --happens-before: calls, functions and source lines, against all seeds.
behind_a=$(grep -n 'behind a' "$top_srcdir/tests/guests/letters.c" | cut -d: -f1)
behind_b=$(grep -n 'behind b' "$top_srcdir/tests/guests/letters.c" | cut -d: -f1)
# order FILE ANCHOR ANCHOR [SOFT]: the first one before the second one.
order()
{
	printf '{ "anchors": [ { "name": "x", %s }, { "name": "y", %s } ], "edges": [ { "before": "x", "after": "y"%s } ] }\n' "$2" "$3" "${4:-}" >"$1"
}
order ab.calls '"thread": 1, "call": "write"' '"thread": 2, "call": "write"'
order ba.calls '"tid": 4, "call": "write", "nth": 1' '"tid": 3, "call": "*", "nth": 2'
order ab.places "\"source\": \"letters.c:$behind_a\"" '"function": "write_b"'
order ba.places "\"source\": \"letters.c:$behind_b\", \"thread\": 2" '"function": "write_a", "nth": 1'
for file in ab.calls ab.places ba.places; do
	for seed in 1 2 3 4 5 6 7 8; do
		run "$hermit" run -q --chaos --seed="$seed" --happens-before="$file" -- ./letters
		expect_out "${file%.*}" "--happens-before=$file with seed $seed"
	done
done
run "$hermit" run -q --chaos --preempt=functions --happens-before=ba.places --record-schedule=order.schedule -- ./letters
run "$hermit" run -q --chaos --preempt=functions --happens-before=ba.places --replay-schedule=order.schedule -- ./letters
expect_out ba "an order in a schedule that is followed"
cp ba.places another-name
run "$hermit" run -q --chaos --preempt=functions --happens-before=another-name --replay-schedule=order.schedule -- ./letters
expect_out ba "the same order under another name"
sed 's/ }$/  }/' ba.places >another-content
run "$hermit" run -q --chaos --preempt=functions --happens-before=another-content --replay-schedule=order.schedule -- ./letters
expect 125 "another order"
expect_err_has 'is one of other options: --happens-before=sha256:[0-9a-f]{64} in it, --happens-before=sha256:[0-9a-f]{64} in this run' "which option it is"
run "$hermit" run --happens-before=not-there -- ./letters
expect 125 "no order"
expect_err_has '^hermit run: --happens-before: not-there: No such file' "no order"
order never '"thread": 1, "call": "write", "nth": 7' '"thread": 2, "call": "write"'
run "$hermit" run --happens-before=never -- ./letters
expect 119 "an order that cannot be kept"
expect_err_has "thread 4 is held before 'y' until 'x' has come \\(seen 1 of 7 times\\)" "which one it is"
order never '"thread": 1, "call": "write", "nth": 7' '"thread": 2, "call": "write"' ', "soft": true'
run "$hermit" run --happens-before=never -- ./letters
expect 0 "an order that need not be kept"
expect_err_has "the anchor 'x' never came: seen 1 of 7 times" "which one never came"
order wrong '"call": "getpid"' '"function": "f"'
run "$hermit" run --happens-before=wrong -- ./letters
expect 125 "a call that cannot be an anchor"
for text in '' '{' '{}' '{"anchors": [], "edges": [{"before": "a", "after": "b"}]}' '{"anchors": [{"name": "a"}], "edges": []}' \
	'{"anchors": [{"name": "a", "source": "x"}], "edges": []}'; do
	echo "$text" >wrong
	run "$hermit" run --happens-before=wrong -- ./letters
	expect 125 "an order like '$text'"
	expect_err_has '--happens-before: wrong' "an order like '$text'"
done

# --stop-at-turn, --stacktrace-at.
run "$hermit" run --stop-at-turn=40 -- "$guests/four"
expect 118 "--stop-at-turn"
expect_err_has 'stopped at turn 40' "--stop-at-turn"
expect_err_has 'thread 2 of process 2' "what the threads do"
run "$hermit" run --stacktrace-at=40 -- "$guests/four"
expect 0 "--stacktrace-at"
expect_err_has '^hermit: turn 40:' "--stacktrace-at"
expect_err_has '#0 ' "--stacktrace-at: stacks"
run "$hermit" run -q -- "$guests/four"
cp "$work/out" plain
run "$hermit" run -q --stacktrace-at=40 -- "$guests/four"
ok "--stacktrace-at changes nothing" cmp "$work/out" plain
finish
