#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What single properties of config.json and single options do, through the commands: limits and their updates, seccomp, scheduling,
# descriptors, NOTIFY_SOCKET, time namespaces, propagation, and all of it as an ordinary user.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
mkfifo in
exec 8<>in

# begin ID SCRIPT [FILTER]: a container that runs until it is killed, once it has said "up"
begin()
{
	bundle "$1" "$2; echo up; read x" "${3:-.}"
	rt create --bundle "$1" "$1" <in >"$1.out" 2>&1 && rt start "$1" && until_true grep -q up "$1.out"
}

# limit ID CONTROLLER FILE-OF-VERSION-1: its value in the container's cgroup
limit()
{
	cat "/sys/fs/cgroup/$2$(sed -n "s/^[0-9]*:$2://p" "/proc/$(field "$1" .init.pid)/cgroup")/$3" 2>&1
}

# ---- limits and updates (version 1, also in the hybrid layout; tests/integration/cgroup.sh has the other layouts) ----
if [ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ] && [ -w /sys/fs/cgroup/pids ]; then
	begin lim true '.linux.resources = {memory: {limit: 67108864}, pids: {limit: 50}, cpu: {shares: 512, quota: 50000, period: 100000}}'
	all()
	{
		echo "$(limit lim memory memory.limit_in_bytes) $(limit lim pids pids.max) $(limit lim cpu cpu.shares) $(limit lim cpu cpu.cfs_quota_us) $(limit lim cpu cpu.cfs_period_us)"
	}
	equal "67108864 50 512 50000 100000" "$(all)" "limits of the document"
	run rt update --pids-limit 20 lim
	expect 0 "update of one limit"
	equal "67108864 20 512 50000 100000" "$(all)" "the others stay"
	run rt update --memory=96m --cpu-shares 1024 lim
	equal "100663296 20 1024 50000 100000" "$(all)" "update of two"
	echo '{"memory": {"limit": 0}, "cpu": {"quota": 25000, "shares": 0}, "pids": {"limit": 0}}' >limits.json
	run rt update --resources limits.json lim
	expect 0 "update from a file"
	equal "100663296 max 1024 25000 100000" "$(all)" "zero is unset, but no limit for processes"
	status=0
	echo '{"pids": {"limit": 7}}' | timeout "$(at_most 60)" rt update -r - lim >out 2>err || status=$?
	expect 0 "update from standard input"
	run rt update --resources limits.json --pids-limit -1 --cpu-quota -1 lim
	equal "100663296 max 1024 -1 100000" "$(all)" "options are stronger than the file"
	equal "100663296" "$(rt events --stats lim | jq .data.memory.usage.limit)" "events: the limit"
	echo '{"memory": {"limit": "1G"}}' >limits.json
	run rt update --resources limits.json lim
	expect 1 "update from a wrong file"
	expect_err_has 'limits.json:1:[0-9]+: memory.limit: expected integer, found string' "update from a wrong file"
	equal "100663296 max 1024 -1 100000" "$(all)" "and nothing is changed"
	run rt update --memory 0 --memory-swap 0 --memory-reservation 0 --cpu-shares 0 --cpu-quota 0 --cpu-period 0 --blkio-weight 0 lim
	expect 0 "update with zeros"
	equal "100663296 max 1024 -1 100000" "$(all)" "zero in an option is unset, too"
	if [ -e /sys/fs/cgroup/cpu/cpu.cfs_burst_us ]; then
		run rt update --cpu-quota 50000 --cpu-burst 20000 lim
		expect 0 "update --cpu-burst"
		equal "50000 20000" "$(limit lim cpu cpu.cfs_quota_us) $(limit lim cpu cpu.cfs_burst_us)" "update --cpu-burst"
		run rt update --cpu-burst 60000 lim
		expect 1 "update --cpu-burst: more than the quota"
		run rt update --cpu-burst 0 lim
		expect 0 "update --cpu-burst 0"
		equal 0 "$(limit lim cpu cpu.cfs_burst_us)" "update --cpu-burst: 0 is a value"
		run rt update --cpu-quota -1 lim
	fi
	if [ -e /sys/fs/cgroup/cpu/cpu.rt_runtime_us ]; then
		run rt update --cpu-rt-period 500000 lim
		expect 0 "update --cpu-rt-period"
		equal 500000 "$(limit lim cpu cpu.rt_period_us)" "update --cpu-rt-period"
		# how much is left to give is a matter of others on this machine: none of it is always to be had
		run rt update --cpu-rt-runtime 0 lim
		expect 0 "update --cpu-rt-runtime"
		equal 0 "$(limit lim cpu cpu.rt_runtime_us)" "update --cpu-rt-runtime"
		run rt update --cpu-rt-runtime 600000 lim
		expect 1 "update --cpu-rt-runtime: more than the period"
		expect_err_has 'cpu.rt_runtime_us' "update --cpu-rt-runtime: more than the period"
	fi
	if [ -e /sys/fs/cgroup/memory/memory.memsw.limit_in_bytes ]; then
		run rt update --memory 64m --memory-swap 128m lim
		equal "67108864 134217728" "$(limit lim memory memory.limit_in_bytes) $(limit lim memory memory.memsw.limit_in_bytes)" "memory and swap"
		run rt update --memory -1 lim
		expect 0 "update: no limit of memory"
		unlimited=$(cat /sys/fs/cgroup/memory/memory.limit_in_bytes)
		equal "$unlimited $unlimited" "$(limit lim memory memory.limit_in_bytes) $(limit lim memory memory.memsw.limit_in_bytes)" "no limit of memory is none of swap"
		run rt update --memory 96m lim
	fi
	if [ -e /sys/fs/cgroup/cpu/cpu.idle ] || [ "$(limit lim cpu cpu.idle)" = 0 ]; then
		run rt update --cpu-idle 1 lim
		equal "0 1" "$status $(limit lim cpu cpu.idle)" "update: cpu-idle"
		run rt update --cpu-idle 0 lim
		equal "0 0" "$status $(limit lim cpu cpu.idle)" "update: cpu-idle 0"
	fi
	run rt update --unknown 1 lim
	expect 1 "update of what there is not"
	run rt delete --force lim
	run rt update --pids-limit 1 lim
	expect 1 "update of an unknown container"
	swap=
	[ ! -e /sys/fs/cgroup/memory/memory.memsw.limit_in_bytes ] || swap=', swap: 16777216' # or the program's memory goes to the machine's swap space
	bundle oom 'x=; while :; do x="$x$x.................................................................."; done' \
		".linux.resources.memory = {limit: 16777216$swap}"
	run rt run --bundle oom oom
	expect 137 "memory is limited"
