#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Schedules by seed: each classic bug passes under the default schedule, is found within a stated number of seeds, and comes out
# again 20 of 20 times with its seed. HERMIT_CHAOS_REPEATS says how often (20).
. "$top_srcdir/tests/integration/lib.sh"
# In the working directory, which the guest sees wherever it is.
guests=$work
cp "$top_builddir"/tests/guests/bug_* "$top_builddir/tests/guests/four" "$work" 2>/dev/null || exit 99
repeats=${HERMIT_CHAOS_REPEATS:-20}

# native PROGRAM: how many of 50 runs without us fail; a hang counts.
native()
{
	local n failed=0
	for n in $(seq 50); do
		timeout -s KILL 1 "$1" >/dev/null 2>&1 </dev/null || failed=$((failed + 1))
	done
	echo "$failed"
}

# bug NAME STATUS SEEDS [OPTION...]: the bug ends with STATUS under one of SEEDS seeds.
bug()
{
	local name=$1 bad=$2 seeds=$3 seed first='' found=0 n
	shift 3
	run "$hermit" run -- "$guests/bug_$name"
	expect 0 "$name under the default schedule"
	for seed in $(seq "$seeds"); do
		run "$hermit" run -q --chaos "$@" --seed="$seed" -- "$guests/bug_$name"
		if [ "$status" = "$bad" ]; then
			found=$((found + 1))
			if [ -z "$first" ]; then
				first=$seed
				cp "$work/out" "$work/first.out"
				cp "$work/err" "$work/first.err"
			fi
		elif [ "$status" != 0 ]; then
			fail "$name with seed $seed ended with status $status"
		fi
	done
	ok "$name is found within $seeds seeds" [ -n "$first" ]
	echo "$name: $found of $seeds seeds, first $first; native $(native "$guests/bug_$name") of 50"
	[ -n "$first" ] || return
	for n in $(seq "$repeats"); do
		run "$hermit" run -q --chaos "$@" --seed="$first" -- "$guests/bug_$name"
		expect "$bad" "$name again with seed $first"
		ok "$name: the same output" cmp "$work/out" "$work/first.out"
		ok "$name: the same messages" cmp "$work/err" "$work/first.err"
	done
	"$hermit" run -q --chaos "$@" --seed="$first" --record-schedule="$name.schedule" -- "$guests/bug_$name" >/dev/null 2>&1 </dev/null
	for n in $(seq "$repeats"); do
		run "$hermit" run -q --chaos "$@" --seed="$first" --replay-schedule="$name.schedule" -- "$guests/bug_$name"
		expect "$bad" "$name again by its schedule"
		ok "$name by its schedule: the same output" cmp "$work/out" "$work/first.out"
	done
}

bug order 1 20
bug atomicity 1 40
bug toctou 1 40
bug pipe_race 1 40
bug shutdown 1 40
bug abba 120 40
bug lost_wakeup 120 60
bug fork_lock 120 60
bug signal 120 60

# A deadlock is told with who waits for what.
expect_err_has 'deadlock: nobody can ever go on' "the report of a deadlock"
expect_err_has 'waits in pause for a signal since turn' "who waits for what"

# All orders of four threads.
for seed in $(seq 200); do
	"$hermit" run -q --chaos --sched-heuristic=random --seed="$seed" -- "$guests/four" </dev/null
done | sort -u >"$work/out"
ok "24 orders of four threads within 200 seeds: $(wc -l <"$work/out")" [ "$(wc -l <"$work/out")" = 24 ]

# What a failure shows can be pasted.
for seed in $(seq 40); do
	run "$hermit" run --chaos --seed="$seed" -- "$guests/bug_order"
	[ "$status" = 0 ] || break
done
expect 1 "a seed with the bug"
command=$(sed -n 's/.*the same again: hermit run //p' "$work/err")
ok "a command is shown" [ -n "$command" ]
run sh -c "'$hermit' run $command"
expect 1 "the command that is shown"

# Seeds are independent of each other; the schedule does not depend on where output goes.
for seed in 1 2 3 4 5; do
	"$hermit" run --chaos --seed="$seed" --log-events=file.log -- "$guests/four" >file.out 2>/dev/null </dev/null
	"$hermit" run --chaos --seed="$seed" -- "$guests/four" 2>/dev/null </dev/null | cat >pipe.out
	script -qec "$hermit run --chaos --seed=$seed -- $guests/four" /dev/null </dev/null | tr -d '\r' >terminal.out
	"$hermit" run --chaos --seed=77 --sched-seed="$seed" -- "$guests/four" >other.out 2>/dev/null </dev/null
	ok "seed $seed: the same to a file and to a pipe" cmp file.out pipe.out
	ok "seed $seed: the same on a terminal" cmp file.out terminal.out
	ok "seed $seed: --seed does not change what --sched-seed decides" cmp file.out other.out
done

# Heuristics and refusals.
for list in roundrobin random stickyrandom stickyrandom:0.5 pct pct:1 mixed connectbind slowdown:3 random,connectbind,slowdown; do
	run "$hermit" run --chaos --sched-heuristic="$list" -- "$guests/four"
	expect 0 "--sched-heuristic=$list"
