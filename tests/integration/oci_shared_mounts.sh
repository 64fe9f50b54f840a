#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A container whose document has no mount namespace is in its caller's; one with a mount namespace by path is in that. Either has its mounts on its root
# directory while it lives, sees what a container with mounts of its own sees, and leaves nothing.
[ -n "${SHARED_MOUNTS_INSIDE:-}" ] || [ "$(id -u)" != 0 ] || SHARED_MOUNTS_INSIDE=1 exec unshare --mount --propagation private bash "$0" "$@"
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

mounts_here()
{
	wc -l <"/proc/${1:-self}/mountinfo"
}
namespace_of()
{
	readlink "/proc/$1/ns/mnt"
}
# shellcheck disable=SC2317 # until_true calls it
has_left()
{
	[ "$(namespace_of "$1")" != "$(namespace_of self)" ]
}
others=()
trap 'kill "${others[@]}" 2>/dev/null; clear_containers; cd /; rm -rf "$work"' EXIT
inherit='.linux.namespaces |= map(select(.type != "mount"))'
# shellcheck disable=SC2016 # jq's
by_path='.linux.namespaces |= map(if .type == "mount" then .path = $path else . end)'
look='cat /proc/self/mountinfo /proc/mounts /proc/self/maps /proc/self/smaps /proc/uptime /proc/stat; ls -l /proc/self/ns; stat / /proc /dev; df; ls /proc/keys /proc/acpi /'
before=$(mounts_here)

bundle own "$look"
run rt run --bundle own c
expect 0 "mounts of its own"
cp out own.out
unshare --mount --propagation private sleep 1000 &
other=$!
others+=("$other")
until_true has_left $other
there=$(mounts_here $other)

# ---- what it sees ----
bundle shared "$look" "$inherit"
bundle joined "$look" "$by_path" --arg path "/proc/$other/ns/mnt"
for name in shared joined; do
	for _ in 1 2; do
		run rt run --bundle $name c
		expect 0 "$name: run"
		ok "$name: looks like mounts of its own" cmp out own.out
	done
	run "$supervisor" --config $name/config.json
	expect 0 "$name: --config"
done
equal "$before" "$(mounts_here)" "runs: mounts are left"
equal "$there" "$(mounts_here $other)" "runs: mounts are left in the other namespace"

# ---- where it is ----
waits='echo up; while :; do sleep 1; done'
# where NAME NAMESPACE-OF: a container that lives is in that namespace, and exec is with it.
where()
{
	run rt create --bundle "$1" c
	expect 0 "$1: create"
	equal "$(namespace_of "$2")" "$(namespace_of "$(field c .init.pid)")" "$1: namespace"
	ok "$1: its mounts are on its root" [ -e "/proc/$2/root$work/rootfs/proc/version" ]
	run rt start c
	expect 0 "$1: start"
	run rt exec c /bin/cat /proc/uptime
	expect 0 "$1: exec"
	ok "$1: exec has virtual time" grep -q '^12[0-9]\.' out
	run rt exec c /bin/ls /etc/passwd
	expect 0 "$1: exec is in the root"
}
bundle shared "$waits" "$inherit"
bundle joined "$waits" "$by_path" --arg path "/proc/$other/ns/mnt"
where shared self
run rt kill c KILL
until_true status_is c stopped
run rt delete c
expect 0 "shared: delete"
equal "$before" "$(mounts_here)" "shared: mounts are left"
where joined $other
equal "$before" "$(mounts_here)" "joined: something is mounted here"
ok "joined: others there have kept their root" test -d "/proc/$other/root$work/rootfs"
run rt delete --force c
expect 0 "joined: delete"
equal "$there" "$(mounts_here $other)" "joined: mounts are left"

# ---- who is killed ----
for who in supervisor guardian init; do
	run rt create --bundle shared c
	run rt start c
	expect 0 "$who killed: start"
	kill -KILL "$(field c .$who.pid)"
	until_true status_is c stopped
	run rt delete --force c
	expect 0 "$who killed: delete"
	equal "$before" "$(mounts_here)" "$who killed: mounts are left"
done
bundle off "$waits" "$inherit | .annotations = {\"org.hermit.off\": \"true\"}"
run rt create --bundle off c
run rt start c
expect 0 "off: start"
run rt delete --force c
equal "$before" "$(mounts_here)" "off: mounts are left"

