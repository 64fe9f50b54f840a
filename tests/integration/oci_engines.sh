#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Container engines with this runtime: podman, containerd through ctr, docker. Each is left out, with the reason, where it is absent.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
rootfs "$work/rootfs"
mkfifo answer
tried=0

# answered WORD COMMAND...: as run, but the command gets a line of input when its output has the word; the file "given" has it, too, for a command
# without input. Engines lose what a process has written just before its end, with every runtime; one that waits has been heard before it ends. With
# containerd the shim opens the FIFOs of an exec only when the runtime has started it, and ctr, when it hears of the end, gives up a FIFO whose open(2)
# has not come back yet: 1 of 164 lost with runc on a busy machine (containerd issue 5741, pull request 13931). Terminals: 2 of 60 with podman and
# runc; moby issue 43121.
answered()
{
	local word=$1 pid
	shift
	status=0
	: >out
	: >given
	exec 7<>answer # whoever opens it does not wait, and nobody sees its end
	timeout -s KILL "$(at_most 60)" "$@" <answer >out 2>err 7>&- &
	pid=$!
	until_true heard "$word" $pid
	echo | tee given >&7
	wait $pid || status=$?
	exec 7>&-
}

heard()
{
	grep -q -- "$1" out || is_gone "$2"
}

# typed COMMAND...: as answered, for one that says what it hears until its input ends.
typed()
{
	status=0
	: >out
	{ echo typed; until_true grep -q typed out; } | timeout -s KILL "$(at_most 60)" "$@" >out 2>err || status=$?
}

# A network that somebody has made before: its namespace is configured, and the MAC address of its device where that is asked for.
with_network()
{
	local network inside
	if ! command -v ip >/dev/null; then
		echo "a network of others left out: no iproute2"
		return
	fi
	unshare -n sh -c 'ip link set lo up && ip link add eth0 type veth peer name outer && ip link set outer up && ip link set eth0 up &&
		ip addr add 10.0.0.2/24 dev eth0 && echo ready && exec sleep 600' >network.out 2>network.err &
	network=$!
	if ! until_true grep -q ready network.out; then
		printf 'a network of others left out: %s\n' "$(tail -1 network.err)"
		kill $network
		return
	fi
	inside="nsenter --net=/proc/$network/ns/net"
	for fixed in false true; do
		run "${pod[@]}" run --rm --network="ns:/proc/$network/ns/net" --annotation org.hermit.fixed-macs=$fixed localhost/busy:1 ip addr show eth0
		expect 0 "podman run in a network of others, fixed-macs=$fixed"
		ok "fixed-macs=$fixed: the number and its MAC address are seen" sh -c 'grep -q "^2: eth0" out && grep -q "link/ether 02:00:00:00:00:02" out'
		ok "fixed-macs=$fixed: and the IPv6 address that is made of it" grep -q "inet6 fe80::ff:fe00:2/64" out
		ok "fixed-macs=$fixed: no duplicates are looked for" test "$($inside cat /proc/sys/net/ipv6/conf/eth0/accept_dad)" = 0
		$inside ip link show eth0 >real
		equal $([ $fixed = true ] && echo 1 || echo 0) "$(grep -c 'link/ether 02:00:00:00:00:02' real)" "fixed-macs=$fixed: the device's own MAC address"
	done
	kill $network
}

