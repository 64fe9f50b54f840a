#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The main job: each case of tests/same gives the same output, exit status and files in each of its runs, half of them beside
# busy loops. HERMIT_SAME_RUNS says how often (4), HERMIT_SAME_CASES which ones (all).
#
# A case is a script for sh. Lines of its head: "# needs: PROGRAM..." (otherwise it is skipped, and that is said),
# "# prepare: COMMAND" (run natively before, in the directory $prepared; $source is tests/same), "# options: OPTION..." (of hermit run).
. "$top_srcdir/tests/integration/lib.sh"
export source=$top_srcdir/tests/same
runs=${HERMIT_SAME_RUNS:-4}
loops=
skipped=

start_load()
{
	while :; do :; done &
	loops=$!
	while :; do :; done &
	loops="$loops $!"
}

stop_load()
{
	# shellcheck disable=SC2086 # two numbers
	[ -z "$loops" ] || kill $loops
	loops=
}
trap 'stop_load; rm -rf "$work"' EXIT

missing()
{
	local program
	for program in $(sed -n 's/^# needs: //p' "$1"); do
		command -v "$program" >/dev/null || echo "$program"
	done
}

prepare()
{
	local command
	export prepared=$work/$name/prepared
	mkdir -p "$prepared"
	command=$(sed -n 's/^# prepare: //p' "$1")
	[ -z "$command" ] || (cd "$prepared" && eval "$command") >"$work/out" 2>"$work/err"
}

# once N: one run in a fresh directory of a name that is always the same; what came out goes to result.N.
once()
{
	local n=$1 result=$work/$name/result.$1
	mkdir "$work/$name/here" "$result"
	cd "$work/$name/here" || exit 99
	status=0
	# shellcheck disable=SC2046 # words
	timeout -s KILL 120 "$hermit" run --base-env=minimal -e prepared -e source --bind="$prepared" \
		$(sed -n 's/^# options: //p' "$source/$name.case") \
		-- sh "$source/$name.case" >"$result/out" 2>"$result/err" </dev/null || status=$?
	echo "$status" >"$result/status"
	cd "$work/$name" || exit 99
	mv here "$result/files"
}

# A shell killed by the time limit gives 137: no case may end like that.
check_case()
{
	local n first=$work/$name/result.1
	checks=$((checks + 1))
	for n in $(seq 2 "$runs"); do
		if ! diff -r "$first" "$work/$name/result.$n" >"$work/out" 2>"$work/err"; then
			fail "$name: run $n differs from run 1"
			return
		fi
	done
	checks=$((checks + 1))
	if [ "$(cat "$first/status")" = 137 ] || [ ! -s "$first/out" ]; then
		cp "$first/out" "$first/err" "$work"
		fail "$name: status $(cat "$first/status"), or no output"
	fi
}

# shellcheck disable=SC2046,SC2086 # lists of words
for name in ${HERMIT_SAME_CASES:-$(cd "$source" && ls *.case | sed 's/\.case$//')}; do
	if [ -n "$(missing "$source/$name.case")" ]; then
		skipped="$skipped $name"
		continue
	fi
	if ! prepare "$source/$name.case"; then
		fail "$name: the preparation failed"
		continue
	fi
	for n in $(seq "$runs"); do
		[ "$n" -ne $((runs / 2 + 1)) ] || start_load
		once "$n"
	done
	stop_load
	check_case
	printf '%s: status %s\n' "$name" "$(cat "$work/$name/result.1/status")"
	sed -n 's/^hermit: /    &/p' "$work/$name/result.1/err"
	rm -rf "${work:?}/$name"
done
[ -z "$skipped" ] || echo "not run, for lack of their programs:$skipped"
finish