# ---- failures ----
bundle hook true "$inherit | .hooks = {createRuntime: [{path: \"/bin/false\"}]}"
run rt create --bundle hook c
expect 1 "a hook fails"
bundle missing true "$inherit | .process.args = [\"/nothing\"]"
run rt run --bundle missing c
expect 1 "no such program"
bundle bad true "$inherit | .mounts += [{destination: \"/x\", type: \"nothing\", source: \"x\"}]"
run rt create --bundle bad c
expect 1 "a mount fails"
equal "$before" "$(mounts_here)" "failures: mounts are left"
bundle user true "$inherit | .linux.namespaces += [{type: \"user\"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings"
run rt create --bundle user c
expect 1 "a user namespace"
expect_err_has 'linux.namespaces: a user namespace has no right to mount' "a user namespace"

# ---- a read-only root, hooks, two containers on one root ----
bundle ro 'touch /x' "$inherit | .root.readonly = true"
run rt run --bundle ro c
expect 1 "read-only root"
expect_err_has 'Read-only' "read-only root"
ok "the root itself is not read-only" touch rootfs/y
bundle first "$waits" "$inherit"
bundle second "$waits" "$inherit"
for id in first second; do
	run rt create --bundle $id $id
	run rt start $id
	expect 0 "two on one root: start of $id"
done
run rt exec first /bin/cat /proc/uptime
expect 0 "two on one root: the first"
run rt delete --force second
run rt delete --force first
expect 0 "two on one root: delete"
equal "$before" "$(mounts_here)" "two on one root: mounts are left"
# Whoever goes first: what cannot be taken away from under another one goes with that.
bundle third "$waits" "$inherit"
bundle off1 "$waits" "$inherit | .annotations = {\"org.hermit.off\": \"true\"}"
for order in "first second third" "first third second" "second first third" "second third first" "third first second" "third second first" \
	"first off1" "off1 first" "gone first second" "gone second first"; do
	case $order in
	*off1*) ids="first off1" ;;
	*) ids="first second third" ;;
	esac
	for id in $ids; do
		rt create --bundle "$id" "$id"
		rt start "$id"
	done
	for id in $order; do
		if [ "$id" = gone ]; then
			run rt delete --force third # its supervisor, which would unmount, is killed first
			rt create --bundle third third
			rt start third
			kill -KILL "$(field third .supervisor.pid)"
			id=third
		fi
		if [ "$id" = first ]; then
			run rt delete --force "$id"
		else
			rt kill "$id" KILL
			until_true status_is "$id" stopped
			run rt delete "$id"
		fi
		expect 0 "stacked, $order: delete of $id"
		for other in $(rt list -q); do
			run rt exec "$other" /bin/cat /proc/uptime
			expect 0 "stacked, $order: $other lives"
		done
	done
	equal "$before" "$(mounts_here)" "stacked, $order: mounts are left"
	equal "" "$(rt list -q)" "stacked, $order: all are deleted"
done
# A mount that is nobody's of ours stays, and says so.
rt create --bundle first first
mount --bind /proc rootfs
run rt delete first
expect 1 "covered by others: delete"
expect_err_has 'cannot unmount .*rootfs, where the container.s mounts are: .*busy' "covered by others: delete"
umount rootfs
run rt delete first
expect 0 "covered by others no more: delete"
equal "$before" "$(mounts_here)" "covered by others no more: mounts are left"

# what lies there when the first is deleted is the second's
run rt create --bundle first first
run rt start first
run rt kill first KILL
until_true status_is first stopped
ok "one after the other: the first's mounts go with it" until_true test ! -e rootfs/proc/version
run rt create --bundle second second
run rt start second
expect 0 "one after the other: start of the second"
lying=$(mounts_here)
run rt delete first
expect 0 "one after the other: delete of the first"
equal "$lying" "$(mounts_here)" "one after the other: the second keeps its mounts"
run rt exec second /bin/cat /proc/uptime
expect 0 "one after the other: the second lives"
run rt delete --force second
equal "$before" "$(mounts_here)" "one after the other: mounts are left"

# ---- mounts that spread: what others got of it goes, too ----
mount --make-rshared / || exit 99
unshare --mount --propagation unchanged sleep 1000 &
peer=$!
others+=("$peer")
until_true has_left $peer
run rt run --bundle shared --detach c
expect 0 "shared propagation: run"
run rt delete --force c
equal "$before" "$(mounts_here)" "shared propagation: mounts are left"
equal "$before" "$(mounts_here $peer)" "shared propagation: mounts are left with a peer"
finish
