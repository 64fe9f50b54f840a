#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A run that takes longer than two seconds says how far it is: on a terminal, on standard error, and nowhere else.
. "$top_srcdir/tests/integration/lib.sh"

endless="-- sh -c 'while :; do [ -e /nowhere ]; done'"
line='[0-9]+ turns, [0-9.]+ s of virtual time, [0-9]+ turns/s'

# on_terminal COMMAND: with a terminal as standard error; what it shows is in $work/shown, escape sequences and all.
on_terminal()
{
	status=0
	timeout -s KILL 60 script -qec "$1" /dev/null >"$work/shown" </dev/null || status=$?
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
on_terminal "'$hermit' run -- true"
expect 0 "a short run"
ok "a short run: no line" [ ! -s "$work/shown" ]
on_terminal "'$hermit' run --timeout=5 $endless 2>errors"
ok "no terminal: no line" [ "$(grep -Eac "$line" "$work/shown" errors | grep -vc ':0$')" = 0 ]
on_terminal "'$hermit' run --verify=3 --timeout=5 $endless"
expect 125 "a verification without a result"
ok "a verification: which run it is" shown "run 1 of 3: $line"
finish
