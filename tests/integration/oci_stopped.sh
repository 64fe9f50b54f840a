#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whoever is stopped (SIGSTOP), or takes for ever, holds nobody up: every command comes to an end and says why, and `delete --force` clears all of it.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

# shellcheck disable=SC2317 # until_true calls it
is_stopped()
{
	grep -q '^State:.*T' "/proc/$1/status"
}

# left ID: processes that carry its id, its directory, its cgroups
left()
{
	grep -lsz "HERMIT_TEST_ID=$1" /proc/[0-9]*/environ
	printf '%s\n' "$1" | grep -lsxzF -f - /proc/[0-9]*/cmdline
	ls -d "$state/$1" 2>/dev/null
	cgroups_named "$1"
}

# shellcheck disable=SC2317 # until_true calls it
nothing_left()
{
	[ -z "$(left "$1")" ]
}

# cleared ID WHAT: by force, in the time that `run` gives it
cleared()
{
	run rt delete --force "$1"
	expect 0 "$2: delete --force"
	until_true nothing_left "$1"
	equal "" "$(left "$1")" "$2: nothing is left"
}

made()
{
	rt create --bundle "$1" "$1" <in >"$1.out" 2>&1
}

mkfifo in gate
exec 8<>in 9<>gate
bundle stuck 'trap "echo usr1" USR1; echo up; while :; do read x; echo "got $x"; done' '.process.env += ["HERMIT_TEST_ID=stuck"]'

# ---- a supervisor that is stopped ----
for when in created started; do
	made stuck
	if [ $when = started ]; then
		rt start stuck
		until_true grep -q up stuck.out
	fi
	supervisor_pid=$(field stuck .supervisor.pid)
	kill -STOP "$supervisor_pid"
	until_true is_stopped "$supervisor_pid"
	run rt state stuck
	expect 0 "$when, supervisor stopped: state"
	commands=("exec stuck /bin/true" "pause stuck")
	if [ $when = started ]; then commands+=("kill stuck USR1"); else commands+=("start stuck"); fi
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # words
		run rt $command
		ok "$when, supervisor stopped: $command fails" [ "$status" != 0 ]
		expect_err_has "container stuck: its supervisor, process $supervisor_pid, is stopped: continue it .*delete --force" "$when, supervisor stopped: $command"
	done
	# What was given up is not done later, and it goes on as it was.
	kill -CONT "$supervisor_pid"
	run rt exec stuck /bin/echo here
	expect 0 "$when, supervisor continued: exec"
	expect_out here "$when, supervisor continued: exec"
	if [ $when = created ]; then
		equal created "$(status_of stuck)" "supervisor continued: nobody waits for a start"
	else
		equal up "$(cat stuck.out)" "supervisor continued: the signal does not come"
		rt kill stuck USR1
		ok "supervisor continued: another one comes" until_true grep -q usr1 stuck.out
	fi
	# Somebody waits for it when the container is ended.
	kill -STOP "$supervisor_pid"
	until_true is_stopped "$supervisor_pid"
	rt exec stuck /bin/true 2>waits.err &
	exec_pid=$!
	sleep 0.3
	cleared stuck "$when, supervisor stopped, exec waits"
	wait $exec_pid
	ok "$when, supervisor stopped, exec waits: it ends with a failure" [ $? != 0 ]
	made stuck
	[ $when = created ] || rt start stuck
	supervisor_pid=$(field stuck .supervisor.pid)
	kill -STOP "$supervisor_pid"
	rt exec stuck /bin/true 2>waits.err &
	exec_pid=$!
	sleep 0.3
	run rt kill stuck KILL
	expect 0 "$when, supervisor stopped, exec waits: kill -9"
	wait $exec_pid
	cleared stuck "$when, supervisor stopped, killed"
done
# More callers than have a place to wait
made stuck
rt start stuck
kill -STOP "$(field stuck .supervisor.pid)"
callers=()
for ((i = 0; i < 75; i++)); do
	rt kill stuck USR1 2>/dev/null &
	callers+=($!)
