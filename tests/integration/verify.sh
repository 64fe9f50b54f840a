#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit run --verify: equal runs are equal, a planted difference of each kind is found, and there is no verdict without evidence.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
export TMPDIR=$work/tmp
mkdir "$TMPDIR" cwd
cd cwd || exit 99
# The guest sees the working directory, but not all of the host's /tmp, where the build may be.
cp "$top_builddir/tests/guests/leak" "$top_builddir/tests/guests/steady" . || exit 99

verdict() { jq -r "$1" verdict.json | xargs; }

run "$hermit" run -q --verify=20 --verify-json=verdict.json -- ./steady
expect 0 "20 equal runs"
expect_err_has '^verified: 20 runs are equal: exit status 0, [0-9]{3,} events, [1-9][0-9]* changed files?$' "20 equal runs"
ok "20 equal runs: output of one" [ "$(grep -c '^child ' ../out)" = 1 ]
ok "20 equal runs: the JSON is a line of text" [ -z "$(tail -c 1 verdict.json)" ]
ok "20 equal runs: JSON" [ "$(verdict '.verdict, .verified, .runs, .exit_code, .difference, .reason')" = "equal true 20 0 null null" ]
ok "nothing is written for real" [ ! -e steady.out ]
ok "nothing is left over" [ -z "$(ls -A "$TMPDIR")" ]

status=0
printf 'input\nmore\n' | timeout "$(at_most 60)" "$hermit" run -q --verify=3 -- sh -c 'cat; echo error >&2; exit 7' >../out 2>../err || status=$?
expect 7 "a guest that fails the same way each time is verified"
expect_out 'input
more' "standard input is given to each run"
ok "standard error is passed on once" [ "$(grep -c '^error$' ../err)" = 1 ]
run "$hermit" run -q --verify -- sh -c 'kill -9 $$'
expect 137 "killed by a signal each time"

# Whether a directory is a layer's, and whether that has been written to, does not show in its links.
links='mkdir -p linked/one linked/two; touch /usr/x; stat -c "%n %h" / /usr /etc /dev /proc /sys . linked'
run "$hermit" run -q --fs=overlay -- sh -c "stat -c '%n %h' /usr; $links"
expect_out "/usr 1
/ 1
/usr 1
/etc 1
/dev 1
/proc 1
/sys 1
. 1
linked 1" "links of directories"
cp ../out ../plain
run "$hermit" run -q --verify -- sh -c "stat -c '%n %h' /usr; $links"
ok "links of directories: the same in a verification" cmp ../plain ../out

