#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 200 equal runs while all processors are busy with something else.
. "$top_srcdir/tests/integration/lib.sh"
RUN_LIMIT=3000
cp "$top_builddir/tests/guests/steady" . || exit 99
for _ in $(seq "$(($(nproc) * 2))"); do
	(while :; do :; done) &
done
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
run "$hermit" run -q --verify=200 --verify-json=verdict.json -- ./steady
expect 0 "200 equal runs under load"
ok "200 runs" [ "$(jq -r '.verdict, .runs' verdict.json | xargs)" = "equal 200" ]
finish