done
cleared stuck "supervisor stopped, many wait"
wait "${callers[@]}"

# ---- whoever of the two is stopped: every command comes to its end ----
# within SECONDS COMMAND...: as `run`, with less patience
within()
{
	RUN_LIMIT=$1 run "${@:2}"
}
for whom in supervisor guardian; do
	made stuck
	rt start stuck
	until_true grep -q up stuck.out
	stopped_pid=$(field stuck ".$whom.pid")
	kill -STOP "$stopped_pid"
	until_true is_stopped "$stopped_pid"
	for command in "state stuck" "list" "ps -f json stuck" "events --stats stuck" "update --pids-limit 100 stuck"; do
		# shellcheck disable=SC2086 # words
		within 1 rt $command
		expect 0 "$whom stopped: $command"
	done
	expected=$([ $whom = supervisor ] && echo 1 || echo 0)
	for command in "kill stuck USR1" "pause stuck" "resume stuck"; do
		# shellcheck disable=SC2086 # words
		within 2 rt $command
		expect "$expected" "$whom stopped: $command"
	done
	within 1 rt kill stuck KILL
	expect 0 "$whom stopped: kill -9"
	cleared stuck "$whom stopped, killed"
done
# Its process 1 has ended before them, and they are stopped on the way to their end.
for whom in supervisor guardian "supervisor guardian"; do
	made stuck
	rt start stuck
	until_true grep -q up stuck.out
	init_pid=$(field stuck .init.pid)
	for one in $whom; do
		stopped_pid=$(field stuck ".$one.pid")
		kill -STOP "$stopped_pid"
		until_true is_stopped "$stopped_pid"
	done
	kill -KILL "$init_pid"
	until_true is_gone "$init_pid"
	for command in "state stuck" "list" "ps -f json stuck"; do
		# shellcheck disable=SC2086 # words
		within 1 rt $command
		expect 0 "ended, $whom stopped: $command"
	done
	within 1 rt delete --force stuck
	expect 0 "ended, $whom stopped: delete --force"
	until_true nothing_left stuck
	equal "" "$(left stuck)" "ended, $whom stopped: nothing is left"
done

# A guardian that takes nothing is not waited for when many join.
made stuck
rt start stuck
until_true grep -q up stuck.out
guardian_pid=$(field stuck .guardian.pid)
kill -STOP "$guardian_pid"
until_true is_stopped "$guardian_pid"
for ((i = 0; i < 400; i++)); do
	within 10 rt exec stuck /bin/true
	[ "$status" = 0 ] || break
done
expect 255 "guardian stopped, many join"
expect_err_has "cannot exec in a container whose guardian, process $guardian_pid, is stopped: continue it .*delete --force" "guardian stopped, many join"
within 10 rt kill stuck USR1
expect 0 "guardian stopped, many joined: kill"
ok "guardian stopped, many joined: it runs" until_true grep -q usr1 stuck.out
kill -CONT "$guardian_pid"
run rt exec stuck /bin/echo here
expect_out here "guardian continued: exec"
kill -STOP "$guardian_pid"
cleared stuck "guardian stopped, many joined"

