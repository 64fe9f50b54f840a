#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit-supervisor hook: what becomes of sample documents, what is refused, that nothing waits for ever. The agent is a bare socket here.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
supervisor=$top_builddir/hermit-supervisor
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(100); print(flush=True); time.sleep(10000)' "$work/agent" >"$work/ready" &
listener=$!
trap 'kill $listener; rm -rf "$work"' EXIT
while [ ! -s "$work/ready" ]; do kill -0 $listener || exit 99; sleep 0.05; done

# hook OPTION...: document on standard input, the result in out.
hook()
{
	status=0
	timeout -s KILL "$(at_most 30)" "$supervisor" hook --socket="$work/agent" --directory="$work" "$@" >out 2>err || status=$?
}

# value FILTER: of the result, on one line.
value() { jq -c "$1" out; }

# action CALL: what the result's rules say of a call, with their conditions.
action() { value "[.linux.seccomp.syscalls[] | select(.names | index(\"$1\")) | .action + (if .args then \"?\" else \"\" end)] | join(\",\")"; }

cat >base.json <<'END'
{"ociVersion": "1.0.2", "process": {"user": {"uid": 0, "gid": 0}, "args": ["/bin/true"], "env": ["A=b", "HOSTNAME=4f6c1e"], "cwd": "/"},
 "root": {"path": "rootfs"}, "hostname": "4f6c1e", "annotations": {"org.hermit.deterministic": "true", "org.hermit.seed": "7"},
 "linux": {"namespaces": [{"type": "mount"}, {"type": "pid", "path": "/proc/1/ns/pid"}, {"type": "network"}],
  "devices": [{"path": "/dev/rtc0", "type": "c", "major": 1, "minor": 2}, {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229}],
  "seccomp": {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
   "syscalls": [{"names": ["read", "write", "getuid", "socketcall", "clock_gettime", "execve", "capset"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["setuid"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 7, "op": "SCMP_CMP_EQ"}]},
    {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}]},
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 40, "op": "SCMP_CMP_NE"}]},
    {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]}}}
END
hook precreate <base.json
expect 0 "a profile that denies what it does not name"
ok "other calls stay allowed" [ "$(action read)$(action clock_gettime)$(action write)" = '"SCMP_ACT_ALLOW""SCMP_ACT_ALLOW""SCMP_ACT_ALLOW"' ]
ok "the runtime's last calls are notified" [ "$(action execve)$(action capset)" = '"SCMP_ACT_NOTIFY""SCMP_ACT_NOTIFY"' ]
ok "a call that is let through by its arguments" [ "$(action setuid)" = '"SCMP_ACT_NOTIFY?"' ]
ok "the agent's own filter is allowed" [ "$(value '[.linux.seccomp.syscalls[] | select(.names == ["seccomp"]) | [.action, .args[0].index, .args[0].value]]')" = '[["SCMP_ACT_ALLOW",1,40],["SCMP_ACT_ALLOW",1,8]]' ]
ok "a call of another architecture stays allowed" [ "$(action socketcall)" = '"SCMP_ACT_ALLOW"' ]
ok "conditions stay" [ "$(action socket)" = '"SCMP_ACT_ALLOW?"' ]
ok "denied calls stay denied" [ "$(action clone3)$(action openat)" = '"SCMP_ACT_ERRNO"""' ]
ok "personality is taken over" [ "$(action personality)" = '"SCMP_ACT_NOTIFY"' ]
ok "the default stays" [ "$(value '.linux.seccomp | [.defaultAction, .defaultErrnoRet, .architectures]')" = '["SCMP_ACT_ERRNO",38,["SCMP_ARCH_X86_64"]]' ]
ok "the listener" [ "$(value .linux.seccomp.listenerPath)" = "\"$work/agent\"" ]
ok "namespaces are added" [ "$(value '[.linux.namespaces[].type] | sort')" = '["ipc","mount","network","pid","uts"]' ]
expect_err_has 'the pid namespace is one that exists' "a foreign namespace is said"
ok "clocks of the machine go" [ "$(value '[.linux.devices[].path]')" = '["/dev/fuse"]' ]
ok "name" [ "$(value '[.hostname, .process.env]')" = '["hermit",["A=b","HOSTNAME=hermit"]]' ]
jq -S 'del(.linux.seccomp, .linux.namespaces, .linux.devices, .hostname, .process.env)' base.json >want
jq -S 'del(.linux.seccomp, .linux.namespaces, .linux.devices, .hostname, .process.env)' out >got
ok "nothing else is changed" cmp want got

