#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit ci: reports of equal runs, of a failing program, of runs that differ, of no result, of a schedule that makes the program fail; nothing that a
# guest could see of them.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
export TMPDIR=$work/tmp
mkdir "$TMPDIR" cwd
cd cwd || exit 99
cp "$top_builddir/tests/guests/leak" . || exit 99
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY

# junit XPATH: a value of the report; fails on a document that is not well-formed.
junit() { xmllint --xpath "string($1)" hermit-ci/junit.xml; }

run "$hermit" ci -q --runs=3 -- sh -c 'echo out; echo err >&2; ls -R . | cksum; find . -type f | xargs cat | cksum'
expect 0 "equal runs"
ok "equal: output is passed on" [ "$(head -n 1 ../out)" = out ]
ok "equal: no annotation" [ "$(grep -c '^::' ../out)" = 0 ]
ok "equal: artifact stdout" cmp -s ../out hermit-ci/stdout
ok "equal: artifact stderr" grep -q '^verified: 3 runs are equal' hermit-ci/stderr
ok "equal: verdict" [ "$(jq -r .verdict hermit-ci/verify.json)" = equal ]
ok "equal: junit" [ "$(junit /testsuites/testsuite/@tests),$(junit //@failures),$(junit //@errors),$(junit //@skipped)" = 3,0,0,0 ]
ok "equal: ten other schedules" [ "$(grep -cE '^[0-9]+ +pass ' hermit-ci/chaos/table.txt),$(ls hermit-ci/chaos)" = 10,table.txt ]
ok "equal: which is said" grep -Eq '^explored: 10 seeds, [0-9]+ distinct schedules?, none makes the program fail$' ../err
ok "equal: and in the summary" grep -Eq '^\| 10 \| [0-9]+ \| 0 \| 0 \|$' hermit-ci/summary.md
ok "equal: suite" [ "$(junit //testsuite/@name)" = sh ]
ok "equal: no runs are kept" [ ! -e hermit-ci/runs ]

run "$hermit" ci -q --runs=2 --chaos-seeds=1 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 a b c; do echo >new.$i; done'
expect 0 "more changes than are named"
ok "changes: where they are named" grep -Eq '^  and [0-9]+ more; hermit-ci/verify.json names them$' ../err
ok "one of a kind" grep -qx 'explored: 1 seed, 1 distinct schedule, none makes the program fail' ../err

run "$hermit" ci -q --name='a "b" <c>&' -- sh -c 'exit 7'
expect 7 "a program that fails the same way each time"
ok "failing: other schedules are not tried" [ "$(junit '//testcase[@name="schedules"]/skipped/@type'),$(ls -d hermit-ci/chaos 2>/dev/null)" = not-explored, ]
ok "failing: junit" [ "$(junit //@failures),$(junit '//testcase[@name="program"]/failure/@message')" = "1,exit status 7" ]
ok "failing: name" [ "$(junit //testsuite/@name)" = 'a "b" <c>&' ]

for round in 1 2; do
	run env GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$work/page" "$hermit" ci -q --runs=30 --tsc=replace --name=leaks:all -- ./leak byte
	expect 123 "runs that differ ($round)"
done
ok "different: junit" [ "$(junit //@failures),$(junit //@skipped),$(junit '//testcase[@name="deterministic"]/failure/@type')" = 1,2,difference ]
ok "different: message" [ "$(junit '//testcase[@name="deterministic"]/failure' | grep -c '^standard output: first at byte 11')" = 1 ]
ok "different: annotation" grep -Eq '^::error title=leaks%3Aall::run [0-9]+ differs from run 1%0Astandard output: ' ../out
ok "different: page of both steps" [ "$(grep -c '^### leaks:all: runs differ$' ../page)" = 2 ]
ok "different: the outputs differ" [ "$(cat hermit-ci/runs/run*.stdout | sort -u | wc -l)" = 2 ]
ok "different: a log" "$hermit" log-print hermit-ci/runs/run1.log.jsonl.zst >/dev/null
ok "different: the place that is named is the one where they are" grep -q '^kept: output and logs in hermit-ci/runs, ' hermit-ci/stderr
ok "different: in the verdict, too" [ "$(jq -r .kept hermit-ci/verify.json)" = hermit-ci/runs ]
ok "different: a page" grep -qi '<!doctype html' hermit-ci/runs/timeline.html
ok "different: nothing but two runs and a page" [ "$(find hermit-ci/runs -name 'run*.stdout' | wc -l)" = 2 ]

