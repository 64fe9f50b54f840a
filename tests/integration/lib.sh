# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the drivers of hermit share: a private directory that is removed at the end, checks that count, one closing line.
# Usage:  . "$top_srcdir/tests/integration/lib.sh"  ...checks...  finish
set -u
hermit=$top_builddir/hermit
work=$(mktemp -d "${TMPDIR:-/tmp}/hermit-test.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
checks=0
failures=0

# fail WHAT: counts and says what went wrong, with the last run's output.
fail()
{
	failures=$((failures + 1))
	printf 'FAIL: %s\n' "$*"
	sed 's/^/    out: /' "$work/out" 2>/dev/null | tail -n 20
	sed 's/^/    err: /' "$work/err" 2>/dev/null | tail -n 20
}

# at_most SECONDS: how long something may take that is done in so many seconds, at the very most, on a machine that does nothing else: five times that,
# since others may use the machine, too. A build with sanitizers sets another HERMIT_TEST_SLOWNESS, and so can who has a slow machine.
at_most()
{
	echo $(($1 * ${HERMIT_TEST_SLOWNESS:-5}))
}

# run COMMAND...: its output in $work/out and $work/err, its exit status in $status. A hang ends with 137.
run()
{
	status=0
	timeout -s KILL "$(at_most "${RUN_LIMIT:-60}")" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# expect STATUS WHAT: the exit status of the last run.
expect()
{
	checks=$((checks + 1))
	[ "$status" = "$1" ] || fail "$2: exit status $status, not $1"
}

# expect_out TEXT WHAT, expect_err TEXT WHAT: exact output of the last run.
expect_out()
{
	checks=$((checks + 1))
	[ "$(cat "$work/out")" = "$1" ] || fail "$2: standard output is not '$1'"
}

expect_err()
{
	checks=$((checks + 1))
	[ "$(cat "$work/err")" = "$1" ] || fail "$2: standard error is not '$1'"
}

# expect_err_has PATTERN WHAT: an extended regular expression in the last run's standard error.
expect_err_has()
{
	checks=$((checks + 1))
	grep -Eq -- "$1" "$work/err" || fail "$2: nothing like '$1' on standard error"
}

# ok WHAT COMMAND...: the command succeeds.
ok()
{
	local what=$1
	shift
	checks=$((checks + 1))
	"$@" || fail "$what"
}

# natively_so FILE COMMAND...: the command, which has nothing to do with hermit, says what is in the file. On a busy machine Linux may say it in more
# than one way, since its own threads carry packets and whoever sleeps is late: what hermit says has to be one of them, so one of five times is enough.
# A hang is no excuse. The last time's output is in $work/native.
natively_so()
{
	local file=$1 time ended
	shift
	for time in 1 2 3 4 5; do
		ended=0
		"$@" >"$work/native" 2>"$work/err" </dev/null || ended=$?
		if [ $ended = 0 ] && cmp -s "$file" "$work/native"; then
			[ $time = 1 ] || printf 'natively so at time %s: %s\n' $time "$*"
			return 0
		fi
		[ $ended -lt 128 ] || break
	done
	printf 'natively, exit status %s:\n' $ended
	diff "$file" "$work/native" | head -n 20
	return 1
}

# progress K N [WHAT]: how far a long driver is. On a terminal one line that is rewritten, and wiped by the last run; elsewhere, as in the log of a
# test, a line every HERMIT_PROGRESS_SECONDS (60). The terminal is standard error, or descriptor 9, where `make soak` keeps it.
progress_fd=
progress_said=$SECONDS
if [ -t 2 ]; then
	progress_fd=2
elif [ -t 9 ]; then
	progress_fd=9
fi
progress()
{
	if [ -n "$progress_fd" ]; then
		printf '\r\033[K%s: run %s of %s%s' "$(basename "$0" .sh)" "$1" "$2" "${3:+: $3}" >&"$progress_fd"
		[ "$1" != "$2" ] || printf '\r\033[K' >&"$progress_fd"
	elif [ $((SECONDS - progress_said)) -ge "${HERMIT_PROGRESS_SECONDS:-60}" ]; then
		progress_said=$SECONDS
		printf 'run %s of %s%s\n' "$1" "$2" "${3:+: $3}"
	fi
}

finish()
{
	printf '%d checks, %d failed\n' "$checks" "$failures"
	[ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
	exit
}
