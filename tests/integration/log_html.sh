#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The timeline page in a headless Chromium.
for program in chromium chromedriver python3; do
	if ! command -v $program >/dev/null; then
		echo "SKIP: $program is not installed"
		exit 77
	fi
done
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
cp "$top_builddir/tests/guests/steady" . || exit 99
run "$hermit" run -q --log-events=log -- ./steady
expect 0 "run"
run "$hermit" log-export --format=html --title='steady <&> "threads"' -o page.html log
expect 0 "export"
events=$(jq -s 'map(select(.kind as $k | ["header", "check", "end", "choice"] | index($k) | not)) | length' log)
threads=$(jq -s 'map(select(.kind != "header" and .kind != "check" and .kind != "end") | .thread) | unique | length' log)
run env HOME="$work" python3 "$top_srcdir/tests/integration/log_html.py" "$work/page.html" "$events" "$threads" "${SCREENSHOT:-$work/page.png}"
cat out
expect 0 "the page works"
ok "a picture was taken" [ -s "${SCREENSHOT:-$work/page.png}" ]
finish
