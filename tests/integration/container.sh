#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The container alone, without supervisor and filter: what a guest sees, what is kept, what is left behind. Each case runs as
# an ordinary user; as root too if the test is run by root.
set -u
probe=$top_builddir/tests/integration/container_probe
work=$(mktemp -d "${TMPDIR:-/tmp}/hermit-container.XXXXXX") || exit 99
trap 'cd /; rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$probe" "$work/probe" && chmod 755 "$work/probe" || exit 99
passed=0 failed=0

check() { # WHAT EXPECTED ACTUAL
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL [%s] %s\n  expected: %s\n  got:      %s\n' "$mode" "$1" "$2" "$3"
	fi
}

# Runs a command as the user of the current mode.
as() { $become "$@"; }
c() { as "$work/probe" "$@"; }

# A fresh directory of the current user, and the current directory.
fresh() {
	cd "$work" && rm -rf "$work/here" && mkdir "$work/here" || exit 99
	if [ -n "$become" ]; then chown 65534:65534 "$work/here"; fi
	cd "$work/here" || exit 99
}

wait_end() { # PID: until the process is gone, or at least dead (nobody may be there to reap it)
	timeout 600 sh -c 'while [ -d "/proc/$0" ] && ! grep -qs "^State:.Z" "/proc/$0/status"; do :; done' "$1" && echo gone
}

view() {
	fresh
	check 'fixed process numbers' '2 1' "$(c sh -c 'echo $$ $PPID')"
	check 'process 1 shows no command line of ours' 'init' "$(c cat /proc/1/cmdline)"
	check 'process 1 shows no environment of ours' '' "$(SECRET=1 c sh -c 'tr -d "\0" < /proc/1/environ')"
	check 'only our processes' '1 2' "$(c sh -c 'cd /proc; for i in [0-9]*; do echo $i; done | sort -n | head -2 | xargs')"
	check 'the program file is out of reach' 'read refused' "$(c --protected sh -c '
		head -c 4 /proc/1/exe > /dev/null && echo read; (: <> /proc/1/exe) 2>/dev/null || echo refused' | xargs -d '\n')"
	check 'guest as process 1' '1 0' "$(c --pid1 sh -c 'echo $$ $PPID')"
	check 'host name' 'hermetic-container.local' "$(c uname -n)"
	check 'loopback is the only device, and up' 'lo up' "$(c sh -c 'cd /sys/class/net; l=$(echo *);
		[ $(($(cat lo/flags) & 1)) = 1 ] && echo $l up')"
	check 'IPv6 loopback, not tentative' '00000000000000000000000000000001 01 80 10 80 lo' \
		"$(c sh -c 'cat /proc/net/if_inet6' | tr -s ' ')"
	check '/dev' 'fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero' "$(c ls /dev | xargs)"
	check '/dev/null works' 'ok' "$(c sh -c 'echo x > /dev/null && echo ok')"
	check '/dev/shm is private' '0' "$(c sh -c 'ls -A /dev/shm | wc -l')"
	check '/sys is read-only' 'refused' "$(c sh -c 'echo x 2>/dev/null > /sys/hermit || echo refused')"
	check 'no mount of the host in sight' '' "$(c cat /proc/self/mountinfo | awk '$5 ~ /^\/sys\/./')"
	check 'address space is not randomised' '1' "$(for _ in 1 2 3; do c grep -c . /proc/self/maps; done | sort -u | wc -l)"
	check 'umask' '0022' "$(umask 077; c sh -c umask)"
	check 'descriptors (3 reads the directory)' '0 1 2 3' "$(c sh -c 'cd /proc/$$/fd; echo *' 5</dev/null 9</dev/null)"
	check 'descriptor limits' '1024 4096' "$(c sh -c 'echo $(ulimit -Sn) $(ulimit -Hn)')"
	check 'signal mask and dispositions' '0000000000000000 0000000000000000' \
		"$(trap '' INT USR1; c sh -c 'sed -n "s/^Sig[BI][lg][kn]:[[:space:]]*//p" /proc/self/status | xargs')"
	check "the host's /dev/null is not the guest's standard input" "$(stat -c %a /dev/null)" \
		"$(c sh -c 'chmod 640 /proc/self/fd/0' </dev/null 2>/dev/null; stat -c %a /dev/null)"
	check 'no controlling terminal' 'none' "$(c sh -c '(: < /dev/tty) 2>/dev/null || echo none')"
	check 'private /tmp, but for the current directory' "$(case $PWD in /tmp/*) echo 1 ;; *) echo 0 ;; esac)" \
		"$(c --private-tmp --cwd=/ --cow-cwd sh -c 'ls -A /tmp | wc -l')"
	# who may not raise itself keeps what it has: these tests may run beside something more important
	check 'nice' "$([ "$mode" = user ] && [ "$(nice)" -gt 0 ] && nice || echo 0)" "$(c nice)"
}