run "$hermit" ci -q --timeout=0.3 --annotations=github -- sh -c 'while :; do :; done'
expect 125 "no result"
ok "no result: junit" [ "$(junit //@errors),$(junit //error/@type)" = 1,no-result ]
ok "no result: annotation" grep -q '^::error title=sh::no result: the time limit was over' ../out
ok "no result: the earlier runs are gone" [ ! -e hermit-ci/runs ]
run "$hermit" ci -q -- /no/such/program
expect 127 "no such program"
run "$hermit" ci -q
expect 125 "no program"
run "$hermit" ci --runs=1 -- true
expect 125 "one run"
run "$hermit" ci --artifacts=missing/dir -- true
expect 125 "artifacts that cannot be made"
run "$hermit" ci --verify=3 -- true
expect 125 "what belongs to hermit run alone"
ok "the scratch directory is gone" [ -z "$(find "$TMPDIR" -name 'hermit-ci-*')" ]

# Other schedules: one makes the program fail.
cp "$top_builddir/tests/guests/bug_order" "$top_builddir/tests/guests/bug_abba" . || exit 99
run env GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$work/page" "$hermit" ci -q --runs=2 --chaos-seeds=40 --name=order -- ./bug_order
expect 1 "a schedule that makes the program fail"
seed=$(sed -n 's/^the schedule of seed \([0-9]*\) makes the program fail (exited 1; [0-9]* of [0-9]* schedules do)$/\1/p' ../err)
ok "schedule: which seed" [ -n "$seed" ]
ok "schedule: junit" [ "$(junit //@tests),$(junit //@failures),$(junit //@errors),$(junit //@skipped),$(junit '//testcase[@name="schedules"]/failure/@type')" = 3,1,0,0,schedule ]
ok "schedule: message" [ "$(junit '//testcase[@name="schedules"]/failure' | head -n 1)" = "$(grep '^the schedule of seed' ../err)" ]
ok "schedule: annotation" grep -Eq "^::error title=order::the schedule of seed $seed makes the program fail \(exited 1; .* do\)%0Athe same again: hermit run " ../out
ok "schedule: page of the step" [ "$(grep -c '^### order: runs are equal, a schedule makes it fail$' ../page)" = 1 ]
ok "schedule: files" [ "$(find hermit-ci/chaos -type f -printf '%f\n' | sort | xargs)" = \
	"fail.log.jsonl.zst fail.schedule fail.stderr fail.stdout pass.schedule pass.stderr pass.stdout table.txt timeline.html" ]
ok "schedule: it stops when one has failed and one has not" [ "$(grep -cE '^[0-9]+ +(pass|FAIL) ' hermit-ci/chaos/table.txt)" -lt 40 ]
ok "schedule: the log is that of the run that fails" grep -q "$(cat hermit-ci/chaos/fail.stderr)" <("$hermit" log-print hermit-ci/chaos/fail.log.jsonl.zst)
ok "schedule: the page" grep -qi '<!doctype html' hermit-ci/chaos/timeline.html
command=$(sed -n 's/^the same again: hermit run //p' ../err)
ok "schedule: the command says nothing of faults that there are not" [ "${command#*fault}" = "$command" ]
run sh -c "'$hermit' run $command"
expect 1 "schedule: the command"
run sh -c "'$hermit' run --replay-schedule=hermit-ci/chaos/fail.schedule $command"
expect 1 "schedule: the schedule"
ok "schedule: the table says where the files are" [ "$(sed -n 's/.*, kept in //p' hermit-ci/chaos/table.txt | xargs)" = "hermit-ci/chaos/fail.* hermit-ci/chaos/pass.*" ]
sed -n 's/^  by schedule: hermit run //p' hermit-ci/chaos/table.txt >../follow
for wanted in 1 0; do
	read -r command
	run sh -c "'$hermit' run $command"
	expect $wanted "schedule: the table's command: $command"
