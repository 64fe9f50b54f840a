#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the guest is told about the machine: by calls, by /proc and /sys, by the tools that read them. Each repeats, half of the runs
# beside two busy loops, byte for byte; natively the same things differ from one time to the next, or from one caller to the next.
# HERMIT_MACHINE_RUNS says how often (20).
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
runs=${HERMIT_MACHINE_RUNS:-20}
guests=$PWD/guests
mkdir "$guests"
cp "$top_builddir/tests/guests/machine_calls" "$top_builddir/tests/guests/machine_reads" "$guests" || exit 99

# Everything runs in a fixed directory and writes to a pipe, so that the paths of this test are not part of what is compared.
hermit_run()
{
	(cd "$guests" && exec "$hermit" run --timeout="$(at_most 60)" --tmp="$guests" --workdir=/tmp "$@") 2>"$work/err" </dev/null | cat >"$work/out"
	status=${PIPESTATUS[0]}
}

# repeats WHAT ARGUMENTS...: runs with status 0, the second half under load; all say the same, and nothing was out of control.
repeats()
{
	local what=$1 i
	shift
	for ((i = 0; i < runs; i++)); do
		[ "$i" -lt $((runs / 2)) ] || start_load
		hermit_run "$@"
		expect 0 "$what, run $i"
		[ "$i" != 0 ] || cp "$work/out" "$work/first"
		checks=$((checks + 1))
		if ! cmp -s "$work/first" "$work/out"; then
			diff "$work/first" "$work/out" | head -n 20
			fail "$what, run $i: not the same as the first"
		fi
	done
	stop_load
	checks=$((checks + 1))
	! grep "not modelled: /" "$work/err" || fail "$what: files that nobody models"
	checks=$((checks + 1))
	[ -s "$work/first" ] || fail "$what: said nothing"
}

# varies WHAT COMMAND...: the control: natively two times are not alike: between them time passes and memory is taken, on the calmest machine too.
varies()
{
	local what=$1
	shift
	("$@"; true) >"$work/native1" 2>/dev/null </dev/null
	sleep 0.02
	head -c 4194304 /dev/urandom >>"$work/ballast"
	("$@"; true) >"$work/native2" 2>/dev/null </dev/null
	checks=$((checks + 1))
	! cmp -s "$work/native1" "$work/native2" || fail "$what: natively two runs are alike, so the test shows nothing"
}

# --- calls ---
repeats "calls" --cpus=3 --memory=2147483648 --hostname=box -- ./machine_calls 3 2147483648 box
# It asks for another name of the host, another clock and a broken page of memory, and changes how nice its group is: natively it must not be
# allowed the former, and has a group of its own for the latter.
harmless=(setsid -w)
[ "$(id -u)" != 0 ] || harmless+=(setpriv --inh-caps=-all --bounding-set=-all)
name_before=$(uname -n) nice_before=$(nice)
varies "calls" "${harmless[@]}" "$guests/machine_calls" 3 2147483648 box
ok "natively its calls are made" grep -q '^mapped at' "$work/native1" # it ends at strict seccomp
ok "the control leaves the host alone" [ "$(uname -n) $(nice)" = "$name_before $nice_before" ]
hermit_run --cpus=70 --memory=1GB -- ./machine_calls 70 1000000000 hermit
expect 0 "calls on a machine of 70 processors"