fi

# ---- linux.seccomp ----
# with RULES [DEFAULT]: a container under these rules
with()
{
	bundle sec "$2" '.linux.seccomp = {defaultAction: "'"${3:-SCMP_ACT_ALLOW}"'", architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32", "SCMP_ARCH_AARCH64"],
		flags: ["SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_SPEC_ALLOW"], syscalls: ['"$1"']} | .root.readonly = false | .process.noNewPrivileges = false'
	run rt run --bundle sec sec
}
with '{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 28}' 'mkdir /x 2>&1; echo $?'
expect_out "mkdir: can't create directory '/x': No space left on device
1" "seccomp: an errno"
with '{names: ["mkdir", "mkdirat", "no_such_call_42"], action: "SCMP_ACT_ERRNO"}' 'mkdir /x 2>&1'
expect_out "mkdir: can't create directory '/x': Operation not permitted" "seccomp: the usual errno; unknown names"
with '{names: ["kill"], action: "SCMP_ACT_ERRNO", errnoRet: 16, args: [{index: 1, value: 12, op: "SCMP_CMP_EQ"}]}' \
	'trap "echo usr1" USR1; kill -USR2 $$ 2>/dev/null || echo refused; kill -USR1 $$'
expect_out "refused
usr1" "seccomp: an argument"
with '{names: ["kill"], action: "SCMP_ACT_ERRNO", args: [{index: 1, value: 8, valueTwo: 8, op: "SCMP_CMP_MASKED_EQ"}]}' \
	'trap "echo usr1" USR1; kill -USR2 $$ 2>/dev/null || echo refused; kill -USR1 $$ 2>/dev/null || echo refused; kill -0 $$ && echo passed'
expect_out "refused
refused
passed" "seccomp: a mask"
for action in SCMP_ACT_TRAP SCMP_ACT_KILL SCMP_ACT_KILL_THREAD SCMP_ACT_KILL_PROCESS; do
	with '{names: ["mkdir", "mkdirat"], action: "'$action'"}' 'mkdir /x; echo $?'
	expect_out 159 "seccomp: $action"
