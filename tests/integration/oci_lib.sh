# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the drivers of the OCI commands share: bundles with a root of busybox, made here. Usage: after lib.sh.
supervisor=$top_builddir/hermit-supervisor
state=$work/state
leftover=()

skip()
{
	printf 'skipped: %s\n' "$*"
	exit 77
}

[ "$(id -u)" = 0 ] || skip "needs root"
command -v jq >/dev/null || skip "needs jq to look at documents"
busybox=$(command -v busybox) || skip "needs busybox-static"
if ldd "$busybox" >/dev/null 2>&1; then skip "needs a static busybox (busybox-static)"; fi

# Containers of one name have one cgroup, whatever the state directory, and these drivers call theirs alike: they take turns (make -j check).
turn=/run/lock/hermit-oci-tests
if (: >>$turn) 2>/dev/null; then
	mkfifo "$work/turn"
	# shellcheck disable=SC2016 # the inner shell's
	(flock --no-fork $turn sh -c 'echo >"$2"; exec tail --pid="$1" -s 0.1 -f /dev/null' sh $$ "$work/turn" >/dev/null 2>&1 </dev/null &)
	read -r _ <"$work/turn"
fi

# rt COMMAND...: the runtime with a state directory of this test. A file, so that `run rt ...` works too.
printf '#!/bin/sh\nexec "%s" --root "%s" "$@"\n' "$supervisor" "$state" >"$work/rt"
chmod +x "$work/rt"
PATH=$work:$PATH

# cgroups_named PATTERN: control groups of that name that this test has made. Others may stand there: of a run that was killed, of a test in a cgroup namespace.
find /sys/fs/cgroup -type d 2>/dev/null | sort >"$work/cgroups"
cgroups_named()
{
	find /sys/fs/cgroup -type d -name "$1" 2>/dev/null | sort | comm -23 - "$work/cgroups"
}

# rootfs DIR: a root file system.
rootfs()
{
	mkdir -p "$1"/{bin,proc,dev,sys,tmp,etc} || exit 99
	cp "$busybox" "$1/bin/busybox"
	[ -e "$1/bin/sh" ] || chroot "$1" /bin/busybox --install -s /bin
	printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' >"$1/etc/passwd"
}

# bundle DIR SCRIPT [JQ-FILTER [JQ-OPTION...]]: a bundle that runs the script; all share one root file system.
bundle()
{
	[ -d "$work/rootfs" ] || rootfs "$work/rootfs"
	mkdir -p "$1"
	rm -f "$1/config.json"
	"$supervisor" spec --bundle "$1" || exit 99
	jq "${@:4}" --arg script "$2" --arg root "$work/rootfs" '.process.args = ["/bin/sh", "-c", $script] | .process.terminal = false
		| .process.rlimits = [] | .root.path = $root | '"${3:-.}" "$1/config.json" >"$1/config.new" || exit 99
	mv "$1/config.new" "$1/config.json"
}

# until_true COMMAND...: waits for something that happens on its own, a minute at most, and longer on a machine that others use, too.
until_true()
{
	local i
	for ((i = 0; i < $(at_most 600); i++)); do
		"$@" && return 0
		sleep 0.1
	done
	return 1
}

status_of()
{
	rt state "$1" 2>/dev/null | jq -r .status
}

status_is()
{
	[ "$(status_of "$1")" = "$2" ]
}

# waits_for_input ID: its first process has asked for input, and the supervisor has nothing to do any more.
waits_for_input()
{
	local call
	read -r call _ <"/proc/$(field "$1" .init.pid)/syscall"
	case $call in 0 | 7) ;; *) return 1 ;; esac # read, or poll before it
	grep -q '^State:.*S' "/proc/$(field "$1" .supervisor.pid)/status"
}

is_gone()
{
	! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# field ID JQ-FILTER: from the runtime's own state file.
field()
{
	jq -r "$2" "$state/$1/state.json"
}

# Whatever a test leaves is cleared, so that no container outlives it.
clear_containers()
{
	local id
	for id in $(rt list -q 2>/dev/null); do rt delete --force "$id"; done
}
trap 'clear_containers; cd /; rm -rf "$work"' EXIT

# equal EXPECTED ACTUAL WHAT
equal()
{
	checks=$((checks + 1))
	[ "$1" = "$2" ] || fail "$3: '$2' instead of '$1'"
}