# --- files ---
machine_files="/proc/uptime /proc/loadavg /proc/version /proc/stat /proc/meminfo /proc/cpuinfo /proc/vmstat /proc/interrupts
/proc/softirqs /proc/schedstat /proc/diskstats /proc/partitions /proc/swaps /proc/buddyinfo /proc/zoneinfo /proc/slabinfo
/proc/filesystems /proc/devices /proc/cgroups /proc/cmdline /proc/consoles /proc/modules /proc/locks /proc/key-users /proc/keys
/proc/pressure/cpu /proc/pressure/io /proc/pressure/memory /proc/mounts /proc/kallsyms /proc/crypto /proc/misc /proc/iomem
/proc/tty/drivers /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg"
task_files=$(for f in stat statm status maps smaps smaps_rollup numa_maps mountinfo mounts mountstats limits io sched schedstat cgroup \
	cpuset uid_map gid_map setgroups loginuid sessionid oom_score oom_score_adj wchan stack syscall personality autogroup comm cmdline \
	environ auxv coredump_filter timerslack_ns timens_offsets children pagemap attr/current fdinfo/0 fdinfo/3; do
	echo "/proc/self/$f /proc/thread-self/$f /proc/1/$f"
done)
settings="/proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id /proc/sys/kernel/random/entropy_avail /proc/sys/kernel/hostname
/proc/sys/kernel/osrelease /proc/sys/kernel/version /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max /proc/sys/kernel/pty/nr
/proc/sys/fs/file-nr /proc/sys/fs/inode-nr /proc/sys/fs/dentry-state /proc/sys/fs/aio-nr /proc/sys/vm/overcommit_memory
/proc/sys/net/core/somaxconn /proc/sys/user/max_user_namespaces /proc/sys/net/ipv4/tcp_mem /proc/sys/net/ipv4/tcp_max_tw_buckets
/proc/sys/net/ipv4/tcp_available_congestion_control /proc/sys/net/ipv4/neigh/default/gc_thresh3 /proc/sys/net/ipv4/neigh/lo/ucast_solicit /proc/sys/net/ipv6/neigh/lo/locktime /proc/net/rt_acct /proc/sys/fs/quota/lookups
/proc/net/stat/rt_cache /proc/net/fib_triestat /proc/net/netfilter/nf_log"
sys_files="/sys/devices/system/cpu/online /sys/devices/system/cpu/possible /sys/devices/system/cpu/present
/sys/devices/system/cpu/cpu0/topology/core_siblings_list /sys/devices/system/node/node0/meminfo /sys/class/net/lo/mtu
/sys/kernel/uevent_seqnum"
# shellcheck disable=SC2086 # lists of names
repeats "files" --cpus=2 -- ./machine_reads $machine_files $task_files $settings $sys_files
# shellcheck disable=SC2086
varies "files" "$guests/machine_reads" $machine_files
for one in uptime stat meminfo interrupts self/stat self/maps self/sched sys/kernel/random/uuid; do
	varies "/proc/$one" cat "/proc/$one"
done

# --- one machine ---
# shellcheck disable=SC2016 # for the guest's shell
agree='
set -e
[ "$(nproc)" = 5 ]
[ "$(getconf _NPROCESSORS_CONF)" = 5 ]
[ "$(grep -c ^processor /proc/cpuinfo)" = 5 ]
[ "$(grep -c ^cpu[0-9] /proc/stat)" = 5 ]
[ "$(cat /sys/devices/system/cpu/online)" = 0-4 ]
[ "$(cat /sys/devices/system/node/node0/cpulist)" = 0-4 ]
[ "$(grep Cpus_allowed: /proc/self/status | cut -f2)" = 1f ]
[ "$(grep Cpus_allowed_list: /proc/self/status | cut -f2)" = 0-4 ]
[ "$(taskset -c 2 nproc)" = 1 ]
[ "$(taskset -c 2 grep Cpus_allowed_list: /proc/self/status | cut -f2)" = 2 ]
[ "$(taskset -c 2 cut -d" " -f39 /proc/self/stat)" = 2 ]
[ "$(grep MemTotal /proc/meminfo | tr -s " " | cut -d" " -f2)" = 3145728 ]
[ "$(grep MemTotal /sys/devices/system/node/node0/meminfo | tr -s " " | cut -d" " -f4)" = 3145728 ]
[ "$(getconf _PHYS_PAGES)" = 786432 ]
[ "$(cut -d. -f1 /proc/uptime)" = "$(python3 -c "import time; print(int(time.clock_gettime(time.CLOCK_BOOTTIME)))")" ]
[ "$(grep btime /proc/stat)" = "btime $(($(date +%s) - $(cut -d. -f1 /proc/uptime)))" ]
[ "$(uname -r)" = "$(cat /proc/sys/kernel/osrelease)" ]
[ "$(uname -v)" = "$(cat /proc/sys/kernel/version)" ]
[ "$(uname -n)" = "$(cat /proc/sys/kernel/hostname)" ]
[ "$(cat /proc/sys/kernel/domainname)" = "(none)" ]
[ "$(cat /proc/sys/kernel/random/boot_id)" = "$(cat /proc/sys/kernel/random/boot_id)" ]
[ "$(cat /proc/sys/kernel/random/uuid)" != "$(cat /proc/sys/kernel/random/uuid)" ]
[ "$(nice -n 7 cut -d" " -f19 /proc/self/stat)" = 7 ]
[ "$(bash -c "ulimit -n 77; grep files /proc/self/limits" | tr -s " " | cut -d" " -f4)" = 77 ]
[ "$(stat -Lc %i /proc/self/ns/net)" = 4026531840 ]
[ "$(readlink /proc/self/ns/net)" = "net:[4026531840]" ]
[ "$({ readlink /proc/self/fd/0; stat -Lc "pipe:[%i]" /proc/self/fd/0; } < <(:) | uniq | wc -l)" = 1 ]
[ "$(stat -c %h /proc)" = 1 ]
[ "$(stat -c %Y /proc/self/stat)" = 1767225600 ]
echo one machine'
hermit_run --cpus=5 --memory=3GiB -- bash -c "$agree"
expect 0 "one machine"
expect_out "one machine" "one machine"

