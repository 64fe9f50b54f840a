#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each kind of instruction fifty times; a million RDTSC.
HERMIT_INSN_RUNS=${HERMIT_INSN_RUNS:-50} "$top_srcdir/tests/integration/insn_run.sh" || exit
# shellcheck source=tests/integration/lib.sh
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
RUN_LIMIT=900
${CC##ccache } -O2 -o hot "$top_srcdir/tests/guests/insn_hot.c" || fail "hot does not build"
run "$hermit" run --summary -- ./hot
expect 0 "a million RDTSC"
grep 'real time' err
cp out first
run "$hermit" run -- ./hot
cmp -s first out || fail "a million RDTSC: two runs differ"
finish
