#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Event logs of real runs: --log-events, log-print, log-diff, log-export, --report, --summary.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing

# A shell with children that talk through pipes: births, blocking, signals, deaths.
program='echo one | cat; (exit 3); kill -USR1 $$ || :; echo two'
guest=(sh -c "trap 'echo usr1' USR1; $program")

for i in 1 2; do
	run "$hermit" run --log-events=log$i --report=report$i -- "${guest[@]}"
	expect 0 "run with a log"
done
run "$hermit" run --report=report0 -- "${guest[@]}"
expect_out 'one
usr1
two' "what the guest prints"
ok "logs of equal runs are equal byte for byte" cmp log1 log2
ok "a log changes neither turns nor virtual time nor calls" \
	[ "$(jq -cS 'del(.real_ns, .command)' report0)" = "$(jq -cS 'del(.real_ns, .command)' report1)" ]
ok "each line is JSON" jq -es 'length > 100' log1
ok "the header names format, version and configuration" \
	[ "$(head -n 1 log1 | jq -r '.kind, .format, .version, (.config | length)' | xargs)" = "header hermit-event-log 1 64" ]
ok "the end record says how it ended" [ "$(tail -n 1 log1 | jq -r '.kind, .end, .status' | xargs)" = "end exited 0" ]
for kind in call return birth exec exit signal choice; do
	ok "there are $kind events" jq -es "map(select(.kind == \"$kind\")) | length > 0" log1
done
ok "the exit status of the subshell is in the log" jq -es 'any(.kind == "exit" and .status == 3)' log1
ok "the payload of a write is hashed" \
	[ "$(jq -r 'select(.call == "write" and .args == "1, \"two\\n\", 4") | .in' log1)" = "$(printf 'two\n' | sha256sum | cut -c 1-16)" ]
run setsid -w sh -c '"$@"' sh "$hermit" run --log-events=log3 -- "${guest[@]}"
ok "no host process id is in the log: it is the same for a caller of another number, parent, group and session" cmp log1 log3
ok "no path of the tool is in the log" [ "$(grep -c "$top_builddir" log1)" = 0 ]
ok "what blocked says who woke it" jq -es 'any(.kind == "choice" and .why == "ready" and (.by | type) == "number")' log1
ok "a parent is woken by its dying child" jq -es 'map(select(.kind == "exit")) as $dead | any(.kind == "choice" and .by == $dead[0].thread)' log1

run "$hermit" log-diff log1 log2
expect 0 "equal logs"
expect_out "equal: $(($(jq -s 'map(select(.kind != "check" and .kind != "header" and .kind != "end")) | length' log1))) events" "equal logs"

run "$hermit" run --log-events=log.zst -- "${guest[@]}"
ok "a compressed log has the same contents" [ "$(zstd -dcq log.zst | sha256sum)" = "$(sha256sum <log1)" ]
run "$hermit" log-diff log1 log.zst
expect 0 "plain and compressed are compared"
run "$hermit" run --log-events=- -- true
ok "a log on standard output" [ "$(head -c 16 out)" = '{"kind":"header"' ]
run "$hermit" run --log-events=plain --log-bytes=off -- "${guest[@]}"
ok "without hashes" jq -es 'all(.in == null and .out == null)' plain
run "$hermit" log-diff log1 plain
expect 125 "only one log has hashes"
run "$hermit" log-diff --ignore-bytes log1 plain
expect 0 "without looking at hashes"
expect_out "$(printf '%s, as far as the options compare' "$("$hermit" log-diff log1 log2)")" "equality under options says so"

run "$hermit" run --seed=1 --log-events=seed1 -- "${guest[@]}"
run "$hermit" log-diff log1 seed1
expect 125 "logs of different configurations"
expect_err_has 'no such option in log A, --seed=1 in log B' "the differing option is named"
run "$hermit" run --log-events=other -- true
run "$hermit" log-diff other seed1
expect_err_has 'no such option in log A, --seed=1 in log B' "an option is not set against an argument of the program"
run "$hermit" log-diff other log1
expect_err_has 'argument 0: true in log A, argument 0: ' "without different options, what differs in the command is named"
run "$hermit" log-diff --any-config log1 seed1
expect 123 "different seeds differ"

# Of our own: the machine's may be missing.
mknod full c 1 7 2>/dev/null || ln -s /dev/full full
run "$hermit" run --log-events=full -- "${guest[@]}"
expect 125 "a log that cannot be written"
expect_err_has 'event log is incomplete: No space left on device' "a log that cannot be written"
run "$hermit" run --log-events=missing/log -- true
expect 125 "a log that cannot be opened"

