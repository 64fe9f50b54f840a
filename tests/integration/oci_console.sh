#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Terminals: over a console socket, for create and exec, and without one in the foreground.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

# receive NAME: a receiver at the socket NAME.sock; what comes is in NAME.tty, what is written to NAME.keys is typed.
receive()
{
	rm -f "$1.sock" "$1.keys"
	mkfifo "$1.keys"
	"$top_builddir/tests/integration/recvtty" "$1.sock" <"$1.keys" >"$1.tty" 2>&1 &
	exec 7>"$1.keys"
	until_true [ -S "$1.sock" ]
}

shows()
{
	until_true grep -q "$2" "$1.tty"
	ok "$3" grep -q "$2" "$1.tty"
}

bundle term 'tty; test -c /dev/console && echo console; trap "echo got int" INT; stty size; echo ready; while :; do read x && echo "[$x]"; done' \
	'.process.terminal = true'
run rt create --bundle term t
expect 1 "a terminal without a socket"
expect_err_has 'without a console socket' "a terminal without a socket"
receive one
run rt create --bundle term --console-socket one.sock t
expect 0 "create with a console socket"
shows one '^name=/dev/ptmx' "the message has a name"
run rt start t
expect 0 "start"
shows one '^/dev/pts/0' "the terminal's name inside"
shows one '^console' "/dev/console is there"
shows one '^30 90' "its size"
shows one '^ready' "output"
echo words >&7
shows one '^\[words\]' "input"
printf '\003' >&7
shows one 'got int' "Ctrl-C is a signal inside"
echo more >&7
shows one '^\[more\]' "after Ctrl-C"
bundle dev 'tty; (: >/dev/x) 2>/dev/null || echo read-only' '.process.terminal = true | .mounts |= map(if .destination == "/dev" then .options += ["ro"] else . end)'
run rt run --bundle dev dev
expect 0 "a terminal below a read-only /dev"
ok "a terminal below a read-only /dev: it is so" grep -q read-only out
# exec with a terminal of its own
exec 7>&-
receive two
run rt exec --tty --detach --console-socket two.sock --pid-file exec.pid t /bin/sh -c 'tty; read x; stty size; read x; echo "<$x>"'
expect 0 "exec with a console socket"
shows two '^/dev/pts/1' "exec: the terminal's name"
echo >&7 # now: the receiver sets the size when it has the terminal, and an exec waits for nobody
shows two '^30 90' "exec: its size"
echo typed >&7
shows two '^<typed>' "exec: input"
run rt exec t /bin/sh -c 'test -c /dev/console && grep -c " /dev/console " /proc/self/mountinfo'
expect_out 1 "exec: /dev/console stays the first process's"
until_true is_gone "$(cat exec.pid)"
run rt exec --detach --tty t /bin/true
expect 255 "exec: a terminal without a socket"
run rt kill t KILL
until_true status_is t stopped
run rt delete t
expect 0 "delete"
bundle plain 'true'
run rt create --bundle plain --console-socket two.sock p
expect 1 "a socket without a terminal"
# in the foreground the runtime relays, here between files
bundle fore 'tty; read x; echo "[$x]"; exit 4' '.process.terminal = true'
status=0
echo hello | timeout "$(at_most 60)" rt run --bundle fore f >out 2>err || status=$?
expect 4 "run with a terminal: exit status"
ok "run with a terminal: output" grep -q '^\[hello\]' out
ok "run with a terminal: it is one" grep -q '^/dev/pts/0' out
finish
