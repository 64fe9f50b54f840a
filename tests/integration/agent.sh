#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit-supervisor agent behind stock runc and crun: what is different without is the same with it, twenty times; many at once; an
# agent that is stopped ends its containers with a reason; strangers at the socket do no harm.
[ "$(id -u)" = 0 ] || { echo "needs root: containers are made by runc and crun"; exit 77; }
command -v busybox >/dev/null || { echo "needs busybox"; exit 77; }
# shellcheck source=tests/support/agent.sh
. "$top_srcdir/tests/support/agent.sh"
start_agent

mkdir -p rootfs/bin rootfs/proc rootfs/sys rootfs/dev rootfs/tmp
cp "$(command -v busybox)" rootfs/bin/busybox
for name in sh date od head cat ls sleep yes true kill; do ln -s busybox rootfs/bin/$name; done

# bundle NAME OUTCOME SCRIPT: with the hook's changes, or ("plain") without.
bundle()
{
	mkdir -p "$1"
	(cd "$1" && rm -f config.json && runc spec) || exit 99
	jq --arg script "$3" --arg root "$work/rootfs" '.process.terminal = false | .process.args = ["/bin/sh", "-c", $script] |
		.process.capabilities = {} | del(.process.rlimits) | .root = {path: $root, readonly: true} |
		.annotations = {"org.hermit.deterministic": "true"}' "$1/config.json" >"$1/plain.json" || exit 99
	cp "$1/plain.json" "$1/config.json"
	[ "$2" = plain ] || "$supervisor" hook precreate --socket="$work/socket" <"$1/plain.json" >"$1/config.json" || exit 99
}

# container RUNTIME BUNDLE ID: output in $work/out.ID
container() { timeout -s KILL "$(at_most 120)" "$1" --root "$work/state-$1" run -b "$2" "$3" </dev/null >"out.$3" 2>"err.$3"; }

# With children that run at once and end at any time: SIGCHLD must not break off what the shell waits in.
script='echo $$; for i in 1 2 3 4; do x=$(echo abc | cat | cat); echo "$x $i"; sleep 0.0$i & done; wait; ls /bin | cat | head -n 3
exec cat /proc/sys/kernel/random/uuid /proc/uptime /proc/self/auxv /proc/self/maps'
bundle with hook "$script"
bundle without plain "$script"
for runtime in runc crun; do
	command -v $runtime >/dev/null || { echo "$runtime is not installed: not tested"; continue; }
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		container $runtime with $runtime-$i
		ok "$runtime: run $i ends well" [ $? = 0 ]
	done
	ok "$runtime: output" [ "$(grep -ac "^1\$\|/bin/busybox" out.$runtime-1)" -ge 2 ]
	ok "$runtime: twenty equal runs" [ "$(md5sum out.$runtime-?  out.$runtime-?? | cut -c 1-32 | sort -u | wc -l)" = 1 ]
	ok "$runtime: a report" grep -q '^hermit: the program ended, status 0' reports/$runtime-1.txt
	ok "$runtime: what is not promised" grep -q '^hermit: not promised: the machine that /sys shows is the real one' reports/$runtime-1.txt
	ok "$runtime: addresses are fixed" [ "$(grep -c randomised reports/$runtime-1.txt)" = 0 ]
	ok "$runtime: the agent's own filter" [ "$(cat reports/$runtime-*.txt | grep -c 'WAIT_KILLABLE')" = 0 ]
	ok "$runtime: no log where nothing was said" [ ! -e reports/$runtime-1.log ]
	for i in {1..1000}; do echo "hermit: the program ended, status 0" >reports/old-$i.txt; done
	touch -d @1 reports/old-*.txt
	touch -d @0 reports/old-7.txt reports/old-8.txt
	touch reports/old-7.log
	echo "hermit: no end was reported: the agent was stopped in mid-run, and the container with it" >reports/old-8.txt
	touch -d @0 reports/old-8.txt
	container $runtime with $runtime-next
	until grep -qs '^hermit: the program ended' reports/$runtime-next.txt && [ "$(find reports -name '*.txt' | wc -l)" -le 1000 ]; do sleep 0.05; done
	ok "$runtime: old reports go" [ "$(find reports -name 'old-7.*')" = "" ]
	ok "$runtime: but none of a container that may go on" [ -s reports/old-8.txt ]
	ok "$runtime: nor new ones" [ -s reports/$runtime-1.txt ]
	rm -f reports/old-*
	container $runtime without $runtime-p1
	container $runtime without $runtime-p2
	ok "$runtime: different without" [ "$(md5sum <out.$runtime-p1)" != "$(md5sum <out.$runtime-p2)" ]
	pids=
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do container $runtime with $runtime-m$i & pids="$pids $!"; done
	# shellcheck disable=SC2086
	wait $pids
	ok "$runtime: twenty at once" [ "$(md5sum out.$runtime-1 out.$runtime-m* | cut -c 1-32 | sort -u | wc -l)" = 1 ]
	ok "$runtime: all of them" [ "$(ls out.$runtime-m* | wc -l)" = 20 ]
