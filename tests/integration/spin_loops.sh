#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The spin detector on real loops: one that only waits is found, at the same point whenever it is stopped; one that counts is not.
# shellcheck source=tests/integration/lib.sh
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
trace=$top_builddir/tests/support/spin_trace
guest=$work/spin_loops
# shellcheck disable=SC2086
$CC -O2 -pthread -o "$guest" "$top_srcdir/tests/guests/spin_loops.c" || fail "the guest does not build"

for loop in flag flag-pause handler test-and-set compare-and-swap ticket spinlock call nested float restoring forever; do
	: > places
	for microseconds in 0 313 1777 5003 20011; do
		run "$trace" $microseconds "$guest" $loop
		expect 0 "$loop"
		cat out >> places
	done
	[ "$(sort -u places | wc -l)" = 1 ] || { cp places out; fail "$loop: not always the same point"; }
	grep -q '^found [1-9][0-9]* 0x' places || fail "$loop: not found"
done
for loop in counter memory-counter vector-counter; do
	for microseconds in 0 5003; do
		run "$trace" $microseconds "$guest" $loop
		expect 0 "$loop"
		expect_out 'given up' "$loop, which counts"
	done
done
# The shortest there is: a jump to itself.
run "$trace" 1000 "$guest" forever
grep -q '^found 1 ' out || fail "a jump to itself is one instruction"
finish