done
with '{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_LOG"}' 'mkdir /tmp/x$$ && rmdir /tmp/x$$; echo $?'
expect_out 0 "seccomp: log"
with '{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_TRACE"}' 'mkdir /x 2>&1'
expect_out "mkdir: can't create directory '/x': $(python3 -c 'import errno, os; print(os.strerror(errno.ENOSYS))')" "seccomp: trace, and nobody who traces"
with '{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ALLOW"}' 'echo never' SCMP_ACT_KILL_PROCESS
ok "seccomp: a profile that forbids nearly everything" [ "$status" != 0 ]
expect_out "" "seccomp: a profile that forbids nearly everything"
with '{names: ["mkdir"], action: "SCMP_ACT_NOTIFY"}' 'echo never'
expect 1 "seccomp: NOTIFY without a listener"
bundle sec 'echo never' '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", listenerPath: "/run/agent.sock", syscalls: [{names: ["mkdir"], action: "SCMP_ACT_NOTIFY"}]}'
run rt run --bundle sec sec
expect 1 "seccomp: a foreign listener"
expect_err_has 'linux.seccomp.*(listener|NOTIFY)' "seccomp: a foreign listener"
expect_out "" "seccomp: a foreign listener"
# of exec'd processes too
bundle sec 'echo through' '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", listenerPath: "/run/agent.sock"}'
run rt run --bundle sec sec
expect_out through "seccomp: a listener that has nothing to hear"
expect_err_has 'listenerPath.*not connected' "seccomp: a listener that has nothing to hear"
begin sec 'true' '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 28}]}'
run rt exec sec /bin/mkdir /x
expect_err_has 'No space left' "seccomp: exec"
run rt delete --force sec

# ---- scheduling ----
if command -v chrt >/dev/null && command -v ionice >/dev/null; then
	begin sch true '.process.scheduler = {policy: "SCHED_BATCH", nice: 5} | .process.ioPriority = {class: "IOPRIO_CLASS_BE", priority: 6}'
	pid=$(field sch .init.pid)
	ok "scheduler: policy" sh -c "chrt -p $pid | grep -q SCHED_BATCH"
	equal "5" "$(ps -o ni= -p "$pid" | tr -d ' ')" "scheduler: nice"
	equal "best-effort: prio 6" "$(ionice -p "$pid")" "ioPriority"
	run rt delete --force sch
fi

# ---- descriptors ----
echo contents >kept
bundle fds 'cat <&5; ls /proc/self/fd | wc -l'
status=0
timeout "$(at_most 60)" rt run --preserve-fds 3 --bundle fds fds 5<kept 3</dev/null 4</dev/null 6<kept >out 2>err </dev/null || status=$?
expect_out "contents
7" "--preserve-fds: those, and no others"
begin fds true
status=0
timeout "$(at_most 60)" rt exec --preserve-fds 1 fds /bin/cat /proc/self/fd/3 3<kept >out 2>err </dev/null || status=$?
expect_out contents "exec --preserve-fds"
run rt delete --force fds
bundle lis 'echo $LISTEN_FDS $LISTEN_PID; cat <&3'
status=0
LISTEN_FDS=1 LISTEN_PID=$$ timeout "$(at_most 60)" rt run --bundle lis lis 3<kept >out 2>err </dev/null || status=$?
expect_out "1 1
contents" "LISTEN_FDS"