# Files that the engine binds, with the name in them: copies beside them.
printf 4f6c1e >engine-hostname
printf '127.0.0.1\tlocalhost\n10.88.0.2\t4f6c1e given quick_fox\n' >engine-hosts
chmod 640 engine-hosts
jq --arg d "$work" '.mounts += [{"destination": "/etc/hostname", "type": "bind", "source": "\($d)/engine-hostname", "options": ["bind"]},
	{"destination": "/etc/hosts", "type": "bind", "source": "\($d)/engine-hosts", "options": ["bind"]},
	{"destination": "/etc/other", "type": "bind", "source": "\($d)/engine-hosts", "options": ["bind"]}]' base.json >files.json
hook precreate <files.json
ok "files: the copies are bound" [ "$(value '[.mounts[] | .source | strings | select(contains("engine-")) | sub(".*/"; "")]')" = \
	'["engine-hostname.hermit","engine-hosts.hermit","engine-hosts"]' ]
ok "files: the name of the host" [ "$(cat engine-hostname.hermit)" = hermit ]
ok "files: hosts(5)" [ "$(cat engine-hosts.hermit)" = "$(printf '127.0.0.1\tlocalhost\n10.88.0.2\thermit given')" ]
ok "files: the engine's own are as they were" [ "$(cat engine-hostname; grep -c 4f6c1e engine-hosts)" = 4f6c1e1 ]
ok "files: the rights" [ "$(stat -c %a engine-hosts.hermit)" = 640 ]
hook precreate <files.json
expect 0 "files: once more"
rm engine-hosts.hermit
printf '127.0.0.1\tlocalhost mine\n' >engine-hosts
hook precreate <files.json
ok "files: one of the user's own, without the name, is bound itself" [ "$(value '[.mounts[] | select(.destination == "/etc/hosts") | .source | sub(".*/"; "")]')" = \
	'["engine-hosts"]' ]
ok "files: and nothing is left beside it" [ ! -e engine-hosts.hermit ]
rm engine-hosts
hook precreate <files.json
expect 0 "files: one that is missing is the runtime's to say"
rm -f engine-*

hook precreate < <(jq 'del(.linux.seccomp)' base.json)
expect 0 "no profile"
ok "no profile: few calls are notified" [ "$(value '[.linux.seccomp.syscalls[] | select(.action == "SCMP_ACT_NOTIFY") | .names[]] | sort')" = \
	'["capset","execve","execveat","personality","setresuid","setreuid","setuid"]' ]
ok "no profile: the rest is allowed" [ "$(value .linux.seccomp.defaultAction)" = '"SCMP_ACT_ALLOW"' ]
jq '.linux.seccomp = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mount", "setuid", "seccomp"], "action": "SCMP_ACT_ERRNO"}]}' \
	base.json >allows.json
hook precreate <allows.json
ok "a profile that allows what it does not name" [ "$(action mount)$(action setuid)$(action execve)" = '"SCMP_ACT_ERRNO""SCMP_ACT_ERRNO""SCMP_ACT_NOTIFY"' ]
ok "which cannot deny the agent's own filter" [ "$(action seccomp)" = '""' ]

jq '.annotations = {}' base.json >plain.json
hook precreate <plain.json
ok "without the annotation nothing changes" cmp plain.json out
jq '.annotations["org.hermit.deterministic"] = "false"' base.json >plain.json
hook precreate <plain.json
ok "with another value nothing changes" cmp plain.json out

