#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A container that was created and not started: processes join it, it is paused and resumed, started afterwards, killed, deleted; whoever is killed.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

all_gone()
{
	until_true is_gone "$(field "$1" .init.pid)" && until_true is_gone "$(field "$1" .supervisor.pid)" &&
		until_true is_gone "$(field "$1" .guardian.pid)"
}

mkfifo in in2
exec 8<>in 9<>in2
mkdir logs
echo "{ \"log-events\": \"$work/logs\", \"pace\": \"none\" }" >defaults.json

# ---- the same each time, as an event from outside with a name; its number and its turn do not depend on when it comes ----
bundle c 'echo "I am $$"; date +%s.%N; (echo "child $(sh -c "echo \$PPID")"); head -c 8 /dev/urandom | md5sum; read x; exit 3'
for i in 1 2 3 4 5 6; do
	if [ $i = 4 ]; then
		sh -c 'while :; do :; done' & busy1=$!
		sh -c 'while :; do :; done' & busy2=$!
	fi
	rt --defaults defaults.json create --bundle c c <in >c.out 2>&1
	run rt exec c /bin/sh -c 'echo $$ $PPID; ps; sleep 2; date +%s; head -c 8 /dev/urandom | md5sum; sh -c "exit 7"; cd /proc/1; cat cmdline stat status; exit $?'
	expect 0 "exec in a created container (run $i)"
	mv out "exec.out.$i"
	equal created "$(status_of c)" "status after the exec (run $i)"
	run rt exec c /bin/sh -c 'echo second; exit 9'
	expect 9 "a second exec (run $i)"
	expect_out second "a second exec (run $i)"
	equal "" "$(cat c.out)" "the program has not begun (run $i)"
	run rt start c
	expect 0 "start after execs (run $i)"
	until_true sh -c 'test $(wc -l <c.out) = 4'
	equal running "$(status_of c)" "status after start (run $i)"
	ok "the program waits (run $i)" until_true waits_for_input c
	echo >&8
	ok "the end (run $i)" all_gone c
	equal stopped "$(status_of c)" "status at the end (run $i)"
	rt delete c
	mv c.out "c.out.$i"
	mv logs/c.log "c.log.$i"
	ok "output of the exec'd process (run $i)" cmp -s exec.out.1 "exec.out.$i"
	ok "output of the program (run $i)" cmp -s c.out.1 "c.out.$i"
	ok "event log (run $i)" cmp -s c.log.1 "c.log.$i"
done
kill $busy1 $busy2
equal "2 0" "$(head -1 exec.out.1)" "the exec'd process comes after process 1, and its parent is outside"
ok "process 1 is nobody's program yet" grep -qE '^ +1 root +init$' exec.out.1
equal "I am 1" "$(head -1 c.out.1)" "the program is process 1"
equal 2 "$(grep -c '"kind":"outside","what":"join"' c.log.1)" "events with a name"
bundle plain 'read x' '.annotations["org.hermit.off"] = "true"'
for i in 1 2; do
	rt create --bundle plain c <in >c.out 2>&1
	rt exec c /bin/sh -c 'head -c 8 /dev/urandom | md5sum' >"plain.$i"
	rt delete --force c
done
ok "control: without supervision it varies" sh -c '! cmp -s plain.1 plain.2'

# ---- nothing of whoever has made process 1 shows ----
HERMIT_TEST_SECRET=secret rt create --bundle c c <in >c.out 2>&1
run rt exec c /bin/sh -c 'cd /proc/1; cat environ maps mem auxv cmdline 2>&1 | tr "\\0" "\\n"; ls -l fd exe cwd 2>&1; echo x >mem; kill -TERM 1; kill -KILL 1; echo done'
equal 0 "$(grep -c -F -e HERMIT_TEST_SECRET -e "$work" -e hermit-super out)" "neither its environment nor its places"
equal done "$(tail -1 out)" "signals do it no harm"
equal created "$(status_of c)" "status after signals"
run rt exec c /no/such
expect 255 "exec of what is not there"
expect_err_has 'no such file or directory' "exec of what is not there"
rt start c
until_true sh -c 'test $(wc -l <c.out) = 4'
equal "I am 1" "$(head -1 c.out)" "start after a failed exec"
rt delete --force c