done

# The program's own status comes through.
bundle seven hook 'exit 7'
container runc seven seven
ok "status" [ $? = 7 ]

# crun connects before it makes the container: what lies in between may take longer than any message.
if command -v crun >/dev/null; then
	mkdir slow
	jq '.hooks.createRuntime = [{path: "/bin/sleep", args: ["sleep", "12"]}]' with/config.json >slow/config.json
	container crun slow slow
	ok "crun: a hook of somebody else's that takes long" cmp -s out.slow out.crun-1
fi

# A container that may not gain privileges installs its filter last of all.
mkdir strict
jq '.process.noNewPrivileges = true' with/config.json >strict/config.json
for runtime in runc crun; do
	command -v $runtime >/dev/null || continue
	container $runtime strict strict-$runtime
	ok "$runtime: no new privileges" cmp -s out.strict-$runtime out.$runtime-1
	ok "$runtime: no new privileges: the agent's own filter" [ "$(grep -c WAIT_KILLABLE reports/strict-$runtime.txt)" = 0 ]
done
# Processes of exec come by a connection of their own, without a pid.
bundle long hook 'echo started; read x; echo "$x"'
mkfifo door
for runtime in runc crun; do
	command -v $runtime >/dev/null || continue
	timeout -k 1 -s KILL "$(at_most 120)" $runtime --root "$work/state-$runtime" run -b long long-$runtime <door >out.long-$runtime 2>err.long-$runtime &
	pid=$!
	exec 8>door
	while ! grep -qs started out.long-$runtime; do kill -0 $pid || break; sleep 0.05; done
	for i in 1 2; do
		timeout -k 1 -s KILL "$(at_most 60)" $runtime --root "$work/state-$runtime" exec long-$runtime sh -c \
			'for i in 1 2 3; do (sleep 0.$i; date; head -c 8 /dev/urandom | od -t x1) & done; wait; exit 3' >exec.$runtime.$i 2>&1
		ok "$runtime: exec $i: status" [ $? = 3 ]
	done
	ok "$runtime: exec: output" [ "$(wc -l <exec.$runtime.1)" = 9 ]
	ok "$runtime: exec: equal" cmp -s exec.$runtime.1 exec.$runtime.2
	ok "$runtime: exec: reports" [ "$(ls reports/long-$runtime.exec-*.txt | wc -l)" = 2 ]
	ok "$runtime: exec: what is not promised" [ "$(cat reports/long-$runtime.exec-*.txt | grep -c 'not promised: a process of exec has a clock')" = 2 ]
	echo over >&8
	exec 8>&-
	wait $pid
	ok "$runtime: exec: the container ends" grep -q over out.long-$runtime
done

