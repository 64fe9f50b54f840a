#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Other schedules than the default one: seeds, heuristics, what Linux promises no order for, deadlocks. hermit chaos is in
# chaos_explore.sh, the bugs that they find in chaos_bugs.sh, schedules as files in chaos_schedules.sh, faults in chaos_faults.sh and
# chaos_programs.sh.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# In the working directory, which the guest sees wherever it is.
guests=$work
for guest in bug_abba bug_order four orders timed vm_messages; do
	cp "$top_builddir/tests/guests/$guest" "$work" || exit 99
done

# A deadlock is told with who waits for what since when, and where; waiting with a time limit is none.
for seed in $(seq 40); do
	run "$hermit" run -q --chaos --seed="$seed" -- "$guests/bug_abba"
	[ "$status" = 0 ] || break
done
expect 120 "a seed with a deadlock"
expect_err_has 'deadlock: nobody can ever go on, at turn [0-9]+' "the report of a deadlock"
ok "both threads are told about, and since when" [ "$(grep -cE 'thread [34] of process 2 waits in futex for a futex since turn [0-9]+' "$work/err")" = 2 ]
ok "with their stacks" [ "$(grep -cE '#[0-9]+ .*(first|second|take|lock)' "$work/err")" -ge 2 ]
for seed in $(seq 12); do
	run "$hermit" run -q --chaos --seed="$seed" -- "$guests/timed"
	expect 0 "waits with time limits only, seed $seed"
	expect_out "timed out: 4" "waits with time limits only, seed $seed"
done
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
run "$hermit" run --chaos --sched-seed="$seed" -- "$guests/bug_order"
expect_err_has "seed $seed ended" "the seed that is shown is the scheduler's"

# Seeds are independent of each other; the schedule does not depend on where output goes, or on what is logged.
for seed in 1 2 3 4 5; do
	"$hermit" run --chaos --seed="$seed" --log-events=file.log --record-schedule=file.schedule -- "$guests/four" >file.out 2>/dev/null </dev/null
	"$hermit" run --chaos --seed="$seed" --record-schedule=pipe.schedule -- "$guests/four" 2>/dev/null </dev/null | cat >pipe.out
	script -qec "$hermit run --chaos --seed=$seed --record-schedule=terminal.schedule -- $guests/four" /dev/null </dev/null |
		tr -d '\r' >terminal.out
	"$hermit" run --chaos --seed="$seed" --record-schedule=null.schedule -- "$guests/four" >/dev/null 2>&1 </dev/null
	"$hermit" run --chaos --seed="$seed" --log=debug --record-schedule=debug.schedule -- "$guests/four" >debug.out 2>/dev/null </dev/null
	"$hermit" run --chaos --seed=77 --sched-seed="$seed" -- "$guests/four" >other.out 2>/dev/null </dev/null
	for where in pipe terminal debug other; do
		ok "seed $seed: the same output, $where" cmp file.out "$where.out"
	done
	for where in file pipe terminal null debug; do
		jq 'del(.command)' "$where.schedule" >"$where.plain"
		ok "seed $seed: the same schedule, $where" cmp file.plain "$where.plain"
	done
done

# What Linux promises no order for is drawn, and the same again with the same seed; without --chaos it has one order.
for what in signal futex requeue epoll accept; do
	for seed in 1 2 3 4 5 6 7 8; do
		run "$hermit" run -q --chaos --seed="$seed" -- "$guests/orders" "$what"
		expect 0 "the order of $what with seed $seed"
		cp "$work/out" "order.$seed"
		run "$hermit" run -q --chaos --seed="$seed" -- "$guests/orders" "$what"
		ok "the order of $what with seed $seed again" cmp "$work/out" "order.$seed"
		run "$hermit" run -q --seed="$seed" -- "$guests/orders" "$what"
		cp "$work/out" "plain.$seed"
	done
	ok "seeds give several orders of $what" [ "$(cat order.? | sort -u | wc -l)" -ge 4 ]
	ok "without --chaos there is one order of $what" [ "$(cat plain.? | sort -u | wc -l)" = 1 ]
