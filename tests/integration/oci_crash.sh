#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whoever is killed, no guest runs on without supervision, and `delete --force` leaves nothing. Many containers at once.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

# leftovers ID: what is left of a container after its end: cgroups, directories, processes.
leftovers()
{
	cgroups_named "$1"
	ls -d "$state/$1" 2>/dev/null
	grep -lsz "HERMIT_TEST_ID=$1" /proc/[0-9]*/environ
	# Guardian, supervisor and process 1 before the start are copies of "create ... ID"; the id comes from a pipe, so as not to find grep itself.
	printf '%s\n' "$1" | grep -lsxzF -f - /proc/[0-9]*/cmdline
}

clean()
{
	[ -z "$(leftovers "$1")" ]
}

# start_one ID: a running container whose processes all carry its id.
start_one()
{
	bundle "$1.bundle" 'sleep 0 & (read x </tmp/fifo) & echo up; read y' ".process.env += [\"HERMIT_TEST_ID=$1\"] | .root.readonly = true
		| .mounts += [{destination: \"/tmp\", type: \"tmpfs\", source: \"tmpfs\"}]"
	rt create --bundle "$1.bundle" "$1" <in >"$1.out" 2>&1
	rt start "$1"
	until_true grep -q up "$1.out"
}

clear_one()
{
	run rt delete --force "$1"
	expect 0 "$2: delete --force"
	equal "" "$(leftovers "$1")" "$2: nothing is left"
	run rt delete --force "$1"
	expect 0 "$2: delete --force again"
}

mkfifo in
exec 8<>in
for whom in supervisor guardian init; do
	start_one "kill-$whom"
	pid=$(field "kill-$whom" .init.pid)
	kill -9 "$(field "kill-$whom" ".$whom.pid")"
	until_true is_gone "$pid"
	ok "$whom killed: process 1 is gone" is_gone "$pid"
	until_true status_is "kill-$whom" stopped
	equal stopped "$(status_of "kill-$whom")" "$whom killed: status"
	until_true is_gone "$(field "kill-$whom" .supervisor.pid)"
	until_true is_gone "$(field "kill-$whom" .guardian.pid)"
	ok "$whom killed: nobody stays" is_gone "$(field "kill-$whom" .guardian.pid)"
	case $whom in
	init) why='it has ended' ;;
	*) why="its supervisor, process $(field "kill-$whom" .supervisor.pid), or the guardian of that was killed, and the container with it" ;;
	esac
	run rt exec "kill-$whom" /bin/true
	expect 255 "$whom killed: exec"
	expect_err_has "cannot exec in a stopped container: 'kill-$whom' \($why; delete clears it\)" "$whom killed: exec"
	for command in pause "kill" "events --stats" "update --pids-limit 10"; do
		# shellcheck disable=SC2086 # words
		run rt $command "kill-$whom"
		expect 1 "$whom killed: $command"
		expect_err_has "container not running: 'kill-$whom' \($why; delete clears it\)" "$whom killed: $command"
	done
	clear_one "kill-$whom" "$whom killed"
	# the same before the start
	rt create --bundle "kill-$whom.bundle" "kill-$whom" <in >created.out 2>&1
	pid=$(field "kill-$whom" .init.pid)
	kill -9 "$(field "kill-$whom" ".$whom.pid")"
	until_true is_gone "$pid"
	ok "$whom killed before the start: process 1 is gone" is_gone "$pid"
	until_true is_gone "$(field "kill-$whom" .supervisor.pid)"
	until_true status_is "kill-$whom" stopped
	run rt start "kill-$whom"
	expect 1 "$whom killed before the start: start"
	[ $whom = init ] || why="its supervisor, process $(field "kill-$whom" .supervisor.pid), or the guardian of that was killed, and the container with it"
	expect_err_has "cannot start a container that has stopped: 'kill-$whom' \($why; delete clears it\)" "$whom killed before the start: start"
	clear_one "kill-$whom" "$whom killed before the start"
done

# What the guardian holds: the listener of everybody who is under control, taken from the supervisor as it comes and let go with its last process.
# Were they left in the socket, a container would stand still after some hundreds of execs, since the supervisor would wait for room in it.
listeners()
{
	find "/proc/$(field guarded .guardian.pid)/fd" -lname 'anon_inode:seccomp notify' | wc -l
}

holds()
{
	[ "$(listeners)" = "$1" ]
}