# ---- a process that is still there at the start; ends while it is there ----
# joined: with one exec'd process that waits.
joined()
{
	rt "$@" create --bundle c c <in >c.out 2>&1
	: >joined.out
	rt exec --detach --pid-file joined.pid c /bin/sh -c 'echo here; read x; echo "got $x"; while read x; do :; done' <in2 >joined.out 2>&1
	until_true grep -q here joined.out
	joined=$(cat joined.pid)
}
joined
equal 2 "$(rt ps -f json c | jq length)" "ps: both are there"
rt start c
until_true sh -c 'test $(wc -l <c.out) = 4'
echo on >&9
ok "both run" until_true grep -q 'got on' joined.out
run rt exec c /bin/true
expect 0 "one more"
rt delete --force c
ok "the exec'd process is gone" is_gone "$joined"
for how in "kill c KILL" "kill --all c KILL" "delete c" "delete --force c"; do
	for cgroups in cgroupfs disabled; do
		joined --cgroup-manager=$cgroups
		pids=$(field c '[.init.pid, .supervisor.pid, .guardian.pid] | join(" ")')
		# shellcheck disable=SC2086 # words
		run rt $how
		expect 0 "$how ($cgroups)"
		case $how in kill*)
			ok "$how ($cgroups): status" until_true status_is c stopped
			run rt start c
			expect 1 "$how ($cgroups): start"
			expect_err_has 'cannot start a container that has stopped' "$how ($cgroups): start"
			run rt delete c
			expect 0 "$how ($cgroups): delete"
			;;
		esac
		for pid in $pids $joined; do ok "$how ($cgroups): $pid is gone" until_true is_gone "$pid"; done
		equal "" "$(rt list -q)$(cgroups_named c)" "$how ($cgroups): nothing is left"
	done
done
for whom in supervisor guardian init; do
	joined
	pids=$(field c '[.init.pid, .supervisor.pid, .guardian.pid] | join(" ")')
	kill -9 "$(field c ".$whom.pid")"
	for pid in $pids $joined; do ok "$whom killed: $pid is gone" until_true is_gone "$pid"; done
	ok "$whom killed: status" until_true status_is c stopped
	run rt start c
	expect 1 "$whom killed: start"
	run rt exec c /bin/true
	expect 255 "$whom killed: exec"
	run rt delete --force c
	expect 0 "$whom killed: delete --force"
	equal "" "$(rt list -q)$(cgroups_named c)" "$whom killed: nothing is left"
done

# ---- pause and resume: as runc, a container that was paused before its start is created again afterwards ----
for kind in trapped plain nocgroups joined; do
	case $kind in
	joined) joined ;;
	plain) rt create --bundle plain c <in >c.out 2>&1 ;;
	nocgroups) rt --cgroup-manager=disabled create --bundle c c <in >c.out 2>&1 ;;
	*) rt create --bundle c c <in >c.out 2>&1 ;;
	esac
	run rt resume c
	expect 1 "$kind: resume of a created container"
	expect_err_has 'container not paused' "$kind: resume of a created container"
	for round in 1 2; do
		run rt pause c
		expect 0 "$kind: pause of a created container"
		equal paused "$(status_of c)" "$kind: status after pause"
		run rt pause c
		expect 1 "$kind: pause of a paused container"
		run rt start c
		expect 1 "$kind: start of a paused container"
		expect_err_has 'cannot start a container in the paused state' "$kind: start of a paused container"
		run rt exec c /bin/true
		expect 255 "$kind: exec in a paused container"
		expect_err_has 'cannot exec in a paused container' "$kind: exec in a paused container"
		run rt delete c
		expect 1 "$kind: delete of a paused container"
		expect_err_has 'cannot delete container c that is not stopped: paused' "$kind: delete of a paused container"
		run rt resume c
		expect 0 "$kind: resume"
		equal created "$(status_of c)" "$kind: status after resume"
	done
	if [ $kind = joined ]; then
		echo on >&9
		ok "$kind: it runs again" until_true grep -q 'got on' joined.out
	fi
	rt pause c
	rt exec --ignore-paused c /bin/echo later >later.out 2>&1 &
	later=$!
	rt resume c
	wait $later
	equal later "$(cat later.out)" "$kind: exec --ignore-paused"
	run rt start c
	expect 0 "$kind: start after resume"
	equal running "$(status_of c)" "$kind: status after start"
	[ $kind = plain ] || ok "$kind: the program runs" until_true sh -c 'test $(wc -l <c.out) = 4'
	run rt pause c
	run rt resume c
	expect 0 "$kind: resume of a running container"
	equal running "$(status_of c)" "$kind: status after that"
	rt delete --force c
	[ $kind = joined ] && joined || rt create --bundle c c <in >c.out 2>&1
	rt pause c
	run rt kill c KILL
	expect 0 "$kind: kill -9 of a paused container that was not started"
	ok "$kind: status after that" until_true status_is c stopped
	run rt delete c
	expect 0 "$kind: delete of that"
	[ $kind = joined ] && joined || rt create --bundle c c <in >c.out 2>&1
	rt pause c
	run rt delete --force c
	expect 0 "$kind: delete --force of a paused container that was not started"
	equal "" "$(rt list -q)$(cgroups_named c)" "$kind: nothing is left"
done
# Process 1 waits for the others to be buried, started or not, and whoever kills it.
for when in created started; do
	joined
	[ $when = created ] || rt start c
	rt pause c
	run rt kill c KILL
	expect 0 "$when, paused: kill -9 of several processes"
	ok "$when, paused: status after that" until_true status_is c stopped
	ok "$when, paused: the other one is gone" until_true is_gone "$joined"
	run rt delete c
	expect 0 "$when, paused: delete"
	joined --cgroup-manager=disabled
	[ $when = created ] || rt start c
	rt pause c
	kill -9 "$(field c .init.pid)"
	ok "$when, paused: status after a kill by others" until_true status_is c stopped
	run rt delete c
	expect 0 "$when, paused: delete after that"