with_podman()
{
	sed -e "s|/usr/local/bin/hermit-supervisor|$supervisor|" -e 's|^\[engine\]$|&\ncgroup_manager = "cgroupfs"\nevents_logger = "file"|' \
		"$top_srcdir/contrib/docker/containers.conf" >containers.conf
	printf '[containers]\ndefault_ulimits=["nofile=1024:4096","nproc=4096:4096"]\npids_limit=0\n' >>containers.conf
	export CONTAINERS_CONF=$work/containers.conf
	pod=(podman --root "$work/pod/root" --runroot "$work/pod/run" --tmpdir "$work/pod/tmp" --storage-driver vfs --runtime hermit)
	tar -C "$work/rootfs" -c . >image.tar
	if ! "${pod[@]}" import image.tar localhost/busy:1 >pod.out 2>&1; then
		printf 'podman left out: it cannot import an image here: %s\n' "$(tail -1 pod.out)"
		return
	fi
	tried=$((tried + 1))
	for mode in "" --cgroups=disabled; do
		run "${pod[@]}" run --rm --network=none $mode localhost/busy:1 sh -c 'date -u +%Y-%m; exit 3'
		expect 3 "podman run $mode: exit status"
		expect_out "2026-01" "podman run $mode: output"
	done
	run "${pod[@]}" run --rm --network=none --user 5:6 --read-only -v "$work:/mnt:ro" localhost/busy:1 sh -c 'id -u; test -d /mnt/rootfs; touch /x 2>/dev/null || echo ro'
	expect_out "5
ro" "podman run: user, read-only root, volume"
	run "${pod[@]}" run --rm --network=none localhost/busy:1 /no/such/program
	expect 127 "podman run: no such program"
	run "${pod[@]}" run --rm --network=none localhost/busy:1 /etc
	expect 126 "podman run: no program"
	run "${pod[@]}" run --rm --network=none --rootfs "$work/rootfs" sh -c 'id -u; uname -n'
	expect 0 "podman run --rootfs"
	answered sized "${pod[@]}" run --rm -t --network=none -v "$work/given:/answer:ro" localhost/busy:1 sh -c 'tty; stty size >/dev/null && echo sized; until [ -s /answer ]; do sleep 1; done'
	ok "podman run -t: a terminal" grep -q /dev/pts/0 out
	ok "podman run -t: it has a size" grep -q sized out
	if command -v script >/dev/null; then
		answered /dev/pts/0 script -qec "${pod[*]} run --rm -it --network=none localhost/busy:1 sh -c 'test -t 0 && test -t 1 && tty; read -r answer; exit 5'" /dev/null
		expect 5 "podman run -it: exit status"
		ok "podman run -it: a terminal" grep -q /dev/pts/0 out
	fi
	typed "${pod[@]}" run --rm -i --network=none localhost/busy:1 cat
	expect_out typed "podman run -i: input, and its end"
	run "${pod[@]}" run --rm --network=none --annotation org.hermit.epoch=2001-01-01T00:00:00Z localhost/busy:1 date -u +%Y
	expect_out 2001 "podman run: an annotation"
	run "${pod[@]}" run --rm --network=none --annotation org.hermit.seed=many localhost/busy:1 true
	expect 126 "podman run: a wrong annotation"
	expect_err_has 'org.hermit.seed.*many' "podman run: a wrong annotation is named"
	for i in $(seq 20); do
		run "${pod[@]}" run --rm --network=none localhost/busy:1 sh -c 'cat /etc/hostname; echo; cat /etc/hosts; hostname; uname -n; echo $HOSTNAME'
		cp out "names.$i"
		cmp -s names.1 "names.$i" || break
	done
	ok "podman run: 20 times the same names of the host ($i)" cmp names.1 names.20
	ok "podman run: in its files, and from the kernel" sh -c 'test "$(head -1 names.1)" = hermit && test "$(tail -3 names.1 | sort -u)" = hermit'
	ok "podman run: /etc/hosts knows it" grep -q '^127.*[[:blank:]]hermit$' names.1
	run "${pod[@]}" run --rm --network=none --hostname given --name known localhost/busy:1 sh -c 'cat /etc/hostname; echo; grep given /etc/hosts; hostname'
	ok "podman run: names that are given stay" sh -c 'test "$(head -1 out)" = given && grep -q "given known" out && test "$(tail -1 out)" = given'
	with_network
	run "${pod[@]}" run --network=none --name again --restart=on-failure:2 localhost/busy:1 sh -c 'echo once >>/count; test $(wc -l </count) = 3'
	until_true sh -c 'test "$("$@" inspect again --format "{{.State.ExitCode}} {{.RestartCount}}")" = "0 2"' sh "${pod[@]}"
	equal "0 2" "$("${pod[@]}" inspect again --format '{{.State.ExitCode}} {{.RestartCount}}')" "podman run --restart"
	run "${pod[@]}" rm -f again
	run "${pod[@]}" run -d --network=none --name hc --health-cmd 'test -e /healthy' --health-interval=disable localhost/busy:1 sh -c 'sleep 5000'
	run "${pod[@]}" healthcheck run hc
	expect 1 "podman healthcheck: not yet"
	run "${pod[@]}" exec hc touch /healthy
	run "${pod[@]}" healthcheck run hc
	expect 0 "podman healthcheck: now"
	run "${pod[@]}" kill -s KILL hc
	expect 0 "podman kill"
	run "${pod[@]}" wait hc
	expect_out 137 "podman wait"
	run "${pod[@]}" rm hc
	run "${pod[@]}" run -d --network=none --name c1 localhost/busy:1 sh -c 'trap "echo term; exit 7" TERM; echo up; tail -f /dev/null & wait'
	expect 0 "podman run -d"
	until_true sh -c '"$@" logs c1 2>/dev/null | grep -q up' sh "${pod[@]}"
	run "${pod[@]}" exec c1 sh -c 'echo inside; exit 5'
	expect 5 "podman exec: exit status"
	expect_out inside "podman exec: output"
	run "${pod[@]}" pause c1
	expect 0 "podman pause"
	run "${pod[@]}" unpause c1
	expect 0 "podman unpause"
	run "${pod[@]}" stop -t 200 c1
	expect 0 "podman stop"
	run "${pod[@]}" logs c1
	expect_out "up
term" "podman logs"
	run "${pod[@]}" inspect c1 --format '{{.State.ExitCode}} {{.State.Status}}'
	expect_out "7 exited" "podman inspect"
	run "${pod[@]}" rm -f c1
	expect 0 "podman rm"
	with_pods
	with_python
	"${pod[@]}" rmi -a -f >/dev/null 2>&1
}

