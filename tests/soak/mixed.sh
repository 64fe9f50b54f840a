#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many runs of small programs in turn, beside busy loops: each program says the same every time, and nothing of any run is left: processes, mounts,
# temporary files, shared memory, control groups below ours, keys of System V. HERMIT_SOAK_RUNS says how many (1000).
#
# Everything happens in a pid, mount and ipc namespace of its own, so that what is left there is ours.
if [ "${1-}" != inside ]; then
	map=
	[ "$(id -u)" = 0 ] || map=-r
	# shellcheck disable=SC2086 # an option or nothing
	unshare $map -p -f -m -i --mount-proc --kill-child true 2>/dev/null || { echo "unshare is not possible here"; exit 77; }
	# shellcheck disable=SC2086
	exec unshare $map -p -f -m -i --mount-proc --kill-child bash "$0" inside
fi
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
runs=${HERMIT_SOAK_RUNS:-1000}
export TMPDIR=$work/tmp
mkdir tmp here first programs
cp "$top_builddir/tests/guests/steady" "$top_builddir/tests/guests/four" "$top_srcdir/tests/same/loopback.py" programs || exit 99

# The programs: lines for sh; those whose first word is missing are left out.
programs=(
	'perl -e "my %h = map { \$_ => rand } 1 .. 30; print keys %h, time, \$\$, qq(\n)"'
	'bash -c "echo \$RANDOM \$\$ \$EPOCHREALTIME; for i in 1 2 3; do (sleep 0.\$i; echo \$i \$BASHPID) & done; wait"'
	'sh -c "i=0; while [ \$i -lt 20 ]; do x=\$(echo abc | cat | cat); [ \$x = abc ] || echo wrong; i=\$((i + 1)); done; date +%N"'
	'awk "BEGIN { srand(); print rand(); system(\"date +%N; echo \$\$\") }"'
	'seq 500 | shuf | sort -rn | head -n 400 | tail -n 3 | tr "\n" " "'
	'python3 -c "import uuid, random, time, threading; o = []; t = [threading.Thread(target=lambda n=n: [o.append(n) or time.sleep(0) for _ in range(9)]) for n in range(4)]; [x.start() for x in t]; [x.join() for x in t]; print(uuid.uuid4(), random.random(), time.time(), o, id(o))"'
	'python3 loopback.py'
	'sqlite3 /tmp/f.db "create table t(a); insert into t select random(); select * from t; select julianday()"'
	'openssl rand -hex 16'
	'./steady'
	'./four'
	'cd /tmp; mkfifo f; (date +%N >f &); cat f; ls -la --time-style=full-iso'
	'exec 3<>/dev/tcp/127.0.0.1/1; echo $?'
	'timeout 2 sleep 5; echo $?; (kill -9 $$)'
	'cd /tmp; date +%N >x; tar cf t x; tar tvf t'
)

start_load
# Those of everybody, when ours is the root, say nothing.
cgroups()
{
	local controllers path
	while IFS=: read -r _ controllers path; do
		[ "$path" = / ] || find "/sys/fs/cgroup/${controllers#name=}$path" -mindepth 1 -type d 2>/dev/null
	done </proc/self/cgroup | sort
}

mount -t tmpfs none /dev/shm || exit 99
cp /proc/self/mountinfo mounts
cgroups >groups
ipcs | grep -c '^0x' >ipc

# Says what is there that was not there before the first run.
leftovers()
{
	local me
	(
		me=$BASHPID
		ps -eo pid=,ppid=,args= | awk -v known=" $$ $me ${load_pids[*]} " -v me="$me" '$2 != me && !index(known, " " $1 " ") { print "process", $0 }'
	)
	diff mounts /proc/self/mountinfo
	find tmp here /dev/shm -mindepth 1
	diff groups <(cgroups)
	diff ipc <(ipcs | grep -c '^0x')
}

different=0
started=0
while [ "$started" -lt "$runs" ]; do
	for i in "${!programs[@]}"; do
		[ "$started" -lt "$runs" ] || break
		word=${programs[i]%% *}
		command -v "$word" >/dev/null || continue
		started=$((started + 1))
		progress "$started" "$runs" "$different different"
		(cd here && exec timeout -s KILL "$(at_most 120)" "$hermit" run --base-env=minimal --bind="$work/programs" \
			-- bash -c "cd $work/programs; ${programs[i]}") >out 2>err </dev/null
		echo "status $?" >>out
		cat err >>out
		if [ ! -e "first/$i" ]; then
			cp out "first/$i"
			grep -q '^hermit: ' out && fail "something was not under control: $word"
		elif ! cmp -s out "first/$i"; then
			different=$((different + 1))
			diff "first/$i" out | cut -c1-200
			fail "run $started differs: $word"
		fi
	done
done
leftovers >kept
ok "$different of $started runs differ" [ "$different" = 0 ]
cat kept
ok "nothing is left" [ ! -s kept ]
echo "$started runs, $different different, $(wc -l <kept) leftovers"
finish
