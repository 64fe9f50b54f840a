#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The examples of explorations on many machines: they are documents of the form that they should have, and their commands work.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
if ! python3 -c 'import yaml' 2>/dev/null; then
	echo "python3-yaml is not installed: the examples were not read"
	exit 77
fi
kubernetes=$top_srcdir/contrib/kubernetes
job=$kubernetes/chaos-job.yaml
collect=$kubernetes/chaos-collect.yaml
actions=$top_srcdir/contrib/ci/github-chaos.yml

# value FILE PYTHON: of the document d.
value()
{
	python3 -c 'import re, sys, yaml; d = yaml.safe_load(open(sys.argv[1])); v = eval(sys.argv[2]); print(*v) if isinstance(v, tuple) else print(v)' "$1" "$2"
}

# same WHAT EXPECTED FILE PYTHON
same()
{
	checks=$((checks + 1))
	[ "$(value "$3" "$4" 2>&1)" = "$2" ] || fail "$1: '$(value "$3" "$4" 2>&1)' is not '$2'"
}

container="d['spec']['template']['spec']['containers'][0]"
for file in job collect; do
	document=$kubernetes/chaos-$file.yaml
	same "$file: the kind" "batch/v1 Job" "$document" "d['apiVersion'] + ' ' + d['kind']"
	same "$file: a container that ends is not started again" Never "$document" "d['spec']['template']['spec']['restartPolicy']"
done
for file in job collect files; do
	document=$kubernetes/chaos-$file.yaml
	pod="(d['spec']['template'] if 'template' in d['spec'] else d)['spec']"
	claim=$(value "$kubernetes/chaos-results.yaml" "d['metadata']['name']")
	same "$file: the volume is the claim's" "{'results': '$claim'}" "$document" \
		"{v['name']: v['persistentVolumeClaim']['claimName'] for v in ${pod}['volumes']}"
	same "$file: where it is" "[('results', '/results')]" "$document" "[(m['name'], m['mountPath']) for c in ${pod}['containers'] for m in c['volumeMounts']]"
done
same "pods on all nodes write there" "['ReadWriteMany']" "$kubernetes/chaos-results.yaml" "d['spec']['accessModes']"
same "all shards run at once" "Indexed True" "$job" "d['spec']['completionMode'], d['spec']['completions'] == d['spec']['parallelism']"
same "the verdict is made once" 0 "$collect" "d['spec']['backoffLimit']"
same "one verdict of as many shards" True "$collect" "${container}['env'][1] == {'name': 'SHARDS', 'value': '$(value "$job" "d['spec']['completions']")'}"
# Kubernetes takes \$(NAME) and \$\$ for its own.
for document in "$job" "$collect"; do
	same "${document##*/}: the shell's signs are its own" 0 "$document" "len(re.findall(r'[\$][\$]|[\$][(][A-Za-z_.-]+[)]', ${container}['args'][0]))"
done
same "the jobs have a matrix" "[1, 2, 3, 4]" "$actions" "d['jobs']['schedules']['strategy']['matrix']['shard']"
same "one that fails does not stop the others" False "$actions" "d['jobs']['schedules']['strategy']['fail-fast']"
same "each step does something" True "$actions" "all(('run' in s) != ('uses' in s) for s in d['jobs']['schedules']['steps'])"

# Their commands, with few runs, and a program that fails under some schedules: what is in a folder decides about those of a shard.
mkdir bin results
cat >bin/hermit <<END
#!/bin/sh
exec "$hermit" "\$@"
END
printf '#!/bin/sh\n[ "$1" = -E ] && shift\nexec "$@"\n' >bin/sudo
chmod +x bin/hermit bin/sudo
PATH=$work/bin:$PATH
value "$job" "${container}['args'][0]" | sed "s/chaos-seeds=1000/chaos-seeds=2/; s/index \* 1000/index * 2/; s,/results/,$work/results/,g" >shard.sh
value "$collect" "${container}['args'][0]" | sed "s,/results/,$work/results/,g" >collect.sh
ok "the commands are those of few runs" [ "$(grep -c "chaos-seeds=2 \|index \* 2\|=$work/results/" shard.sh)" = 3 ]