# ---- sockets that are told something: NOTIFY_SOCKET, --pidfd-socket ----
python=/usr/bin/python3
if [ -x $python ]; then
	cat >listen.py <<-'END'
	import os, socket, sys
	kind, path, out = sys.argv[1:]
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM)
	s.bind("\0" + path[1:] if path[0] == "@" else path + ".new")
	if kind != "datagram":
	    s.listen()
	if path[0] != "@":
	    os.rename(path + ".new", path) # who sees it can use it
	if kind == "datagram":
	    text = s.recv(1000).decode()
	else:
	    data, fds, _, _ = socket.recv_fds(s.accept()[0], 100, 4)
	    text = data.decode() + " " + [l for l in open("/proc/self/fdinfo/%d" % fds[0]) if l.startswith("Pid:")][0].split()[1]
	open(out + ".new", "w").write(text + "\n")
	os.rename(out + ".new", out)
	END
	$python listen.py datagram "$work/notify" said &
	until_true [ -S notify ]
	cat >tell.py <<-'END'
	import os, socket, sys
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	for word in sys.argv[1:]:
	    s.sendto(word.encode(), os.environ["NOTIFY_SOCKET"])
	END
	mkdir -p python
	cp -r rootfs/. python/
	rm -rf python/usr python/lib python/lib64
	mounts=
	for dir in usr lib lib64; do
		[ -e /$dir ] && mounts="$mounts | .mounts += [{destination: \"/$dir\", type: \"bind\", source: \"$(readlink -f /$dir)\", options: [\"rbind\", \"ro\"]}]"
	done
	bundle note "test -S \$NOTIFY_SOCKET && echo \$NOTIFY_SOCKET; touch \${NOTIFY_SOCKET%/*}/x 2>/dev/null || echo kept; exec $python /tell.py MAINPID=1 STATUS=x READY=1" \
		".root.path = \"$work/python\" | .root.readonly = false $mounts"
	cp tell.py python/
	run env NOTIFY_SOCKET="$work/notify" "$work/rt" run --bundle note note
	expect 0 "NOTIFY_SOCKET"
	expect_out "$work/notify/notify
