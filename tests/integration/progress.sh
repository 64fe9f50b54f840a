#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A run that takes longer than two seconds says how far it is: on a terminal, on standard error, and nowhere else.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing

endless="-- sh -c 'while :; do [ -e /nowhere ]; done'"
line='[0-9]+ turns, [0-9.]+ s of virtual time, [0-9]+ turns/s'

# on_terminal COMMAND: with a terminal as standard error; what it shows is in $work/shown, escape sequences and all.
on_terminal()
{
	status=0
	timeout -s KILL "$(at_most 60)" script -qec "$1" /dev/null >"$work/shown" </dev/null || status=$?
}
shown() { grep -Eaq -- "$1" "$work/shown"; }

on_terminal "'$hermit' run --timeout=5 $endless >standard"
expect 124 "a long run"
ok "a long run: how far it is" shown "$line"
ok "a long run: one line, rewritten" shown "$(printf '\r\033\\[K')$line"
ok "a long run: nothing on standard output" [ ! -s standard ]
ok "a long run: the line is gone before the last message" shown "$(printf '\r\033\\[K')hermit: .*time limit"
on_terminal "'$hermit' run -q --timeout=5 $endless"
expect 124 "quiet"
ok "quiet: no line" [ "$(grep -Eac "$line" "$work/shown")" = 0 ]
begin=$(date +%s%N)
on_terminal "'$hermit' run -- true"
took=$((($(date +%s%N) - begin) / 1000000))
expect 0 "a short run"
if [ $took -lt 2000 ]; then
	ok "a short run: no line" [ ! -s "$work/shown" ]
else
	echo "a short run took $took ms here: it may have a line"
fi
on_terminal "'$hermit' run --timeout=5 $endless 2>errors"
ok "no terminal: no line" [ "$(grep -Eac "$line" "$work/shown" errors | grep -vc ':0$')" = 0 ]
on_terminal "'$hermit' run --verify=3 --timeout=5 $endless"
expect 125 "a verification without a result"
ok "a verification: which run it is" shown "run 1 of 3: $line"

# Short runs of a long verification: the line is there all the time that they take together.
on_terminal "'$hermit' run --verify=12 --pace=host -- sleep 0.4"
expect 0 "a verification of short runs"
ok "short runs: which run it is" shown "$(printf '\r\033\\[K')run [0-9]+ of 12: $line"
ok "short runs: the line is gone before the verdict" shown "$(printf '\r\033\\[K')verified: 12 runs"
on_terminal "'$hermit' run -q --verify=12 --pace=host -- sleep 0.4"
ok "short runs, quiet: no line" [ "$(grep -Eac "$line" "$work/shown")" = 0 ]

# The drivers of `make soak`: on a terminal, there or on descriptor 9; elsewhere a line now and then.
cat >soaking.sh <<'X'
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
for i in 1 2 3; do progress $i 3 "what is run"; done
ok "runs" true
finish
X
on_terminal "bash soaking.sh >'$work/soaked'"
expect 0 "a driver on a terminal"
ok "a driver: one line, rewritten" shown "$(printf '\r\033\\[K')soaking: run 2 of 3: what is run$(printf '\r')"
ok "a driver: nothing in its output" [ "$(cat soaked)" = "1 checks, 0 failed" ]
on_terminal "bash soaking.sh 9>&2 >'$work/soaked' 2>&1"
ok "a driver whose outputs go to a log" shown 'soaking: run 3 of 3'
ok "the same: nothing in the log" [ "$(cat soaked)" = "1 checks, 0 failed" ]
HERMIT_PROGRESS_SECONDS=0 run bash soaking.sh
expect_out "run 1 of 3: what is run
run 2 of 3: what is run
run 3 of 3: what is run
1 checks, 0 failed" "a driver without a terminal"
run bash soaking.sh
expect_out "1 checks, 0 failed" "a short driver without a terminal"
finish