# shard JOB INDEX POD: what a pod does, with the environment that it has from Kubernetes and from the document. The program may look which one it is.
shard()
{
	echo "$2" >index
	run env JOB_UID="$1" JOB_COMPLETION_INDEX="$2" POD_NAME="$3" /bin/sh shard.sh
}

# verdict JOB: of all shards
verdict()
{
	run env JOB_UID="$1" SHARDS=8 /bin/sh collect.sh
}

# cases: of the report of all: tests, failures and errors
cases()
{
	python3 -c 'import sys, xml.etree.ElementTree as x; s = x.parse(sys.argv[1]).getroot().findall("testsuite")
print(",".join(i.get("name") for i in s), *(sum(int(i.get(k)) for i in s) for k in ("tests", "failures", "errors")))' "$1"
}
suites=$(for index in {0..7}; do echo "shard $index"; done | paste -sd ,)

# seeds JOB: those that were tried
seeds()
{
	cat "results/$1"/[0-7]/chaos/table.txt | grep -E '^[0-9]+ +(pass|FAIL) ' | sed 's/ .*//' | sort -n | xargs
}

printf '#!/bin/sh\nexit 0\n' >run-tests
chmod +x run-tests
for index in {0..7}; do
	shard well "$index" "chaos-$index-a"
	expect 0 "a shard that does well"
done
ok "eight folders, and nothing else" [ "$(cd results/well && echo *)" = "0 1 2 3 4 5 6 7" ]
ok "eight pods have sixteen seeds" [ "$(seeds well)" = "$(seq 0 15 | xargs)" ]
for file in junit.xml summary.md verify.json stdout stderr status chaos/table.txt; do
	ok "each has $file" [ "$(find results/well/[0-7] -path "*/$file" | wc -l)" = 8 ]
done
verdict well
expect 0 "all do well"
ok "all do well: it says so" [ "$(tail -n 1 out)" = "passed: all 8 shards" ]
ok "all do well: each of them" [ "$(grep -cx 'shard [0-7]: passed' out)" = 8 ]
ok "all do well: one report" [ "$(cases results/well/junit.xml)" = "$suites 24 0 0" ]

# Some fail: those of which the program says so, for what fails under some schedules only is certain to fail so many times over.
failing="1 4 6"
cp "$top_builddir/tests/guests/bug_order" . || exit 99
cat >run-tests <<END
#!/bin/sh
read -r index <index
case " $failing " in *" \$index "*) ;; *) exit 0 ;; esac
for time in 1 2 3 4 5 6 7 8 9 10 11 12; do ./bug_order || exit; done
END
for index in {0..7}; do
	shard bad "$index" "chaos-$index-a"
	expect 0 "a shard that fails has a result, too"
done
ok "some fail" [ "$(cd results/bad && grep -l '^[0-9]* *FAIL' [0-7]/chaos/table.txt | cut -c 1 | xargs)" = "$failing" ]
verdict bad
expect 1 "a failing shard"
ok "failing: which" [ "$(tail -n 1 out)" = "FAILED: $failing" ]
ok "failing: each of them" [ "$(sed -n 's/^shard \([0-7]\): FAILED, exit status 1$/\1/p' out | xargs)" = "$failing" ]
ok "failing: the others have passed" [ "$(grep -cx 'shard [0-7]: passed' out)" = 5 ]
ok "failing: one report" [ "$(cases results/bad/junit.xml)" = "$suites 24 3 0" ]
ok "failing: the verdict is kept" cmp -s out results/bad/verdict.txt
first=${failing%% *}
for file in fail.schedule fail.log.jsonl.zst timeline.html; do
	ok "failing: $file" [ -s "results/bad/$first/chaos/$file" ]
done
ok "failing: a command for each" [ "$(grep -c '^  the same again: hermit run ' out)" = 3 ]
paste -d ' ' <(xargs -n 1 <<<"$failing") <(sed -n 's/^  the same again: //p' out) >again
while read -r index command; do
	echo "$index" >index
	run sh -c "$command"
	expect 1 "the command does the same again: $command"
done <again