# A pod's first container only waits, so it runs as it is; the others are supervised, and share its namespaces.
with_pods()
{
	local first member id dir
	# Process 1 does not end by SIGTERM unless it asks to; podman would wait as long as it is told to.
	printf '#!/bin/sh\ntrap "exit 0" TERM\ntail -f /dev/null &\nwait\n' >"$work/rootfs/pause"
	chmod +x "$work/rootfs/pause"
	tar -C "$work/rootfs" -c . >pause.tar
	run "${pod[@]}" import pause.tar localhost/pause:1
	run "${pod[@]}" pod create --name p --network=none --infra-image localhost/pause:1 --infra-command /pause
	expect 0 "podman pod create"
	run "${pod[@]}" run -d --pod p --name member localhost/busy:1 sh -c 'trap "exit 0" TERM; date -u +%Y-%m; echo up; tail -f /dev/null & wait'
	expect 0 "podman run --pod"
	until_true sh -c '"$@" logs member 2>/dev/null | grep -q up' sh "${pod[@]}"
	run "${pod[@]}" logs member
	expect_out "2026-01
up" "podman run --pod: it is supervised"
	first=$("${pod[@]}" inspect "$("${pod[@]}" pod inspect p --format '{{.InfraContainerID}}')" --format '{{.State.Pid}}')
	member=$("${pod[@]}" inspect member --format '{{.State.Pid}}')
	equal "$(readlink "/proc/$first/ns/net" "/proc/$first/ns/ipc")" "$(readlink "/proc/$member/ns/net" "/proc/$member/ns/ipc")" "podman pod: shared namespaces"
	# podman's own profile is a filter; a supervised process has one more
	ok "podman pod: its first container runs as it is" [ "$(filters "$first")" = $(($(filters "$member") - 1)) ]
	run "${pod[@]}" exec member sh -c 'echo inside'
	expect_out inside "podman exec in a pod"
	run "${pod[@]}" pod stop -t 200 p
	expect 0 "podman pod stop"
	id=$("${pod[@]}" pod inspect p --format '{{.ID}}')
	# podman makes directories of its own where a controller is absent, and fails to remove them whatever the runtime is
	run "${pod[@]}" pod rm -f p
	for dir in /sys/fs/cgroup/*/libpod_parent/"$id"; do
		if [ -d "$dir" ] && [ "$(stat -f -c %T "$dir")" = tmpfs ]; then rm -rf "$dir"; fi
	done
	equal "" "$("${pod[@]}" ps -aq)" "podman pod rm: no container is left"
}

filters()
{
	sed -n 's/^Seccomp_filters:[^0-9]*//p' "/proc/$1/status"
}