kept" "NOTIFY_SOCKET: a socket of the container's own, in a directory that it cannot write to"
	until_true [ -e said ]
	equal READY=1 "$(cat said)" "NOTIFY_SOCKET: that it is ready comes out, and nothing else"
	ok "NOTIFY_SOCKET: nothing stays" test ! -e "$state/note"
	# Detached, for a manager whose name is no path, and with users of its own: whoever starts it waits, and says whose word it is.
	$python listen.py datagram "@$work/manager" said-late &
	until_true grep -q "@$work/manager" /proc/net/unix
	bundle late "echo up; while ! [ -e /go ]; do sleep 0.1; done; $python /tell.py READY=1; exec sleep 5000" \
		".root.path = \"$work/python\" | .root.readonly = false $mounts | .linux.namespaces += [{type: \"user\"}] |
		.linux.uidMappings = [{containerID: 0, hostID: 100000, size: 1000}] | .linux.gidMappings = .linux.uidMappings"
	chmod 711 "$work"
	mkdir -p python/run/notify
	NOTIFY_SOCKET="@$work/manager" rt create --bundle late late <in >late.out 2>&1
	(rt start late; echo $? >started) &
	until_true grep -q up late.out
	ok "NOTIFY_SOCKET: a container that is not ready yet can be looked at" until_true status_is late running
	ok "NOTIFY_SOCKET: start waits for it" test ! -e started
	touch python/go
	until_true [ -s started ]
	equal 0 "$(cat started)" "NOTIFY_SOCKET: start"
	until_true [ -e said-late ]
	equal "READY=1 MAINPID=$(field late .init.pid)" "$(tr '\n' ' ' <said-late | sed 's/ $//')" "NOTIFY_SOCKET: start tells whose word it is"
	run rt delete --force late
	rm python/go
	# A signal that is sent in a process's name has its user, as the container counts.
	cat >python/pipe.pl <<-'END'
	use POSIX;
	my $seen = "no signal";
	sigaction(SIGPIPE, POSIX::SigAction->new(sub { $seen = "$_[1]{uid} " . ($_[1]{pid} == $$) }, POSIX::SigSet->new, SA_SIGINFO));
	pipe(R, W);
	if (!fork) { close W; sysread R, $_, 5000; exit }
	close R;
	my $n = syswrite W, "x" x 1000000;
	print $n > 0 && $n < 1000000, " $seen\n";
	END
	bundle pipe "exec perl /pipe.pl" ".root.path = \"$work/python\" $mounts | .linux.namespaces += [{type: \"user\"}] |
		.linux.uidMappings = [{containerID: 0, hostID: 100000, size: 1000}] | .linux.gidMappings = .linux.uidMappings"
	run rt run --bundle pipe pipe
	expect_out "1 0 1" "user namespaces: whose signal it is"
	bundle late 'exit 0'
	NOTIFY_SOCKET=/nowhere rt create --bundle late late <in >late.out 2>&1
	: >"$state/late/notify/notify" # as a start leaves it that has been killed
	run rt start late
	expect 0 "NOTIFY_SOCKET: a container that ends before it is ready"
	run rt delete --force late
	# Calls that are newer than the newest one that a profile names do not exist below it; the others are refused as it says.
	"$top_builddir/hermit" syscalls | awk '$1 ~ /^[0-9]+$/ && $1 < 400 && $2 != "getppid" { print $2 }' | jq -R . | jq -s . >names.json
	cat >python/newer.py <<-'END'
	import ctypes
	libc = ctypes.CDLL(None, use_errno=True)
	for number in (110, 435, 449, 100000):
	    print(libc.syscall(number), ctypes.get_errno())
	END
	for off in false true; do
		bundle newer "exec $python /newer.py" ".root.path = \"$work/python\" $mounts | .annotations[\"org.hermit.off\"] = \"$off\" |
			.linux.seccomp = {defaultAction: \"SCMP_ACT_ERRNO\", architectures: [\"SCMP_ARCH_X86_64\"], syscalls: [{names: \$names[0], action: \"SCMP_ACT_ALLOW\"}]}" \
			--slurpfile names names.json
		run rt run --bundle newer newer
		expect_out "-1 1
-1 38
-1 38
-1 38" "seccomp: calls that are newer than the profile (off: $off)"
	done
	$python listen.py stream "$work/pidfd" got &
	until_true [ -S pidfd ]
	bundle pfd 'read x'
	rt create --bundle pfd --pidfd-socket "$work/pidfd" pfd <in >pfd.out 2>&1
	until_true [ -e got ]
	equal "pidfd $(field pfd .init.pid)" "$(cat got)" "--pidfd-socket"
	run rt delete --force pfd
fi

# ---- namespaces and mounts ----
# the host's own ones by path: nothing is set there
unshare --uts --net sh -c 'hostname theirs; exec sleep 1000' &
theirs=$!
until_true sh -c '[ "$(nsenter -t "$1" -u uname -n 2>/dev/null)" = theirs ]' sh $theirs
for field in '.hostname = "other"' '.hostname = "theirs" | .domainname = "other"' '.hostname = "theirs" | .linux.sysctl = {"net.ipv4.ip_unprivileged_port_start": "999"}'; do
	bundle hosts true "$field | .linux.namespaces |= map(if .type == \"uts\" or .type == \"network\" then .path = \"/proc/$theirs/ns/\" + (if .type == \"uts\" then \"uts\" else \"net\" end) else . end)"
	run nsenter -t $theirs -u -n "$work/rt" run --bundle hosts hosts
	expect 1 "the host's own namespaces: $field"
	expect_err_has "^hermit-supervisor: (hostname|domainname|linux.sysctl.net.ipv4.ip_unprivileged_port_start): the (uts|network) namespace /proc/$theirs/ns/.* is the host's own" "the host's own namespaces: $field"
	run rt run --bundle hosts hosts
	expect 0 "the same of others: $field"
done
kill $theirs
bundle tim 'cut -d. -f1 /proc/uptime' '.linux.namespaces += [{type: "time"}] | .linux.timeOffsets = {boottime: {secs: 5000000}, monotonic: {secs: 5000000}}
	| .annotations["org.hermit.off"] = "true"'
run rt run --bundle tim tim
ok "time namespace: as it is" [ "$(cat out)" -gt 5000000 ]
bundle tim 'cut -d. -f1 /proc/uptime' '.linux.namespaces += [{type: "time"}] | .linux.timeOffsets = {boottime: {secs: 5000000}}'
run rt run --bundle tim tim
expect_out 120 "time namespace: time is virtual all the same"
for how in private slave shared unbindable; do
	bundle pro 'while read -r a b c d where options rest; do [ "$where" = / ] && echo "$rest"; done </proc/self/mountinfo | tail -1' \
		'.linux.rootfsPropagation = "'$how'" | .annotations["org.hermit.off"] = "true"'
	run rt run --bundle pro pro
	case $how in
	shared) ok "rootfsPropagation: $how" grep -q shared: out ;;
	unbindable) ok "rootfsPropagation: $how" grep -q unbindable out ;;
	*) ok "rootfsPropagation: $how" sh -c '! grep -q -e shared: -e unbindable out' ;;
	esac