# The same object by other ways.
# shellcheck disable=SC2016
hermit_run -- bash -c 'cd /proc; cat self/../uptime >/dev/null; ln -s /proc/version /tmp/link; cmp /tmp/link /proc/version; cd self;
	cmp limits /proc/self/limits; cmp limits /proc/$$/limits; cmp cgroup /proc/self/task/$$/cgroup; rm /tmp/link; exec 9</proc/version;
	cmp /dev/fd/9 /proc/version; cmp /proc/self/fd/9 /proc/version; echo same'
expect 0 "the same object by other ways"
expect_out "same" "the same object by other ways"

# Only what is the guest's, in order.
# shellcheck disable=SC2016
hermit_run -- bash -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 9 & done; ls -f /proc | head -n 14 | tr "\n" " "; kill $(jobs -p)'
expect 0 "listing of /proc"
expect_out ". .. 1 2 3 4 5 6 7 8 9 10 11 12 " "listing of /proc"
hermit_run -- cat /proc/1/cmdline /proc/1/comm
expect_out "$(printf 'initinit')" "process 1" 2>/dev/null
hermit_run -- readlink /proc/1/exe
expect 1 "process 1's program is nobody's business"

# --- tools ---
repeats "tools" --cpus=2 -- sh -c 'ps aux; ps -eLf; top -bn1; free; uptime; lscpu; nproc; df; id; vmstat; ls -lan /proc/self/fd /proc/self/ns'
varies "tools" sh -c 'ps aux; top -bn1; free'

# --- nothing of the caller's ---
# shellcheck disable=SC2016
inherited='env | sort; umask; ulimit -a; nice; ls -l /proc/self/fd; grep -E "^Sig|Cpus|NoNew" /proc/self/status; cat /proc/self/oom_score_adj
	cat /proc/self/limits; trap; tty; true'
hermit_run -- bash -c "$inherited"
expect 0 "a plain caller"
cp "$work/out" "$work/first"
(
	export NEWS=1 LANG=xx TZ=Asia/Tokyo
	umask 077
	ulimit -n 555
	ulimit -Ss 4096
	ulimit -c 1
	trap '' HUP USR1 TERM
	exec 5</dev/null 6>&1 77</etc/passwd
	echo 300 >/proc/self/oom_score_adj
	cd "$guests" || exit 99
	nice -n 9 taskset -c 0 "$hermit" run --tmp="$guests" --workdir=/tmp -- bash -c "$inherited" 2>"$work/err" </dev/null | cat >"$work/out"
)
ok "nothing of the caller's shows" diff "$work/first" "$work/out"

# A directory and a file of one file system are on one device: their numbers of inodes do not meet those of what the run makes.
hermit_run -- sh -c 'stat -c %d /usr/bin /usr/bin/env | uniq | wc -l'
expect_out 1 "one device number for a file system"

# --- nothing of what else is mounted on the host ---
# What the options mount is listed, where it is mounted: links, dots and what is not there yet in its path
status=0
"$hermit" run --mount=type=tmpfs,target=/var/run/spot/../other --mount=type=tmpfs,target=//opt/./none/deep/ -- \
	sh -c 'cut -d" " -f2 /proc/mounts | grep -E "other|deep"; findmnt -n -o FSTYPE /var/run/other' >"$work/out" 2>"$work/err" </dev/null || status=$?
expect 0 "a mount by a path with links and dots"
expect_out "$(realpath /var/run)/other
/opt/none/deep
tmpfs" "a mount by a path with links and dots is listed"
# a target that is a link to a link to nothing: what they lead to is made
mkdir "$work/links"
ln -s two/three "$work/links/one"
ln -s "$work/links/none" "$work/links/three"
mkdir "$work/links/two"
ln -s ../three "$work/links/two/three"
status=0
(cd "$work/links" && exec "$hermit" run --mount="type=tmpfs,target=$work/links/one" -- sh -c 'grep -c "^tmpfs $PWD/none tmpfs" /proc/mounts; findmnt -n -o FSTYPE none') \
	>"$work/out" 2>"$work/err" </dev/null || status=$?
expect 0 "a mount by links to nothing"
expect_out "1
tmpfs" "a mount by links to nothing is listed"