run "$hermit" log-print log1
ok "log-print: one line for each event" [ "$(wc -l <out)" = "$(($(jq -s 'map(select(.kind != "check")) | length' log1)))" ]
run "$hermit" log-print --color=always --call=write log1
ok "log-print: colours when asked for" grep -q "$(printf '\033')" out
run "$hermit" log-print --call=foo log1
expect 125 "a call that there is not"
expect_err_has "'foo' is no system call" "a call that there is not"
run "$hermit" log-print --kind=exit log1
ok "log-print: filters" [ "$(wc -l <out)" = "$((1 + $(jq -s 'map(select(.kind == "exit")) | length' log1)))" ]
run "$hermit" log-print --json log.zst
ok "log-print --json: the log itself" [ "$(jq -s 'map(select(.kind != "check")) | length' log1)" = "$(wc -l <out)" ]
head -c 3000 log1 >./cut
run "$hermit" log-print cut
expect 125 "log-print: cut off"
expect_err_has '^hermit: cut:[0-9]+:[0-9]+: the log is cut off inside a line' "log-print: place of the cut"
run "$hermit" log-print
expect 125 "log-print without a log"
run "$hermit" log-diff log1
expect 125 "log-diff with one log"
: >empty
run "$hermit" log-diff log1 empty
expect 125 "log-diff: empty log"
expect_err_has '^hermit: empty: empty: not an event log' "log-diff: empty log"
run "$hermit" log-diff log1 missing
expect_err_has '^hermit: missing: No such file' "log-diff: missing log"

# A planted difference of each kind in a real log. Editing breaks the check sums behind it, which is said.
at=$(awk 'NR > 40 && before && /"kind":"call"/ { print NR - 1; exit } { before = /"kind":"call"/ }' log1)
sed "${at}s/\"time\":/\"time\":9/" log1 >./time
grep -n '"call":"write"' log1 | head -n 1 | cut -d: -f1 >place
sed "$(cat place)s/\"result\":\"[0-9]*/&9/" log1 >content
sed "${at}p" log1 >count
awk -v at="$at" 'NR == at { held = $0; next } { print } NR == at + 1 { print held }' log1 >order
run "$hermit" log-print time
expect 125 "an edited log"
run "$hermit" log-print --unchecked time
expect 0 "an edited log is read when allowed"
for kind in time content count order; do
	run "$hermit" log-diff log1 $kind
	expect 123 "$kind: differs"
	expect_err_has 'do not match their check sum' "$kind: check sums do not match"
	ok "$kind: is called so" grep -q "^first difference ($kind): " out
	run "$hermit" log-diff --unchecked --json log1 $kind
	ok "$kind: as JSON" [ "$(jq -r '.equal, .kind' out | xargs)" = "false $kind" ]
done
run "$hermit" log-diff --unchecked --json log1 time
ok "the difference has its line" [ "$(jq -r '.a.line, .b.line' out | xargs)" = "$at $at" ]

# A log that is being written is followed.
head -n 20 log1 >growing
exec 7>>growing
(sleep 0.3; tail -n +21 log1 >&7) &
exec 7>&-
run "$hermit" log-diff --follow=20 log1 growing
expect 0 "following"
wait
head -n 20 log1 >growing
exec 7>>growing
run sh -c '"$@" 7>&-' sh "$hermit" log-diff --follow=0.1 log1 growing
expect 124 "following ends"
exec 7>&-
# That of a run that is killed has no more to come.
run "$hermit" log-diff --follow=0 log1 growing
expect 125 "following what nobody writes"
expect_err_has '^hermit: growing:21:1: the log ends without an end record: cut off, or its run was killed$' "following what nobody writes"
: >nothing
run "$hermit" log-diff --follow=0 log1 nothing
expect 125 "following an empty file that nobody writes"
expect_err_has '^hermit: nothing: empty: not an event log$' "following an empty file that nobody writes"
"$hermit" run -q --log-events=killed -- sh -c 'while :; do [ -e /no/such/file ]; done' &
pid=$!
while [ ! -s killed ]; do kill -0 $pid || break; sleep 0.05; done
timeout -s KILL "$(at_most 60)" "$hermit" log-diff --follow=0 killed killed >out 2>err &
follower=$!
sleep 0.3
kill -KILL $pid
wait $pid 2>/dev/null
status=0
wait $follower || status=$?
expect 125 "following a run that is killed"
expect_err_has '^hermit: killed:[0-9]*:[0-9]*: the log ' "following a run that is killed"
rm killed

