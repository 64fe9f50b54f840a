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

run "$hermit" run --stop-at-turn=40 -- "$guests/four"
expect 118 "--stop-at-turn"
expect_err_has 'stopped at turn 40' "--stop-at-turn"
finish