done
# The target is a link that leads nowhere yet, as an image's /etc/resolv.conf may be; and the source is where the container's root may not go.
ln -sfn ../run/there/file "$work/rootfs/etc/dangling"
mkdir -p "$work/closed/in" && echo bound >"$work/closed/in/file" && chmod 0 "$work/closed"
bundle dan 'cat /etc/dangling /run/there/file' '.mounts += [{destination: "/etc/dangling", type: "bind", source: ($root + "/../closed/in/file"), options: ["bind"]}]'
run rt run --bundle dan dan
expect_out "bound
bound" "a target that is a link to what is missing"
bundle own 'cat /etc/dangling' '.mounts += [{destination: "/etc/dangling", type: "bind", source: ($root + "/../closed/in/file"), options: ["bind", "ro"]}]
	| .linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
run rt run --bundle own own
expect_out "bound" "a user namespace: a source in a closed directory"
rm -rf "$work/rootfs/etc/dangling" "$work/rootfs/run/there"

# What an engine lists in an order of chance is seen in one order; sources are those of the description.
touch "$work/one" "$work/two"
for order in . reverse; do
	bundle ord 'grep -e /tmp/ -e /shm /proc/self/mountinfo; grep shm /proc/mounts' '.root.readonly = false | .mounts += ([{destination: "/tmp/b", source: ($root + "/../two")},
		{destination: "/tmp/a", source: ($root + "/../one")}, {destination: "/tmp/c", source: ($root + "/../one")}] | map(.type = "bind" | .options = ["bind"]) | '$order')'
	run rt run --bundle ord ord
	expect 0 "mounts in the order $order"
	cp out "ord.$order"