expect_held()
{
	until_true holds "$1"
	equal "$1" "$(listeners)" "$2"
}

start_one guarded
expect_held 1 "the guardian holds the container's listener"
rt exec --detach guarded /bin/sh -c 'read y' <in >guarded.exec 2>&1
expect_held 2 "the guardian holds the listener of an exec"
for ((i = 0; i < 20; i++)); do
	run rt exec guarded /bin/true
	expect 0 "exec $i"
done
expect_held 2 "the guardian holds nothing of execs that have ended"
clear_one guarded "a guardian of many"

# Who joined is killed during a pause: his death and the request to go on are found in one look. Both are heard, and whoever joins then is served.
start_one mourned
for ((i = 0; i < 3; i++)); do
	rt exec --detach --pid-file joined.pid mourned /bin/sleep 500
	rt pause mourned
	kill -9 "$(cat joined.pid)"
	run rt resume mourned
	expect 0 "resume after a death during the pause ($i)"
	run timeout -s KILL "$(at_most 30)" rt exec mourned /bin/true
	expect 0 "exec after a death during the pause ($i)"
done
clear_one mourned "deaths during pauses"

# Frozen by somebody else, in a cgroup that is not the container's
if mkdir "/sys/fs/cgroup/freezer/hermit-test-$$" 2>/dev/null; then
	start_one frozen
	field frozen .init.pid >"/sys/fs/cgroup/freezer/hermit-test-$$/tasks"
	echo FROZEN >"/sys/fs/cgroup/freezer/hermit-test-$$/freezer.state"
	clear_one frozen "frozen by others"
	rmdir "/sys/fs/cgroup/freezer/hermit-test-$$"
fi

# A guest must not see a call fail because its supervisor died: it dies in the call.
bundle calls 'i=0; while /bin/busybox uname -n >/tmp/name; do i=$((i+1)); [ "$(cat /tmp/name)" ] || { echo EMPTY; break; }; done; echo FAILED' \
	'.mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs"}]'
for i in 1 2 3; do
	rt create --bundle calls calls <in >calls.out 2>&1
	rt start calls
	sleep 0.2
	kill -9 "$(field calls .supervisor.pid)"
	until_true is_gone "$(field calls .init.pid)"
	equal "" "$(cat calls.out)" "no call is answered by nobody ($i)"
	clear_one calls "supervisor killed in the middle of calls"
done

# `create` itself, killed at some moment.
bundle half 'read x' '.process.env += ["HERMIT_TEST_ID=half"]'
for delay in 0.000 0.002 0.004 0.006 0.008 0.012 0.016 0.024 0.032 0.050; do
	rt create --bundle half half <in >half.out 2>&1 &
	creator=$!
	sleep $delay
	kill -9 $creator 2>/dev/null
	wait $creator 2>/dev/null
	run rt delete --force half
	expect 0 "create killed after $delay s: delete --force"
	until_true clean half
	equal "" "$(leftovers half)" "create killed after $delay s: nothing is left"
done

# The same without cgroups: nobody but the creator knows whom it has made.
for delay in 0.010 0.015 0.020 0.025 0.030 0.035 0.040 0.045 0.050 0.055; do
	rt --cgroup-manager=disabled create --bundle half half <in >half.out 2>&1 &
	creator=$!
	sleep $delay
	kill -9 $creator 2>/dev/null
	wait $creator 2>/dev/null
	run rt delete --force half
	expect 0 "create without cgroups killed after $delay s: delete --force"
	until_true clean half
	equal "" "$(leftovers half)" "create without cgroups killed after $delay s: nothing is left"
done

# `start`, killed at some moment: a program that runs makes the container a running one.
bundle begun 'echo up; read x' '.process.env += ["HERMIT_TEST_ID=begun"]'
for delay in 0.002 0.005 0.010 0.015 0.020 0.030 0.040 0.060; do
	rt create --bundle begun begun <in >begun.out 2>&1
	rt start begun &
	starter=$!
	sleep $delay
	kill -9 $starter 2>/dev/null
	wait $starter 2>/dev/null
	if [ "$(status_of begun)" = created ] && [ ! -s begun.out ]; then
		rt start begun 2>/dev/null # when the first one was not heard
	fi
	until_true grep -q up begun.out
	equal running "$(status_of begun)" "start killed after $delay s: status"
	run rt delete begun
	expect 1 "start killed after $delay s: it is not deleted as one that was never started"
	run rt pause begun
	expect 0 "start killed after $delay s: pause"
	clear_one begun "start killed after $delay s"