layers() {
	fresh
	check 'the directory is written for real' 'seen' "$(c sh -c 'echo seen > f'; cat f)"
	check '/etc shows what is written' 'seen' "$(c sh -c 'echo seen > /etc/hermit-test && cat /etc/hermit-test')"
	check '/etc keeps nothing' 'absent' "$([ -e /etc/hermit-test ] || echo absent)"
	check '/ keeps nothing' 'absent' "$(c sh -c 'echo x > /hermit-test'; [ -e /hermit-test ] || echo absent)"
	rm -rf "$work/sibling" && mkdir "$work/sibling" && chmod 777 "$work/sibling"
	if [ -n "$become" ]; then chown 65534:65534 "$work/sibling"; fi
	check 'a sibling of the directory keeps nothing' 'x absent' \
		"$(c sh -c 'echo x > ../sibling/f; cat ../sibling/f') $([ -e "$work/sibling/f" ] || echo absent)"
	check 'a sibling named writable keeps' 'x' "$(c --writable="$work/sibling" sh -c 'echo x > ../sibling/f'; cat "$work/sibling/f")"
	check '/var/tmp and /tmp can be written' 'x y' "$(c sh -c 'f=$(mktemp -p /var/tmp) && echo x > $f && cat $f;
		f=$(mktemp -p /tmp) && echo y > $f && cat $f' | xargs)"
	as sh -c 'echo outside > f'
	check 'copy-on-write directory' 'inside outside' "$( (c --cow-cwd sh -c 'echo inside > f; cat f'; cat f) | xargs)"
	check 'a file removed in the view stays' 'gone outside' \
		"$(echo "$(c --cow-cwd sh -c 'rm f; [ -e f ] || echo gone')" "$(cat f)")"
	check 'a missing writable path is named' 'container_probe: writable path /no/such: No such file or directory' \
		"$(c --writable=/no/such true 2>&1)"
	as mkdir -p "$work/here/kept"
	c --cow-cwd --overlay="$work/here/kept" sh -c 'echo layer > /etc/hermit-test'
	check 'a kept layer is seen by the next run' 'layer' "$(c --cow-cwd --overlay="$work/here/kept" cat /etc/hermit-test)"
	check 'a kept layer leaves the host alone' 'absent' "$([ -e /etc/hermit-test ] || echo absent)"
	check 'direct view' 'direct' "$(c --direct sh -c 'echo direct > g'; cat g)"
}

