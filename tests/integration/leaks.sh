#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The known kinds of leak (tests/integration/leaks.list), asked for by the programs that people ask with: each says the same in every run, half of
# the runs beside two busy loops, from callers that differ. Without hermit those that can vary on one host do vary.
# HERMIT_LEAK_RUNS says how often (2; the full dose is 20).
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
runs=${HERMIT_LEAK_RUNS:-2}
list=$top_srcdir/tests/integration/leaks.list
command -v python3 >/dev/null || {
	echo "needs python3"
	exit 77
}

# One script for all: what a command says stands between lines with its number; each has a directory of its own.
mkdir "$work/guest"
{
	echo 'cd "$(mktemp -d /tmp/leaks.XXXXXX)" || exit 1'
	n=0
	grep -v '^#' "$list" | while read -r number _ command; do
		n=$((n + 1))
		printf 'echo; echo "== %s.%s"; (mkdir %s && cd %s && { %s; } 2>&1)\n' "$number" "$n" "$n" "$n" "$command"
	done
	echo 'rm -r "$PWD"; true'
} >"$work/guest/script"

# The callers differ in what must not show.
hermit_run()
{
	(
		if [ $((i % 2)) = 0 ]; then
			export SOMETHING=$RANDOM LANG=xx_XX TZ=Asia/Tokyo
			umask 027
			ulimit -n 500
			exec 7</dev/null
		fi
		exec timeout -s KILL "$(at_most 200)" "$hermit" run --bind="$work/guest" --workdir=/tmp -- sh "$work/guest/script" 2>"$work/err" </dev/null
	) | cat >"$work/out"
	status=${PIPESTATUS[0]}
}

# part NUMBER.N FILE: what this command said
part()
{
	awk -v want="== $1" '/^== / { on = $0 == want } on' "$2"
}

for ((i = 1; i <= runs; i++)); do
	[ "$i" -le $((runs / 2)) ] || start_load
	hermit_run
	expect 0 "run $i"
	[ "$i" != 1 ] || cp "$work/out" "$work/first"
	checks=$((checks + 1))
	if ! cmp -s "$work/first" "$work/out"; then
		diff "$work/first" "$work/out" | head -n 20
		fail "run $i: not the same as the first"
	fi
	checks=$((checks + 1))
	! grep 'not modelled: /' "$work/err" || fail "run $i: files that nobody models"
done
stop_load

# The control. Between its two runs time passes, and files come into being: counters that the kernel has of such differ on the calmest machine.
for i in 1 2; do
	[ $i = 1 ] || { sleep 1 && mkdir "$work/between" && (cd "$work/between" && seq 300 | xargs touch); }
	timeout -s KILL "$(at_most 100)" sh "$work/guest/script" >"$work/native.$i" 2>/dev/null </dev/null
done
n=0
while read -r number kind command; do
	n=$((n + 1))
	checks=$((checks + 1))
	[ "$(part "$number.$n" "$work/first" | grep -c .)" -gt 1 ] || fail "$number ($command): says nothing"
	[ "$kind" = varies ] || continue
	checks=$((checks + 1))
	[ "$(part "$number.$n" "$work/native.1")" != "$(part "$number.$n" "$work/native.2")" ] ||
		fail "$number ($command): without hermit two runs are alike, so it shows nothing"
done < <(grep -v '^#' "$list")
finish