for what in '.linux.seccomp.listenerPath = "/run/other"' '.linux.seccomp.syscalls[0].action = "SCMP_ACT_NOTIFY"' \
	'.linux.seccomp.defaultAction = "SCMP_ACT_NOTIFY"'; do
	hook precreate < <(jq "$what" base.json)
	expect 1 "$what"
	expect_err_has 'one listener only' "$what"
	ok "$what: nothing is printed" [ ! -s out ]
done
hook precreate < <(jq '.annotations["org.hermit.seed"] = "many"' base.json)
expect 0 "a wrong option is createRuntime's affair, whose words engines show"
hook precreate < <(echo '{"process": ')
expect 1 "no JSON"
expect_err_has 'config.json: line ' "no JSON"
hook precreate < <(echo '{"annotations": {"org.hermit.deterministic": "true"}}')
expect 1 "not a container's"
hook precreate --socket="$work/nobody" <base.json
expect 0 "no agent is not precreate's affair"
hook poststart <base.json
expect 125 "an unknown stage"

# An engine that never finishes its document.
mkfifo slow
exec 9<>slow
hook precreate --limit=1 <slow
exec 9>&-
expect 1 "slow"
expect_err_has 'time limit is over' "slow"

# An agent whose socket takes no more connections.
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(0)
waiting = []
for i in range(2):
    c = socket.socket(socket.AF_UNIX); c.setblocking(False)
    try: c.connect(sys.argv[1])
    except BlockingIOError: break
    waiting.append(c)
print(flush=True); time.sleep(10000)' "$work/deaf" >"$work/deaf.ready" &
deaf=$!
trap 'kill $listener $deaf; rm -rf "$work"' EXIT
while [ ! -s "$work/deaf.ready" ]; do kill -0 $deaf || exit 99; sleep 0.05; done
hook createRuntime --socket="$work/deaf" --limit=1 < <(echo '{"ociVersion": "1.0.2", "id": "c1", "status": "created", "pid": 1, "bundle": "/b",
	"annotations": {"org.hermit.deterministic": "true"}}')
expect 1 "an agent that takes no more"
expect_err_has 'time limit is over .*the agent takes no more connections' "an agent that takes no more"

state='{"ociVersion": "1.0.2", "id": "c1", "status": "created", "pid": 1, "bundle": "/b", "annotations": {"org.hermit.deterministic": "true"}}'
hook createRuntime < <(echo "$state")
expect 0 "createRuntime"
hook createRuntime < <(echo "$state" | jq '.annotations["org.hermit.seed"] = "many"')
expect 1 "a wrong option"
expect_err_has 'annotations.org.hermit.seed: .*many' "a wrong option"
hook createRuntime --socket="$work/nobody" < <(echo "$state")
expect 1 "createRuntime without an agent"
expect_err_has "no agent listens at $work/nobody" "createRuntime without an agent"
hook createRuntime --socket="$work/nobody" < <(echo "$state" | jq '.annotations = {}')
expect 0 "createRuntime of another container"
echo "hermit: the program ended" >c1.txt
hook poststop < <(echo "$state")
expect 0 "poststop"
expect_err 'hermit: the program ended' "poststop shows the report"
ok "poststop leaves it" [ -s c1.txt ]
rm c1.txt
hook poststop < <(echo "$state")
expect 0 "poststop without one"

for name in precreate createruntime poststop; do
	file=$top_builddir/contrib/hooks.d/hermit-$name.json
	ok "$name: the engine's file" jq -e '.version == "1.0.0" and (.hook.path | startswith("/")) and (.hook.timeout | type == "number") and
		(.when.annotations | keys[0] as $k | "org.hermit.deterministic" | test($k)) and (.stages | length == 1) and
		.hook.args[2] == .stages[0]' "$file" >/dev/null
done
finish