directories() {
	fresh
	check 'working directory' "$work/here" "$(c pwd)"
	check 'working directory /' '/' "$(cd / && c sh -c 'pwd; echo x > /hermit-cwd'; [ -e /hermit-cwd ] && echo kept)"
	check 'deleted working directory' '/' "$(as mkdir gone && cd gone && rmdir ../gone && c pwd)"
	check 'directory below /proc' '/' "$(cd /proc/$$/task && c pwd)"
	check 'directory in /dev/shm' 'x' "$(d=$(as mktemp -d /dev/shm/hermit.XXXXXX) && cd "$d" && c sh -c 'echo x > f'; cat f; rm -r "$d")"
	check 'given directory' '/usr/lib' "$(c --cwd=/usr/lib pwd)"
	check 'given directory that is missing' '125' "$(c --cwd=/no/such true 2>/dev/null; echo $?)"
	as mkdir ro && as chmod 555 ro
	check 'read-only directory' "$work/here/ro" "$(cd ro && c pwd)"
	as mkdir 'a:b,c\d'
	check 'directory with special characters' 'x' "$(cd 'a:b,c\d' && c sh -c 'echo x > f' && cat f)"
	check 'copy-on-write in one' 'y' "$(cd 'a:b,c\d' && c --cow-cwd sh -c 'echo y > f; cat f')"
	[ "$(id -u)" = 0 ] || return
	cat > "$work/mounted.sh" <<-'END'
		mount -t tmpfs -o mode=777 none "$1/home" && mkdir -m 777 "$1/home/sub" && mount -t tmpfs -o mode=777 none "$1/home/sub" || exit 99
		echo host > "$1/home/f"; echo host > "$1/home/sub/f"; chown -R "$2:$2" "$1/home"
		mkdir "$1/ro-mount" && mount --bind -o ro "$1/here" "$1/ro-mount" || exit 99
		shift 2
		"$@"
	END
	mkdir -p "$work/home"
	uid=0
	[ -n "$become" ] && uid=65534
	mounted() { unshare -m sh "$work/mounted.sh" "$work" $uid "$@"; rmdir "$work/ro-mount"; }
	check 'separate mounts are in the view, and keep nothing' 'host host guest guest host host' "$(mounted sh -c "
		$become $work/probe sh -c 'cd $work/home; cat f sub/f; echo guest > f; echo guest > sub/f; cat f sub/f'
		cat $work/home/f $work/home/sub/f" | xargs)"
	check 'working in a separate mount' 'guest' "$(mounted sh -c "
		cd $work/home/sub; $become $work/probe sh -c 'echo guest > f'; cat f")"
	check 'working in a read-only mount' 'refused' "$(mounted sh -c "
		cd $work/ro-mount; $become $work/probe sh -c '(echo x > g) 2>/dev/null || echo refused'")"
}

programs() {
	fresh
	as sh -c 'echo "exit 7" > plain; mkdir dir; printf "#!/bin/sh\nexit 9\n" > script; chmod +x script'
	check 'exit status' '3' "$(c sh -c 'exit 3'; echo $?)"
	check 'death by signal' '137' "$(c sh -c 'kill -9 $$'; echo $?)"
	check 'a script' '9' "$(c ./script; echo $?)"
	check 'not found in PATH' 'container_probe: no-such-program: executable file not found in $PATH 127' \
		"$( (c no-such-program 2>&1; echo $?) | xargs)"
	check 'missing file' '127' "$(c ./missing 2>/dev/null; echo $?)"
	check 'not executable' '126' "$(c ./plain 2>/dev/null; echo $?)"
	check 'a directory' '126' "$(c ./dir 2>/dev/null; echo $?)"
	check 'PATH of the guest' '9' "$(PATH=$PWD:$PATH c script; echo $?)"
	check 'empty PATH element is the current directory' '9' "$(PATH=:/bin c script; echo $?)"
	check 'terminal of its own' 'tty /dev/pts/0' "$(c --terminal sh -c 'test -t 0 && : < /dev/tty && echo tty $(tty)' | tr -d '\r')"
	check 'a launcher that hides clone3 (435, ENOSYS)' 'works' "$(c --deny=435:38 sh -c 'echo works')"
	check 'a launcher that refuses unshare (272, EPERM) is named' 'a seccomp filter of the launcher refuses it' \
		"$(c --deny=272:1 true 2>&1 | grep -o 'a seccomp filter of the launcher refuses it')"
	check 'one that refuses sethostname (170) too' 'container_probe: cannot set the host name to .hermetic-container.local.: Operation not permitted 125' \
		"$(c --deny=170:1 true 2>&1 | tr "'" . | xargs -d '\n') $(c --deny=170:1 true 2>/dev/null; echo $?)"
	check 'orphans go to process 1' '1' "$(c sh -c '(sh -c "while [ \$(awk \"/PPid/ {print \\\$2}\" /proc/\$\$/status) != 1 ]; do :; done; echo 1" &) ; read x < /dev/null; while pgrep -P 1 sh | grep -qv "^2$"; do :; done')"
}

leftovers() {
	fresh
	mkfifo "$work/fifo" && chmod 666 "$work/fifo"
	for option in '' --pid1; do
		$become "$work/probe" --hold $option true > "$work/fifo" &
		holder=$!
		read -r word guest init < "$work/fifo"
		check "held $option" 'held' "$word"
		check 'the guest exists' 'yes' "$([ -d "/proc/$guest" ] && echo yes)"
		kill -9 "$holder"
		wait "$holder" 2>/dev/null
		check "process 1 after kill -9 $option" 'gone' "$(wait_end "$init")"
		check "guest after kill -9 $option" 'gone' "$(wait_end "$guest")"
	done
	rm "$work/fifo"
	check 'no mounts' '' "$(grep -e "$work" -e /sys/upper /proc/self/mountinfo)"
	check 'no files' '' "$(ls -A "$work/here"; ls -d /sys/root /sys/upper 2>/dev/null)"
	# a time by which no other process is found
	check 'background processes die with the guest' 'gone' "$(c sh -c 'sleep "$0" & echo $!' "$$.1234" > /dev/null
		pgrep -f "^sleep $$\.1234\$" > /dev/null && echo alive || echo gone)"
}

