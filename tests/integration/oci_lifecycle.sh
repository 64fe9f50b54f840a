#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The commands of the OCI runtime, one container at a time: what they do, what they say, how they end.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

# ---- run ----
bundle one 'echo $$; uname -n; date -u +%Y-%m; exit 5'
run rt run --bundle one a
expect 5 "run: exit status"
expect_out "1
hermit
2026-01" "run: output"
equal "" "$(rt list -q)" "run leaves no container"
bundle killed 'kill -9 $$; sh -c "kill -9 \$PPID"; trap "exit 9" USR1; kill -USR1 $$; sleep 1'
run rt run --bundle killed a
expect 9 "run: a signal that is handled"
bundle waits 'trap "echo term; exit 7" TERM; echo ready; read x; echo "got $x"; while read x; do :; done'
# ---- create, start, state ----
bundle plain0 'read x'
mkfifo in
mkfifo in2
exec 8<>in 9<>in2
run rt create --bundle waits --pid-file pid c
expect 0 "create"
pid=$(cat pid)
equal created "$(status_of c)" "status after create"
equal "$pid" "$(rt state c | jq .pid)" "pid file and state"
equal "c $work/waits $work/rootfs root" "$(rt state c | jq -r '[.id, .bundle, .rootfs, .owner] | join(" ")')" "members of the state"
ok "created is a time" sh -c "rt state c | jq -r .created | grep -Eq '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{9}Z$'"
parent=$(awk '/^PPid/ { print $2 }' "/proc/$pid/status")
ok "process 1 is not the supervisor's child" [ "$parent" != "$(field c .supervisor.pid)" ]
ok "nor the guardian's" [ "$parent" != "$(field c .guardian.pid)" ]
equal "" "$(find /proc/"$(field c .supervisor.pid)"/fd /proc/"$(field c .guardian.pid)"/fd -lname "$work/in" -o -lname "$work/out" \
	-o -lname "$work/err")" "supervisor and guardian hold nothing of the caller's"
ok "the supervisor is a process of a session of its own" [ "$(ps -o sid= -p "$(field c .supervisor.pid)" | tr -d ' ')" != \
	"$(ps -o sid= -p $$ | tr -d ' ')" ]
