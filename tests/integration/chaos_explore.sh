#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit chaos: the table, what is kept and shown, when it stops, how it ends, shards and jobs, the line on a terminal.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
for guest in bug_abba bug_order four; do
	cp "$top_builddir/tests/guests/$guest" "$work" || exit 99
done
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# rows FILE: the rows of a table, without how long they took.
rows()
{
	grep -E '^[0-9]+ +(pass|FAIL) ' "$1" | sed 's/ *[0-9.]* s$//'
}

# The table, in full.
run "$hermit" chaos --runs=30 --keep=kept -- ./bug_abba
expect 1 "an exploration that finds something"
expect_err "" "nothing on standard error that is no terminal"
cp "$work/out" explored
rows explored >whole
ok "the head of the table" grep -qE '^SEED +OUTCOME +TURNS +SCHEDULE +TIME$' explored
ok "a row for each seed" [ "$(sed 's/ .*//' whole | xargs)" = "$(seq 0 29 | xargs)" ]
ok "each row has outcome, turns, schedule and time" \
	[ "$(grep -cE '^[0-9]+ +(pass  exited 0|FAIL  deadlock 120) +[1-9][0-9]* +[0-9a-f]{12} +[0-9.]+ s$' explored)" = 30 ]
passed=$(grep -c pass whole)
schedules=$(awk '{ print $NF }' whole | sort -u | wc -l)
ok "the sum" grep -qE "^30 runs: $passed passed, $((30 - passed)) failed \\($((30 - passed)) deadlocks\\); $schedules distinct schedules; [0-9.]+ s of runs\$" explored
ok "schedules and output are kept, nothing else" \
	[ "$(find kept -type f | sort | xargs)" = "$(printf 'kept/%s ' fail.schedule fail.stderr fail.stdout pass.schedule pass.stderr pass.stdout | sed 's/ $//')" ]
ok "the first failing one" [ "$(sed -n 's/^first failing run: seed \([0-9]*\),.*/\1/p' explored)" = "$(sed -n 's/ *FAIL.*//p' whole | head -n 1)" ]
nearest=$(sed -n 's/^nearest passing run: seed \([0-9]*\),.*/\1/p' explored)
ok "the nearest passing one has passed" grep -qE "^$nearest +pass " whole
ok "the first choices of both are the same" \
	[ "$(jq -c '.choices[0] | del(.why)' kept/fail.schedule)" = "$(jq -c '.choices[0] | del(.why)' kept/pass.schedule)" ]
sed -n 's/^  by [a-z]*: *hermit run //p' explored >commands
ok "four commands are shown" [ "$(wc -l <commands)" = 4 ]
ok "which say nothing of faults that there are not" [ "$(grep -c fault commands)" = 0 ]
n=0
while read -r command; do
	n=$((n + 1))
	run sh -c "'$hermit' run $command"
	expect "$([ "$n" -le 2 ] && echo 120 || echo 0)" "command $n of the exploration: $command"
done <commands
run "$hermit" chaos --runs=30 -- ./bug_abba
kept=$(sed -n 's/^first failing run: .* kept in \(.*\)\/fail\.\*$/\1/p' "$work/out")
ok "without --keep there is a new directory" [ -s "$kept/fail.schedule" ]
rm -r "$kept"
run "$hermit" chaos --runs=5 -- true
expect 0 "nothing is found"
ok "and nothing is left" [ -z "$(ls "$TMPDIR")" ]

# Jobs and shards: the same table; the shards are the whole, and have nothing in common.
for jobs in 1 3; do
	run "$hermit" chaos --runs=30 --jobs=$jobs -- ./bug_abba
	rows "$work/out" >jobs.rows
	ok "the table does not depend on --jobs=$jobs" cmp jobs.rows whole
done
for shard in 1 2 3; do
	run "$hermit" chaos --runs=30 --shard="$shard/3" -- ./bug_abba
	rows "$work/out" >"part.$shard"
	ok "shard $shard has a third" [ "$(wc -l <part.$shard)" = 10 ]
	expect "$(grep -q FAIL part.$shard && echo 1 || echo 0)" "shard $shard ends by its own outcome"
