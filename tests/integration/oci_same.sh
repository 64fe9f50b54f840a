#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Containers are deterministic: the same bundle gives the same output, and the same event log, twenty times; with other options
# something else. Options come from annotations and from the file of defaults.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
rounds=${ROUNDS:-20}

# same NAME SCRIPT [FILTER]: all runs give the output of the first one.
same()
{
	local i
	bundle "$1" "$2" "${3:-.}"
	echo "{ \"log-events\": \"$work/$1.log\", \"pace\": \"none\" }" >defaults.json
	for ((i = 1; i <= rounds; i++)); do
		timeout "$(at_most 60)" rt --defaults defaults.json run --bundle "$1" "$1" >"$1.out" 2>&1 </dev/null
		mv "$1.out" "$1.out.$i"
		mv "$1.log" "$1.log.$i"
		cmp -s "$1.out.1" "$1.out.$i" || { fail "$1: output of run $i"; diff "$1.out.1" "$1.out.$i" | head -5; return; }
		cmp -s "$1.log.1" "$1.log.$i" || { fail "$1: event log of run $i"; diff "$1.log.1" "$1.log.$i" | head -5; return; }
	done
	ok "$1: output" [ -s "$1.out.1" ]
}

same clock 'date +%s.%N; cat /proc/uptime; for i in 1 2 3; do sleep 0.5; date +%s.%N; done; time -v true 2>&1 | head -3'
same random 'head -c 64 /dev/urandom | md5sum; cat /proc/sys/kernel/random/uuid; mktemp -u /tmp/XXXXXXXXXXXX; awk "BEGIN { srand(); print rand() }"' \
	'.mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs"}]'
same parallel 'for i in 1 2 3 4 5 6 7 8; do (n=0; while [ $n -lt 20 ]; do echo $i.$n; n=$((n+1)); done) & done; wait; echo done'
same pipes 'yes | head -1000 | md5sum; seq 1 300 | sort -r | tail -3; (sleep 1; echo late) & (echo early); wait; (echo a; sleep 0.1; echo b) | while read l; do date +%N; echo $l; done'
# What an engine makes of the id is drawn; a name that somebody has given is not touched.
for id in 4f6c1e9a77b2d0 9b1d22e0c4aa13; do
	bundle "$id" 'hostname; echo $HOSTNAME' ".hostname = \"${id%??}\" | .process.env += [\"HOSTNAME=${id%??}\"]"
	run rt run --bundle "$id" "$id"
	expect_out "hermit