# Strangers: nobody's words end or block the agent.
python3 - "$work/socket" <<'END'
import socket, sys
for words in (b"", b"{", b"hello", b'{"a": 1}', b'{"ociVersion": "1.0.2", "fds": ["seccompFd"], "pid": 1, "state": {}}'):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(words)
    s.close()
END
container runc with after
ok "after strangers" cmp -s out.after out.runc-1

# A supervisor that dies, and an agent that is told to end, in mid-run.
bundle busy hook 'echo started; while :; do :; done'
for how in KILL TERM; do
	container runc busy busy-$how &
	pid=$!
	while ! grep -qs started out.busy-$how; do kill -0 $pid || break; sleep 0.05; done
	if [ $how = TERM ]; then
		stop_agent
	else
		pkill -KILL -P "$agent"
	fi
	wait $pid
	ok "$how: the container ends" [ $? = 137 ]
	ok "$how: nothing like a result" [ "$(cat out.busy-$how)" = started ]
done
ok "KILL: the reason" grep -q 'the agent was stopped in mid-run' reports/busy-KILL.txt
ok "TERM: the reason" grep -q 'the agent was told to end' reports/busy-TERM.txt
ok "the socket is gone" [ ! -e "$work/socket" ]
start_agent
container runc with again
ok "a new agent" cmp -s out.again out.runc-1
stop_agent

# What is promised as long as the container's profile lets it be done, and reported where not.
in_bundle() { mkdir -p "$2" && jq "$3" "$1/config.json" >"$2.new" && mv "$2.new" "$2/config.json"; }
start_agent
bundle quick hook 'echo hello'
in_bundle quick foreign '.linux.seccomp.listenerMetadata = "other"'
in_bundle quick random '.linux.seccomp.syscalls |= [{names: ["personality"], action: "SCMP_ACT_ERRNO"}] + map(.names -= ["personality"])'
for runtime in runc crun; do
	command -v $runtime >/dev/null || continue
	for name in foreign random; do
		container $runtime $name $name-$runtime
		ok "$runtime: $name: it runs" [ "$?-$(cat out.$name-$runtime)" = 0-hello ]
		said=reports/$name-$runtime.txt
		ok "$runtime: $name: it ends" grep -q '^hermit: the program ended, status 0' "$said"
		case $name in
		foreign)
			ok "$runtime: foreign: calls" grep -q "^hermit: not promised: what the container's profile, which is not the hook's, does not notify" "$said"
			ok "$runtime: foreign: signals" grep -q '^hermit: not promised: calls that signals break off .*WAIT_KILLABLE_RECV' "$said"
			;;
		random) ok "$runtime: random: addresses" grep -q '^hermit: not promised: addresses are randomised' "$said" ;;
		esac
	done
done
stop_agent

# An agent that is killed takes its containers with it, and the next one listens at the same place.
start_agent
container runc busy orphan &
pid=$!
while ! grep -qs started out.orphan; do kill -0 $pid || break; sleep 0.05; done
kill -KILL "$agent"
wait $pid
ok "a killed agent: the container ends" [ $? = 137 ]
ok "a killed agent: nothing like a result" [ "$(cat out.orphan)" = started ]
ok "a killed agent: the engine's log says why" grep -q '^hermit: the agent was told to end' err.orphan
ok "a killed agent: and the report" grep -q 'the agent was told to end' reports/orphan.txt
wait "$agent"
start_agent
container runc with renewed
ok "a new agent after a killed one" cmp -s out.renewed out.runc-1
stop_agent

