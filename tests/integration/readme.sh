#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tests/README.md: each behaviour has one row, each test that a row names exists, and a row without a test says why.
set -e
readme=$top_srcdir/tests/README.md
work=$(mktemp -d "${TMPDIR:-/tmp}/hermit-readme.XXXXXX")
trap 'rm -rf "$work"' EXIT
rows=$(sed -n 's/^| \([0-9][0-9]*\) | \([^|]*\) | \(.*\) |$/\1 \2 \3/p' "$readme")
wrong=0
for id in $(seq 1 140) $(seq 146 175); do
	[ "$(printf '%s\n' "$rows" | grep -c "^$id ")" = 1 ] || {
		echo "behaviour $id has not one row"
		wrong=1
	}
done
while read -r id test state; do
	if [ "$test" = - ]; then
		[ -n "$state" ] && [ "$state" != "done" ]
	else
		[ -e "$top_srcdir/$test" ]
	fi || {
		echo "behaviour $id: '$test' does not exist, or nothing is said"
		wrong=1
	}
done <<END
$rows
END
# The promises of the routes: the same rows as in the manual, and tests that exist.
sed -n '/^\.It Sy promise/,/^\.El/s/^\.It \(.*\) Ta .* Ta .* Ta .*$/\1/p' "$top_srcdir/man/hermit-supervisor.1" |
	sed -e '/^Sy promise/d' -e 's/^Pa \(.*\) No /\1 /' >"$work/told"
sed -n '/^| promise |/,/^$/s/^| \([^|]*\) | .*/\1/p' "$readme" | sed -e '/^promise$/d' -e '/^---$/d' >"$work/shown"
cmp "$work/told" "$work/shown" || {
	echo "promises of routes: the manual's are not those of $readme"
	wrong=1
}
[ -s "$work/told" ] || wrong=1
for test in $(sed -n '/^| promise |/,/^$/p' "$readme" | grep -o 'tests/[a-z_/]*\.[a-z]*'); do
	[ -e "$top_srcdir/$test" ] || {
		echo "promises of routes: '$test' does not exist"
		wrong=1
	}
done
exit $wrong