hermit" "a name that is made of the id"
done
# The files that an engine binds have it as well; and so has one more process's variable. In a user namespace they are the engine's to hand in.
chmod 711 "$work"
[ -d rootfs ] || rootfs rootfs
touch rootfs/etc/hostname rootfs/etc/hosts
for drawn in 4f6c1e9a77b2 a90dd3f2c1e0; do
	printf '%s' $drawn >name-of-engine
	printf '127.0.0.1\tlocalhost\n10.0.0.2\t%s %s_mouse kept\n10.0.0.3\tother_mouse\n' $drawn "$([ $drawn = 4f6c1e9a77b2 ] && echo quiet || echo busy)" >hosts-of-engine
	chown 100000:100000 name-of-engine hosts-of-engine
	bundle files 'cat /etc/hostname; echo; cat /etc/hosts; ls -ln /etc/hosts | cut -c1-30; echo x >>/etc/hosts; hostname; sleep 5000' ".hostname = \"$drawn\" |
		.process.env += [\"HOSTNAME=$drawn\"] | .linux.namespaces += [{type: \"user\"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 1000}] | .linux.gidMappings = .linux.uidMappings |
		.mounts += [{destination: \"/etc/hostname\", type: \"bind\", source: \"$work/name-of-engine\",
		options: [\"bind\"]}, {destination: \"/etc/hosts\", type: \"bind\", source: \"$work/hosts-of-engine\", options: [\"rbind\", \"rprivate\"]}]"
	rt run -d --bundle files ${drawn}c81 </dev/null >"files.$drawn" 2>&1
	until_true sh -c "test \$(wc -l <files.$drawn) = 6"
	run rt exec ${drawn}c81 /bin/sh -c 'echo $HOSTNAME'
	expect_out hermit "exec: the variable of a name that an engine has drawn"
	equal "$drawn" "$(cat name-of-engine)" "the engine's own file stays"
	ok "the engine's own hosts stay" grep -q "$drawn" hosts-of-engine
	rt delete --force ${drawn}c81
	ok "nothing stays of the copies" test ! -e "$state/${drawn}c81"
done
ok "/etc/hostname and /etc/hosts do not tell the id" cmp files.4f6c1e9a77b2 files.a90dd3f2c1e0
equal "$(printf 'hermit\n127.0.0.1\tlocalhost\n10.0.0.2\thermit kept\n10.0.0.3\tother_mouse\n-rw-r--r--    1 0        0    \nhermit')" \
	"$(cat files.4f6c1e9a77b2)" "what they say"
bundle named 'hostname; echo $HOSTNAME' '.hostname = "4f6c1e9a77b2" | .process.env += ["HOSTNAME=4f6c1e9a77b2"]'
run rt run --bundle named named
expect_out "4f6c1e9a77b2
4f6c1e9a77b2" "a name that is given"
bundle cpus 'cat /sys/devices/system/cpu/online' '.annotations = {"org.hermit.cpus": "3"}'
run rt run --bundle cpus cpus
expect_out 0-2 "/sys of the machine that is shown"
same machine 'uname -a; nproc; free | head -2; id; hostname; cat /proc/loadavg; ls -l /proc/self/fd | wc -l; env'
same files 'cd /tmp; for i in 1 2 3 4 5; do echo $i >f$i; done; ls -la --full-time; stat -c "%i %Y" f*; df /tmp | tail -1; ls -l /bin | md5sum' \
	'.mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["size=1m"]}]'
same signals 'trap "echo usr1" USR1; (sleep 0.2; kill -USR1 1) & wait; kill -USR1 $$; timeout 1 sleep 100; echo $?'
same socket 'nc -l -p 5000 >/tmp/got & sleep 0.1; echo over tcp | nc 127.0.0.1 5000; wait; cat /tmp/got' \
	'.mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs"}]'
# ---- exec: a process that joins is an event from outside, by name, and sees the container's time and random numbers ----
mkfifo in
exec 8<>in
mkdir logs
echo "{ \"log-events\": \"$work/logs\" }" >defaults.json
bundle joined 'echo up; read x; date +%s; exit 3'
for i in 1 2 3 4 5; do
	rt --defaults defaults.json create --bundle joined joined <in >joined.out 2>&1
	rt start joined
	until_true grep -q up joined.out
	ok "exec: the first process waits in run $i" until_true waits_for_input joined
	run rt exec joined /bin/sh -c 'date; head -c 8 /dev/urandom | md5sum; exit 5'
	expect 5 "exec: exit status"
	mv out "exec.out.$i"
	echo >&8
	until_true is_gone "$(field joined .supervisor.pid)"
	rt delete joined
	mv logs/joined.log "joined.log.$i"
	ok "exec: output of run $i" cmp -s exec.out.1 "exec.out.$i"
	ok "exec: event log of run $i" cmp -s joined.log.1 "joined.log.$i"
done
ok "exec: an event with a name" grep -q '"kind":"outside","what":"join"' joined.log.1
# ---- RDTSC: as in hermit run ----
counter='/bin/mapped private; /bin/mapped generated; echo up; read x; exit 0'
bundle counter "$counter" '.annotations = {"org.hermit.tsc": "fault"}'
if ${CC##ccache } -O2 -static -o "$work/rootfs/bin/mapped" "$top_srcdir/tests/guests/insn_mapped.c" 2>cc.err; then
	run rt run --bundle counter c
	if [ "$status" = 0 ]; then
		echo "RDTSC faults here"
		cp out counter.fault
		bundle counter "$counter"
		for i in 1 2; do
			rt create --bundle counter c <in >counter.out 2>&1
			rt start c
			until_true grep -q up counter.out || fail "RDTSC: nothing was printed"
			ok "RDTSC: the first process waits" until_true waits_for_input c
			run rt exec c /bin/mapped generated
			expect 0 "RDTSC in code made at run time, exec"
			cat out >>counter.out
			cp counter.out "counter.$i"
			echo >&8
			until_true is_gone "$(field c .supervisor.pid)"
			rt delete c
			ok "RDTSC is the same, faulting or replaced" [ "$(head -n 3 "counter.$i")" = "$(cat counter.fault)" ]
		done
		ok "RDTSC in code made at run time: the same each time" cmp counter.1 counter.2
	else
		expect 1 "RDTSC that has to fault"
		expect_err_has '--tsc=fault: RDTSC cannot be made to fault on this host' "RDTSC that does not fault"
	fi
	bundle counter '/bin/mapped private' '.annotations = {"org.hermit.tsc": "replace"}'
	run rt run --bundle counter c
	expect 0 "RDTSC is replaced"
	cp out counter.replaced
	run rt run --bundle counter c
	ok "RDTSC that is replaced: the same each time" cmp out counter.replaced
else
	cat cc.err
	echo "RDTSC in a container is not tested: no static C library"
fi
# ---- options ----
seeded='head -c 8 /dev/urandom | md5sum; date +%Y'
bundle other "$seeded" '.annotations = {"org.hermit.seed": "1"}'
run rt run --bundle other o
first=$(cat out)
bundle other "$seeded" '.annotations = {"org.hermit.seed": "2", "org.hermit.epoch": "2001-02-03T00:00:00Z", "org.hermit.cpus": "3"}'
run rt run --bundle other o
ok "another seed" [ "$(head -1 out)" != "$(echo "$first" | head -1)" ]
equal 2001 "$(tail -1 out)" "the epoch of an annotation"
echo '{ "seed": 1, "epoch": "1999-01-01T00:00:00Z" }' >defaults.json
bundle other "$seeded"
run rt --defaults defaults.json run --bundle other o
equal "$(echo "$first" | head -1) 1999" "$(sed "s/ *$//" out | paste -sd " ")" "the file of defaults"
bundle other "$seeded" '.annotations = {"org.hermit.epoch": "2002-01-01T00:00:00Z"}'
run rt --defaults defaults.json run --bundle other o
equal 2002 "$(tail -1 out)" "annotations are stronger than defaults"
bundle other true '.annotations = {"org.hermit.seed": "many"}'
run rt run --bundle other o
expect 1 "a wrong annotation"
expect_err_has "annotations.org.hermit.seed: .*'many' is not a number" "a wrong annotation is named"
bundle other true '.annotations = {"org.hermit.sched-heuristic": "none-such"}'
run rt run --bundle other o
expect 1 "an option whose value makes no sense"
expect_err_has "sched-heuristic" "an option whose value makes no sense is named"
bundle other true '.annotations = {"org.hermit.off": "perhaps"}'
run rt run --bundle other o
expect_err_has "annotations.org.hermit.off: 'perhaps' is neither true nor false" "a wrong truth"
bundle other true '.annotations = {"org.hermit.log-file": "/etc/passwd"}'
run rt run --bundle other o
expect 1 "a file of the host cannot be named by an annotation"
bundle other true '.annotations = {"org.hermit.sed": "1"}'
run rt run --bundle other o
expect 0 "an unknown annotation is no error"
expect_err_has 'org.hermit.sed is not an option' "but is warned of"
bundle other true
echo '{ "seed": true }' >defaults.json
run rt --defaults defaults.json run --bundle other o
expect 1 "wrong defaults"
echo '{ "user": "1" }' >defaults.json
run rt --defaults defaults.json run --bundle other o
expect_err_has "defaults.json: options: 'user' has no meaning here" "defaults that have no meaning here"
run rt --defaults nowhere.json run --bundle other o
expect 1 "no such file of defaults"
finish
