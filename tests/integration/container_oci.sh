#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Bundles in the container layer alone, without supervisor and filter: each field of config.json by its effect in the guest.
# The root file system of the bundle is made of the host's /usr, bound read-only.
set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/hermit-oci.XXXXXX") || exit 99
trap 'cd /; rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$top_builddir/tests/integration/container_probe" "$work/probe" || exit 99
passed=0 failed=0

check() { # WHAT EXPECTED ACTUAL
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL [%s] %s\n  expected: %s\n  got:      %s\n' "$mode" "$1" "$2" "$3"
	fi
}

# The bundle's root, with the host's programs.
host_mounts=''
make_root() {
	rm -rf "$work/bundle" && mkdir -p "$work/bundle/rootfs/etc" "$work/bundle/rootfs/usr" "$work/bundle/shared/sub" || exit 99
	host_mounts='{"destination":"/usr","type":"bind","source":"/usr","options":["rbind","ro"]}'
	for d in bin sbin lib lib64; do
		if [ -L "/$d" ]; then
			cp -P "/$d" "$work/bundle/rootfs/$d"
		elif [ -d "/$d" ]; then
			host_mounts="$host_mounts,{\"destination\":\"/$d\",\"type\":\"bind\",\"source\":\"/$d\",\"options\":[\"rbind\",\"ro\"]}"
		fi
	done
	echo 'root:x:0:0::/root:/bin/sh' > "$work/bundle/rootfs/etc/passwd"
	echo 'user:x:1000:1000::/home/user:/bin/sh' >> "$work/bundle/rootfs/etc/passwd"
	mkdir "$work/bundle/rootfs/data" && echo old > "$work/bundle/rootfs/data/f"
	ln -s /etc "$work/bundle/rootfs/to-etc"
	ln -s "$work" "$work/bundle/rootfs/outside"
	echo host > "$work/bundle/shared/f"
	if [ -n "$become" ]; then chown -R -h 65534:65534 "$work/bundle"; fi
}

namespaces='{"type":"pid"},{"type":"mount"},{"type":"network"},{"type":"uts"},{"type":"ipc"},{"type":"cgroup"}'
standard='{"destination":"/proc","type":"proc","source":"proc"},{"destination":"/dev","type":"tmpfs","source":"tmpfs",
	"options":["nosuid","mode=755"]},{"destination":"/dev/pts","type":"devpts","source":"devpts",
	"options":["nosuid","noexec","newinstance","ptmxmode=0666","mode=0620"]}'

# bundle PROCESS-FIELDS MOUNTS LINUX-FIELDS ROOT-FIELDS SCRIPT: runs SCRIPT with /bin/sh in the bundle. Fields start with a
# comma. $ns, $user, $cwd, $caps and $args replace what is there.
bundle() {
	default_args="[\"/bin/sh\",\"-c\",\"$5\"]"
	cat > "$work/bundle/config.json" <<-END
		{ "ociVersion": "1.2.0", "hostname": "bundle-host",
		  "process": { "args": ${args:-$default_args}, "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "A=b"],
		    "cwd": "${cwd:-/}", "capabilities": ${caps:-$some_caps}, "user": ${user:-$root_user} $1 },
		  "root": { "path": "rootfs" $4 },
		  "mounts": [ $standard, $host_mounts $2 ],
		  "linux": { "namespaces": [ ${ns:-$namespaces} ] $3 } }
	END
	$become "$work/probe" --bundle="$work/bundle" $options 2>&1
}
some='["CAP_CHOWN","CAP_KILL","CAP_SYS_ADMIN","CAP_DAC_OVERRIDE"]'
some_caps="{\"bounding\":$some,\"effective\":$some,\"permitted\":$some}"
root_user='{"uid":0,"gid":0}'
ambient='{"bounding":["CAP_KILL"],"effective":["CAP_KILL"],"permitted":["CAP_KILL"],"inheritable":["CAP_KILL"],"ambient":["CAP_KILL"]}'
options='' args='' cwd='' caps='' user='' ns=''