done
# the asker is killed before it could note the answer
rt create --bundle c c <in >c.out 2>&1
for delay in 0.001 0.002 0.003 0.004 0.006 0.008 0.012 0.016; do
	for command in pause resume; do
		rt $command c 2>/dev/null &
		asker=$!
		sleep $delay
		kill -9 $asker 2>/dev/null
		wait $asker 2>/dev/null
		rt pause c 2>/dev/null
		equal paused "$(status_of c)" "$command killed after $delay s: pause"
		run rt resume c
		expect 0 "$command killed after $delay s: resume"
		equal created "$(status_of c)" "$command killed after $delay s: status"
	done
done
run rt start c
expect 0 "start after all that"
rt delete --force c

# ---- a start that fails, and its hooks, while another process is there ----
bundle c 'echo up; read x' '.hooks.startContainer = [{path: "/bin/sh", args: ["sh", "-c", "ps >/tmp/seen; exit $(cat /tmp/status)"]}]
	| .mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs"}]'
joined
rt exec c /bin/sh -c 'echo 0 >/tmp/status'
run rt start c
expect 0 "start with a hook inside"
ok "the program runs after the hook" until_true grep -q up c.out
rt exec c /bin/cat /tmp/seen >seen
ok "the hook ran, and saw the exec'd process" grep -q 'echo here' seen
rt delete --force c
joined
rt exec c /bin/sh -c 'echo 5 >/tmp/status'
run rt start c
expect 1 "the hook inside fails"
expect_err_has 'hooks.startContainer\[0\].*status 5' "the hook inside fails"
ok "the hook inside fails: status" until_true status_is c stopped
ok "the hook inside fails: the exec'd process is gone" until_true is_gone "$joined"
equal "" "$(cat c.out)" "the hook inside fails: the program does not run"
run rt delete c
expect 0 "the hook inside fails: delete"

# ---- a hook that takes its time: others go on, and join, whether somebody was there before it or not ----
slow='.hooks.startContainer = [{path: "/bin/sh", args: ["sh", "-c", "while [ ! -e /tmp/go ]; do sleep 0.1; done; exit $(cat /tmp/go)"], env: ["PATH=/bin"]}]
	| .mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs"}]'
bundle c 'echo up; read x' "$slow"
bundle plain 'echo up; read x' "$slow | .annotations[\"org.hermit.off\"] = \"true\""
for kind in joined alone plain; do
	for end in 0 5; do
		case $kind in
		joined) joined ;;
		alone) rt create --bundle c c <in >c.out 2>&1 ;;
		plain) rt create --bundle plain c <in >c.out 2>&1 ;;
		esac
		rt start c 2>start.err &
		starter=$!
		until_true sh -c 'rt ps -f json c | jq -e "length > '$([ $kind = joined ] && echo 2 || echo 1)'" >/dev/null'
		if [ $kind = joined ]; then
			echo on >&9
			ok "$kind, the hook runs: who has joined goes on" until_true grep -q 'got on' joined.out
		fi
		run rt start c
		expect 1 "$kind, the hook runs: a second start"
		expect_err_has 'cannot start a container that is being started' "$kind, the hook runs: a second start"
		if [ $end = 0 ]; then
			run rt pause c
			expect 0 "$kind, the hook runs: pause"
			equal paused "$(status_of c)" "$kind, the hook runs: status after pause"
			run rt resume c
			expect 0 "$kind, the hook runs: resume"
		fi
		equal created "$(status_of c)" "$kind, the hook runs: status"
		run rt exec c /bin/sh -c "echo here; echo $end >/tmp/new; mv /tmp/new /tmp/go"
		expect_out here "$kind, the hook runs: exec"
		wait $starter
		status=$?
		if [ $end = 0 ]; then
			expect 0 "$kind, the hook has run: start"
			ok "$kind, the hook has run: the program" until_true grep -q up c.out
			run rt exec c /bin/echo here
			expect_out here "$kind, the hook has run: exec"
		else
			expect 1 "$kind, the hook fails: start"
			cp start.err err
			expect_err_has 'hooks.startContainer\[0\].*status 5' "$kind, the hook fails: start"
			ok "$kind, the hook fails: status" until_true status_is c stopped
			equal "" "$(cat c.out)" "$kind, the hook fails: the program does not run"
		fi
		rt delete --force c
		equal "" "$(rt list -q)$(cgroups_named c)" "$kind, after a hook: nothing is left"
	done
done

bundle c '' '.process.args = ["/bin/garbage"]'
printf 'garbage' >rootfs/bin/garbage
chmod +x rootfs/bin/garbage
rt create --bundle c c <in >c.out 2>&1
run rt exec c /bin/echo there
expect_out there "exec where the program is none"
run rt start c
expect 1 "start of what is no program"
expect_err_has 'exec format error' "start of what is no program"
ok "start of what is no program: the end" until_true status_is c stopped
run rt delete c
expect 0 "start of what is no program: delete"
finish
