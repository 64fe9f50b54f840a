#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tests/README.md: each behaviour has one row, each test that a row names exists, and a row without a test says why.
set -e
readme=$top_srcdir/tests/README.md
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
		[ -n "$state" ] && [ "$state" != done ]
	else
		[ -e "$top_srcdir/$test" ]
	fi || {
		echo "behaviour $id: '$test' does not exist, or nothing is said"
		wrong=1
	}
done <<END
$rows
END
exit $wrong