process_fields() {
	make_root
	check 'guest is process 1' '1 0' "$(bundle '' '' '' '' 'echo $$ $PPID')"
	check 'environment, HOME from the passwd of the root' '/root b' "$(bundle '' '' '' '' 'echo $HOME $A')"
	check 'host name' 'bundle-host' "$(bundle '' '' '' '' 'uname -n')"
	check 'working directory is made' '/made/for/it' "$(cwd=/made/for/it; bundle '' '' '' '' 'pwd')"
	check 'capabilities' '0000000000200023' \
		"$(bundle '' '' '' '' 'grep CapEff /proc/self/status' | cut -f2)"
	check 'no capabilities in the document: none' '0000000000000000 0000000000000000' \
		"$(caps='{}'; bundle '' '' '' '' 'grep -E \"CapEff|CapBnd\" /proc/self/status' | cut -f2 | xargs)"
	check 'no_new_privs' '1' "$(bundle ',"noNewPrivileges":true' '' '' '' 'grep NoNewPrivs /proc/self/status' | cut -f2)"
	check 'limits' '100 200' "$(bundle ',"rlimits":[{"type":"RLIMIT_NOFILE","soft":100,"hard":200}]' '' '' '' \
		'echo $(ulimit -Sn) $(ulimit -Hn)')"
	check 'a limit above the default' '5000' "$(bundle ',"rlimits":[{"type":"RLIMIT_NOFILE","soft":5000,"hard":5000}]' '' '' '' \
		'ulimit -Sn')"
	check 'umask' '0027' "$(user='{"uid":0,"gid":0,"umask":23}'; bundle '' '' '' '' 'umask')"
	check 'oom_score_adj' '500' "$(bundle ',"oomScoreAdj":500' '' '' '' 'cat /proc/self/oom_score_adj')"
	check 'scheduler' 'SCHED_BATCH 5' "$(bundle ',"scheduler":{"policy":"SCHED_BATCH","nice":5}' '' '' '' \
		"chrt -p \$\$ | sed -n 's/.*policy: //p'; nice" | xargs)"
	check 'terminal' '/dev/pts/0 30 100' "$(bundle ',"terminal":true,"consoleSize":{"height":30,"width":100}' '' '' '' \
		'tty; stty size; test -c /dev/console' | tr -d '\r' | xargs)"
	check 'missing program' '127' "$(args='["/no/such"]'; bundle '' '' '' '' '' > /dev/null; echo $?)"
	check 'exit status' '5' "$(bundle '' '' '' '' 'exit 5'; echo $?)"
	[ "$mode" = root ] || return
	check 'user, groups, and HOME of the user' '1000 1000 7 1000 /home/user' \
		"$(user='{"uid":1000,"gid":1000,"additionalGids":[7]}'
		bundle '' '' '' '' 'echo $(id -u) $(id -g) $(id -G | tr \" \" \"\\n\" | sort -n) $HOME')"
	check 'a user has no capabilities but ambient ones' '0000000000000020 0000000000000020' \
		"$(user='{"uid":1000,"gid":1000}' caps=$ambient
		bundle '' '' '' '' 'grep -E \"CapEff|CapAmb\" /proc/self/status' | cut -f2 | xargs)"
}

mount_fields() {
	make_root
	check 'bind' 'host' "$(bundle '' ',{"destination":"/mnt/x","type":"bind","source":"shared","options":["bind"]}' '' '' \
		'cat /mnt/x/f')"
	check 'bind of a file, read-only' 'host refused' "$(bundle '' \
		',{"destination":"/etc/file","type":"bind","source":"shared/f","options":["bind","ro"]}' '' '' \
		'cat /etc/file; (echo x > /etc/file) 2>/dev/null || echo refused' | xargs)"
	check 'read-only is not recursive' 'refused written' "$(bundle '' \
		',{"destination":"/m","type":"bind","source":"shared","options":["rbind","ro"]},
		{"destination":"/m/sub","type":"tmpfs","source":"tmpfs"}' '' '' \
		'(echo x > /m/g) 2>/dev/null || echo refused; echo x > /m/sub/g && echo written' | xargs)"
	check 'tmpfs options' '1777 1024' "$(bundle '' \
		',{"destination":"/t","type":"tmpfs","source":"tmpfs","options":["mode=1777","size=1m","noexec"]}' '' '' \
		'stat -c %a /t; df -k --output=size /t | tail -1' | xargs)"
	check 'mount attributes' 'rw,nosuid,nodev,noexec,relatime' "$(bundle '' \
		',{"destination":"/t","type":"tmpfs","source":"tmpfs","options":["nosuid","nodev","noexec"]}' '' '' \
		'grep \" /t \" /proc/self/mountinfo' | cut -d' ' -f6)"
	check 'tmpcopyup' 'old' "$(bundle '' ',{"destination":"/data","type":"tmpfs","source":"tmpfs","options":["tmpcopyup"]}' '' '' \
		'cat /data/f; echo new > /data/f')"
	check 'tmpcopyup leaves the root alone' 'old' "$(cat "$work/bundle/rootfs/data/f")"
	check 'a link as target resolves inside' 'host' "$(bundle '' \
		',{"destination":"/to-etc/sub","type":"bind","source":"shared","options":["bind"]}' '' '' 'cat /etc/sub/f')"
	bundle '' ',{"destination":"/outside/planted","type":"tmpfs","source":"tmpfs"}' '' '' 'true' > /dev/null
	check 'a link out of the root does not lead out' 'absent' "$([ -e "$work/planted" ] || echo absent)"
	check 'mount on the root is refused' '125' "$(bundle '' ',{"destination":"/","type":"tmpfs","source":"t"}' '' '' '' >/dev/null; echo $?)"
	check 'a missing source is named' "container_probe: mount on /x: cannot bind $work/bundle/nothing: No such file or directory" \
		"$(bundle '' ',{"destination":"/x","type":"bind","source":"nothing","options":["bind"]}' '' '' '')"
	check 'read-only root' 'refused' "$(bundle '' '' '' ',"readonly":true' '(echo x > /new) 2>/dev/null || echo refused')"
	check 'mqueue and sysfs' 'mqueue sysfs lo' "$(bundle '' ',{"destination":"/dev/mqueue","type":"mqueue","source":"mqueue"},
		{"destination":"/sys","type":"sysfs","source":"sysfs","options":["ro"]}' '' '' \
		'stat -f -c %T /dev/mqueue /sys; ls /sys/class/net' | xargs)"
	check 'standard nodes' 'fd full null ptmx pts random stderr stdin stdout tty urandom zero' \
		"$(bundle '' '' '' '' 'ls /dev' | xargs)"
	check 'no mount of the host below' '' "$(bundle '' '' '' '' 'cat /proc/self/mountinfo' | grep -e "$work/bundle/shared" -e ' /mnt ')"
}