map=
[ "$(id -u)" = 0 ] || map=-r
# shellcheck disable=SC2016,SC2086 # for the inner shells; an option or nothing
if unshare $map -m true 2>/dev/null; then
	mkdir "$guests/below"
	for mounted in '' /mnt "$guests/below"; do
		status=0
		unshare $map -m sh -c '[ -z "$1" ] || mount -t tmpfs none "$1" || exit 99; cd "$2" && exec "$0" run -- sh -c "
			cat /proc/self/mountinfo /proc/mounts /proc/self/mountstats; df; findmnt; stat -c %d /proc /sys /dev"' \
			"$hermit" "$mounted" "$guests" >"$work/out" 2>"$work/err" </dev/null || status=$?
		expect 0 "with '$mounted' mounted"
		[ -n "$mounted" ] || cp "$work/out" "$work/first"
		case $mounted in
		*below) ok "what is mounted in the directory that is written for real is listed" grep -q " $guests/below " "$work/out" ;;
		*) ok "what is mounted on the host does not show: '$mounted'" diff "$work/first" "$work/out" ;;
		esac
	done
else
	echo "not looked at: what else is mounted on the host; unshare is not possible here"
fi

# --- what the machine's other containers would see ---
# shellcheck disable=SC2016 # for the guest's shell
hermit_run -- sh -c 'for how in "chmod 0445" "chown 1:1" "chown -h 1:1" "chgrp 1"; do
	for path in /proc/uptime /proc/fs /proc/self/root/proc/version; do $how $path && echo "$how $path is done"; done
	done 2>/dev/null
	perl -e "open my \$f, q(<), q(/proc/uptime) or die; print qq(chmod is done\n) if chmod 0400, \$f; print qq(chown is done\n) if chown 1, 1, \$f"
	touch file && exec 3<file && chmod 0600 /proc/self/fd/3 && chmod 0601 /dev/fd/3 && stat -c %a file /proc/uptime /proc/version'
expect_out "601
444
444" "modes and owners on procfs, which all containers have in common"

# --- what is not modelled ---
# The network's settings are not the host's, and what the guest sets shows.
hermit_run -- sh -c 'cd /proc/sys/net/ipv4 && cat ip_forward conf/all/forwarding conf/default/rp_filter conf/lo/accept_source_route tcp_fin_timeout'
expect_out "$(printf '0\n0\n0\n1\n60')" "settings of the network"
# shellcheck disable=SC2016 # for the guest's shell
hermit_run -- sh -c 'cd /proc/sys/net/ipv4 && { echo 1 >ip_forward || exit 77; } 2>/dev/null && cat ip_forward conf/lo/forwarding'
[ "$status" = 77 ] || expect_out "$(printf '1\n1')" "a setting of the network that the guest makes"
# What is there with the host's modules, devices and disks only is in no listing, and is not there by its name, whether the host has it or not.
hermit_run -- sh -c 'ls -d /proc/sys/net/* /proc/sys/fs/*/; ls /proc/tty/driver /proc/fs; find /proc/tty/driver /proc/fs -type f'
expect_out "/proc/sys/fs/epoll/
/proc/sys/fs/fanotify/
/proc/sys/fs/inotify/
/proc/sys/fs/mqueue/
/proc/sys/fs/quota/
/proc/sys/net/core
/proc/sys/net/ipv4
/proc/sys/net/ipv6
/proc/sys/net/unix
/proc/fs:

/proc/tty/driver:" "listings of what the host has"
hosts=$(find /proc/irq /proc/bus /proc/acpi /proc/driver /proc/fs /proc/tty/driver /proc/sys/net/bridge /proc/sys/net/netfilter /proc/sys/net/mptcp \
	/proc/sys/fs/xfs 2>/dev/null | grep -vx '/proc/fs\|/proc/tty/driver')
# shellcheck disable=SC2016,SC2086 # for the guest's shell; a list of names
hermit_run -- sh -c 'ls -d "$@" 2>&1 | grep -v "No such file"; true' sh $hosts \
	/proc/config.gz /proc/kcore /proc/mdstat /proc/mtrr /proc/fb /proc/self/no-such /proc/thread-self/no-such /proc/fs/ext4 /proc/config.gz/below //proc/config.gz /.//./proc/config.gz
expect_out "" "files of what the host has are not there"
checks=$((checks + 1))
! grep "not modelled: /" "$work/err" || fail "files of what the host has: some nobody models"
hermit_run -- cat /proc/sys/kernel/bootloader_type
expect 0 "a file that nobody models"
expect_err_has 'not modelled: /proc/sys/kernel/bootloader_type' "a file that nobody models"
hermit_run --strict -- cat /proc/sys/kernel/bootloader_type
checks=$((checks + 1))
[ "$status" != 0 ] || fail "a file that nobody models, under --strict: exit status 0"

finish