# ---- whoever works on a container is stopped, or what it waits for ----
# hooked STAGE SCRIPT: a bundle "stuck" with such a hook
hooked()
{
	bundle stuck 'echo up; read x' ".process.env += [\"HERMIT_TEST_ID=stuck\"]
		| .hooks = {$1: [{path: \"$([ "$1" = startContainer ] && echo /bin/sh || echo "$work/rootfs/bin/sh")\", args: [\"sh\", \"-c\", \$hook], env: [\"HERMIT_TEST_ID=stuck\", \"PATH=/bin:/usr/bin\"]}]}" \
		--arg hook "$2"
}
# shellcheck disable=SC2016 # the hook's shell
hooked createRuntime 'echo >'"$work"'/gate; kill -STOP $PPID'
made stuck &
creator=$!
read -r _ <&9
until_true is_stopped "$(pgrep -P $creator || echo $creator)"
run rt delete stuck
expect 1 "create stopped: delete"
expect_err_has 'container stuck: process [0-9]+, which works on it, is stopped: continue it \(kill -CONT [0-9]+\), or delete --force' "create stopped: delete"
run rt start stuck
expect 1 "create stopped: start"
expect_err_has 'cannot start a container that is being created' "create stopped: start"
run rt kill stuck KILL
expect 1 "create stopped: kill"
cleared stuck "create stopped"
wait $creator
# shellcheck disable=SC2016 # the hook's shell
hooked createRuntime 'echo >'"$work"'/gate; kill -STOP $$'
made stuck &
creator=$!
read -r _ <&9
cleared stuck "a hook of create stopped"
wait $creator

# A hook that takes its time: it goes at once, and those that it has started.
for stage in prestart createRuntime createContainer; do
	for manager in cgroupfs disabled; do
		hooked $stage "sleep 1000 & sh -c 'sleep 1001; :' & echo >$work/gate; wait"
		rt --cgroup-manager=$manager create --bundle stuck stuck <in >stuck.out 2>&1 &
		creator=$!
		read -r _ <&9
		within 1 rt delete --force stuck
		expect 0 "a hook of $stage takes its time, cgroups $manager: delete --force"
		wait $creator
		ok "a hook of $stage takes its time, cgroups $manager: create fails" [ $? != 0 ]
		until_true nothing_left stuck
		equal "" "$(left stuck)" "a hook of $stage takes its time, cgroups $manager: nothing is left"
	done
done

# A start that waits for a hook is in nobody's way.
# shellcheck disable=SC2016 # the hook's shell
for hook in 'sleep 1000' 'kill -STOP $$'; do
	for how in "kill stuck KILL" "kill --all stuck KILL" "delete --force stuck"; do
		hooked startContainer "$hook"
		made stuck
		rt start stuck 2>waits.err &
		starter=$!
		sleep 0.3
		run rt state stuck
		expect 0 "a startContainer hook takes its time: state"
		# shellcheck disable=SC2086 # words
		run rt $how
		expect 0 "a startContainer hook takes its time ($hook): $how"
		wait $starter
		ok "a startContainer hook takes its time ($hook), $how: start fails" [ $? != 0 ]
		cleared stuck "a startContainer hook takes its time ($hook), $how"
	done
done
# shellcheck disable=SC2016 # the hook's shell
for hook in 'read x' 'kill -STOP $PPID'; do
	hooked poststart "echo >$work/gate; $hook <$work/in"
	made stuck
	rt start stuck 2>waits.err &
	starter=$!
	read -r _ <&9
	run rt exec stuck /bin/echo here
	expect_out here "a poststart hook takes its time ($hook): exec"
	run rt kill stuck TERM
	expect 0 "a poststart hook takes its time ($hook): kill"
	run rt delete --force stuck
	expect 0 "a poststart hook takes its time ($hook): delete --force"
	kill -KILL $starter 2>/dev/null
	wait $starter 2>/dev/null
	cleared stuck "a poststart hook takes its time ($hook)"
done
# When the hooks of its end run it is gone already, and its name is free.
# shellcheck disable=SC2016 # the hook's shell
hooked poststop 'echo >'"$work"'/gate; kill -STOP $$'
made stuck
rt delete --force stuck 2>waits.err &
deleter=$!
read -r _ <&9
run rt state stuck
expect 1 "a poststop hook takes its time: state"
expect_err_has "container does not exist" "a poststop hook takes its time: state"
bundle stuck 'read x'
made stuck
equal created "$(status_of stuck)" "a poststop hook takes its time: another one of that name"
kill -KILL $deleter
wait $deleter 2>/dev/null
cleared stuck "a poststop hook takes its time"
finish
