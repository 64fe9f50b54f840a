#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Commands of many runs that are killed leave temporary files, which the next one removes; not what others use, nor what was kept.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
export TMPDIR=$work/tmp
mkdir tmp here
cp "$top_builddir/tests/guests/leak" here/ || exit 99
cd here || exit 99

# until_true COMMAND...: a minute at most, and longer on a machine that others use, too
until_true()
{
	local i
	for ((i = 0; i < $(at_most 600); i++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

left() { find "$TMPDIR" -mindepth 1 -maxdepth 1 -name "${1:-*}"; }

has() { [ -n "$(left "$1")" ]; }

# Nobody has it any more: of those that are killed together with their supervisor, all are gone.
free()
{
	local dir
	for dir in "$TMPDIR"/hermit-*; do
		[ ! -e "$dir/.in-use" ] || flock -n "$dir/.in-use" true || return
	done
}

# The guest's word, which no kept one has: by then all directories are made and locked.
has_begun() { cat "$TMPDIR"/hermit-"$1"-*/{run*.stdout,stdout,runs/stdout} 2>/dev/null | grep -q '^begun$'; }

# kills NAME COMMAND...: kills it in mid-run, when a run has begun.
kills()
{
	local name=$1 pid
	shift
	"$@" --timeout=10000 -- sh -c 'echo begun; while :; do :; done' >"$work/out" 2>"$work/err" </dev/null &
	pid=$!
	ok "$name: a run has begun" until_true has_begun "$name"
	kill -KILL $pid
	wait $pid 2>/dev/null
	ok "$name: what a kill leaves is there" has "hermit-$name-*"
	ok "$name: nobody uses it" until_true free
}

command -v flock >/dev/null || { echo "skipped: needs flock of util-linux"; exit 77; }
run "$hermit" run --verify=30 --tsc=replace -- ./leak byte
expect 123 "runs that differ"
kept=$(left | sort)
ok "runs that differ: two directories are kept" [ "$(wc -l <<<"$kept")" = 2 ]

for command in "verify run --verify" "chaos chaos --runs=4 --jobs=2" "ci ci --artifacts=$work/artifacts"; do
	# shellcheck disable=SC2086 # words
	set -- $command
	name=$1
	shift
	kills "$name" "$hermit" "$@"
	# one that goes on meanwhile
	mkdir "$TMPDIR/hermit-other-1" && : >"$TMPDIR/hermit-other-1/.in-use"
	exec 7<"$TMPDIR/hermit-other-1/.in-use"
	flock 7
	run "$hermit" run --verify -- true
	expect 0 "$name: the next one"
	ok "$name: what was left is removed, what is used and what was kept is not" [ "$(left | grep -v hermit-other | sort)" = "$kept" ]
	ok "$name: what is used is not" [ -e "$TMPDIR/hermit-other-1" ]
	exec 7<&-
	rm -r "$TMPDIR/hermit-other-1"
done
finish
