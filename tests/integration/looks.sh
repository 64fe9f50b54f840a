#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that wait by looking again and again come to an end, after a number of looks that is the same in each run, with and without an event
# log, beside busy loops, and under other schedules (of one seed). HERMIT_LOOKS_RUNS says how often each is run (3), HERMIT_LOOKS which ones (all).
# shellcheck source=tests/integration/lib.sh
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
runs=${HERMIT_LOOKS_RUNS:-3}
wait_ms=200
looks_most=20000 # without the rule of looks.h it is twice as many for the dearest of these calls
CC=${CC##ccache } # a small program
# shellcheck disable=SC2086
$CC -O2 -g -D_GNU_SOURCE -pthread -o looks "$top_srcdir/tests/guests/looks.c" || { fail "the guest does not build"; finish; }

# once WAY N [OPTION...]: result.N has output and status. Every other run is logged.
once()
{
	local way=$1 n=$2 log=()
	shift 2
	rm -f looked-for*
	((n % 2)) && log=(--log-events=events."$n")
	run "$hermit" run "${log[@]}" "$@" -- ./looks "$way" "$wait_ms"
	cat out err > "result.$n"
	echo "status $status" >> "result.$n"
}

# same_each_time WAY WHAT [OPTION...]
same_each_time()
{
	local way=$1 what=$2 n looks
	shift 2
	once "$way" 1 "$@"
	expect 0 "$what"
	looks=$(sed -n 's/^[a-z]*: \([0-9]*\) looks.*/\1/p' out)
	checks=$((checks + 1))
	[ "${looks:-$looks_most}" -lt "$looks_most" ] || fail "$what: takes $looks looks"
	for n in $(seq 2 "$runs"); do
		progress "$n" "$runs" "$what"
		[ "$n" -le $((runs / 2)) ] || start_load
		once "$way" "$n" "$@"
		checks=$((checks + 1))
		cmp -s result.1 "result.$n" || { cat result.1 "result.$n" > out; fail "$what: run $n gives something else"; }
		((n % 2)) || continue
		checks=$((checks + 1))
		cmp -s events.1 "events.$n" || { "$hermit" log-diff events.1 "events.$n" > out; fail "$what: run $n goes another way"; }
	done
	stop_load
}

for way in ${HERMIT_LOOKS:-$(./looks)}; do
	same_each_time "$way" "$way"
done
[ -n "${HERMIT_LOOKS:-}" ] || same_each_time several "several, in another order" --chaos --seed=3

# The control: natively it is chance how often one has to look.
for _ in 1 2; do
	./looks kill 50
done | sort -u > native
[ "$(wc -l < native)" = 2 ] || fail "natively the looks are the same each time: these tests show nothing"
finish
