#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The virtual machine, family by family: each guest of tests/guests/vm_*.c says the same in every run, half of them beside two busy loops. Its
# lines that begin with "=" are Linux's own words: they are the same without hermit. Its lines with "#" are hermit's decisions: without
# hermit they vary from run to run, the last one for certain (vm.h). Every other run is logged: the event logs are the same, too, and whether there
# is one makes no difference (but for a signal that is ignored and waits while a terminal is read: it takes time when there is no log).
# HERMIT_VM_RUNS says how often (4; the full dose is 20), HERMIT_VM_GUESTS which ones (all).
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
runs=${HERMIT_VM_RUNS:-4}
guests=$PWD/guests
mkdir "$guests" "$work/cwd"
# A run has niceness 0, whatever the caller's is: natively it is inherited.
renice -n 0 -p $$ >/dev/null 2>&1
[ "$(nice)" = 0 ] || { echo "skipped: the caller's niceness is $(nice), and may not be put back to 0"; exit 77; }

# hermit_run [OPTION...]: in a directory that is empty before each run
hermit_run()
{
	rm -rf "$work/run" && mkdir "$work/run" || exit 99
	status=0
	(cd "$work/run" && exec timeout -s KILL "$(at_most 120)" "$hermit" run -e VM_CALLS_REFUSED=1 --bind="$guests" "$@" -- "$guests/$name") \
		>"$work/out" 2>"$work/err" </dev/null || status=$?
}

# natively: once more without hermit: all that it says in natively.N, Linux's own words on standard output
natively()
{
	times=$((times + 1))
	(cd "$work/cwd" && timeout -s KILL "$(at_most 60)" "$guests/$name") >"$work/natively.$times" && linux_words "$work/natively.$times"
}

# alike FILE FILE WHAT
alike()
{
	checks=$((checks + 1))
	cmp -s "$1" "$2" && return
	diff "$1" "$2" | head -n 20
	fail "$3"
}

linux_words()
{
	grep '^[=!]' "$1"
}

for name in ${HERMIT_VM_GUESTS:-$(cd "$top_srcdir/tests/guests" && ls vm_*.c | sed 's/\.c$//')}; do
	cp "$top_builddir/tests/guests/$name" "$guests" || exit 99
	for ((i = 1; i <= runs; i++)); do
		[ "$i" -le $((runs / 2)) ] || start_load
		logged=$((i % 2))
		if ((logged)); then hermit_run --log-events="$work/log"; else hermit_run; fi
		expect 0 "$name, run $i"
		((i > 2)) || cp "$work/out" "$work/first.$logged"
		((i > 1)) || cp "$work/log" "$work/first.log"
		((!logged)) || alike "$work/first.log" "$work/log" "$name, run $i: the same events as in the first"
		[ "$name" = vm_terminal ] || logged=1
		alike "$work/first.$logged" "$work/out" "$name, run $i: the same as the first"
		checks=$((checks + 1))
		! grep -q '^hermit: uncontrolled' "$work/err" || fail "$name, run $i: something is not under control"
	done
	stop_load
	times=0
	linux_words "$work/first.1" >"$work/words"
	ok "$name: as Linux says it" natively_so "$work/words" natively
	[ "$times" -gt 1 ] || natively >/dev/null 2>"$work/err" </dev/null
	ok "$name: the control varies for certain" [ "$(tail -n 1 "$work/natively.1" | grep -c '^# pid [0-9]* draws [0-9a-f]*$')" = 1 ]
	checks=$((checks + 1))
	! cmp -s "$work/natively.1" "$work/natively.2" || fail "$name: without hermit two runs are alike, so the test shows nothing"
done
finish
