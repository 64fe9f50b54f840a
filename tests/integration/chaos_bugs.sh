#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Classic bugs: each passes under the default schedule, is found within a stated number of seeds, and comes out again each time with its seed and
# with its schedule. HERMIT_CHAOS_REPEATS says how often that is tried; `make soak` tries 20 times.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
repeats=${HERMIT_CHAOS_REPEATS:-3}

# native PROGRAM: how many of 50 runs without us fail; a hang counts.
native()
{
	local n failed=0
	for n in $(seq 50); do
		timeout -s KILL 1 "$1" >/dev/null 2>&1 </dev/null || failed=$((failed + 1))
	done
	echo "$failed"
}

# again NAME STATUS WHAT OPTION...: the bug comes out with the first output.
again()
{
	local name=$1 bad=$2 what=$3 n
	shift 3
	for n in $(seq "$repeats"); do
		progress "$n" "$repeats" "$name again $what"
		run "$hermit" run -q --chaos "$@" -- "./bug_$name"
		expect "$bad" "$name again $what, time $n"
		ok "$name again $what: the same output" cmp "$work/out" first.out
		ok "$name again $what: the same messages" cmp "$work/err" first.err
	done
}

# bug NAME STATUS SEEDS PREEMPT: the bug ends with STATUS under one of SEEDS seeds.
bug()
{
	local name=$1 bad=$2 seeds=$3 preempt=$4 seed first='' found=0
	cp "$top_builddir/tests/guests/bug_$name" . || exit 99
	run "$hermit" run -- "./bug_$name"
	expect 0 "$name under the default schedule"
	for seed in $(seq "$seeds"); do
		run "$hermit" run -q --chaos --preempt="$preempt" --seed="$seed" -- "./bug_$name"
		if [ "$status" = "$bad" ]; then
			found=$((found + 1))
			if [ -z "$first" ]; then
				first=$seed
				cp "$work/out" first.out
				cp "$work/err" first.err
			fi
		elif [ "$status" != 0 ]; then
			fail "$name with seed $seed ended with status $status"
		fi
	done
	ok "$name is found within $seeds seeds" [ -n "$first" ]
	printf '%-12s --preempt=%-9s %2d of %d seeds, the first is %s; native %d of 50\n' "$name" "$preempt" "$found" "$seeds" "${first:--}" \
		"$(native "./bug_$name")"
	[ -n "$first" ] || return
	again "$name" "$bad" "with seed $first" --preempt="$preempt" --seed="$first"
	"$hermit" run -q --chaos --preempt="$preempt" --seed="$first" --record-schedule="$name.schedule" -- "./bug_$name" >/dev/null 2>&1 </dev/null
	again "$name" "$bad" "by its schedule" --preempt="$preempt" --seed="$first" --replay-schedule="$name.schedule"
}

bug order 1 20 syscalls
bug atomicity 1 40 syscalls
bug window 1 40 functions
bug window 1 60 steps
bug lost_wakeup 120 40 syscalls
bug abba 120 40 syscalls
bug publish 1 40 functions
bug signal 120 40 syscalls
bug shutdown 1 40 syscalls
bug toctou 1 40 syscalls
bug fork_lock 120 40 syscalls
bug aba 1 60 functions
bug starvation 1 40 syscalls
bug pipe_race 1 40 syscalls

# Without looking inside code these are never found.
for name in window publish aba; do
	for seed in $(seq 20); do
		run "$hermit" run -q --chaos --seed="$seed" -- "./bug_$name"
		expect 0 "$name needs turns that end inside code, seed $seed"
	done
done
finish