done
ok "three shards are the whole, each seed once" cmp whole <(sort -n part.1 part.2 part.3)
run "$hermit" chaos --runs=2 --shard=3/3 -- ./bug_abba
ok "a shard may have nothing to do" grep -q '^0 runs: ' "$work/out"
rm -rf "${TMPDIR:?}"/*

# When it stops.
run "$hermit" chaos --runs=200 --until=fail -- ./bug_order
expect 1 "--until=fail"
ok "--until=fail stops at the first failure" [ "$(rows "$work/out" | grep -c FAIL),$(rows "$work/out" | tail -n 1 | grep -c FAIL)" = 1,1 ]
run "$hermit" chaos --runs=200 --until=both --jobs=3 --keep=both -- ./bug_order
expect 1 "--until=both"
rows "$work/out" >both.rows
last=$(tail -n 1 both.rows | grep -oE 'pass|FAIL')
ok "--until=both stops when both have come" [ "$(grep -c "$last" both.rows)" = 1 ]
ok "--until=both has both" [ "$(grep -oE 'pass|FAIL' both.rows | sort -u | wc -l)" = 2 ]
ok "--until=both keeps both" [ -s both/fail.schedule ] && [ -s both/pass.schedule ]
run "$hermit" chaos --runs=4 --until=both -- true
expect 0 "--until=both where nothing fails"
ok "--until=both comes to the end then" [ "$(rows "$work/out" | wc -l)" = 4 ]

# How it ends.
run "$hermit" chaos --runs=12 --expect-exit=0,1 -- ./bug_order
expect 0 "--expect-exit"
run "$hermit" chaos --runs=4 --expect-exit=7 -- sh -c 'exit 7'
expect 0 "--expect-exit of a status alone"
run "$hermit" chaos --runs=4 --expect-exit=7 -- true
expect 1 "--expect-exit that does not come"
run "$hermit" chaos --runs=30 --expect-exit=0,120 -- ./bug_abba
expect 0 "a deadlock that is expected"
run "$hermit" chaos --runs=2 --timeout=0.3 -- sh -c 'while :; do :; done'
expect 1 "a time limit"
ok "a time limit in the table" [ "$(rows "$work/out" | grep -c 'FAIL  timeout 124')" = 2 ]
run "$hermit" chaos --runs=40 --sched-heuristic=random --stdout-regex='^a' -q -- ./four
expect 1 "--stdout-regex"
ok "--quiet shows those that fail" [ "$(rows "$work/out" | grep -c pass)" = 0 ]
run "$hermit" chaos --runs=20 --stdout-regex='^[abcd]{4}$' -- ./four
expect 0 "--stdout-regex that all fit"
run "$hermit" chaos --runs=3 -- "$work/nothing-here"
expect 127 "a program that does not exist"
expect_err_has 'nothing-here: ' "a program that does not exist"
touch plain-file
run "$hermit" chaos --runs=3 -- ./plain-file
expect 126 "a file that cannot be executed"
run "$hermit" chaos --runs=3
expect 125 "no program"
for option in --runs=0 --until=never --jobs=0 --jobs=65 --shard=0/2 --shard=3/2 --shard=2 --expect-exit=256 --expect-exit= '--stdout-regex=(' \
	--verify=2 --keep=/proc/no/such; do
	run "$hermit" chaos "$option" -- true
	expect 125 "hermit chaos $option"
	ok "hermit chaos $option: says why" [ -s "$work/err" ]
done
run sh -c "'$hermit' chaos --runs=2 -- true >/dev/full"
expect 125 "a table that cannot be written"
expect_err_has 'the table of results cannot be written: No space left on device' "a table that cannot be written"
ok "nothing is left of any of them" [ -z "$(find "$TMPDIR" -name '*.stdout' ! -name 'fail.*' ! -name 'pass.*')" ]

# A signal: the run that goes on is stopped, and what was found until then is told and kept. The first run fails, the next one does not end by itself.
cat >stays <<'END'
#!/bin/sh
[ -e seen ] && { echo waits; while :; do :; done; }
: >seen
exit 3
END
chmod +x stays
for signal in INT:130 TERM:143; do
	rm -rf seen stopped
	env --default-signal=INT "$hermit" chaos --fs=cwd --jobs=1 --runs=5 --keep=stopped -- ./stays >out 2>err </dev/null & # a shell's & has SIGINT ignored
	pid=$!
	until grep -qs waits "$TMPDIR"/hermit-chaos-*/run1.stdout; do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
	kill -"${signal%:*}" $pid
	status=0
	wait $pid || status=$?
	expect "${signal#*:}" "SIG${signal%:*}"
	ok "SIG${signal%:*}: the run that was over is a row, and no other" [ "$(rows out | grep -c FAIL)" = 1 ]
	ok "SIG${signal%:*}: the sum" grep -q '^1 run: 0 passed, 1 failed ' out
	ok "SIG${signal%:*}: two commands" [ "$(grep -cE '^  by (seed|schedule): +hermit run ' out)" = 2 ]
	expect_err "hermit: interrupted after 1 run" "SIG${signal%:*}"
	ok "SIG${signal%:*}: it is kept" [ -s stopped/fail.schedule ]
	ok "SIG${signal%:*}: nothing else is left" [ -z "$(find "$TMPDIR" -name '*.stdout' ! -name 'fail.*' ! -name 'pass.*')" ]
done

# What a run finds does not depend on where the results go: guests do not see files of runs that go on beside them.
mkdir here
run "$hermit" chaos --runs=12 --jobs=4 --keep=here --stdout-regex='^here:$' -- sh -c 'ls -R here'
expect 0 "a guest that looks where results are kept"

# Whoever is killed takes its runs along.
marker=guest-of-$$
"$hermit" chaos --runs=2 --jobs=2 -- sh -c 'while :; do :; done' "$marker" >/dev/null 2>&1 </dev/null &
explorer=$!
for _ in $(seq 600); do
	[ "$(pgrep -fc "while.* $marker")" -ge 5 ] && break
	sleep 0.1
done
kill -KILL "$explorer"
wait "$explorer" 2>/dev/null
for _ in $(seq 600); do
	pgrep -f "while.* $marker" >/dev/null || break
	sleep 0.1
done
ok "nothing of a killed exploration goes on" [ "$(pgrep -fc "while.* $marker")" = 0 ]

# On a terminal there is a line of progress, which is wiped in front of each row and at the end; elsewhere, and with --quiet, there is none.
script -qec "$hermit chaos --runs=3 -- true" typescript </dev/null >/dev/null
for n in 0 1 2 3; do
	ok "on a terminal: $n of 3 runs" grep -qE "$n of 3 runs, 0 failed, [0-9]+ schedules" typescript
done
ok "on a terminal rows have a line of their own" \
	[ "$(tr -d '\r' <typescript | sed 's/.*\x1b\[K//' | grep -cE '^[0-9]+ +pass ')" = 3 ]
script -qec "$hermit chaos -q --runs=3 -- true" typescript </dev/null >/dev/null
ok "none with --quiet" [ "$(grep -c 'of 3 runs' typescript)" = 0 ]
script -qec "$hermit chaos --runs=3 -- true 2>errors" typescript </dev/null >/dev/null
ok "none where standard error is a file" [ ! -s errors ] && [ "$(grep -c 'of 3 runs' typescript)" = 0 ]
finish
