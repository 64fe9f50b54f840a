#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many threads, processes and descriptors leave no trace in the supervisor; its memory is small. What goes wrong in a guest disturbs
# nobody but that guest, and goes wrong the same way each time.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
guests=$PWD/guests
mkdir "$guests"
cp "$top_builddir/tests/guests/scale" "$top_builddir/tests/guests/misfortune" "$guests" || exit 99

# The supervisor of the run: the hermit that nobody of ours is the child of.
figure()
{
	case $1 in
	descriptors) find "/proc/$job/fd" -maxdepth 1 -type l | wc -l ;;
	memory) sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$job/status" ;;
	esac
}

# stays KIND FEW MANY: the supervisor has as much after MANY as after FEW. What is known of a child that ends just now may add one or two descriptors.
stays()
{
	local kind=$1 few=$2 many=$3 word descriptors memory
	rm -f to from && mkfifo to from
	"$hermit" run --bind="$guests" -- "$guests/scale" "$kind" "$few" "$kind" "$few" "$kind" "$many" <to >from 2>"$work/err" &
	job=$!
	exec 7>to 8<from
	for _ in 1 2; do
		read -r -t "$(at_most 120)" word <&8; [ "$word" = "done $kind $few" ] || fail "$kind: '$word' instead of $few"
		descriptors=$(figure descriptors) memory=$(figure memory)
		echo >&7
	done
	read -r -t "$(at_most 300)" word <&8; [ "$word" = "done $kind $many" ] || fail "$kind: '$word' instead of $many"
	ok "$kind: descriptors" [ "$(figure descriptors)" -le $((descriptors + 2)) ]
	if [ -n "${HERMIT_TEST_SANITIZED-}" ]; then
		echo "$kind: how much memory it takes is not looked at: a sanitizer keeps what was freed for a while, and where it came from for ever"
	else
		ok "$kind: memory grows from $memory to $(figure memory) KiB" [ "$(figure memory)" -le $((memory + 512)) ]
		ok "$kind: memory is $(figure memory) KiB" [ "$(figure memory)" -lt 20480 ]
	fi
	printf '%s: %s descriptors, %s KiB, then %s and %s after %s\n' "$kind" "$descriptors" "$memory" "$(figure descriptors)" \
		"$(figure memory)" "$many"
	echo >&7
	exec 7>&- 8<&-
	status=0
	wait "$job" || status=$?
	expect 0 "$kind"
}

# same STATUS WHAT COMMAND...: five times.
same()
{
	local wanted=$1 what=$2 i
	shift 2
	for i in 1 2 3 4 5; do
		run "$hermit" run --bind="$guests" -- "$@"
		expect "$wanted" "$what, run $i"
		[ $i = 1 ] && cp "$work/out" "$work/first"
		ok "$what, run $i: as the first" cmp "$work/first" "$work/out"
	done
}

stays live 500 500
stays threads 1000 10000
stays processes 100 1000
stays open 640 2560

same 0 "bad pointers" "$guests/misfortune" pointers
ok "five kinds" [ "$(wc -l <"$work/first")" = 5 ]
same 7 "no descriptors" "$guests/misfortune" descriptors
same 0 "no such program" "$guests/misfortune" exec
ok "exec fails as on Linux" [ "$(xargs <"$work/first")" = "/nowhere/x 2 /etc/passwd 13 / 13 14" ]
same 0 "killed while parked" "$guests/misfortune" killed
same 0 "deaths" "$guests/misfortune" dies
(ulimit -c 0; exec "$guests/misfortune" dies) >"$work/native" 2>/dev/null
ok "deaths are as on Linux" cmp "$work/native" "$work/first"
finish