# Each kind: what differs, where, of what kind. 30 runs: all the same by chance once in 2^29. Where the processor's own faults are used,
# code that is made at run time is covered, too, and nothing leaks: so they are not.
leak()
{
	rm -rf ../kept "${TMPDIR:?}"/*
	RUN_LIMIT=300 run "$hermit" run -q --tsc=replace --verify=30 --verify-json=verdict.json --verify-dir=../kept -- ./leak "$1"
}

leak nothing
expect 0 "a difference that nothing depends on"
ok "nothing is kept of equal runs" [ ! -e ../kept ]
for kind in byte:content extra:count order:order clocks:time mode:content name:content error:content; do
	what=${kind%:*}
	leak "$what"
	expect 123 "$what: different"
	expect_err_has '^NOT equal: run [0-9]+ differs from run 1$' "$what: is said"
	expect_err_has "^first difference \\(${kind#*:}\\): " "$what: kind"
	ok "$what: verdict" [ "$(verdict '.verdict, .verified, .difference.log.kind')" = "different false ${kind#*:}" ]
	ok "$what: nothing is passed on" [ ! -s ../out ]
	run "$hermit" log-diff ../kept/run1.log.jsonl.zst "../kept/run$(verdict .difference.run).log.jsonl.zst"
	expect 123 "$what: the kept logs have the difference"
done
leak byte
ok "byte: first different byte" [ "$(verdict .difference.stdout | cut -c 1-24)" = "first at byte 11, line 1" ]
ok "byte: at the write" [ "$(verdict .difference.log.a.record.call)" = write ]
ok "byte: the outputs are kept" [ "$(cat ../kept/run1.stdout ../kept/run*.stdout | sort -u | wc -l)" = 2 ]
leak extra
ok "extra: the call is named" [ "$(verdict '.difference.log.sentence' | grep -c 'access$')" = 1 ]
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	rm -rf ../kept
	mkdir 'a@b%40'
	# shellcheck disable=SC2016 # of the inner shell
	RUN_LIMIT=300 run unshare -m --propagation private sh -c 'mount -t tmpfs x a@b%40 && exec "$0" run -q --tsc=replace --verify=30 --verify-json=verdict.json \
		--verify-dir=../kept -- sh -c "./leak byte >a@b%40/f"' "$hermit"
	expect 123 "a mount with signs of its own in its name"
	ok "a mount with signs of its own in its name: it is named" [ "$(verdict .difference.files | grep -c "$work/cwd/a@b%40/f: contents differ")" = 1 ]
	rmdir 'a@b%40'
fi
leak order
ok "order: at the first of the two" [ "$(verdict '.difference.log.a.record | .call, .args' | cut -d, -f 1)" = "write 1" ]
ok "order: the outputs begin with one and the other" [ "$(verdict .difference.stdout | grep -cE '^first at byte 1, line 1: (first second third and second first third|second first third and first second third)$')" = 1 ]
leak error
ok "error: standard error differs, standard output does not" [ "$(verdict '.difference.stderr != null, .difference.stdout == null')" = "true true" ]
leak file
expect 123 "file: different"
ok "file: contents" [ "$(verdict .difference.files | grep -c "$work/cwd/leaked: contents differ, first at byte 101, line 1")" = 1 ]
ok "file: the logs are equal" [ "$(verdict .difference.log)" = null ]
for kind in private:/tmp/below/leaked shm:/dev/shm/leaked; do
	leak "${kind%:*}"
	expect 123 "${kind%:*}: different"
	ok "${kind%:*}: contents of what is in memory only" \
		[ "$(verdict .difference.files | grep -c "^${kind#*:}: contents differ, first at byte 101, line 1")" = 1 ]
	ok "${kind%:*}: the logs are equal" [ "$(verdict .difference.log)" = null ]
done
leak private-mode
ok "private-mode: named" [ "$(verdict .difference.files | grep -cE "^/tmp/leaked: mode 06[04]0 and 06[04]0$")" = 1 ]
leak target
ok "target: named" [ "$(verdict .difference.files | grep -cE "/leaked: links to (yes|no) and to (yes|no)$")" = 1 ]
leak xattr
if [ "$(verdict .exit_code)" = 3 ]; then
	echo "no extended attributes here: not tested"
else
	ok "xattr: named" [ "$(verdict .difference.files | grep -cE "/leaked: extended attribute user.bit differs$")" = 1 ]
	leak xattr-name
	ok "xattr-name: named" [ "$(verdict .difference.files | grep -cE "/leaked: extended attribute user.(zero|one) only in the (first|other) run$")" = 1 ]
fi
leak mode
ok "mode: named" [ "$(verdict .difference.files | grep -cE "/leaked: mode 06[04]0 and 06[04]0$")" = 1 ]
leak name
ok "name: named" [ "$(verdict .difference.files | grep -cE "/leaked-[01]: file, only in the (first|other) run$")" = 1 ]
leak status
ok "status: named" [ "$(verdict .difference.end | grep -cE '^exited with status [01], and exited with status [01]$')" = 1 ]
leak end
ok "end: named" [ "$(verdict .difference.end | grep -cE '^(exited with status 0, and killed by signal 15 .SIGTERM. with status 143|killed by signal 15 .SIGTERM. with status 143, and exited with status 0)$')" = 1 ]

# The kept directory may be below the working directory: what is written there is compared all the same.
rm -rf "${TMPDIR:?}"/*
run "$hermit" run -q --tsc=replace --verify=30 --verify-json=verdict.json --verify-dir=below -- ./leak file
expect 123 "verify-dir below the working directory"
rm -rf below "${TMPDIR:?}"/*

# What is bound from the host is copy-on-write, too: each run finds it as it was, and nothing is written for real.
rm -rf ../kept "${TMPDIR:?}"/*
mkdir ../shared
echo old >../shared/input
for bind in --bind=../shared:/mnt --mount=type=bind,source=../shared,target=/mnt --tmp=../shared; do
	place=/mnt
	[ "$bind" != --tmp=../shared ] || place=/tmp
	run "$hermit" run -q --verify "$bind" --verify-json=verdict.json -- \
		sh -c "cat $place/input; echo new >$place/input; echo more >$place/made; cat $place/input; ls $place"
	expect 0 "$bind: equal runs"
	expect_out "old
new
input
made" "$bind: what a run has written, it finds"
	expect_err_has '^verified: 2 runs .* [2-9] changed files$' "$bind: what was written is compared"
	ok "$bind: nothing is written for real" [ "$(cat ../shared/*)" = old ]
done
echo old >one
run "$hermit" run -q --verify --bind=one:/mnt/one --bind=../shared/input:/mnt/other -- \
	sh -c 'cat /mnt/one; echo new >/mnt/one; cat /mnt/one one; echo other >/mnt/other; cat /mnt/other'
expect_out "old
new
new
other" "single files, bound, one of them seen by its own name as well"
ok "single files: nothing is written for real" [ "$(cat one ../shared/*)" = "old
old" ]
rm one
run "$hermit" run -q --verify --bind=.:/mnt -- sh -c 'echo here >one; cat /mnt/one; echo there >/mnt/one; cat one'
expect_out "here
there" "the working directory, bound, is the same directory"
ok "the working directory: nothing is written for real" [ ! -e one ]
rm -rf ../kept
RUN_LIMIT=300 run "$hermit" run -q --tsc=replace --verify=30 --bind=../shared:/mnt --workdir=/mnt --verify-json=verdict.json --verify-dir=../kept -- \
	"$PWD/leak" file
expect 123 "a difference in what is bound"
ok "bound: named" [ "$(verdict .difference.files | grep -c "$work/shared/leaked: contents differ, first at byte 101, line 1")" = 1 ]
rm -rf "${TMPDIR:?}"/*

# What is changed beside all layers, in memory, is counted as well: in a user namespace the root itself is there.
cp "$hermit" ..
chmod 755 .. ../hermit
user=
echo old >gone
run "$hermit" run -q --verify --verify-json=verdict.json -- sh -c 'rm gone; ln -s x link; printf "b\\377" | xargs touch; for i in 1 2 3 4 5 6 7 8; do echo >f$i; done'
expect 0 "changed files"
ok "changed files: ten are named" [ "$(grep -c '^  [a-z ]*: /' ../err),$(tail -n 1 ../err)" = "10,  and $(($(verdict .changed_files) - 10)) more; --verify-json=FILE names them" ]
ok "changed files: all are in the JSON" [ "$(verdict '.changed_files')" = "$(verdict '.changed | length')" ]
for what in "removed $PWD/gone" "symbolic link $PWD/link" "file $PWD/f8" "file $PWD/b\xff"; do
	ok "changed files: $what" [ "$(jq -r '.changed[] | "\(.what) \(.path)"' verdict.json | grep -cxF "$what")" = 1 ]
done
rm gone
# What is no UTF-8, in arguments and names, is in documents all the same; what would drive a terminal is not written to one.
run "$hermit" run -q --report=report.json --env=A=$'\xfe' -- true
expect 0 "bytes that are no text: --report"
run "$hermit" run -q --verify --verify-json=verdict.json --env=A=$'\xfe' -- sh -c 'touch "$1"' sh $'e\033[31m\xff'
expect 0 "bytes that are no text: --verify-json"
for file in verdict report; do
	ok "bytes that are no text: $file" [ "$(jq -r .command $file.json | grep -cF -e '--env=A=\xfe' )" = 1 ]
done
ok "bytes that are no text: the name of a file" [ "$(jq -r '.changed[0].path' verdict.json)" = "$PWD/e"$'\033''[31m\xff' ]
ok "a file's name drives no terminal" grep -qF "  file: $PWD/e\x1b[31m\xff" ../err
rm report.json
[ "$(id -u)" != 0 ] || user="setpriv --reuid=65534 --regid=65534 --clear-groups"
mkdir ../elsewhere && chmod 777 ../elsewhere
# shellcheck disable=SC2086 # words
TMPDIR=$work/elsewhere run $user ../hermit run -q --verify --workdir=/usr -- sh -c 'echo one >/made; mkdir /tmp/two; echo three >/tmp/two/three'
if [ "$status" = 125 ]; then
	echo "an ordinary user may not run anything here: $(head -n 1 ../err)"
else
	expect_err_has '^verified: 2 runs are equal: exit status 0, [0-9]+ events, 3 changed files$' "changed files in memory are counted"
	ok "changed files in memory are named" [ "$(sed -n 's/^  \(.*: .*\)/\1/p' ../err | sort | xargs)" = "directory: /tmp/two file: /made file: /tmp/two/three" ]
	# shellcheck disable=SC2086
	TMPDIR=$work/elsewhere run $user ../hermit run -q --verify --workdir=/usr -- true
	expect_err_has '^verified: 2 runs are equal: exit status 0, [0-9]+ events, 0 changed files$' "what was there before is not"
fi

# A directory for temporary files that the program does not see is not looked through, however much there is beside what is kept.
case $work in
/tmp/*)
	other=$(mktemp -d /tmp/hermit-test-other.XXXXXX)
	rm -rf ../kept
	TMPDIR=/tmp RUN_LIMIT=300 run "$hermit" run -q --tsc=replace --verify=30 --verify-json=verdict.json --verify-dir=../kept -- ./leak file
	expect 123 "layers are kept in /tmp"
	kept=$(verdict .kept_files)
	ok "layers are kept in /tmp: there they are" [ -d "$kept/run1.files/upper" ]
	ok "layers are kept in /tmp: nothing was made for the rest of it" [ ! -e "$kept/run1.files/upper/@tmp@$(basename "$other")" ]
	rm -rf "$other" "$kept"
	;;
esac

# A file of the host that others change between the runs, and a clock of the host that is let through: found where they are first read, and what has
# changed is named.
ticking()
{
	tick=1000000
	while :; do
		tick=$((tick < 9999999 ? tick + 1 : 1000000))
		echo $tick 1<>../shared/input # as long as before, and the same file: nothing else than its contents changes
	done
}
# changed COMMAND FIELD: what differs first is this field. The file is opened once: it changes while runs go on, too.
changed()
{
	rm -rf ../kept "${TMPDIR:?}"/*
	RUN_LIMIT=300 run "$hermit" run -q --verify=30 --bind ../shared:/mnt --verify-json=verdict.json --verify-dir=../kept -- sh -c "$1"
	expect 123 "a file that has changed between the runs: $1"
	expect_err_has "^  starting points: $work/shared/(input|new) has changed on the host while the runs went on" "changed between the runs: the cause"
	ok "changed between the runs: the cause in the verdict" \
		[ "$(verdict '.difference.changed_on_host' | grep -cE "^$work/shared/(input|new)$")" = 1 ]
	ok "changed between the runs: the output names both" \
		[ "$(verdict .difference.stdout | grep -cE '^first at byte [1-8], line 1: [1-9][0-9]{6} and [1-9][0-9]{6}$')" = 1 ]
	ok "changed between the runs: named in the log" [ "$(verdict '.difference.log.kind, .difference.log.fields')" = "content $2" ]
}
ticking &
ticker=$!
trap 'kill $ticker 2>/dev/null; rm -rf "$work"' EXIT
while ! grep -qs 1 ../shared/input; do sleep 0.05; done
changed 'cat </mnt/input | cat' out
expect_err_has "^first difference \(content\): .*read" "changed between the runs: at its first reading"
ok "changed between the runs: at its first reading, in JSON" [ "$(verdict '.difference.log.a.record | .call, .args' | cut -d, -f 1)" = "read 0" ]
changed 'cat /mnt/input >/mnt/copy; cat /mnt/copy' moved
ok "changed between the runs: copied by the kernel" [ "$(verdict '.difference.log.a.record.call')" = copy_file_range ]
kill $ticker
wait $ticker
rm -rf ../shared/*
leak byte
ok "nothing has changed on the host where others do nothing" [ "$(verdict '.difference.changed_on_host, .difference.changes_on_host')" = "null 0" ]
leak host-clock
expect 123 "a clock of the host"
expect_err_has "^first difference \(content\): .*write" "a clock of the host: where it is first shown"
ok "a clock of the host: in JSON" [ "$(verdict '.difference.log | .kind, .a.record.call, .b.record.call')" = "content write write" ]
rm -rf "${TMPDIR:?}"/*

# No verdict without evidence.
run "$hermit" run -q --verify --timeout=0.5 --verify-json=verdict.json -- sh -c 'while :; do :; done'
expect 125 "timeout: no result"
ok "timeout: JSON" [ "$(verdict '.verdict, .verified, .reason')" = "no_result false the time limit was over" ]
run "$hermit" run -q --verify --verify-json=verdict.json -- /no/such/program
expect 127 "no such program"
ok "no such program: JSON" [ "$(verdict .verdict)" = no_result ]
echo '{"verdict": "equal"}' >verdict.json
run "$hermit" run -q --verify --verify-json=verdict.json --verify-dir=missing/dir -- true
expect 125 "a failure before the first run"
ok "an old verdict does not survive" [ "$(verdict .verdict)" = no_result ]
run "$hermit" run -q --verify --verify-json=missing/verdict.json -- true
expect 125 "a verdict that cannot be written"
run "$hermit" run --verify=1 -- true
expect 125 "one run is no verification"
run "$hermit" run --verify --log-events=log -- true
expect 125 "--verify and --log-events"
run "$hermit" run -q --verify --verify-json=verdict.json -- sleep 1000000
ok "a long sleep is short" [ "$(verdict .verdict)" = equal ]

# What is no regular file is written to, once, and not replaced; nor is a link.
mkfifo pipe
cat pipe >verdict.json &
run "$hermit" run -q --verify --verify-json=pipe -- true
expect 0 "a verdict for a pipe"
wait $!
ok "one verdict came through the pipe" [ "$(verdict .verdict)" = equal ]
ok "the pipe is still one" [ -p pipe ]
ln -s verdict.json link
run "$hermit" run -q --verify --verify-json=link -- /no/such/program
ok "the verdict is in the file that the link names" [ "$(verdict .verdict)" = no_result ]
ok "the link is still one" [ -L link ]
rm pipe link

"$hermit" run -q --verify --verify-json=verdict.json -- sh -c 'echo started; while :; do :; done' >../out 2>../err &
pid=$!
while ! grep -qs started "$TMPDIR"/hermit-verify-*/stdout; do kill -0 $pid || break; sleep 0.05; done
kill -TERM $pid
wait $pid
status=$?
expect 125 "interrupted"
ok "interrupted: no result" [ "$(verdict '.verdict, .reason')" = "no_result interrupted from outside" ]
ok "nothing is left over at the end" [ -z "$(ls -A "$TMPDIR")" ]
finish