done <../follow
run "$hermit" ci -q --runs=2 --chaos-seeds=40 --artifacts=dead -- ./bug_abba
expect 120 "a schedule that ends in a deadlock"
ok "deadlock: who waits for what" grep -q 'waits in futex for a futex' dead/chaos/fail.stderr
run "$hermit" ci -q --runs=2 --chaos-seeds=0 -- ./bug_order
expect 0 "no other schedules"
ok "none: junit" [ "$(junit //@tests),$(ls -d hermit-ci/chaos 2>/dev/null)" = 2, ]
run "$hermit" ci -q --runs=2 --chaos-seeds=100000 --chaos-time=0.000001 -- true
expect 0 "a budget of time"
ok "time: few are tried" [ "$(grep -cE '^[0-9]+ +pass ' hermit-ci/chaos/table.txt)" -lt 100 ]
for file in text empty; do
	printf '%s' "$([ $file = text ] && echo 'some text')" >../input
	# shellcheck disable=SC2016 # for the shell inside
	"$hermit" ci -q --runs=2 --chaos-seeds=3 -- sh -c '[ "$(cat)" = "$1" ]' sh "$([ $file = text ] && echo 'some text')" <../input >../out 2>../err
	status=$?
	expect 0 "all runs read the same input: $file"
done
"$hermit" ci -q --runs=2 --seed-from=system -- sh -c 'od -An -N8 -tx1 /dev/urandom' >../one 2>/dev/null </dev/null
"$hermit" ci -q --runs=2 --seed-from=system -- sh -c 'od -An -N8 -tx1 /dev/urandom' >../two 2>/dev/null </dev/null
ok "--seed-from=system draws a seed for all runs of a step" [ "$(cat ../one)" != "$(cat ../two)" ]
# A program that is gone when other schedules are to be tried: nothing of the step's output is read before that.
cp "$(command -v seq)" gone
"$hermit" ci --annotations=github -q --runs=2 -- ./gone 40000 2>../err </dev/null | {
	head -c 1 >../out
	rm gone
	cat >>../out
}
status=${PIPESTATUS[0]}
expect 127 "an exploration that fails"
ok "no exploration: junit" [ "$(junit //@errors),$(junit '//testcase[@name="schedules"]/error/@type'),$(junit //@failures)" = 1,no-result,0 ]
ok "no exploration: annotation" grep -q '^::error title=./gone::other schedules could not be tried: ' ../out
ok "no exploration: message" grep -q '^other schedules could not be tried: .*gone' ../err
ok "no exploration: the verdict" [ "$(jq -r .verdict hermit-ci/verify.json)" = equal ]
"$hermit" ci -q --runs=2 --chaos-seeds=2 --happens-before=<(echo '{ "anchors": [], "edges": [] }') -- true >../out 2>../err </dev/null
status=$?
expect 0 "files that can be read once"
for option in --chaos-seeds=x --chaos-time=soon --record-schedule=s; do
	run "$hermit" ci "$option" -- true
	expect 125 "hermit ci $option"
done
ok "the scratch directories are gone" [ -z "$(find "$TMPDIR" -name 'hermit-ci-*' -o -name 'hermit-chaos-*')" ]

for file in github-actions gitlab-ci; do
	step=$(python3 -c 'import sys, yaml
def texts(v):
    return [v] if isinstance(v, str) else [t for w in (v.values() if isinstance(v, dict) else v if isinstance(v, list) else []) for t in texts(w)]
print([t for t in texts(yaml.safe_load(open(sys.argv[1]))) if "hermit ci " in t][0])' "$top_srcdir/contrib/ci/$file.yml" |
		sed 's/^sudo -E //; s/make check/true/; s/=200/=2/')
	run sh -c "'${hermit%hermit}'$step"
	expect 0 "contrib/ci/$file.yml: its step, $step"
	ok "contrib/ci/$file.yml is YAML" python3 -c 'import sys, yaml; assert isinstance(yaml.safe_load(open(sys.argv[1])), dict)' \
		"$top_srcdir/contrib/ci/$file.yml"
done
# What they call is there: of an image with hermit alone a compiler and make are installed, and with hermit what it is built with.
for file in gitlab-ci.yml Dockerfile; do
	ok "contrib/ci/$file: make is installed before it is called" \
		[ "$(sed -n 's/^\(RUN\|    -\) apt-get update && apt-get install -y .*\bgcc\b.*\bmake$/install/p; s/^\(RUN\|    -\) make$/make/p' "$top_srcdir/contrib/ci/$file" | xargs)" = "install make" ]
done
for file in github-actions.yml github-chaos.yml; do
	command=$(sed -n 's/^ *cd \.\.\/hermit-source && \(scripts\/[a-z]*\) .*/\1/p' "$top_srcdir/contrib/ci/$file")
	ok "contrib/ci/$file: installs what hermit is built with" grep -q '/scripts/setup-debian"$' "$top_srcdir/scripts/build"
	ok "contrib/ci/$file: builds hermit with $command" [ "$command" = scripts/build ]
done
finish
