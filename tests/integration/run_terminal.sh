#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Terminals: the caller's as it is, and one of the guest's own.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing

# Nobody types: an end of input would itself be a character.
mkfifo "$work/typed"
exec 8<>"$work/typed"

# on_terminal COMMAND: runs it with a terminal as standard input, output and error; the terminal's text is in $work/out.
on_terminal()
{
	status=0
	timeout -s KILL "$(at_most 60)" script -qec "$1" /dev/null >"$work/raw" <&8 || status=$?
	tr -d '\r' <"$work/raw" >"$work/out"
	: >"$work/err"
}

on_terminal "stty rows 33 cols 77; '$hermit' run -q -t -- sh -c 'test -t 0 && test -t 1 && test -t 2 && tty && stty size'"
expect 0 "a terminal of its own"
expect_out "/dev/pts/0
33 77" "its name and its size"

on_terminal "'$hermit' run -q -t -- sh -c 'ps -o tty= -p \$\$; exit 9'"
expect 9 "exit status through a terminal"
expect_out "pts/0" "it is the controlling terminal"

on_terminal "stty -g >before; '$hermit' run -q -t -- sh -c 'stty raw -echo'; stty -g >after"
ok "the caller's terminal is as it was: own terminal" cmp -s before after
on_terminal "stty -g >before; '$hermit' run -q -- sh -c 'stty raw -echo; stty -a >inside'; stty -g >after"
ok "the caller's terminal is as it was: the guest changed it" cmp -s before after
ok "the guest could change it" grep -q -- '-echo ' inside

on_terminal "'$hermit' run -q -t -- sh -c 'kill -SEGV \$\$'"
expect 139 "death by signal on a terminal"
# Killed when it has changed the caller's terminal; who gives that its mode back lives a moment longer.
cat >killed.sh <<'X'
becomes()
{
	i=0
	until [ "$(stty -g)" "$1" "$(cat before)" ] || [ $i = 3000 ]; do
		sleep 0.1
		i=$((i + 1))
	done
}
stty -g >before
exec 3<&0 # what runs in the background has no input of its own accord
"$1" run -q -t -- sh -c 'echo $$; while :; do :; done' <&3 &
becomes !=
stty -g >meanwhile
kill -9 $!
wait
becomes =
stty -g >after
X
on_terminal "sh killed.sh '$hermit'"
ok "the caller's terminal is changed meanwhile" sh -c '! cmp -s before meanwhile'
ok "the caller's terminal is as it was: kill -9" cmp -s before after

# Short lines into a terminal that is full: nobody may sleep in the kernel.
for size in 30 66 120; do
	RUN_LIMIT=300 run "$hermit" run --strict -- script -qec "yes $(printf '%*s' $((size - 1)) '' | tr ' ' z) | head -n 2000 | while read -r line; do echo \$line; done" /dev/null
	expect 0 "lines of $size under --strict"
	ok "all of the lines of $size are there" [ "$(tr -d '\r' <out | grep -c "^zzz")" = 2000 ]
done

on_terminal "TERM=vt100 '$hermit' run -q env"
ok "TERM is handed on to a program on a terminal" grep -qx TERM=vt100 out
finish