run rt create --bundle waits c
expect 1 "create of an id that exists"
expect_err_has 'container with given ID already exists' "create of an id that exists"
run rt create --bundle waits ../c
expect 1 "create of a bad id"
expect_err_has 'invalid container ID format' "create of a bad id"
rt create --bundle waits d <in >d.out 2>&1
run rt start d
expect 0 "start"
until_true grep -q ready d.out
equal running "$(status_of d)" "status after start"
run rt start d
expect 1 "start of a running container"
expect_err_has 'cannot start an already running container' "start of a running container"
run rt delete d
expect 1 "delete of a running container"
expect_err_has 'cannot delete container d that is not stopped: running' "delete of a running container"
echo hello >&8
until_true grep -q 'got hello' d.out
# ---- exec ----
run rt exec d /bin/sh -c 'echo $0 $PPID; exit 4'
expect 4 "exec: exit status"
expect_out "/bin/sh 0" "exec: parent is outside"
run rt exec -e A=b --user 1000:1000 --cwd /tmp d /bin/sh -c 'echo $A; id -u; pwd'
expect_out "b
1000
/tmp" "exec: environment, user, directory"
run rt exec d /bin/sh -c 'kill -9 $$'
expect 137 "exec: killed"
run rt exec d /no/such/program
expect 255 "exec of what is not there"
expect_err_has 'no such file or directory' "exec of what is not there"
run rt exec d nothing
expect_err_has 'executable file not found in \$PATH' "exec of what is not in the path"
run rt exec --cwd /no/such/directory d /bin/true
expect 255 "exec in a directory that is not there"
run rt exec --user 77:77 d sh -c 'cat /proc/self/status | grep -c "^Uid:.77"'
expect_out 1 "exec: a user without a name"
jq '.process | .args = ["/bin/sh", "-c", "echo from a file; echo $V"] | .env += ["V=w"]' waits/config.json >process.json
run rt exec --process process.json d
expect_out "from a file
w" "exec --process"
rt exec --detach --pid-file exec.pid d /bin/sh -c 'read x' <in2 >exec.out 2>&1
epid=$(cat exec.pid)
ok "exec --detach: the process runs" kill -0 "$epid"
equal "$(readlink "/proc/$(rt state d | jq .pid)/ns/mnt")" "$(readlink "/proc/$epid/ns/mnt")" "exec: mount namespace"
equal 2 "$(rt ps -f json d | jq length)" "ps: two processes"
ok "ps: the exec'd process" sh -c "rt ps -f json d | jq -e 'index($epid)'" >/dev/null
ok "ps: as ps(1)" sh -c "rt ps d | grep -q 'PID'"
echo on >&9
until_true is_gone "$epid"
ok "exec --detach: ended" is_gone "$epid"
run rt exec --env nonsense d /bin/true
expect 255 "exec: bad environment"
run rt exec d
expect 255 "exec without a program"
run rt exec --cgroup pids:/../x d /bin/true
expect 255 "exec in another cgroup"
expect_err_has "not within the container's" "exec in another cgroup"
run rt exec --cgroup nowhere d /bin/true
expect 255 "exec in a cgroup that is not there"
expect_err_has "no cgroup" "exec in a cgroup that is not there"
# one below it: of version 1's pids, or of version 2
line=$(grep -E '^[0-9]+:(pids)?:/.*[^/]$' "/proc/$(field d .init.pid)/cgroup" | head -1)
controller=${line#*:}
path=${controller#*:} controller=${controller%%:*}
below=/sys/fs/cgroup/$controller$path/below
if [ -n "$line" ] && mkdir "$below" 2>/dev/null; then
	run rt exec --detach --pid-file below.pid --cgroup "${controller:+$controller:}/below" d /bin/sleep 5000
	expect 0 "exec in a cgroup below the container's"
	ok "exec in a cgroup below the container's: it is there" grep -qx "$(cat below.pid)" "$below/cgroup.procs"
	kill -KILL "$(cat below.pid)"
	until_true is_gone "$(cat below.pid)"
	until_true rmdir "$below"
else
	echo "no cgroup of the test's own can be made: exec --cgroup was tried for what is refused only"
fi
run rt exec --cgroup / d /bin/true
expect 0 "exec in the container's cgroup, by name"
run rt --debug --log debug.log --log-format json exec d /bin/true
expect 0 "--debug"
equal "debug command: exec d /bin/true" "$(jq -r '.level + " " + .msg' debug.log)" "--debug: what the log says"
run rt --debug --log debug.log --log-format json state nobody
expect 1 "--debug: a failure"
equal "error container does not exist: 'nobody'" "$(tail -1 debug.log | jq -r '.level + " " + .msg')" "--debug: the last line is the failure"
# ---- pause, resume ----
run rt pause d
expect 0 "pause"
equal paused "$(status_of d)" "status after pause"
run rt pause d
expect 1 "pause of a paused container"
run rt exec d /bin/true
expect 255 "exec in a paused container"
expect_err_has 'cannot exec in a paused container' "exec in a paused container"
rt exec --ignore-paused d /bin/echo later >later.out 2>&1 &
later=$!
run rt resume d
expect 0 "resume"
wait $later
equal later "$(cat later.out)" "exec --ignore-paused: when the container is resumed"
run rt resume d
expect 1 "resume of a running container"
expect_err_has 'container not paused' "resume of a running container"
equal running "$(status_of d)" "status after resume"
run rt exec d /bin/echo alive
expect_out alive "exec after resume"
# ---- list, events, features ----
equal "c created,d running" "$(rt list -f json | jq -r 'map(.id + " " + .status) | sort | join(",")')" "list -f json"
equal 3 "$(rt list | wc -l)" "list: a line each and a heading"
rt events --stats d >stats
equal "stats d" "$(jq -r '.type + " " + .id' stats)" "events --stats"
# names FILE: the members that do not depend on what was used: others have none where they would be 0
names()
{
	jq -r '.data | [paths | map(if type == "number" then "[]" else . end) | join(".")] | unique | .[]' "$1" |
		grep -vE '^cpu\.throttling\.|^cpu\.usage\.total$|^memory\.cache$|^memory\.(usage|swap|kernel|kernelTCP)\.(usage|max)$|^pids\.limit$|^blkio\.'
}
names stats >names.ours
for member in cpu.throttling cpu.usage.kernel cpu.usage.user cpuset memory.usage.limit memory.usage.failcnt memory.swap.limit memory.kernel.failcnt \
	memory.kernelTCP.limit pids blkio hugetlb intel_rdt network_interfaces; do
	ok "events --stats: $member" grep -qx "$member" names.ours
done
ok "events --stats: memory" [ "$(jq .data.memory.usage.usage stats)" -gt 0 ]
ok "events --stats: processes" [ "$(jq .data.pids.current stats)" -ge 1 ]
if command -v runc >/dev/null && runc --root "$work/runc" run --detach --bundle plain0 runc-stats <in >runc.out 2>&1; then
	runc --root "$work/runc" events --stats runc-stats >stats.runc
	runc --root "$work/runc" delete --force runc-stats
	names stats.runc >names.runc
	equal "$(cat names.runc)" "$(cat names.ours)" "events --stats: members as runc's"
else
	echo "runc cannot be run here: events --stats was not compared with its"
fi
ok "features is a document" sh -c "'$supervisor' features | jq -e '.ociVersionMax and (.hooks | length == 6)'" >/dev/null
# ---- kill ----
run rt kill d TERM
expect 0 "kill"
until_true status_is d stopped
equal "ready
got hello
term" "$(cat d.out)" "the signal was handled"
run rt kill d
expect 1 "kill of a stopped container"
expect_err_has "container not running: '[^']+' \(it has ended; delete clears it\)" "kill of a stopped container"
run rt kill --all d 9
expect 0 "kill --all of a stopped container"
run rt kill d NOSUCH
expect 1 "kill with an unknown signal"
run rt start d
expect 1 "start of a stopped container"
expect_err_has 'cannot start a container that has stopped' "start of a stopped container"
run rt exec d /bin/true
expect 255 "exec in a stopped container"
expect_err_has 'cannot exec in a stopped container' "exec in a stopped container"
run rt delete d
expect 0 "delete"
run rt delete c
expect 0 "delete of a created container"
ok "its process is gone" is_gone "$pid"
equal null "$(rt list -f json | jq -c 'if . == [] then null else . end')" "list of nothing"
# ---- who is not there ----
for command in state start kill delete pause resume ps; do
	run rt $command nobody
	expect 1 "$command of an unknown id"
	expect_err_has 'container does not exist' "$command of an unknown id"
done
run rt delete --force nobody
expect 0 "delete --force of an unknown id"
for id in many-1 many-2 other; do bundle "$id" true && rt create --bundle "$id" "$id" || exit 99; done
run rt delete --force --regex '^many-[0-9]+$'
expect 0 "delete --regex"
equal other "$(rt list -q)" "delete --regex: those that it fits"
run rt delete --regex '('
expect 1 "delete --regex: a wrong one"
expect_err_has "regex: '\('" "delete --regex: a wrong one"
run rt delete --force other
# ---- failures in the log ----
run rt --log log --log-format json state nobody
equal 1 "$(wc -l <log)" "one line in the log"
equal "error container does not exist: 'nobody'" "$(jq -r '.level + " " + .msg' log)" "the line"
# usage errors, too, as with runc; what stands before the command, when --log comes before it
usage()
{
	rm -f log
	run rt --log log --log-format json "${@:2}"
	equal 1 "$(wc -l <log)" "one line in the log: ${*:2}"
	equal "error $1" "$(jq -r '.level + " " + .msg' log)" "the line: ${*:2}"
	ok "on standard error, too: ${*:2}" grep -qF -- "$1" err
}
usage "state: unrecognized option '--nosuch'" state --nosuch x
expect 1 "an unknown option"
usage "unrecognized option '--nosuch'" --nosuch state x
expect 1 "an unknown option before the command"
usage "exec: unrecognized option '--nosuch'" exec --nosuch x /bin/true
usage "start: the id of a container is missing: any name for a new one; 'hermit-supervisor list' shows those that there are" start
usage "update: --memory: 'abc' is no such value" update --memory=abc x
usage "there is no command 'nosuch'" nosuch
expect 3 "an unknown command"
usage "--cgroup-manager: 'x' is none of cgroupfs, systemd, disabled" --cgroup-manager x list
rm -f log
run rt --log log state --nosuch x
ok "the log as text" grep -qF "state: unrecognized option '--nosuch'" log
run rt --log log.help state --help
expect 0 "--help"
ok "--help is no failure" [ ! -s log.help ]
rm log
run rt --log log --log-format=json list
ok "nothing in the log on success" [ ! -s log ]
bundle managed 'echo never'
for option in --systemd-cgroup --cgroup-manager=systemd; do
	# shellcheck disable=SC2016
	run unshare -m sh -c 'mount -t tmpfs none /run && exec rt "$1" run --bundle managed managed' sh $option
	expect 1 "no systemd: $option"
	expect_err_has 'systemd.*: use --cgroup-manager=cgroupfs' "no systemd: $option"
done
run rt --cgroup-manager=systemctl list
expect 1 "a manager that there is not"
expect_err_has 'none of cgroupfs, systemd, disabled' "a manager that there is not"
run rt --cgroup-manager disabled --rootless false --debug list
expect 0 "global options"
run rt checkpoint --help
expect 1 "checkpoint is refused, also to a probe"
run rt restore x
expect 1 "restore is refused"
run "$supervisor" --version
expect 0 "--version"
sed -i 's/^+SYSTEMD //' out # a matter of configure
expect_out "hermit-supervisor version $("$supervisor" version | sed -n 's/hermit-supervisor //p')
spec: 1.2.1
+CAP +SECCOMP +EBPF +YAJL" "--version"
# ---- programs that cannot run ----
bundle missing x '.process.args = ["/no/such"]'
run rt create --bundle missing m
expect 1 "create without a program"
expect_err_has 'no such file or directory' "create without a program"
bundle missing x '.process.args = ["nothing"]'
run rt run --bundle missing m
expect 1 "run without a program"
expect_err_has 'executable file not found in \$PATH' "run without a program"
equal "" "$(rt list -q)" "nothing is left of them"
# ---- without cgroups; a killed container; an untrapped one ----
bundle sleeps 'echo up; read x'
rt --cgroup-manager disabled create --bundle sleeps n <in >n.out 2>&1
rt start n
until_true grep -q up n.out
equal 1 "$(rt ps -f json n | jq length)" "ps without cgroups"
run rt pause n
expect 0 "pause without cgroups"
run rt kill n KILL
expect 0 "kill -9 of a paused container"
until_true status_is n stopped
run rt ps -f json n
expect_out "[]" "ps of a stopped container"
run rt delete n
expect 0 "delete after kill -9"
bundle plain 'date +%Y; trap "exit 3" TERM; echo up; while :; do sleep 0.1; done' '.annotations["org.hermit.off"] = "true"'
year=$(date +%Y)
rt create --bundle plain p <in >p.out 2>&1
run rt exec p /bin/echo before
expect_out before "untrapped: exec before the start"
rt start p
until_true grep -q up p.out
ok "untrapped: real time" grep -qx -e "$year" -e "$(date +%Y)" p.out
equal 0 "$(awk '/^Seccomp:/ { print $2 }' "/proc/$(rt state p | jq .pid)/status")" "untrapped: no filter"
until_true is_gone "$(field p .supervisor.pid)"
until_true is_gone "$(field p .guardian.pid)"
ok "untrapped: nobody stays" is_gone "$(field p .guardian.pid)"
run rt exec p /bin/echo plainly
expect_out plainly "untrapped: exec"
last=$(sed -n 's/^Cpus_allowed_list:.*[^0-9]\([0-9]*\)$/\1/p' /proc/self/status)
for cpus in '{"initial": "'"$last"'"}' '{"initial": "0-'"$last"'", "final": "'"$last"'"}'; do
	jq --argjson cpus "$cpus" '.process | .args = ["/bin/grep", "Cpus_allowed_list", "/proc/self/status"] | .execCPUAffinity = $cpus' plain/config.json >process.json
	run rt exec --process process.json p
	expect_out "Cpus_allowed_list:	$last" "untrapped: exec with execCPUAffinity $cpus"
done
jq '.process | .execCPUAffinity = {final: "5000"}' plain/config.json >process.json
run rt exec --process process.json p
expect 255 "execCPUAffinity: no such CPU"
expect_err_has 'no CPU 5000' "execCPUAffinity: no such CPU"
run rt kill p TERM
until_true status_is p stopped
run rt delete p
expect 0 "untrapped: delete"
# ---- a container that sleeps is there, and shows the same time as one whose waits are skipped ----
bundle naps 'date +%s; sleep 2; date +%s; sleep 1000000; date +%s'
rt create --bundle naps n <in >n.out 2>&1
rt start n
until_true sh -c "test \$(wc -l <n.out) = 2"
run rt exec n /bin/sh -c 'sleep 1; echo there'
expect_out there "exec while everybody sleeps"
equal running "$(status_of n)" "a container that sleeps"
run rt kill n KILL
until_true status_is n stopped
run rt delete n
bundle naps 'date +%s; sleep 2; date +%s; sleep 1000000; date +%s' '.annotations["org.hermit.pace"] = "none"'
run rt run --bundle naps n
expect 0 "waits that are skipped"
equal "$(cat n.out)" "$(head -2 out)" "time is the same in both"
equal 3 "$(wc -l <out)" "all waits are skipped"
bundle sandbox 'grep -q "^Seccomp:.*0" /proc/self/status' '.annotations["io.kubernetes.cri.container-type"] = "sandbox"'
run rt run --bundle sandbox s
expect 0 "a pod's sandbox is untrapped"
finish