# in_part CGROUP COMMAND...: in this cgroup, which is all that is mounted of its hierarchy
cat >"$work/in_part" <<'END'
echo 77 >"$1/pids.max" && echo $$ >"$1/cgroup.procs" && mount --bind "$1" "$(dirname "$1")" && shift && exec "$@"
END

linux_fields() {
	make_root
	check 'masked and read-only paths' 'empty 0 refused' "$(bundle '' '' \
		',"maskedPaths":["/proc/acpi","/proc/timer_list","/data","/no/such"],"readonlyPaths":["/proc/sys","/no/such"]' '' \
		'[ -z \"$(ls /data)\" ] && echo empty; wc -c < /proc/timer_list; (echo x > /proc/sys/kernel/hostname) 2>/dev/null || echo refused' | xargs)"
	check 'sysctl' '1234' "$(bundle '' '' ',"sysctl":{"net.core.somaxconn":"1234"}' '' 'cat /proc/sys/net/core/somaxconn')"
	check 'cgroup mount' 'cgroup' "$(bundle '' ',{"destination":"/sys","type":"sysfs","source":"sysfs"},
		{"destination":"/sys/fs/cgroup","type":"cgroup","source":"cgroup","options":["ro"]}' '' '' \
		'grep -c \" /sys/fs/cgroup.* - cgroup\" /proc/self/mountinfo' | sed 's/^[1-9][0-9]*$/cgroup/')"
	check 'personality of 32 bits' 'i686' "$(bundle '' '' ',"personality":{"domain":"LINUX32"}' '' 'uname -m')"
	check 'time offsets' 'later' "$(ns="$namespaces,{\"type\":\"time\"}"; bundle '' '' ',"timeOffsets":{"monotonic":{"secs":1000000},"boottime":{"secs":1000000}}' '' \
		'[ $(cut -d. -f1 /proc/uptime) -gt 1000000 ] && echo later')"
	check 'cgroups that cannot be had are done without' 'works' "$(options="--cgroup=hermit-oci-$$"
		bundle '' '' '' '' 'echo works')"
	[ "$mode" = root ] || return
	if mkdir "/sys/fs/cgroup/pids/hermit-oci-$$" 2>/dev/null && rmdir "/sys/fs/cgroup/pids/hermit-oci-$$"; then
		check 'cgroup with a limit, seen from inside' '33 /' "$(options="--cgroup=hermit-oci-$$"
			bundle '' ',{"destination":"/sys","type":"sysfs","source":"sysfs"},
			{"destination":"/sys/fs/cgroup","type":"cgroup","source":"cgroup","options":["ro"]}' \
			',"resources":{"pids":{"limit":33}}' '' 'cat /sys/fs/cgroup/pids/pids.max; grep pids: /proc/self/cgroup' |
			sed 's/^[0-9]*:pids://' | xargs)"
		# as in a container, where a part of the hierarchy is all that there is of it
		mkdir "/sys/fs/cgroup/pids/hermit-oci-$$"
		check 'cgroup mount, of a part of the hierarchy' 'part' "$(ns=${namespaces%,*}
			become="unshare -m --propagation private sh $work/in_part /sys/fs/cgroup/pids/hermit-oci-$$"
			bundle '' ',{"destination":"/sys","type":"sysfs","source":"sysfs"},
			{"destination":"/sys/fs/cgroup","type":"cgroup","source":"cgroup","options":["ro"]}' '' '' \
			'[ $(cat /sys/fs/cgroup/pids/pids.max) = 77 ] && echo part')"
		rmdir "/sys/fs/cgroup/pids/hermit-oci-$$"
		check 'no cgroup left' '' "$(ls -d /sys/fs/cgroup/*/hermit-oci-$$ 2>/dev/null)"
	fi
	check 'device' 'character special file 1:5 640' "$(bundle '' '' \
		',"devices":[{"path":"/dev/extra","type":"c","major":1,"minor":5,"fileMode":416,"uid":0,"gid":0}]' '' \
		"stat -c '%F %t:%T %a' /dev/extra")"
	chmod 755 "$work/bundle" "$work/bundle/rootfs" && chown -R -h 100000:100000 "$work/bundle/rootfs"
	check 'user namespace' '0 0 100000 65536' "$(ns="$namespaces,{\"type\":\"user\"}"; bundle '' '' \
		',"uidMappings":[{"containerID":0,"hostID":100000,"size":65536}],"gidMappings":[{"containerID":0,"hostID":100000,"size":65536}]' \
		'' 'id -u; cat /proc/self/uid_map' | xargs)"
	maps=',"uidMappings":[{"containerID":0,"hostID":100000,"size":65536}],"gidMappings":[{"containerID":0,"hostID":100000,"size":65536}]'
	check 'devices of a user namespace: numbers, mode, owner' 'character special file 1:5 640 10:11 block special file 7:200 600 0:0 8' \
		"$(ns="$namespaces,{\"type\":\"user\"}"; bundle '' '' \
		"$maps"',"devices":[{"path":"/dev/extra","type":"c","major":1,"minor":5,"fileMode":416,"uid":10,"gid":11},
			{"path":"/dev/deep/block","type":"b","major":7,"minor":512,"fileMode":384,"uid":0,"gid":0}]' \
		'' "stat -c '%F %t:%T %a %u:%g' /dev/extra /dev/deep/block; head -c 8 /dev/extra | wc -c" | xargs)"
	check 'owners shifted by a mount' '0' "$(ns="$namespaces,{\"type\":\"user\"}"; bundle '' \
		',{"destination":"/m","type":"bind","source":"shared","options":["bind","idmap"]}' \
		',"uidMappings":[{"containerID":0,"hostID":100000,"size":65536}],"gidMappings":[{"containerID":0,"hostID":100000,"size":65536}]' \
		'' 'stat -c %u /m/f')"
	make_root
	# 1000 seconds in namespaces of its own
	mkfifo "$work/ready"
	unshare --net --uts --ipc --user --map-root-user --pid --fork --kill-child sh -c 'echo ready > "$0"; exec sleep 1000' "$work/ready" &
	outer=$!
	read -r word < "$work/ready"
	other=$(pgrep -P "$outer")
	there=$(readlink "/proc/$other/ns/uts" "/proc/$other/ns/net")
	check "joined namespaces ($word)" "$there" \
		"$(ns="{\"type\":\"pid\"},{\"type\":\"mount\"},{\"type\":\"ipc\"},{\"type\":\"uts\",\"path\":\"/proc/$other/ns/uts\"},
			{\"type\":\"network\",\"path\":\"/proc/$other/ns/net\"}"
		bundle '' '' '' '' 'readlink /proc/self/ns/uts /proc/self/ns/net')"
	there=$(readlink "/proc/$other/ns/user" "/proc/$other/ns/pid")
	check 'joined user and pid namespaces' "$there" \
		"$(ns="{\"type\":\"mount\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},{\"type\":\"user\",\"path\":\"/proc/$other/ns/user\"},
			{\"type\":\"pid\",\"path\":\"/proc/$other/ns/pid\"}"
		bundle '' '' '' '' 'readlink /proc/self/ns/user /proc/self/ns/pid')"
	check 'a namespace file of the wrong type' "container_probe: linux.namespaces: /proc/$other/ns/uts is not a network namespace" \
		"$(ns="{\"type\":\"pid\"},{\"type\":\"mount\"},{\"type\":\"uts\"},{\"type\":\"network\",\"path\":\"/proc/$other/ns/uts\"}"; bundle '' '' '' '' true)"
	kill -9 "$outer" "$other"
}

modes=user
[ "$(id -u)" = 0 ] && modes='root user'
for mode in $modes; do
	become=''
	[ "$mode" = user ] && [ "$(id -u)" = 0 ] && become='setpriv --reuid=65534 --regid=65534 --clear-groups'
	process_fields
	mount_fields
	linux_fields
done
echo "container_oci: $passed passed, $failed failed (modes: $modes)"
[ "$failed" = 0 ]