# The host's name where the engine has not asked the hook precreate: one that it has drawn is "hermit", and stays in the engine's files, which is
# reported; one that somebody has given is the container's.
start_agent
bundle named hook 'cat /proc/sys/kernel/hostname'
in_bundle named given '.hostname = "given"'
for runtime in runc crun; do
	command -v $runtime >/dev/null || continue
	in_bundle named drawn ".hostname = \"drawn-$runtime-by-the\""
	container $runtime drawn drawn-$runtime-by-the-engine
	ok "$runtime: a drawn name: the host's" [ "$(cat out.drawn-$runtime-by-the-engine)" = hermit ]
	ok "$runtime: a drawn name is reported" grep -q '^hermit: not promised: HOSTNAME, /etc/hostname and /etc/hosts: they have a name that is drawn' reports/drawn-$runtime-by-the-engine.txt
	container $runtime given given-$runtime
	ok "$runtime: a given name: the host's" [ "$(cat out.given-$runtime)" = given ]
	ok "$runtime: a given name: nothing is reported" [ "$(grep -c HOSTNAME reports/given-$runtime.txt)" = 0 ]
done
stop_agent

# Namespaces that a container has not got.
start_agent
in_bundle quick bare 'del(.hostname) | .linux.namespaces |= map(select(.type == "mount" or .type == "pid"))'
for runtime in runc crun; do
	command -v $runtime >/dev/null || continue
	ok "$runtime: namespaces of its own" [ "$(grep -c "namespace is the host's" reports/$runtime-1.txt)" = 0 ]
	container $runtime bare bare-$runtime
	if [ "$(cat out.bare-$runtime)" != hello ]; then
		echo "$runtime runs nothing without namespaces here: $(tail -n 1 err.bare-$runtime)"
		continue
	fi
	ok "$runtime: missing namespaces" [ "$(sed -n "s/^hermit: not promised: the \([A-Z]*[a-z]*\) namespace is the host's.*/\1/p" reports/bare-$runtime.txt | xargs)" = "IPC network UTS" ]
done
stop_agent

# RDTSC: replaced in files; in code made at run time the host's, which the report says.
if ${CC:-cc} -O2 -static -o rootfs/bin/mapped "$top_srcdir/tests/guests/insn_mapped.c" 2>cc.err; then
	start_agent
	bundle counter hook '/bin/mapped private; exec /bin/mapped generated'
	for runtime in runc crun; do
		command -v $runtime >/dev/null || continue
		for i in 1 2; do
			container $runtime counter counter-$runtime-$i
			ok "$runtime: RDTSC, run $i" [ $? = 0 ]
		done
		ok "$runtime: RDTSC in files" [ "$(head -n 1 out.counter-$runtime-1)" = "$(head -n 1 out.counter-$runtime-2)" ]
		ok "$runtime: RDTSC in code made at run time" [ "$(tail -n 1 out.counter-$runtime-1)" != "$(tail -n 1 out.counter-$runtime-2)" ]
		ok "$runtime: RDTSC: what is not promised" grep -q '^hermit: not promised: RDTSC is replaced in files' reports/counter-$runtime-1.txt
	done
	stop_agent
else
	echo "RDTSC is not tested: no static C library"
fi

# What the program ignores does not count, whoever sends it: runc hands on the signals that its own Go runtime sends to itself.
if command -v runc >/dev/null; then
	start_agent
	bundle long hook 'i=0; while [ $i -lt 200 ]; do true; cat /bin/true >/dev/null; i=$((i + 1)); done; cat /proc/uptime'
	container runc long quiet
	for i in 1 2 3; do
		container runc long urged-$i &
		pid=$!
		sent=0
		# from before its program is there; a hundred forks meet one now and then
		until grep -qs '^hermit: the program ended' reports/urged-$i.txt; do
			runc --root "$work/state-runc" kill urged-$i URG 2>/dev/null
			runc --root "$work/state-runc" kill urged-$i WINCH 2>/dev/null && sent=$((sent + 1))
			kill -0 $pid 2>/dev/null || break
		done
		wait $pid
		ok "signals that are ignored, run $i: have been sent" [ $sent -gt 0 ]
		ok "signals that are ignored, run $i: no turn, no time" cmp reports/quiet.txt reports/urged-$i.txt
		ok "signals that are ignored, run $i: output" cmp out.quiet out.urged-$i
	done
	stop_agent
fi

# Metrics of known events. A state of the file is waited for, copied, and judged as copied.
rm -f reports/metrics.prom
start_agent
metric() { sed -n "s/^hermit_agent_$1 //p" "${2:-metrics}"; }
# ended N FAILED RUNNING CONNECTIONS: waits until it is so, a minute at most
ended()
{
	local i
	for ((i = 0; i < 600; i++)); do
		cp reports/metrics.prom metrics 2>/dev/null
		[ "$(metric ended_total)/$(metric failed_total)/$(metric running)/$(metric connections_total)" = "$1/$2/$3/$4" ] && break
		sleep 0.1
	done
	equal "$1/$2/$3/$4" "$(metric ended_total)/$(metric failed_total)/$(metric running)/$(metric connections_total)" "metrics: ended/failed/running/connections"
}
equal() { ok "$3: '$2' instead of '$1'" [ "$1" = "$2" ]; }
# told ID WHAT: a number of its report
told() { sed -n "s/^hermit: .*[ ,]\([0-9]*\) $2.*/\1/p" "reports/$1.txt"; }

container runc with metrics-1
ended 1 0 0 1
mv metrics one
ok "metrics: turns" [ "$(metric turns_total one)" -gt 0 ]
equal "$(told metrics-1 turns)" "$(metric turns_total one)" "metrics: turns are the report's"
ok "metrics: virtual time" [ "$(metric virtual_nanoseconds_total one)" -gt 0 ]
equal "0/0/0" "$(metric deadlocks_total one)/$(metric refused_total one)/$(metric uncontrolled_total one)" "metrics: nothing else"
container runc with metrics-2
ended 2 0 0 2
mv metrics two
equal $((2 * $(metric turns_total one))) "$(metric turns_total two)" "metrics: twice the turns"
equal $((2 * $(metric virtual_nanoseconds_total one))) "$(metric virtual_nanoseconds_total two)" "metrics: twice the virtual time"
bundle sleeps hook 'exec sleep 1000'
container runc sleeps metrics-3
ended 3 0 0 3
mv metrics three
equal 1000 $((($(metric virtual_nanoseconds_total three) - $(metric virtual_nanoseconds_total two)) / 1000000000)) "metrics: seconds of virtual time"
bundle stuck hook 'mkfifo /dev/shm/f && exec cat /dev/shm/f'
container runc stuck metrics-4
ended 4 0 0 4
equal "1/0/0" "$(metric deadlocks_total)/$(metric refused_total)/$(metric uncontrolled_total)" "metrics: a deadlock"
unmodelled=/proc/sys/dev/tty/ldisc_autoload
if [ -r $unmodelled ]; then
	bundle open hook "cat $unmodelled && exec cat $unmodelled"
	container runc open metrics-5
	ended 5 0 0 5
	mv metrics five
	equal "$(told metrics-5 'uncontrolled happenings')" "$(metric uncontrolled_total five)" "metrics: uncontrolled happenings"
	ok "metrics: there are some" [ "$(metric uncontrolled_total five)" -gt 0 ]
	in_bundle open closed '.annotations["org.hermit.strict"] = "true"'
	container runc closed metrics-6
	ended 6 0 0 6
	equal "1/1" "$(metric deadlocks_total)/$(metric refused_total)" "metrics: refused under strict"
else
	echo "metrics of what is not modelled are not tested: no $unmodelled"
	container runc with metrics-5
	container runc with metrics-6
fi
container runc busy metrics-7 &
pid=$!
while ! grep -qs started out.metrics-7; do kill -0 $pid || break; sleep 0.05; done
ended 6 0 1 7
pkill -KILL -P "$agent"
wait $pid
ended 7 1 0 7
python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"hello"); s.close()' "$work/socket"
ended 8 2 0 8
equal 9 "$(grep -c '^hermit_agent_' metrics)" "metrics: nine"
finish
