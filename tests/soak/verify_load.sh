#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Equal runs while all processors are busy with something else: HERMIT_VERIFY_RUNS says how many (200).
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
runs=${HERMIT_VERIFY_RUNS:-200}
cp "$top_builddir/tests/guests/steady" . || exit 99
load=
for _ in $(seq "$(($(nproc) * 2))"); do
	while :; do :; done &
	load="$load $!"
done
# shellcheck disable=SC2086 # numbers
trap 'kill $load 2>/dev/null; rm -rf "$work"' EXIT
: >runs.log
timeout -s KILL 3000 "$hermit" run -q --log=info --log-file=runs.log --verify="$runs" --verify-json=verdict.json -- ./steady >out 2>err </dev/null &
verification=$!
while kill -0 $verification 2>/dev/null; do
	progress "$(grep -c 'info: run [0-9]* of' runs.log)" "$runs"
	sleep 1
done
status=0
wait $verification || status=$?
expect 0 "$runs equal runs under load"
ok "$runs runs" [ "$(jq -r '.verdict, .runs' verdict.json | xargs)" = "equal $runs" ]
finish
