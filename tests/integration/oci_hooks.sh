#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Hooks: all six stages with their order, namespaces, state on standard input, environment, timeouts and failures.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

# What a hook sees, one line each in $record (bind-mounted into the container for the stage that runs inside).
record=$work/record
mkdir "$record"
cat >"$record/hook" <<'END'
#!/bin/sh
# hook STAGE RECORD [STATUS]: writes what it sees
/bin/busybox cat >"$2/$1.json" 2>/dev/null || cat >"$2/$1.json"
{
	echo "$1"
	readlink /proc/self/ns/mnt
	readlink /proc/self/ns/net
	echo "env=$(/usr/bin/env 2>/dev/null | grep -c . || /bin/busybox env | /bin/busybox grep -c .)"
	echo "A=$A"
} >"$2/$1.seen"
echo "$1" >>"$2/order"
exit ${3:-0}
END
chmod +x "$record/hook"
host_stages="prestart createRuntime createContainer poststart poststop"
hooks=$(for stage in $host_stages; do
	printf '.hooks.%s = [{path: "%s", args: ["hook", "%s", "%s"], env: ["A=b"]}] | ' $stage "$record/hook" $stage "$record"
done)
hooks="$hooks .hooks.startContainer = [{path: \"/record/hook\", args: [\"hook\", \"startContainer\", \"/record\"], env: [\"A=b\"]}]
	| .mounts += [{destination: \"/record\", type: \"bind\", source: \"$record\", options: [\"bind\", \"rw\"]}]"
bundle hooked 'echo program >>/record/order' "$hooks"
run rt create --bundle hooked h
expect 0 "create with hooks"
pid=$(rt state h | jq .pid)
container_mnt=$(readlink "/proc/$pid/ns/mnt") container_net=$(readlink "/proc/$pid/ns/net")
equal "prestart createRuntime createContainer" "$(xargs <"$record/order")" "before the start"
run rt start h
expect 0 "start with hooks"
until_true status_is h stopped
run rt delete h
expect 0 "delete with hooks"
equal "prestart createRuntime createContainer startContainer program poststop" \
	"$(grep -v poststart "$record/order" | xargs)" "order of stages"
ok "poststart came after startContainer and before poststop" [ "$(grep -nx poststart "$record/order" | cut -d: -f1)" -gt 4 ]
host_mnt=$(readlink /proc/self/ns/mnt) host_net=$(readlink /proc/self/ns/net)
for stage in prestart createRuntime poststart poststop; do
	equal "$stage $host_mnt $host_net" "$(head -3 "$record/$stage.seen" | xargs)" "$stage: namespaces of the host"
done
for stage in createContainer startContainer; do
	equal "$stage $container_mnt $container_net" "$(head -3 "$record/$stage.seen" | xargs)" "$stage: namespaces of the container"
done
for stage in prestart createRuntime createContainer startContainer poststart poststop; do
	ok "$stage: its environment" grep -qx A=b "$record/$stage.seen"
	equal "h $work/hooked" "$(jq -r '.id + " " + .bundle' "$record/$stage.json")" "$stage: state on standard input"
done
for stage in prestart createRuntime createContainer; do
	equal "created $pid" "$(jq -r '.status + " " + (.pid | tostring)' "$record/$stage.json")" "$stage: status and process"
done
equal "created 1" "$(jq -r '.status + " " + (.pid | tostring)' "$record/startContainer.json")" "startContainer: status and process"
equal "running $pid" "$(jq -r '.status + " " + (.pid | tostring)' "$record/poststart.json")" "poststart: status and process"
equal "stopped null" "$(jq -r '.status + " " + (.pid | tostring)' "$record/poststop.json")" "poststop: status and process"

# ---- failures ----
marker=$work/ran
for stage in prestart createRuntime createContainer; do
	rm -f "$record/order" "$marker"
	bundle bad "echo ran" ".hooks.$stage = [{path: \"$record/hook\", args: [\"hook\", \"$stage\", \"$record\", \"3\"]},
		{path: \"/bin/touch\", args: [\"touch\", \"$marker\"]}]
		| .hooks.poststop = [{path: \"$record/hook\", args: [\"hook\", \"poststop\", \"$record\"]}]"
	run rt create --bundle bad bad
	expect 1 "$stage fails: create"
	expect_err_has "hooks.$stage\[0\]: hook .* ended with status 3" "$stage fails: message"
	ok "$stage fails: no further hook of the stage" [ ! -e "$marker" ]
	equal "" "$(rt list -q)$(cgroups_named bad)" "$stage fails: nothing is left"
done
bundle bad "echo ran" '.hooks.startContainer = [{path: "/bin/false"}]'
run rt run --bundle bad bad
expect 1 "startContainer fails"
expect_out "" "startContainer fails: the program does not run"
expect_err_has 'hooks.startContainer\[0\]' "startContainer fails: message"
equal "" "$(rt list -q)" "startContainer fails: nothing is left"
bundle bad "read x" '.hooks.poststart = [{path: "/bin/false"}]'
run rt create --bundle bad bad
run rt start bad
expect 1 "poststart fails"
until_true status_is bad stopped
equal stopped "$(status_of bad)" "poststart fails: the container is stopped"
run rt delete bad
expect 0 "poststart fails: delete"
bundle bad "true" '.hooks.poststop = [{path: "/bin/false"}, {path: "/bin/touch", args: ["touch", "'"$marker"'"]}]'
run rt run --bundle bad bad
expect 0 "poststop fails"
expect_err_has 'hooks.poststop\[0\]' "poststop fails: a warning"
ok "poststop fails: the others run" [ -e "$marker" ]
bundle bad "true" '.hooks.createRuntime = [{path: "/bin/sleep", args: ["sleep", "100"], timeout: 1}]'
run rt run --bundle bad bad
expect 1 "timeout"
expect_err_has 'hooks.createRuntime\[0\]: hook /bin/sleep ran past its timeout of 1 s' "timeout: message"
bundle bad "true" '.hooks.createRuntime = [{path: "/bin/sh", args: ["sh", "-c", "sleep 1000 & wait"], env: ["HERMIT_TEST_ID=late", "PATH=/bin:/usr/bin"], timeout: 1}]'
run rt run --bundle bad bad
expect 1 "timeout of a hook with children"
ok "timeout of a hook with children: nobody is left" until_true sh -c '! grep -lsz "HERMIT_TEST_ID=late" /proc/[0-9]*/environ'
bundle bad "true" '.hooks.createRuntime = [{path: "/no/such/hook"}]'
run rt run --bundle bad bad
expect 1 "a hook that is not there"
bundle bad "echo fine" '.hooks.createRuntime = [{path: "/bin/sh", args: ["sh", "-c", "test \"$OF_THE_RUNTIME\" = yes"]},
	{path: "/bin/sh", args: ["sh", "-c", "test -z \"$HOME$OF_THE_RUNTIME\" && test $(env | grep -vc -e ^PWD= -e ^SHLVL= -e ^_=) = 0"], env: []}]
	| .hooks.startContainer = [{path: "/bin/sh", args: ["sh", "-c", "test -z \"$OF_THE_RUNTIME\" && test \"$OF_THE_PROCESS\" = yes"]}]
	| .process.env += ["OF_THE_PROCESS=yes"]'
run env OF_THE_RUNTIME=yes rt run --bundle bad bad
expect_out fine "a hook without env has its surroundings, one with an empty env has none, and none need read their input"
# startContainer is under the container's own filter, and only then: what it denies is denied, and time is the host's
for nnp in true false; do
	rm -rf "$work/rootfs/made" "$work/rootfs/said" "$record/made"
	bundle seccomp 'cat /said; mkdir /made 2>/dev/null || echo denied; cut -d. -f1 /proc/uptime' ".process.noNewPrivileges = $nnp | .root.readonly = false
		| .hooks.createRuntime = [{path: \"/bin/mkdir\", args: [\"mkdir\", \"$record/made\"]}]
		| .hooks.startContainer = [{path: \"/bin/sh\", args: [\"sh\", \"-c\", \"{ mkdir /made 2>/dev/null || echo hook: denied; cut -d. -f1 /proc/uptime; } >/said\"]}]
		| .linux.seccomp = {defaultAction: \"SCMP_ACT_ALLOW\", syscalls: [{names: [\"mkdir\", \"mkdirat\"], action: \"SCMP_ACT_ERRNO\"}]}"
	before=$(cut -d. -f1 /proc/uptime)
	run rt run --bundle seccomp seccomp
	expect 0 "seccomp, noNewPrivileges $nnp"
	equal "hook: denied denied 120" "$(sed 2d out | xargs)" "seccomp, noNewPrivileges $nnp: who is denied what"
	ok "seccomp, noNewPrivileges $nnp: the hook has the host's time" [ "$(sed -n 2p out)" -ge "$before" -a "$(sed -n 2p out)" -le "$(cut -d. -f1 /proc/uptime)" ]
	ok "seccomp, noNewPrivileges $nnp: hooks outside are not under it" [ -d "$record/made" ]
done
finish