done

# Heuristics and refusals.
for list in roundrobin random stickyrandom stickyrandom:0.5 pct pct:1 mixed connectbind slowdown:3 random,connectbind,slowdown; do
	run "$hermit" run --chaos --sched-heuristic="$list" -- "$guests/four"
	expect 0 "--sched-heuristic=$list"
done
run "$hermit" run --sched-heuristic=pct:3 --preempt=functions -- "$guests/four"
expect 0 "options of --chaos without it"
expect_err_has '^hermit: .*--sched-heuristic=pct:3 does nothing without --chaos' "an idle --sched-heuristic is told"
expect_err_has '^hermit: .*--preempt=functions does nothing without --chaos' "an idle --preempt is told"
run "$hermit" run --preempt=syscalls --sched-heuristic=mixed -- true
expect_err "" "defaults are not told"
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
run "$hermit" run --seed-from=system -- od -An -N8 -tx1 /dev/urandom
cp "$work/out" drawn
seed=$(sed -n 's/^hermit: the seed that was drawn: //p' "$work/err")
run "$hermit" run "${seed:-no seed}" -- od -An -N8 -tx1 /dev/urandom
ok "a run by the seed that was shown is the same run" cmp drawn "$work/out"

# Who goes on after a fork, and after the start of a thread; also without --chaos.
for who in parent child; do
	other=$([ "$who" = parent ] && echo child || echo parent)
	for chaos in '' --chaos; do
		# shellcheck disable=SC2086 # none or one option
		run "$hermit" run -q $chaos --preempt=none --runs-post-fork="$who" -- sh -c 'echo child & echo parent; wait'
		ok "--runs-post-fork=$who $chaos: after a fork" [ "$(xargs <"$work/out")" = "$who $other" ]
	done
done
run "$hermit" run -q --runs-post-fork=sister -- true
expect 125 "--runs-post-fork=sister"
for seed in $(seq 12); do
	run "$hermit" run -q --seed="$seed" --runs-post-fork=random -- sh -c 'echo child & echo parent; wait'
	cp "$work/out" "fork.$seed"
	run "$hermit" run -q --seed="$seed" --runs-post-fork=random -- sh -c 'echo child & echo parent; wait'
	ok "--runs-post-fork=random with seed $seed again" cmp "$work/out" "fork.$seed"
done
for first in parent child; do
	ok "--runs-post-fork=random: sometimes the $first" grep -qx "$first" <(head -qn 1 fork.*)
done

# --seed-from: what was drawn can be had again.
run "$hermit" run -q --seed-from=args --seed=5 -- sh -c 'od -An -N8 -tx1 /dev/urandom'
cp "$work/out" args
run "$hermit" run -q --seed=5 -- sh -c 'od -An -N8 -tx1 /dev/urandom'
ok "--seed-from=args is the default" cmp "$work/out" args
for n in 1 2 3; do
	run "$hermit" run --seed-from=system --chaos -- sh -c 'od -An -N8 -tx1 /dev/urandom; exit 3'
	expect 3 "--seed-from=system"
	cp "$work/out" "system.$n"
	command=$(sed -n 's/.*the same again: hermit run //p' "$work/err")
	run sh -c "'$hermit' run $command"
	ok "the seed that was drawn, again" cmp "$work/out" "system.$n"
done
ok "other seeds are drawn each time" [ "$(sort -u system.? | wc -l)" = 3 ]

# Calls that are made again in between (ERESTARTSYS): a step out of one would end in it.
for seed in 1 2 3; do
	for n in 1 2; do
		run "$hermit" run --chaos --preempt=steps --seed=$seed -- "$guests/vm_messages"
		expect 0 "vm_messages, seed $seed, steps"
		cp "$work/out" "again.$n"
	done
	ok "vm_messages, seed $seed: the same" cmp again.1 again.2
done
finish