inside() {
	fresh
	mkfifo "$work/fifo" && chmod 666 "$work/fifo"
	$become "$work/probe" sh -c 'echo marked > /etc/hermit-inside; echo $$; exec sleep 1000' > "$work/fifo" &
	holder=$!
	read -r word < "$work/fifo"
	first=$(pgrep -P "$holder")
	guest=$(pgrep -P "$first")
	check "a process inside another's container ($word)" 'marked hermetic-container.local' \
		"$(c --pid1 --inside="$guest" sh -c 'cat /etc/hermit-inside; uname -n' | xargs)"
	check 'its namespaces' "$(readlink "/proc/$guest/ns/mnt" "/proc/$guest/ns/pid" "/proc/$guest/ns/net")" \
		"$(c --pid1 --inside="$guest" sh -c 'cd /proc/$$/ns && readlink mnt pid net')"
	check 'its exit status' '9' "$(c --pid1 --inside="$guest" sh -c 'exit 9'; echo $?)"
	check 'a program that is missing there' '127' "$(c --pid1 --inside="$guest" /no/such 2>/dev/null; echo $?)"
	check 'the container lives on' 'yes' "$([ -d "/proc/$guest" ] && echo yes)"
	kill -9 "$holder"
	wait "$holder" 2>/dev/null
	check 'it ends with its creator' 'gone' "$(wait_end "$guest")"
	check 'a process that is gone' '125' "$(c --pid1 --inside="$guest" true 2>/dev/null; echo $?)"
	rm "$work/fifo"
}

# As an ordinary user inside a user namespace where limits can be set without touching the host's.
refusals() {
	[ -n "$become" ] || return 0
	mkdir "$work/root"
	check 'a chroot is named' 'the process is in a chroot' "$(unshare -m sh -c 'mount -t tmpfs none "$0/root" && cd "$0/root" &&
		mkdir -p top/usr top/proc top/lib top/lib64 top/bin && for d in usr proc lib lib64 bin; do mount --rbind "/$d" "top/$d" || exit 99; done &&
		cp "$0/probe" top/probe && exec chroot top /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups /probe true' \
		"$work" 2>&1 | grep -o 'the process is in a chroot')"
	mkfifo "$work/ready" "$work/mapped"
	# the second sh is executed as user 0 of the namespace and so has its capabilities
	unshare --user sh -c 'echo ready > "$1/ready" && read -r mapped < "$1/mapped" && exec sh -c "
		echo 0 > /proc/sys/user/max_user_namespaces
		exec setpriv --reuid=65534 --regid=65534 --clear-groups $1/probe true"' sh "$work" > "$work/message" 2>&1 &
	nested=$!
	read -r word < "$work/ready"
	echo 0 0 65535 > "/proc/$nested/uid_map" && echo 0 0 65535 > "/proc/$nested/gid_map"
	echo "$word" > "$work/mapped"
	wait "$nested"
	check 'status of a refusal' 125 $?
	check 'a limit on user namespaces is named' 'user.max_user_namespaces is 0' \
		"$(grep -o 'user.max_user_namespaces is 0' "$work/message" || cat "$work/message")"
}

modes=user
[ "$(id -u)" = 0 ] && modes='root user'
for mode in $modes; do
	become=''
	[ "$mode" = user ] && [ "$(id -u)" = 0 ] && become='setpriv --reuid=65534 --regid=65534 --clear-groups'
	view
	layers
	directories
	programs
	leftovers
	inside
	refusals
done
echo "container: $passed passed, $failed failed (modes: $modes)"
[ "$failed" = 0 ]