done
for list in '' none pct:0 pct:x random:1 random,pct stickyrandom:2 slowdown:1; do
	run "$hermit" run --chaos --sched-heuristic="$list" -- "$guests/four"
	expect 125 "--sched-heuristic=$list"
	expect_err_has '--sched-heuristic: ' "--sched-heuristic=$list is refused"
done
for seed in -1 abc '' 18446744073709551616; do
	run "$hermit" run --chaos --sched-seed="$seed" -- "$guests/four"
	expect 125 "--sched-seed='$seed'"
done
run "$hermit" run --chaos --seed=18446744073709551615 -- "$guests/four"
expect 0 "the greatest seed"
run "$hermit" run --seed-from=system --print-config=command -- true
expect 0 "--seed-from=system"
ok "the drawn seed is shown" grep -q -- '--seed=[0-9]* -- true' "$work/out"

# Schedules: other options, other programs, broken files.
run "$hermit" run --chaos --seed=77 --replay-schedule=order.schedule -- "$guests/bug_order"
expect 125 "a schedule of other options"
expect_err_has 'is one of other options, or of another version: hermit run .*--chaos' "the command of the schedule"
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

# The explorer.
run "$hermit" chaos --runs=30 --keep=kept -- "$guests/bug_abba"
expect 1 "an exploration that finds something"
ok "the table has a row for each run" [ "$(grep -cE '^[0-9]+ +(pass|FAIL) ' "$work/out")" = 30 ]
ok "schedules are kept" [ -s kept/fail.schedule ] && [ -s kept/pass.schedule ]
ok "nothing else is kept" [ "$(ls kept | wc -l)" = 6 ]
cp "$work/out" explored
sed -n 's/^  by [a-z]*: *hermit run //p' explored >commands
ok "four commands are shown" [ "$(wc -l <commands)" = 4 ]
n=0
while read -r command; do
	n=$((n + 1))
	run sh -c "'$hermit' run $command"
	expect "$([ "$n" -le 2 ] && echo 120 || echo 0)" "command $n of the exploration: $command"
done <commands
run "$hermit" chaos --runs=30 --jobs=3 --keep=kept3 -- "$guests/bug_abba"
sed 's/ *[0-9.]* s$//; s/; [0-9.]* s of runs$//; /kept/d; /  by /d' "$work/out" >jobs3
sed 's/ *[0-9.]* s$//; s/; [0-9.]* s of runs$//; /kept/d; /  by /d' explored >jobs
ok "the table does not depend on --jobs" cmp jobs jobs3
run "$hermit" chaos --runs=200 --until=fail -- "$guests/bug_order"
expect 1 "--until=fail"
ok "--until=fail stops" [ "$(grep -c FAIL "$work/out")" = 1 ]
run "$hermit" chaos --runs=12 --expect-exit=0,1 -- "$guests/bug_order"
expect 0 "--expect-exit"
run "$hermit" chaos --runs=40 --sched-heuristic=random --stdout-regex='^a' -q -- "$guests/four"
expect 1 "--stdout-regex"
for shard in 1 2 3; do
	"$hermit" chaos --runs=30 --shard="$shard/3" -- "$guests/bug_abba" 2>/dev/null
done | grep -E '^[0-9]+ ' | sort -n | sed 's/ *[0-9.]* s$//' >shards
grep -E '^[0-9]+ +(pass|FAIL)' jobs >whole
grep -E '^[0-9]+ +(pass|FAIL)' shards >parts
ok "three shards are the whole" cmp whole parts
run "$hermit" chaos --runs=3 -- "$work/nothing-here"
expect 125 "a program that does not exist"

# Faults: each alone, the same with the same seed, and none where none is possible.
run "$hermit" run --fault=enospc:1 -- dd if=/dev/zero of=file count=1
expect 1 "--fault=enospc"
expect_err_has 'fault enospc:1: struck [1-9]' "faults are counted"
run sh -c "'$hermit' run --fault=enospc:1 -- echo text | cat"
expect_out text "a pipe is never full in this way"
run "$hermit" run --fault=nomem:1 -- true
ok "--fault=nomem" [ "$status" -ne 0 ]
for seed in 1 2 3 4; do
	run "$hermit" run --fault-seed="$seed" --fault=latency:0.5 -- date +%N
	cp "$work/out" "latency$seed"
	run "$hermit" run --fault-seed="$seed" --fault=latency:0.5 -- date +%N
	ok "faults of seed $seed are the same again" cmp "$work/out" "latency$seed"
done
ok "other seeds, other faults" [ "$(sort -u latency? | wc -l)" -gt 1 ]
for fault in none enospc:2 enospc:x enospc@nothing; do
	run "$hermit" run --fault="$fault" -- true
	expect 125 "--fault=$fault"
done

run "$hermit" run --stop-at-turn=40 -- "$guests/four"
expect 118 "--stop-at-turn"
expect_err_has 'stopped at turn 40' "--stop-at-turn"
finish