# The distribution's own python, read-only: twenty times the same; with another runtime it varies.
with_python()
{
	local i
	[ -x /usr/bin/python3 ] || { echo "python3 of the distribution is missing: not run"; return; }
	mkdir -p python/{proc,sys,dev,tmp,run,etc,usr,var}
	for i in bin lib lib32 lib64 sbin; do [ -L /$i ] && cp -a /$i python/$i; done
	cp "$top_srcdir/tests/support/vary.py" python/vary.py || exit 99
	on=(run --rm --network=none --read-only -v /usr:/usr:ro)
	for ((i = 1; i <= 20; i++)); do
		run "${pod[@]}" "${on[@]}" --rootfs "$work/python" python3 /vary.py
		expect 0 "python in podman, run $i"
		[ -e python.out ] || cp out python.out
		ok "python in podman, run $i: the same" cmp -s out python.out
	done
	ok "python in podman: all of its output" [ "$(grep -c '^\[0, 0, 0\]$' python.out)" = 1 ]
	run "${pod[@]}" "${on[@]}" --annotation org.hermit.off=true --rootfs "$work/python" python3 /vary.py
	cp out python.off
	run "${pod[@]}" "${on[@]}" --annotation org.hermit.off=true --rootfs "$work/python" python3 /vary.py
	ok "python in podman, not under control: it varies" sh -c '! cmp -s out python.off'
}

with_containerd()
{
	local daemon
	printf 'version = 2\nroot = "%s/ctrd/root"\nstate = "%s/ctrd/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]\n  address = "%s/ctrd/s"\n[ttrpc]\n  address = "%s/ctrd/t"\n' "$work" "$work" "$work" "$work" >ctrd.toml
	containerd -c ctrd.toml >ctrd.log 2>&1 &
	daemon=$!
	ctr=(ctr -a "$work/ctrd/s")
	if ! until_true sh -c '"$@" version >/dev/null 2>&1' sh "${ctr[@]}"; then
		printf 'containerd left out: it does not start here: %s\n' "$(tail -1 ctrd.log)"
		kill $daemon
		return
	fi
	tried=$((tried + 1))
	how=(--runc-binary "$supervisor" --rootfs)
	answered 2026 "${ctr[@]}" run --rm "${how[@]}" "$work/rootfs" a1 /bin/sh -c 'date -u +%Y-%m; read -r answer; exit 6'
	expect 6 "ctr run: exit status"
	expect_out "2026-01" "ctr run: output"
	run "${ctr[@]}" run -d "${how[@]}" "$work/rootfs" a2 /bin/sh -c 'trap "exit 4" TERM; echo >/up; tail -f /dev/null & wait'
	expect 0 "ctr run -d"
	ok "ctr run -d: it runs" until_true [ -e rootfs/up ]
	answered inside "${ctr[@]}" task exec --exec-id e1 a2 /bin/sh -c 'echo inside; read -r answer; exit 9'
	expect 9 "ctr task exec: exit status"
	expect_out inside "ctr task exec: output"
	run "${ctr[@]}" task pause a2
	ok "ctr task pause" sh -c '"$@" task ls | grep -q "a2.*PAUSED"' sh "${ctr[@]}"
	run "${ctr[@]}" task resume a2
	ok "ctr task resume" sh -c '"$@" task ls | grep -q "a2.*RUNNING"' sh "${ctr[@]}"
	run "${ctr[@]}" task kill a2
	until_true sh -c '"$@" task ls | grep -q "a2.*STOPPED"' sh "${ctr[@]}"
	run "${ctr[@]}" task rm a2
	run "${ctr[@]}" container rm a2
	expect 0 "ctr container rm"
	kill $daemon
	wait $daemon 2>/dev/null
}

