#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults on request: what is possible where, counted, in the log and in the report, the same again with the same seed.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
cp "$top_builddir/tests/guests/faulty" "$work" || exit 99

# Each alone, the same with the same seed, and none where none is possible.
run "$hermit" run --fault=enospc:1 -- dd if=/dev/zero of=file count=1
expect 1 "--fault=enospc"
expect_err_has 'fault enospc:1: struck [1-9]' "faults are counted"
run sh -c "'$hermit' run --fault=enospc:1 -- echo text | cat"
expect_out text "a pipe is never full in this way"
run "$hermit" run --fault=nomem:1 -- true
ok "--fault=nomem" [ "$status" -ne 0 ]
for seed in 1 2 3 4; do
	run "$hermit" run --fault-seed="$seed" --fault=latency:0.5 -- date +%N
	cp "$work/out" "latency$seed"
	run "$hermit" run --fault-seed="$seed" --fault=latency:0.5 -- date +%N
	ok "faults of seed $seed are the same again" cmp "$work/out" "latency$seed"
done
ok "other seeds, other faults" [ "$(sort -u latency? | wc -l)" -gt 1 ]
for fault in none enospc:2 enospc:x enospc@nothing; do
	run "$hermit" run --fault="$fault" -- true
	expect 125 "--fault=$fault"
done

# fault FAULT GUEST-MODE OUTPUT: what the guest sees when the fault strikes each time; without it there is another outcome.
fault()
{
	run "$hermit" run -q -- ./faulty "$2"
	expect_out "${4:-fine}" "$2 without a fault"
	run "$hermit" run --fault="$1" --log-events=fault.log --report=fault.json -- ./faulty "$2"
	expect_out "$3" "$2 with --fault=$1"
	ok "--fault=$1 is counted" grep -qF "fault $1: struck " "$work/err"
	ok "--fault=$1 strikes" [ "$(jq -r '.faults[0].struck' fault.json)" -gt 0 ]
	ok "--fault=$1 is in the report" [ "$(jq -r '.faults[0].fault' fault.json)" = "$1" ]
	ok "--fault=$1 is in the log as often as it struck" \
		[ "$(jq -r '.faults[0].struck' fault.json)" = "$("$hermit" log-print fault.log | grep -c ' fault ')" ]
}

fault short:1@read short-read "short read" "full read"
fault short:1@write short-write "short write" "full write"
fault short:1@writev short-writev "short write" "full write"
fault short:1@recvfrom short-recv "short read" "full read"
fault eintr:1@read eintr "Interrupted system call"
fault eintr:1@poll eintr-poll "Interrupted system call"
fault eagain:1@read eagain "Resource temporarily unavailable"
fault enospc:1@write enospc "No space left on device"
fault 'enospc:1@*.data' enospc "open: No space left on device"
fault nomem:1@mremap nomem-mremap "Cannot allocate memory"
fault nomem:1@brk nomem-brk "Cannot allocate memory"
fault reset:1@write reset "Connection reset by peer"
fault udp-drop:1 udp "nothing came" "came at once"
fault udp-delay:1 udp "came late" "came at once"
fault latency:1@sched_yield latency "slow" "fast"
fault clock-jump:1@sched_yield clock "jumped" "steady"

# Where there is no handler nothing is interrupted; where there is no waiting nothing is unavailable.
run "$hermit" run --fault=eintr:1@read -- ./faulty short-read
expect_out "full read" "no handler, no EINTR"
run "$hermit" run --fault=eagain:1@read -- ./faulty short-read
expect_out "full read" "a descriptor that waits is never unavailable"
for fault in eagain:1@read short:1@read; do
	run "$hermit" run --fault=$fault -- ./faulty edge
	expect_out "full read" "$fault: who is told of changes only gets all that there is"
done
run "$hermit" run --fault='enospc:1@/nowhere/*' -- ./faulty enospc
expect_out "fine" "a path that does not fit"

# Where the loader needs memory, too, chance decides who gets none.
for seed in $(seq 40); do
	run "$hermit" run -q --fault=nomem:0.2@mmap --fault-seed="$seed" -- ./faulty nomem-mmap
	[ "$(cat "$work/out")" = "Cannot allocate memory" ] && break
done
expect_out "Cannot allocate memory" "--fault=nomem@mmap"

# Programs that are written well do not mind: the same output with and without.
printf '%s\n' c b a >unsorted
for faults in short:0.5 eintr:0.2 short:0.3,eintr:0.1,latency:0.1; do
	for command in 'sort unsorted | cat' 'tar cf - unsorted | tar tf -' 'seq 1000 | dd bs=4k status=none | md5sum'; do
		run "$hermit" run -q -- sh -c "$command"
		cp "$work/out" plain
		# shellcheck disable=SC2046 # each fault is an option
		run "$hermit" run -q $(printf -- '--fault=%s ' $(echo "$faults" | tr , ' ')) -- sh -c "$command"
		expect 0 "$command with $faults"
		ok "$command with $faults" cmp "$work/out" plain
	done
done
finish
