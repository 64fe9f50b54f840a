#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The main job: each case of tests/same gives the same output, exit status and files in each of its runs, half of them beside
# busy loops; and without hermit it varies. HERMIT_SAME_RUNS says how often (4), HERMIT_SAME_CASES which ones (all that are not
# marked "# soak"; "all" means those too), HERMIT_SAME_KEEP a directory for the results of cases that fail.
#
# A case is a script for sh; exit status 77 skips it. Lines of its head: "# needs: PROGRAM..." (otherwise it is skipped, and that is
# said), "# prepare: COMMAND" (run natively before, in the directory $prepared; $source is tests/same; status 77 skips),
# "# status: N" (0), "# limit: SECONDS" (120, which other work of the machine may make longer: lib.sh), "# soak" (too long for every day), "# natively the same: WHY" (no
# control), "# options: OPTION..." (of hermit run).
# shellcheck disable=SC2046,SC2086,SC2010 # lists of words
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
chmod 711 "$work" # cases that are not root
export source=$top_srcdir/tests/same
runs=${HERMIT_SAME_RUNS:-4}
skipped=0

head_line()
{
	sed -n "s/^# $1: //p" "$source/$name.case"
}

missing()
{
	local program
	for program in $(head_line needs); do
		command -v "$program" >/dev/null || echo "$program"
	done
}

skip()
{
	skipped=$((skipped + 1))
	echo "$name: not run: $*"
}

# Without hermit, in namespaces of its own so that ports are free and nothing is left behind.
isolated()
{
	local map=
	[ "$(id -u)" = 0 ] || map=-r
	# shellcheck disable=SC2016,SC2086 # the inner shell's; an option or nothing
	timeout -s KILL "$limit" unshare $map -n -m -p -f --mount-proc --kill-child \
		sh -c 'ip link set lo up; exec "$@"' sh "$@"
}

prepare()
{
	local command
	export prepared=$work/$name/prepared
	mkdir -p "$prepared"
	command=$(head_line prepare)
	[ -z "$command" ] || (cd "$prepared" && eval "$command") >"$work/out" 2>"$work/err"
}

# once N [native]: one run in a fresh directory of a name that is always the same; what came out goes to result.N.
once()
{
	local n=$1 result=$work/$name/result.$1
	mkdir "$work/$name/here" "$result"
	cd "$work/$name/here" || exit 99
	status=0
	if [ "${2-}" = native ]; then
		isolated env -i PATH="$PATH" prepared="$prepared" source="$source" sh "$source/$name.case" >"$result/out" 2>"$result/err" </dev/null
	else
		timeout -s KILL "$limit" "$hermit" run --base-env=minimal -e prepared -e source --bind="$prepared" $(head_line options) \
			-- sh "$source/$name.case" >"$result/out" 2>"$result/err" </dev/null
	fi || status=$?
	echo "$status" >"$result/status"
	cd "$work/$name" || exit 99
	mv here "$result/files"
}

# What a program does natively differs each time, or its runs under hermit would show nothing.
check_control()
{
	[ -z "$(head_line 'natively the same')" ] || return 0
	if ! isolated true 2>/dev/null; then
		echo "$name: no control: unshare is not possible here"
		return
	fi
	once native1 native
	once native2 native
	checks=$((checks + 1))
	! diff -r --no-dereference "$work/$name/result.native1" "$work/$name/result.native2" >/dev/null 2>&1 ||
		fail "$name: is the same without hermit"
}

keep()
{
	[ -z "${HERMIT_SAME_KEEP-}" ] || { mkdir -p "$HERMIT_SAME_KEEP" && cp -a "$work/$name" "$HERMIT_SAME_KEEP"; }
}

check_case()
{
	local n wanted first=$work/$name/result.1
	checks=$((checks + 1))
	for n in $(seq 2 "$runs"); do
		if ! diff -r --no-dereference "$first" "$work/$name/result.$n" >"$work/long" 2>&1; then
			cut -c1-160 "$work/long" >"$work/out"
			cp "$work/$name/result.$n/err" "$work/err" # the supervisor's words, when it ended it
			fail "$name: run $n (status $(cat "$work/$name/result.$n/status")) differs from run 1"
			keep
			return
		fi
	done
	checks=$((checks + 1))
	wanted=$(head_line status)
	if [ "$(cat "$first/status")" != "${wanted:-0}" ] || [ ! -s "$first/out" ] || grep -q '^hermit: ' "$first/err"; then
		cp "$first/out" "$first/err" "$work"
		fail "$name: status $(cat "$first/status") instead of ${wanted:-0}, or no output, or something that was not under control"
		keep
	fi
}


cases()
{
	local all
	all=$(cd "$source" && echo *.case)
	case ${HERMIT_SAME_CASES-} in
	'') (cd "$source" && grep -L '^# soak' $all) ;;
	all) echo $all ;;
	*) echo $HERMIT_SAME_CASES ;;
	esac | sed 's/\.case//g'
}

for name in $(cases); do
	limit=$(head_line limit)
	limit=$(at_most "${limit:-120}")
	lacks=$(missing)
	if [ -n "$lacks" ]; then
		skip "it needs" $lacks
		continue
	fi
	status=0
	prepare || status=$?
	if [ $status = 77 ]; then
		skip "its preparation is not possible here"
		continue
	elif [ $status != 0 ]; then
		fail "$name: the preparation failed"
		continue
	fi
	for n in $(seq "$runs"); do
		[ "$n" -le $((runs / 2)) ] || start_load
		progress "$n" "$runs" "$name"
		once "$n"
		[ "$status" != 77 ] || break
	done
	stop_load
	if [ "$status" = 77 ]; then
		skip "status 77"
	else
		check_case
		check_control
		printf '%s: status %s\n' "$name" "$(cat "$work/$name/result.1/status")"
		sed -n 's/^hermit: /    &/p' "$work/$name/result.1/err"
	fi
	rm -rf "${work:?}/$name"
done
[ "$skipped" = 0 ] || echo "$skipped cases not run"
finish