with_docker()
{
	local daemon
	sed "s|/usr/local/bin/hermit-supervisor|$supervisor|" "$top_srcdir/contrib/docker/daemon.json" | jq --arg dk "$work/dk" '. + { bridge: "none", iptables: false,
		"data-root": ($dk + "/data"), "exec-root": ($dk + "/exec"), pidfile: ($dk + "/pid"), hosts: ["unix://" + $dk + "/s"],
		"exec-opts": ["native.cgroupdriver=cgroupfs"], "storage-driver": "vfs" }' >daemon.json
	dockerd --config-file daemon.json >dockerd.log 2>&1 &
	daemon=$!
	dk=(docker -H "unix://$work/dk/s")
	if ! until_true sh -c '"$@" version >/dev/null 2>&1 || ! kill -0 '"$daemon" sh "${dk[@]}" || ! kill -0 $daemon 2>/dev/null; then
		printf 'docker left out: dockerd does not start here: %s\n' "$(tail -1 dockerd.log)"
		return
	fi
	tried=$((tried + 1))
	[ -e image.tar ] || tar -C "$work/rootfs" -c . >image.tar
	run "${dk[@]}" import image.tar busy:1
	expect 0 "docker import"
	on=(run --runtime hermit --network none)
	answered 2026 "${dk[@]}" "${on[@]}" --rm -i busy:1 sh -c 'date -u +%Y-%m; read -r answer; exit 3'
	expect 3 "docker run: exit status"
	expect_out "2026-01" "docker run: output"
	typed "${dk[@]}" "${on[@]}" --rm -i busy:1 cat
	expect_out typed "docker run -i"
	answered ro "${dk[@]}" "${on[@]}" --rm -i --user 5:6 --read-only -v "$work:/mnt:ro" -e A=b busy:1 sh -c 'id -u; echo $A; test -d /mnt/rootfs; touch /x 2>/dev/null || echo ro; read -r answer'
	expect_out "5
b
ro" "docker run: user, environment, read-only root, volume"
	answered sized "${dk[@]}" "${on[@]}" --rm -t -v "$work/given:/answer:ro" busy:1 sh -c 'tty; stty size >/dev/null && echo sized; until [ -s /answer ]; do sleep 1; done'
	ok "docker run -t: a terminal" grep -q /dev/pts/0 out
	ok "docker run -t: it has a size" grep -q sized out
	if command -v script >/dev/null; then
		answered /dev/pts/0 script -qec "docker -H unix://$work/dk/s run --runtime hermit --network none --rm -it busy:1 sh -c 'test -t 0 && test -t 1 && tty; read -r answer; exit 5'" /dev/null
		expect 5 "docker run -it: exit status"
		ok "docker run -it: a terminal" grep -q /dev/pts/0 out
	fi
	run "${dk[@]}" "${on[@]}" --rm busy:1 /no/such/program
	expect 127 "docker run: no such program"
	run "${dk[@]}" "${on[@]}" --rm busy:1 /etc
	expect 126 "docker run: no program"
	run "${dk[@]}" "${on[@]}" -d --name d1 busy:1 sh -c 'trap "echo term; exit 7" TERM; echo up; tail -f /dev/null & wait'
	expect 0 "docker run -d"
	until_true sh -c '"$@" logs d1 2>/dev/null | grep -q up' sh "${dk[@]}"
	answered inside "${dk[@]}" exec -i d1 sh -c 'echo inside; read -r answer; exit 5'
	expect 5 "docker exec: exit status"
	expect_out inside "docker exec: output"
	run "${dk[@]}" pause d1
	expect 0 "docker pause"
	run "${dk[@]}" unpause d1
	expect 0 "docker unpause"
	run "${dk[@]}" top d1
	expect 0 "docker top"
	run "${dk[@]}" update --memory 64m --memory-swap 64m d1
	expect 0 "docker update"
	run "${dk[@]}" stop -t 200 d1
	expect 0 "docker stop"
	equal "7 exited" "$("${dk[@]}" inspect d1 --format '{{.State.ExitCode}} {{.State.Status}}')" "docker inspect"
	run "${dk[@]}" logs d1
	expect_out "up
term" "docker logs"
	run "${dk[@]}" restart d1
	expect 0 "docker restart"
	run "${dk[@]}" kill d1
	expect 0 "docker kill"
	run "${dk[@]}" wait d1
	expect_out 137 "docker wait"
	run "${dk[@]}" rm -f d1
	expect 0 "docker rm"
	kill $daemon
	wait $daemon 2>/dev/null
	umount -R "$work"/dk/* 2>/dev/null
}

if command -v podman >/dev/null && command -v conmon >/dev/null; then with_podman; else echo "podman left out: not installed"; fi
if command -v containerd >/dev/null && command -v ctr >/dev/null; then with_containerd; else echo "containerd left out: not installed"; fi
if command -v dockerd >/dev/null && command -v docker >/dev/null; then with_docker; else echo "docker left out: not installed"; fi
[ "$tried" -gt 0 ] || skip "no engine that works here"
finish