done

# `pause` and `resume`, killed at some moment: it can be resumed, and runs.
start_one held
for delay in 0.001 0.002 0.003 0.004 0.006 0.008 0.012 0.016; do
	for command in pause resume; do
		rt $command held 2>/dev/null &
		asker=$!
		sleep $delay
		kill -9 $asker 2>/dev/null
		wait $asker 2>/dev/null
		rt pause held 2>/dev/null
		equal paused "$(status_of held)" "$command killed after $delay s: pause"
		run rt resume held
		expect 0 "$command killed after $delay s: resume"
		run rt exec held /bin/true
		expect 0 "$command killed after $delay s: it runs"
	done
done
# Stopped, not killed.
for whom in supervisor guardian; do
	kill -STOP "$(field held ".$whom.pid")"
	clear_one held "$whom stopped"
	[ $whom = guardian ] || start_one held
done

# create, start, exec and delete of one container in each other's way
bundle races 'read x' '.process.env += ["HERMIT_TEST_ID=races"]'
for round in $(seq 10); do
	for command in "create --bundle races races" "start races" "exec races /bin/true" "delete --force races" "kill races KILL"; do
		# shellcheck disable=SC2086 # words
		rt $command <in >races.out 2>&1 &
		[ $((round % 2)) = 0 ] || sleep 0.01
	done
	wait
done
clear_one races "commands in each other's way"

# Two commands that exclude each other: one of them does it, the other one says why not.
bundle rival 'read x' '.process.env += ["HERMIT_TEST_ID=rival"]'
# beside COMMAND LATER-COMMAND: both at once, or the second a moment later
beside()
{
	rt create --bundle rival rival <in >rival.out 2>&1
	# shellcheck disable=SC2086 # words
	rt $1 rival >first.err 2>&1 &
	local first_pid=$!
	[ $((round % 4)) = 0 ] || sleep 0.00$((round % 4 * 2))
	# shellcheck disable=SC2086 # words
	rt $2 rival 2>second.err
	second=$?
	wait $first_pid
	first=$?
}
gone="container does not exist: 'rival'"
for round in $(seq 20); do
	if [ $((round % 2)) = 0 ]; then
		beside start delete
		started=$first deleted=$second
	else
		beside delete start
		started=$second deleted=$first
	fi
	equal 1 $((started + deleted)) "start beside delete: one of them"
	if [ $started = 0 ]; then
		ok "start beside delete: it runs" grep -q 'cannot delete container rival that is not stopped: running' first.err second.err
	else
		ok "start beside delete: it is gone" grep -qE "cannot start a container that has stopped|$gone" first.err second.err
	fi
	clear_one rival "start beside delete"
	beside kill delete
	equal 0 $second "kill beside delete: delete"
	ok "kill beside delete: kill" sh -c "[ $first = 0 ] || grep -qE \"container not running|$gone\" first.err"
	clear_one rival "kill beside delete"
	beside delete delete
	equal 1 $((first + second)) "delete beside delete: one of them"
	ok "delete beside delete: the other one" grep -q "$gone" first.err second.err
	clear_one rival "delete beside delete"
	beside start "delete --force"
	equal 0 $second "start beside delete --force: delete"
	ok "start beside delete --force: start" sh -c "[ $first = 0 ] || grep -qE \"cannot start a container that has stopped|$gone\" first.err"
	clear_one rival "start beside delete --force"
done

# a hundred at once
bundle many 'echo up; read x' '.process.env += ["HERMIT_TEST_ID=many"]'
one_of_many()
{
	rt create --bundle many "many$1" <in >"many$1.out" 2>&1 && rt start "many$1" && until_true grep -q up "many$1.out" &&
		rt exec "many$1" /bin/true && rt kill "many$1" KILL && until_true status_is "many$1" stopped &&
		rt delete "many$1" && touch "many$1.done"
}
for i in $(seq 100); do one_of_many "$i" 2>>many.err & done
wait
equal 100 "$(ls many*.done | wc -l)" "a hundred containers at once"
equal "" "$(rt list -q)" "a hundred containers: no state"
equal "" "$(leftovers many)$(cgroups_named 'many*')" "a hundred containers: nothing is left"
[ "$failures" = 0 ] || head -5 many.err
finish
