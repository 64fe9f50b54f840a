#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit ci: reports of equal runs, of a failing program, of runs that differ, of no result; nothing that a guest could see of them.
. "$top_srcdir/tests/integration/lib.sh"
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
ok "equal: junit" [ "$(junit /testsuites/testsuite/@tests),$(junit //@failures),$(junit //@errors),$(junit //@skipped)" = 2,0,0,0 ]
ok "equal: suite" [ "$(junit //testsuite/@name)" = sh ]
ok "equal: no runs are kept" [ ! -e hermit-ci/runs ]

run "$hermit" ci -q --name='a "b" <c>&' -- sh -c 'exit 7'
expect 7 "a program that fails the same way each time"
ok "failing: junit" [ "$(junit //@failures),$(junit '//testcase[@name="program"]/failure/@message')" = "1,exit status 7" ]
ok "failing: name" [ "$(junit //testsuite/@name)" = 'a "b" <c>&' ]

for round in 1 2; do
	run env GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$work/page" "$hermit" ci -q --runs=30 --tsc=replace --name=leaks:all -- ./leak byte
	expect 123 "runs that differ ($round)"
done
ok "different: junit" [ "$(junit //@failures),$(junit //@skipped),$(junit '//testcase[@name="deterministic"]/failure/@type')" = 1,1,difference ]
ok "different: message" [ "$(junit '//testcase[@name="deterministic"]/failure' | grep -c '^standard output: first at byte 11')" = 1 ]
ok "different: annotation" grep -Eq '^::error title=leaks%3Aall::run [0-9]+ differs from run 1%0Astandard output: ' ../out
ok "different: page of both steps" [ "$(grep -c '^### leaks:all: runs differ$' ../page)" = 2 ]
ok "different: the outputs differ" [ "$(cat hermit-ci/runs/run*.stdout | sort -u | wc -l)" = 2 ]
ok "different: a log" "$hermit" log-print hermit-ci/runs/run1.log.jsonl.zst >/dev/null
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

for file in github-actions gitlab-ci; do
	ok "contrib/ci/$file.yml is YAML" python3 -c 'import sys, yaml; assert isinstance(yaml.safe_load(open(sys.argv[1])), dict)' \
		"$top_srcdir/contrib/ci/$file.yml"
done
finish