done
ok "mounts in another order show the same" cmp ord.. ord.reverse
# But not where one would cover the other, by whatever name it goes.
mkdir -p "$work/rootfs/var" "$work/cover" && ln -sfn ../run "$work/rootfs/var/run"
for names in /var/run:/run/it /var/run/:/run/./it /var/run//:/var/run/it /var/../var/run:/run/it var/run:run/it; do
	bundle cov 'cat /run/it' '.mounts += ([{destination: "'"${names%:*}"'", source: ($root + "/../cover")},
		{destination: "'"${names#*:}"'", source: ($root + "/../in-it")}] | map(.type = "bind" | .options = ["bind"]))'
	echo "within" >"$work/in-it"
	run rt run --bundle cov cov
	expect_out within "a bind below a bind: $names"
	rm -f "$work"/cover/*
done
rm -rf "$work/rootfs/var/run"
ok "mountinfo: a tmpfs has the source of its description" grep -q ' - tmpfs shm ' ord..
ok "mounts: a tmpfs has the source of its description" grep -q '^shm /dev/shm tmpfs ' ord..

# ---- a cgroup that is there already ----
if [ -w /sys/fs/cgroup/freezer/freezer.clone_children ] || [ -w /sys/fs/cgroup/freezer/cgroup.procs ]; then
	there=/sys/fs/cgroup/freezer/hermit-frozen-$$
	mkdir "$there" && echo FROZEN >"$there/freezer.state" || exit 99
	bundle frozen true '.linux.cgroupsPath = "/hermit-frozen-'$$'"'
	run rt run --bundle frozen frozen
	expect 1 "a frozen cgroup"
	expect_err_has "container's cgroup unexpectedly frozen: /hermit-frozen-" "a frozen cgroup"
	echo THAWED >"$there/freezer.state"
	run rt run --bundle frozen frozen
	expect 0 "the same, thawed"
	rmdir "$there" 2>/dev/null
fi

# ---- a read-only /dev, with what goes below it ----
bundle rodev 'test -c /dev/null && test -d /dev/pts && echo there; (: >/dev/x) 2>/dev/null || echo read-only' \
	'.mounts |= map(if .destination == "/dev" then .options += ["ro"] else . end)'
run rt run --bundle rodev rodev
expect_out "there
read-only" "a tmpfs that is read-only is so when others are mounted below it"

# ---- a device that never says that it can be written to ----
if [ -c /dev/kmsg ] && : 2>/dev/null >/dev/kmsg; then
	bundle kmsg 'echo "<7>a test of hermit-supervisor" >/dev/kmsg && echo written' '.linux.devices = [{path: "/dev/kmsg", type: "c", major: 1, minor: 11}]
		| .linux.resources.devices = [{allow: false, access: "rwm"}, {allow: true, type: "c", major: 1, minor: 11, access: "rw"}]'
	run rt run --bundle kmsg kmsg
	expect_out written "/dev/kmsg can be written to"
fi

# ---- an ordinary user ----
if command -v setpriv >/dev/null; then
	chmod 755 "$work"
	mkdir user
	mkdir bin && cp "$supervisor" bin/hermit-supervisor || exit 99 # the tree may be its owner's alone
	chown 65534:65534 user
	"$supervisor" spec --rootless --bundle user >/dev/null 2>err || fail "spec --rootless"
	if ! [ -e user/config.json ]; then "$supervisor" spec --bundle user; fi
	jq --arg root "$work/rootfs" '.process.args = ["/bin/sh", "-c", "id -u; echo up; read x"] | .process.terminal = false | .process.rlimits = [] | .root.path = $root
		| .linux.namespaces = (.linux.namespaces | map(select(.type != "user"))) + [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 65534, size: 1}] | .linux.gidMappings = [{containerID: 0, hostID: 65534, size: 1}]
		| .mounts |= map(if .options then .options -= ["gid=5"] else . end)' user/config.json >user/new && mv user/new user/config.json
	echo '{}' >defaults.json # the installation, too
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_RUNTIME_DIR="$work/user" "$work/bin/hermit-supervisor" --defaults "$work/defaults.json")
	status=0
	timeout "$(at_most 60)" "${user[@]}" create --bundle user --pid-file user/pid u <in >user.out 2>&1 || status=$?
	cp user.out err
	expect 0 "a user: create"
	run "${user[@]}" start u
	expect 0 "a user: start"
	until_true grep -q up user.out
	equal "0 up" "$(xargs <user.out)" "a user: is root inside"
	equal running "$("${user[@]}" state u | jq -r .status)" "a user: state"
	run "${user[@]}" exec u /bin/sh -c 'echo $((1 + 1)); exit 3'
	expect 3 "a user: exec"
	expect_out 2 "a user: exec"
	equal 1 "$("${user[@]}" ps -f json u | jq length)" "a user: ps"
	run "${user[@]}" pause u
	expect 0 "a user: pause"
	run "${user[@]}" resume u
	expect 0 "a user: resume"
	equal u "$("${user[@]}" list -q)" "a user: list"
	run "${user[@]}" update --pids-limit 5 u
	expect 1 "a user: limits cannot be had"
	run "${user[@]}" kill u KILL
	expect 0 "a user: kill"
	until_true sh -c '"$@" state u | grep -q stopped' sh "${user[@]}"
	run "${user[@]}" delete u
	expect 0 "a user: delete"
	equal "" "$(ls user/hermit-supervisor)" "a user: nothing is left"
	# other users of an ordinary one, by numbers in a list of this test's
	echo 65534:300000:65536 >numbers
	# shellcheck disable=SC2016 # the inner shell's
	many=(unshare --mount --propagation private sh -c 'mount --bind numbers /etc/subuid && mount --bind numbers /etc/subgid && exec "$@"' sh)
	if "${many[@]}" true 2>/dev/null && command -v newuidmap >/dev/null; then
		jq '.process.args = ["/bin/sh", "-c", "id -u; id -g; while :; do sleep 1; done"] | .process.user = {uid: 5, gid: 6}
			| .linux.uidMappings += [{containerID: 1, hostID: 300000, size: 1000}] | .linux.gidMappings = .linux.uidMappings' user/config.json >user/new &&
			mv user/new user/config.json
		timeout "$(at_most 60)" "${many[@]}" "${user[@]}" run --detach --bundle user many <in >many.out 2>&1
		until_true grep -q 6 many.out
		equal "5 6" "$(xargs <many.out)" "a user with others: another user"
		run "${user[@]}" exec --user 7:8 many /bin/sh -c 'id -u; id -g; cut -d. -f1 /proc/uptime'
		expect 0 "a user with others: exec of another user"
		equal "7 8" "$(head -2 out | xargs)" "a user with others: exec of another user"
		ok "a user with others: exec has virtual time" grep -q '^12[0-9]$' out
		run "${user[@]}" delete --force many
		expect 0 "a user with others: delete"
	else
		echo "other users of an ordinary one left out: needs newuidmap, and files /etc/subuid and /etc/subgid"
	fi
fi
finish