# A pod is replaced, and runs its shard a second time; another one ends after it.
cp -a "results/bad/$first" once
shard bad "$first" "chaos-$first-b"
expect 0 "a shard that is run twice"
ok "twice: the first result counts, and nothing else is left" diff -r once "results/bad/$first"
ok "twice: folders" [ "$(cd results/bad && echo [!jv]*)" = "0 1 2 3 4 5 6 7" ]
verdict bad
expect 1 "twice: the verdict"
ok "twice: is the same" [ "$(tail -n 1 out)" = "FAILED: $failing" ]

# One without a result: its pod was killed, or came to no end. The next one makes up for it.
mkdir results/part && cp -a results/well/[0-24-7] results/part
verdict part
expect 125 "a missing shard"
ok "missing: which" [ "$(tail -n 1 out)" = "no result: 3" ]
ok "missing: each" [ "$(grep -c ': passed$' out),$(grep -cx 'shard 3: no result' out)" = 7,1 ]
ok "missing: one report" [ "$(cases results/part/junit.xml)" = "$suites 22 0 1" ]
mkdir results/part/try-3-chaos-3-a
touch results/part/try-3-chaos-3-a/stdout
verdict part
expect 125 "a shard whose pod was killed"
mv run-tests kept
shard part 3 chaos-3-b
expect 125 "a shard without a result"
verdict part
expect 125 "a shard without a result: the verdict"
ok "no result: why" grep -qx '  no result: cannot execute ./run-tests: no such file or directory' out
printf '#!/bin/sh\nexit 0\n' >run-tests
chmod +x run-tests
shard part 3 chaos-3-c
expect 0 "the next pod has a result"
verdict part
expect 0 "the next pod has a result: the verdict"
ok "the next pod: seeds" [ "$(seeds part)" = "$(seq 0 15 | xargs)" ]
rm -r "results/bad/$first" results/bad/7
verdict bad
failing=$(xargs -n 1 <<<"$failing" | grep -vx "$first\|7" | xargs)
expect 1 "failing and missing shards"
ok "failing and missing: both" [ "$(tail -n 1 out)" = "FAILED: $failing; no result: $(printf '%s\n' "$first" 7 | sort -u | xargs)" ]
verdict other
expect 125 "a job that has left nothing"
expect_out "no pod of the Job other has left anything" "a job that has left nothing"
rm run-tests
mv kept run-tests

# What README says, with a kubectl that has what the test says: documents and fields that there are.
readme=$kubernetes/README
for name in $(grep -oE '[a-z-]+\.(yaml|toml|conf)' "$readme" | sort -u); do ok "README: $name" [ -e "$kubernetes/$name" ]; done
for name in "$kubernetes"/*.*; do ok "${name##*/} is in README" grep -qw "${name##*/}" "$readme"; done
cat >bin/kubectl <<'END'
#!/bin/sh
case $1-$2 in
get-job) echo the-uid ;;
create--f) cat >created.yaml ;;
*) exit 1 ;;
esac
END
chmod +x bin/kubectl
sed -n 's/^    \(uid=.*\|sed .*\)$/\1/p' "$readme" | sed "s,chaos-collect,$kubernetes/chaos-collect," >steps
ok "README: two steps" [ "$(wc -l <steps)" = 2 ]
run sh -e steps
expect 0 "README: the verdict's Job"
same "README: it is that of the Job" the-uid created.yaml "${container}['env'][0]['value']"
same "README: nothing else has changed" True created.yaml "d == yaml.safe_load(open('$collect').read().replace('JOB-UID', 'the-uid'))"
for word in passed FAILED 'no result'; do
	ok "README: the last line is the verdict: $word" grep -q "echo \"$word:" collect.sh
done

# The example for GitHub, with the program as it fails.
echo "$failing" | cut -c 1 >index
command=$(value "$actions" "[s['run'] for s in d['jobs']['schedules']['steps'] if 'matrix' in str(s.get('env'))][0]" |
	sed 's/--runs=2000/--runs=8/; s/--quiet //')
for shard in 1 2 3 4; do
	SHARD=$shard sh -c "$command" </dev/null
done 2>/dev/null | grep -E '^[0-9]+ +(pass|FAIL) ' | sed 's/ .*//' | sort -n >seeds
ok "four jobs have eight seeds" [ "$(xargs <seeds)" = "$(seq 0 7 | xargs)" ]
ok "a failing run is kept for the artifact" [ -s chaos/fail.schedule ]
finish
