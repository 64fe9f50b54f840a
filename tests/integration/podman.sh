#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# podman with the stock runtimes runc and crun, and hermit-supervisor's hooks and agent: what varies without the annotation is the same with it,
# twenty times; twenty containers at once; podman exec; an agent that is stopped in mid-run ends the container, with the reason in the engine's log.
skip()
{
	printf 'skipped: %s\n' "$*"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root: containers are made by runc and crun"
command -v podman >/dev/null || skip "needs podman"
[ -x /usr/bin/python3 ] || skip "needs python3 of the distribution"
# shellcheck source=tests/support/agent.sh
. "$top_srcdir/tests/support/agent.sh"
# shellcheck source=tests/support/podman.sh
. "$top_srcdir/tests/support/podman.sh"
start_agent

machine_tree root
mkdir hooks
# The files that `make install` puts into the engine's directory, with this build's program and this test's agent.
for file in "$top_builddir"/contrib/hooks.d/*.json; do
	jq --arg path "$supervisor" --arg socket "--socket=$work/socket" --arg dir "--directory=$work/reports" --argjson limit "$(at_most 5)" \
		'.hook.path = $path | .hook.args += [$socket, $dir, "--limit=\($limit)"] | .hook.timeout = $limit + 10' "$file" >"hooks/$(basename "$file")" || exit 99
done
on=--annotation=org.hermit.deterministic=true

# pod RUNTIME ARGUMENT...
pod()
{
	local runtime=$1
	shift
	timeout -k 1 -s KILL "$(at_most 150)" "${podman[@]}" --hooks-dir "$work/hooks" --runtime "$runtime" "$@"
}

# container RUNTIME NAME OPTION... -- PROGRAM...: output in out.NAME
container()
{
	local runtime=$1 name=$2 options=()
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	pod "$runtime" run --rm --name "$name" --network=none --read-only --security-opt label=disable -v /usr:/usr:ro "${options[@]}" \
		--rootfs "$work/root" "$@" >"out.$name" 2>"err.$name"
}

cp "$top_srcdir/tests/support/vary.py" root/vary.py || exit 99

# How many containers have a report that they have ended.
reports() { cat reports/*.txt | grep -c '^hermit: the program ended, status 0'; }

# ended NAME STATUS: a container that has ended well; of another one what the engine and the agent have said.
ended()
{
	[ "$2" = 0 ] && return
	printf '    %s: exit status %s\n' "$1" "$2"
	sed 's/^/    engine: /' "err.$1" | tail -n 20
	sed 's/^/    agent: /' agent.log | tail -n 20
	return 1
}

# equal_outputs NAME...: all as the first one's; of another one what is different.
equal_outputs()
{
	local first=$1 name same=0
	shift
	for name in "$@"; do
		cmp -s "out.$first" "out.$name" && continue
		same=1
		echo "    $name:"
		diff "out.$first" "out.$name" | head -n 20
		sed 's/^/    engine: /' "err.$name" | tail -n 20
	done
	return $same
}

tried=0
for runtime in runc crun; do
	command -v $runtime >/dev/null || { echo "$runtime is not installed: not tested"; continue; }
	if ! container $runtime $runtime-plain -- /bin/true </dev/null; then
		echo "podman with $runtime left out: it cannot run a container here: $(tail -n 1 err.$runtime-plain)"
		continue
	fi
	tried=$((tried + 1))
	rm -f reports/*.txt
	for i in {1..20}; do
		container $runtime $runtime-$i $on -- python3 /vary.py
		ok "$runtime: run $i ends well" ended "$runtime-$i" $?
	done
	ok "$runtime: output" [ "$(grep -c '^\[0, 0, 0\]$' out.$runtime-1)" = 1 ]
	ok "$runtime: twenty equal runs" equal_outputs $runtime-{1..20}
	# The agent writes the last one when its container may be gone for the engine.
	for _ in {1..200}; do [ "$(reports)" = 20 ] && break; sleep 0.05; done
	ok "$runtime: reports stay" [ "$(reports)" = 20 ]
	container $runtime $runtime-p1 -- python3 /vary.py
	container $runtime $runtime-p2 -- python3 /vary.py
	ok "$runtime: different without the annotation" [ "$(md5sum <out.$runtime-p1)" != "$(md5sum <out.$runtime-p2)" ]
	# shellcheck disable=SC2016 # for the container's shell
	container $runtime $runtime-names $on -- /bin/sh -c 'echo $(hostname) $(cat /etc/hostname) $(cat /proc/sys/kernel/hostname) $HOSTNAME; cut -f2- /etc/hosts'
	ok "$runtime: one name of the host" [ "$(head -n 1 out.$runtime-names)" = "hermit hermit hermit hermit" ]
	ok "$runtime: hosts(5) has it" grep -qw hermit out.$runtime-names
	ok "$runtime: and not the container's id or name" [ "$(grep -cE '[0-9a-f]{12}|_' out.$runtime-names)" = 0 ]
	pids=()
	for i in {1..20}; do
		container $runtime $runtime-m$i $on -- python3 /vary.py &
		pids[i]=$!
	done
	for i in "${!pids[@]}"; do
		wait "${pids[i]}"
		ok "$runtime: one of twenty at once ends well" ended "$runtime-m$i" $?
	done
	ok "$runtime: twenty at once" equal_outputs $runtime-1 $runtime-m{1..20}
	ok "$runtime: all of them" [ "$(ls out.$runtime-m* | wc -l)" = 20 ]

	# Hooks that fail, and one that never ends: the engine says so, and there is no container.
	container $runtime $runtime-wrong $on --annotation=org.hermit.seed=many -- /bin/true
	ok "$runtime: a hook that fails: no container" [ $? != 0 ]
	# crun says only that a hook has failed
	ok "$runtime: a hook that fails: the engine says so" grep -q 'annotations.org.hermit.seed: .*many\|crun: error executing hook .*hermit-supervisor' err.$runtime-wrong
	mkfifo never.$runtime
	jq --arg fifo "$work/never.$runtime" '.hook.path = "/bin/sh" | .hook.args = ["sh", "-c", "exec \($path) hook precreate --limit=2 <\($fifo)"]' \
		--arg path "$supervisor" hooks/hermit-precreate.json >hooks/slow.json
	exec 7<>never.$runtime
	container $runtime $runtime-slow $on -- /bin/true
	ok "$runtime: a hook that never ends: no container" [ $? != 0 ]
	exec 7>&-
	rm hooks/slow.json
	ok "$runtime: a hook that never ends: the engine says which" grep -q 'precreate' err.$runtime-slow

	container $runtime $runtime-seven $on -- sh -c 'exit 7'
	ok "$runtime: status" [ $? = 7 ]

	# exec: by a connection of its own. The container waits for what it cannot get by itself.
	mkfifo door.$runtime
	exec 8<>door.$runtime
	container $runtime $runtime-long $on -i -- sh -c 'echo started; read x; echo "$x"' <door.$runtime &
	pid=$!
	while ! grep -qs started out.$runtime-long; do kill -0 $pid || break; sleep 0.05; done
	for i in 1 2; do
		pod $runtime exec $runtime-long sh -c 'date; head -c 8 /dev/urandom | od -t x1; exit 5' >exec.$runtime-$i 2>&1
		ok "$runtime: exec $i: status" [ $? = 5 ]
	done
	ok "$runtime: exec: output" grep -q '2026$' exec.$runtime-1
	ok "$runtime: exec: equal" cmp -s exec.$runtime-1 exec.$runtime-2
	echo over >&8
	exec 8>&-
	wait $pid
	ok "$runtime: exec: the container goes on" grep -q over out.$runtime-long

	# The agent ends in mid-run.
	container $runtime $runtime-busy $on -- sh -c 'echo started; while :; do :; done' &
	pid=$!
	while ! grep -qs started out.$runtime-busy; do kill -0 $pid || break; sleep 0.05; done
	stop_agent
	wait $pid
	ok "$runtime: without its agent a container ends" [ $? = 137 ]
	ok "$runtime: the reason in the engine's log" grep -q 'the agent was told to end: everything was killed' err.$runtime-busy
	container $runtime $runtime-none $on -- /bin/true
	ok "$runtime: no agent: no container" [ $? != 0 ]
	# crun looks for the agent itself before it calls hooks.
	ok "$runtime: no agent: the engine says so" grep -q "no agent listens at $work/socket\|seccomp receiver: connect.*$work/socket" err.$runtime-none
	start_agent
done
[ $tried != 0 ] || skip "no runtime works below podman here"
finish
