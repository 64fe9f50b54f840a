#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The agent as the systemd units start it: the socket is handed over, and stays when the agent ends, so that who connects meanwhile is served by the
# next one; what it refuses; its metrics, all of which the manual names. Containers are in agent.sh and podman.sh.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
supervisor=$top_builddir/hermit-supervisor
command -v python3 >/dev/null || { echo "skipped: needs python3 to hand a socket over"; exit 77; }
activator=
agent=
trap 'kill $agent $activator 2>/dev/null; wait; rm -rf "$work"' EXIT

# What systemd does (sd_listen_fds(3)): the socket is descriptor 3, LISTEN_PID is the process that is executed. It keeps the socket, starts an
# agent for each line that comes, and says its number.
cat >activator.py <<'END'
import os, socket, sys
path, program, directory = sys.argv[1:4]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(8)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        env = dict(os.environ, LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        os.execve(program, [program, "agent", "--directory=" + directory], env)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
END
mkfifo orders answers
python3 activator.py "$work/socket" "$supervisor" "$work/reports" <orders >answers 2>activator.err &
activator=$!
exec 7>orders 8<answers

# A stranger that says nothing a runtime would say.
stranger()
{
	python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"hello"); s.close()' "$work/socket"
}

# equal WANTED GOT WHAT
equal()
{
	ok "$3: '$2', not '$1'" [ "$1" = "$2" ]
}

metric()
{
	sed -n "s/^hermit_agent_$1 //p" reports/metrics.prom 2>/dev/null
}

# becomes NAME VALUE: waits for it, a minute at most.
becomes()
{
	local i value
	for ((i = 0; i < $(at_most 600); i++)); do
		value=$(metric "$1")
		[ "$value" = "$2" ] && break
		sleep 0.1
	done
	equal "$2" "$value" "$1"
}

for round in 1 2; do
	# the second agent finds the one that came while there was none
	[ $round = 1 ] || stranger
	# what is read below must be this agent's, not what the last one left
	rm -f reports/metrics.prom
	echo start >&7
	read -r agent <&8
	[ $round = 2 ] || stranger
	becomes connections_total 1
	becomes failed_total 1
	becomes running 0
	state='{"ociVersion": "1.0.2", "id": "c1", "status": "created", "pid": 1, "bundle": "/b", "annotations": {"org.hermit.deterministic": "true"}}'
	status=0
	echo "$state" | timeout "$(at_most 60)" "$supervisor" hook createRuntime --socket="$work/socket" --directory="$work/reports" >out 2>err || status=$?
	expect 0 "round $round: the hook finds the agent at the socket"
	kill "$agent"
	read -r code <&8
	equal 0 "$code" "round $round: the agent ends well"
	ok "round $round: the socket is the unit's, and stays" [ -S socket ]
done

# A runtime that has connected, and has not said anything yet, when the agent is told to end: it has no container that could have failed.
rm -f reports/metrics.prom
echo start >&7
read -r agent <&8
mkfifo silence
python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(1), flush=True)' "$work/socket" >silence &
exec 9<silence
becomes running 1
kill "$agent"
read -r code <&8
equal 0 "$code" "silence: the agent ends well"
read -r -t "$(at_most 60)" said <&9
equal "b''" "$said" "silence: the runtime is told"
exec 9<&-
becomes running 0
equal "0 0 0" "$(metric connections_total) $(metric ended_total) $(metric failed_total)" "silence: nothing is counted"
ok "silence: nothing is said" [ "$(grep -c 'was killed by signal' activator.err)" = 0 ]

exec 7>&- 8<&-
wait "$activator"
activator='' agent=''

run "$supervisor" agent --directory="$work/reports"
expect 125 "no socket at all"
expect_err_has 'listen is missing, and no socket was handed over' "no socket at all"
run env LISTEN_PID=1 LISTEN_FDS=1 "$supervisor" agent --directory="$work/reports"
expect 125 "a socket for another process"
# shellcheck disable=SC2016
run sh -c 'LISTEN_FDS=2 LISTEN_PID=$$ exec "$0" agent --directory="$1"' "$supervisor" "$work/reports"
expect 125 "more sockets than one"
expect_err_has 'no socket was handed over' "more sockets than one"

# The text format of Prometheus: HELP, TYPE, value; the manual names them all, and no others.
ok "metrics: form" sh -c '! grep -vqE "^# HELP hermit_agent_[a-z_]+ [A-Z].*\.$|^# TYPE hermit_agent_[a-z_]+ (counter|gauge)$|^hermit_agent_[a-z_]+ [0-9]+$" reports/metrics.prom'
ok "metrics: counters are called so" sh -c '! grep "^# TYPE" reports/metrics.prom | grep -v "_total counter$\|_running gauge$"'
sed -n 's/^\(hermit_agent_[a-z_]*\) .*/\1/p' reports/metrics.prom | sort >made
sed -n 's/^\.It Li \(hermit_agent_[a-z_]*\)$/\1/p' "$top_srcdir/man/hermit-supervisor.1" | sort >told
ok "metrics: the manual names them" cmp made told
equal 9 "$(wc -l <made)" "metrics: all of them"
unit=$top_builddir/contrib/systemd/hermit-agent.service
ok "unit: started with the socket" grep -q '^Requires=hermit-agent.socket$' "$unit"
ok "unit: the agent takes it over" sh -c 'grep "^ExecStart=" "$1" | grep "hermit-supervisor agent" | grep -qv -- --listen' sh "$unit"
socket=$(sed -n 's/^ListenStream=//p' "$top_srcdir/contrib/systemd/hermit-agent.socket")
ok "unit: the socket is where the hook looks" sh -c '"$1" hook --help | grep -qF "$2"' sh "$supervisor" "$socket"
if command -v systemd-analyze >/dev/null; then
	sed "s|^ExecStart=[^ ]*|ExecStart=$supervisor|" "$unit" >hermit-agent.service
	cp "$top_srcdir/contrib/systemd/hermit-agent.socket" .
	run systemd-analyze verify "$work/hermit-agent.socket" "$work/hermit-agent.service"
	ok "units: systemd-analyze finds nothing" sh -c '! grep -q "hermit-agent.*\(Unknown\|Failed\|Invalid\|ignoring\)" "$1"' sh "$work/err"
fi
finish