run "$hermit" log-export --format=perfetto -o trace.json log1
expect 0 "log-export perfetto"
ok "the trace is JSON with running threads" jq -e '[.traceEvents[] | select(.name == "running")] | length > 2' trace.json
ok "there are arrows" jq -e '([.traceEvents[] | select(.ph == "s")] | length) > 2' trace.json
ok "each arrow has two ends" jq -e '[.traceEvents[] | select(.ph == "s") | .id] == [.traceEvents[] | select(.ph == "f") | .id]' trace.json
run "$hermit" log-export --format=html -o page.html log1
expect 0 "log-export html"
ok "the page has the events" grep -q '\["E",2,1,0,' page.html
run "$hermit" log-export --format=html -o cut.html cut
expect 125 "log-export of a log that is cut off"
ok "nothing is left of a failed export" [ ! -e cut.html ]
mkfifo export.pipe
cat export.pipe >/dev/null &
run "$hermit" log-export --format=html -o export.pipe cut
expect 125 "log-export to a pipe of a log that is cut off"
ok "a pipe or a device is not removed" [ -p export.pipe ]
wait $!
for name in page.htm page.html; do
	run "$hermit" log-export -o $name log1
	ok "the format by the name: $name" grep -q '\["E",2,1,0,' $name
done
for name in trace.perfetto trace.json; do
	run "$hermit" log-export -o $name log1
	ok "the format by the name: $name" jq -e '.traceEvents | length > 2' $name
done
run "$hermit" log-export --format=perfetto -o trace.html log1
ok "the format that is asked for" jq -e '.traceEvents | length > 2' trace.html
for output in '' -o- -otrace.txt; do
	# shellcheck disable=SC2086 # an option or nothing
	run "$hermit" log-export $output log1
	expect 125 "no format, and none in the name: $output"
done
run "$hermit" log-export --format=gif log1
expect 125 "log-export: unknown format"

run "$hermit" run --summary -- true
expect_err_has '^  turns +[0-9]+, 1 change of thread' "summary"
expect_err_has '^  threads +0 births, 1 death, 1 program, ' "summary: one of a kind"
expect_err_has '^  again +hermit run --summary -- true' "summary: the command line"
ok "report: the calls" jq -e '.calls.total == ([.calls.by_name[]] | add) and .calls.total == ([.calls.by_class[]] | add)' report1
ok "report: how it ended" [ "$(jq -r '.end, .guest.exit_code, .format' report1 | xargs)" = "exited 0 hermit-run-report" ]
run "$hermit" run --report=full -- true
expect 125 "a report that cannot be written"
ln -s . loop
for option in --report --record-schedule; do
	for path in missing/file . loop/ ''; do
		run "$hermit" run $option="$path" -- sh -c 'echo runs'
		expect 125 "$option=$path"
		expect_out "" "$option=$path: said before the program runs"
		expect_err_has "^hermit: $option: cannot write $path: " "$option=$path: what and why"
	done
	run "$hermit" run $option=new -- true
	expect 0 "$option for a new file"
	rm new
done
run "$hermit" run --verify --report=new -- true
expect 125 "--verify has no report of one run"

# What the tool says goes to a place that is full: said once, on standard error, and not taken for the program's doing.
run "$hermit" run --verify --log=info --log-file=full -- sh -c 'echo runs; exit 3'
expect 125 "messages that cannot be written"
expect_out runs "messages that cannot be written: the program runs"
ok "messages that cannot be written: said once" test "$(grep -c 'cannot write full' err)" = 1
expect_err_has "^hermit: --log-file: cannot write full: No space left on device; messages are missing from it. This is a failure of the tool; by \
itself the status was 3" "messages that cannot be written: said"
run "$hermit" run -q --verify --log=info --log-file=messages -- sh -c 'exit 3'
expect 3 "messages that can be written"
ok "messages that can be written: there they are" test "$(cat messages)" = "hermit: info: run 1 of 2
hermit: info: run 2 of 2"

# A device that cannot be written to is still there afterwards.
run "$hermit" log-export --format=perfetto -o full log1
expect 125 "an export that cannot be written"
ok "an export does not remove a device" [ ! -f full ]
run "$hermit" run -q --verify --verify-json=full -- true
ok "a verdict does not replace a device" [ -c full ]
finish
