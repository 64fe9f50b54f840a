#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --cgroup-manager=systemd with a systemd of the test's own, in both layouts of cgroups: scopes, their properties, what becomes of them.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
: >in

[ "$("$supervisor" features | jq .linux.cgroup.systemd)" = true ] || skip "this build has no support for systemd"

if [ -z "${INSIDE_LAYOUT:-}" ]; then
	[ -x /lib/systemd/systemd ] || skip "needs systemd (not as the machine's own process 1)"
	trap 'end_systemd; cd /; rm -rf "$work"' EXIT
	own=hermit-systemd-$$
	hierarchies=$(awk '$(NF - 2) ~ /^cgroup2?$/ { print $5 }' /proc/self/mountinfo)
	pid1=

	# A cgroup of its own in all hierarchies: what systemd takes for the root.
	own_cgroups()
	{
		local top
		for top in $hierarchies; do
			mkdir "$top/$own" || return 1
			[ ! -e "$top/cpuset.cpus" ] || cat "$top/cpuset.cpus" >"$top/$own/cpuset.cpus"
			[ ! -e "$top/cpuset.mems" ] || cat "$top/cpuset.mems" >"$top/$own/cpuset.mems"
			echo "$1" >"$top/$own/cgroup.procs" || return 1
		done
	}

	remove_tree()
	{
		[ ! -d "$1" ] || find "$1" -depth -type d -exec rmdir {} \; 2>/dev/null
		[ ! -d "$1" ]
	}

	begin_systemd() # LAYOUT
	{
		# shellcheck disable=SC2016
		(
			own_cgroups "$BASHPID" || exit 1
			exec unshare -fpmCnui --propagation private --kill-child "$top_srcdir/tests/support/systemd_pid1.sh" "$1" "$work"
		) >"$work/systemd.log" 2>&1 &
		pid1=$!
		for ((i = 0; i < $(at_most 20); i++)); do
			init=$(pgrep -P "$pid1") && [ -S "/proc/$init/root/run/systemd/private" ] && inside systemctl is-active -q hermit-test.target && break
			kill -0 "$pid1" 2>/dev/null || return 1
			sleep 0.1
		done
		inside systemd-run -q --scope true # nor is every place one where it may make cgroups
	}

	inside()
	{
		nsenter -t "$init" -m -p -C -n -u -i -- "$@" 2>/dev/null
	}

	end_systemd()
	{
		local top
		[ -z "$pid1" ] || kill -KILL "$pid1" 2>/dev/null
		wait "$pid1" 2>/dev/null
		pid1=
		for top in $hierarchies; do
			until_true remove_tree "$top/$own"
		done
	}

	ran=
	for layout in v1 v2; do
		if begin_systemd $layout; then
			ran=$ran$layout
			nsenter -t "$init" -m -p -C -n -u -i env INSIDE_LAYOUT=$layout TMPDIR="$work" "$top_srcdir/tests/integration/oci_systemd.sh" || failures=$((failures + 1))
			checks=$((checks + 1))
		else
			echo "no systemd with cgroups $layout here:"
			tail -n 5 "$work/systemd.log"
		fi
		end_systemd
	done
	[ -n "$ran" ] || skip "systemd does not start in namespaces here"
	finish
fi

# property UNIT NAME: its value, as systemctl shows it.
property()
{
	systemctl show --value -p "$2" "$1"
}

# When systemd forgets it is its own affair: as one that never was it is inactive from its end on.
unit_is_gone()
{
	[ "$(property "$1" ActiveState)" = inactive ]
}

group_of() # PID: where it is in the hierarchy that systemd works in
{
	if [ "$INSIDE_LAYOUT" = v2 ]; then sed -n 's/^0:://p' "/proc/$1/cgroup"; else sed -n 's/^[0-9]*:name=systemd://p' "/proc/$1/cgroup"; fi
}

directories() # PATH: of the hierarchies that have it
{
	find /sys/fs/cgroup -path "*/$1" -type d -not -path '/sys/fs/cgroup/unified/*'
}

has_pids()
{
	[ "$INSIDE_LAYOUT" = v1 ] || grep -qw pids /sys/fs/cgroup/cgroup.controllers
}
say="cgroups $INSIDE_LAYOUT"
pids=
if [ "$INSIDE_LAYOUT" = v1 ]; then
	pids=pids
	limits='{memory: {limit: 104857600}, cpu: {shares: 512, quota: 25000, period: 50000}, pids: {limit: 77}}'
elif has_pids; then
	limits='{pids: {limit: 77}}'
else
	limits='{}'
fi

# ---- a container's life ----
bundle one 'echo up; while :; do sleep 0.1; done' ".linux.cgroupsPath = \"system.slice:my:one\" | .linux.resources = $limits
	| .linux.resources.devices = [{allow: false, access: \"rwm\"}, {allow: true, type: \"c\", major: 10, minor: 200, access: \"rw\"}]
	| .annotations += {\"org.systemd.property.TimeoutStopSec\": \"uint64 7\", \"org.systemd.property.After\": \"['other.service']\"}"
rt --systemd-cgroup create --bundle one one <in >one.out 2>&1 || fail "$say: create: $(cat one.out)"
pid=$(field one .init.pid)
equal /system.slice/my-one.scope "$(group_of "$pid")" "$say: the process is in its scope"
equal systemd:my-one.scope "$(field one '.cgroupManager + ":" + .cgroupUnit')" "$say: the state says so"
equal "active running" "$(property my-one.scope ActiveState) $(property my-one.scope SubState)" "$say: the scope"
equal "system.slice yes no inactive-or-failed" "$(property my-one.scope Slice) $(property my-one.scope Delegate) $(property my-one.scope DefaultDependencies) $(property my-one.scope CollectMode)" "$say: what every scope has"
equal 7s "$(property my-one.scope TimeoutStopUSec)" "$say: a number in an annotation"
ok "$say: a list in an annotation" grep -qw other.service <<<"$(property my-one.scope After)"
equal strict "$(property my-one.scope DevicePolicy)" "$say: devices"
ok "$say: a device that is allowed" grep -qx '/dev/char/10:200 rw' <<<"$(property my-one.scope DeviceAllow)"
if [ "$INSIDE_LAYOUT" = v1 ]; then
	equal "104857600 512 500ms 50ms" "$(property my-one.scope MemoryLimit) $(property my-one.scope CPUShares) $(property my-one.scope CPUQuotaPerSecUSec) $(property my-one.scope CPUQuotaPeriodUSec)" "limits as properties"
	equal "104857600 25000" "$(cat /sys/fs/cgroup/memory/system.slice/my-one.scope/memory.limit_in_bytes /sys/fs/cgroup/cpu/system.slice/my-one.scope/cpu.cfs_quota_us | xargs)" "limits in files"
	equal 0 "$(grep -v -e '^0::' "/proc/$pid/cgroup" | grep -vc ':/system.slice/my-one.scope$')" "every hierarchy has it"
fi
equal 1 "$(rt ps -f json one | jq length)" "$say: ps"
rt start one || fail "$say: start"
until_true grep -q up one.out
run rt exec --detach --pid-file below.pid one /bin/sleep 5000
expect 0 "$say: exec"
equal /system.slice/my-one.scope "$(group_of "$(cat below.pid)")" "$say: exec is in the scope"
run rt pause one
expect 0 "$say: pause"
equal paused "$(status_of one)" "$say: pause: status"
run rt resume one
expect 0 "$say: resume"
run rt events --stats one
ok "$say: events" jq -e '.data.cpu.usage.total > 0' out
if has_pids; then
	equal 77 "$(property my-one.scope TasksMax)" "$say: pids.limit"
	run rt update --pids-limit 55 one
	expect 0 "$say: update"
	equal "55 55" "$(property my-one.scope TasksMax) $(cat "/sys/fs/cgroup/$pids/system.slice/my-one.scope/pids.max")" "$say: update: property and file"
fi
if [ "$INSIDE_LAYOUT" = v1 ]; then
	run rt update --cpu-quota 10000 one
	equal "200ms 50000" "$(property my-one.scope CPUQuotaPerSecUSec) $(cat /sys/fs/cgroup/cpu/system.slice/my-one.scope/cpu.cfs_period_us)" "update of a part: the period is the one that is there"
fi
# another one does not move in with it
run rt --systemd-cgroup create --bundle one guest
expect 1 "$say: a scope that there is"
expect_err_has "systemd has a unit my-one.scope already" "$say: a scope that there is"
equal running "$(status_of one)" "$say: nor does that end the first one"
run rt kill --all one KILL
expect 0 "$say: kill --all"
until_true status_is one stopped
run rt delete one
expect 0 "$say: delete"
ok "$say: delete: the scope" unit_is_gone my-one.scope
equal '' "$(directories system.slice/my-one.scope)" "$say: delete: the cgroups"

# ---- names, refusals, failures ----
bundle two 'echo hi'
run rt --cgroup-manager systemd run --bundle two two
expect_out hi "$say: run"
ok "$say: run: the scope" unit_is_gone hermit-two.scope
run rt --cgroup-manager systemd create --bundle two two
equal /system.slice/hermit-two.scope "$(group_of "$(field two .init.pid)")" "$say: without a path"
run rt delete --force two
expect 0 "$say: delete --force"
ok "$say: delete --force: the scope" unit_is_gone hermit-two.scope
# fails_before ID: leaves a scope that has failed, with the name of the container's
fails_before()
{
	systemd-run -q --scope --unit="hermit-$1" -p RuntimeMaxSec=0.1 sleep 5000 2>/dev/null
	until_true test "$(property "hermit-$1.scope" ActiveState)" = failed
	equal failed "$(property "hermit-$1.scope" ActiveState)" "$say: a failed scope"
}
fails_before two
run rt --cgroup-manager systemd run --bundle two two
expect_out hi "$say: a failed scope has the name"
bundle three 'echo hi' '.linux.namespaces += [{type: "time", path: "/proc/self/ns/mnt"}]'
run rt --systemd-cgroup run --bundle three three
expect 1 "$say: process 1 ends before it is admitted"
expect_err_has namespace "$say: process 1 ends before it is admitted, and its words are said"
bundle three 'echo hi' '.linux.cgroupsPath = "/some/where"'
run rt --systemd-cgroup run --bundle three three
expect 1 "$say: a path of cgroupfs"
expect_err_has 'expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/some/where" instead' "$say: a path of cgroupfs"
bundle three 'echo hi' '.annotations["org.systemd.property.TimeoutStopSec"] = "soon"'
run rt --systemd-cgroup run --bundle three three
expect_err_has "annotation org.systemd.property.TimeoutStopSec: 'soon' is none of" "$say: a wrong annotation"
bundle three 'echo hi' '.annotations["org.systemd.property.Nonsense"] = "true"'
run rt --systemd-cgroup run --bundle three three
expect_err_has "systemd cannot start hermit-three.scope: .*Nonsense" "$say: what systemd refuses"
bundle three 'echo hi' '.process.args = ["/none"]'
run rt --systemd-cgroup run --bundle three three
expect 1 "$say: a creation that fails"
ok "$say: a creation that fails: the scope" unit_is_gone hermit-three.scope

# ---- killed in the middle ----
bundle four 'echo hi' ".hooks.createRuntime = [{path: \"/bin/sh\", args: [\"sh\", \"-c\", \"touch $work/reached; exec sleep 5000\"]}]"
rt --systemd-cgroup create --bundle four four >four.out 2>&1 <in &
until_true test -e reached
ok "$say: in the middle of creation there is a scope" test "$(property hermit-four.scope ActiveState)" = active
kill -KILL $!
wait $! 2>/dev/null
run rt delete --force four
expect 0 "$say: delete --force of half a container"
ok "$say: half a container: the scope" unit_is_gone hermit-four.scope
equal '' "$(directories system.slice/hermit-four.scope)" "$say: half a container: the cgroups"

# ---- over the bus, and of an ordinary user ----
if ! [ -x /usr/bin/dbus-daemon ] || ! systemctl start dbus.socket dbus.service 2>err; then
	echo "no dbus-daemon: a user's own systemd is not tried"
	finish
fi
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket
run rt --systemd-cgroup run --bundle two bus
expect_out hi "$say: over the bus"
fails_before bus
run rt --systemd-cgroup run --bundle two bus
expect_out hi "$say: over the bus, where a failed scope has the name"
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/nobody
run rt --systemd-cgroup run --bundle two bus
expect_err_has "systemd cannot be reached at unix:path=/run/nobody .*: use --cgroup-manager=cgroupfs" "$say: a bus that is not there"
unset DBUS_SYSTEM_BUS_ADDRESS

user=1000
mkdir -p "/run/user/$user" own
chown $user:$user "/run/user/$user" own
chmod 755 "$work" "$work/.."
systemctl start user@$user.service || fail "$say: a systemd of a user"
is_user=(setpriv --reuid $user --regid $user --clear-groups)
if ! "${is_user[@]}" test -x "$supervisor" -a -x "$work/own" || ! "${is_user[@]}" unshare --user true; then
	echo "an ordinary user may not run what is built in $top_builddir, or has no user namespaces: a user's own systemd is not tried"
	finish
fi
"${is_user[@]}" unshare --user --map-root-user sleep 5000 &
namespace=$!
has_its_namespace()
{
	[ "$(readlink "/proc/$namespace/ns/user")" != "$(readlink /proc/self/ns/user)" ] && grep -q "0 *$user" "/proc/$namespace/uid_map"
}
until_true has_its_namespace
# as_user COMMAND...: of the user, who is root of a user namespace, as in rootless engines
as_user()
{
	XDG_RUNTIME_DIR=/run/user/$user "${is_user[@]}" nsenter -t $namespace -U --preserve-credentials "$supervisor" --root "$work/own" "$@"
}
bundle five 'echo up; while :; do sleep 0.1; done' 'del(.linux.resources) | .mounts |= map(select(.type != "cgroup")) |
	.mounts |= map(if .options then .options -= ["gid=5"] else . end)'
as_user --systemd-cgroup create --bundle five five <in >five.out 2>&1 || fail "$say: create of a user: $(cat five.out)"
five=$(jq -r .init.pid own/five/state.json)
equal "/user.slice/user-$user.slice/user@$user.service/user.slice/hermit-five.scope" "$(group_of "$five")" "$say: a user's container is in the user's systemd"
as_user start five || fail "$say: start of a user"
as_user exec --detach --pid-file own/exec.pid five /bin/sleep 5000 >five.out 2>&1 || fail "$say: exec of a user: $(cat five.out)"
[ "$INSIDE_LAYOUT" = v1 ] || equal "$(group_of "$five")" "$(group_of "$(cat own/exec.pid)")" "$say: exec of a user is there, too"
as_user delete --force five || fail "$say: delete of a user"
kill $namespace
equal '' "$(directories "user.slice/user-$user.slice/user@$user.service/user.slice/hermit-five.scope")" "$say: nothing is left"
run env XDG_RUNTIME_DIR=/run/nobody "${is_user[@]}" "$supervisor" --root "$work/own" --systemd-cgroup run --bundle five six
expect_err_has "no systemd of this user is running here .there is no /run/nobody/systemd.: log in" "$say: a user without one"
finish
