#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the options of hermit run do to the guest's world.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing

export LEAK=secret
run "$hermit" run env
expect_out "HOME=/root
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "minimal environment"
run "$hermit" run --base-env=empty -e LEAK -e A=1 -- /usr/bin/env
expect_out "LEAK=secret
A=1" "empty environment and additions"
run "$hermit" run --base-env=host -- sh -c 'echo $LEAK'
expect_out secret "the caller's environment when asked for"

run "$hermit" run --epoch=2000-02-03T04:05:06Z -- date -u +%FT%T
expect_out 2000-02-03T04:05:06 "epoch"
run "$hermit" run --epoch=2038-01-19T03:14:00Z -- sh -c 'date -u +%FT%T; sleep 10; date -u +%FT%T; touch file; date -u -r file +%FT%T'
expect_out "2038-01-19T03:14:00
2038-01-19T03:14:10
2038-01-19T03:14:10" "seconds that 32 bits do not hold"
run "$hermit" run --hostname=box uname -n
expect_out box "hostname"

run "$hermit" run pwd
expect_out "$work" "the caller's directory"
run "$hermit" run --workdir=/usr pwd
expect_out /usr "workdir"

mkdir kept other
run "$hermit" run -- sh -c 'echo real >kept/file; echo gone >/usr/hermit-test-file; cat /usr/hermit-test-file'
expect_out gone "a write outside the working directory is seen by the run"
ok "the working directory is written for real" [ "$(cat kept/file)" = real ]
ok "the rest is not" [ ! -e /usr/hermit-test-file ]
run "$hermit" run --fs=overlay -- sh -c 'echo no >kept/file; cat kept/file'
expect_out no "overlay: seen by the run"
ok "overlay: nothing is written for real" [ "$(cat kept/file)" = real ]
run "$hermit" run --fs=overlay:"$work/no-such" -- true
expect 125 "overlay:DIR without the directory"
expect_err_has "^hermit: --fs=overlay:$work/no-such: there is no such directory, and it has to exist: mkdir it first\$" "overlay:DIR without the directory"
# Two mounts whose paths differ in a letter that stands for another one in the names of layers.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir -p one/two one@two
	# shellcheck disable=SC2016 # of the inner shell
	run unshare -m sh -c 'mount -t tmpfs x one/two && mount -t tmpfs x one@two && echo below >one/two/f && echo beside >one@two/f &&
		exec "$0" run --fs=overlay -- sh -c "echo changed >one/two/f; cat one/two/f one@two/f"' "$hermit"
	expect_out "changed
beside" "overlay: each mount has a layer of its own"
	rm -r one one@two
fi
# make, as CAVEATS advises: what a run builds is younger than what it finds.
if command -v make >/dev/null; then
	mkdir made
	printf 'c: b\n\tcp b c\nb: a\n\tcp a b\n' >made/Makefile
	touch -d '2026-03-01 00:00:00 UTC' made/Makefile made/b made/c
	echo new >made/a
	touch -d '2026-03-02 00:00:00 UTC' made/a
	run "$hermit" run --mtime=keep --epoch=@"$(stat -c %.9Y made/a)" -- make -C made
	expect 0 "make with --mtime=keep and an epoch"
	expect_err "" "make with --mtime=keep and an epoch: no clock skew"
	ok "make with --mtime=keep and an epoch: all is built" [ "$(cat made/c)" = new ]
	ok "hermit-run(1) advises an epoch" grep -q 'mtime=keep .*epoch=@$(date +%s.%N) .* make$' "$top_srcdir/man/hermit-run.1"
fi
run "$hermit" run --workdir=/ --writable="$work/other" -- sh -c "echo yes >$work/other/file"
expect 0 "writable"
ok "writable: written for real" [ "$(cat other/file)" = yes ]

run "$hermit" run --bind="$work/kept:/mnt:ro" -- sh -c 'cat /mnt/file; echo x >/mnt/file'
expect_out real "bind"
ok "bind: read-only" [ "$status" != 0 ]
run "$hermit" run --mount=type=tmpfs,target=/mnt -- sh -c 'echo a >/mnt/b; ls /mnt'
expect_out b "mount"
run "$hermit" run --mount=type=tmpfs,target=/mnt,size=64k -- sh -c 'head -c 100000 /dev/zero 2>/dev/null >/mnt/b; wc -c </mnt/b'
expect_out 65536 "--mount of a tmpfs with a size"
: >"/tmp/hermit-test-$$-seen"
run "$hermit" run -q --workdir=/ -- sh -c "ls /tmp"
seen=${work#/tmp/}
expect_out "$([ "$seen" = "$work" ] || echo "${seen%%/*}")" "/tmp is private; only the caller's directory is in it"
run "$hermit" run --workdir=/ --tmp=/tmp -- sh -c "ls /tmp/hermit-test-$$-seen"
expect 0 "--tmp=/tmp shows the host's"
rm -f "/tmp/hermit-test-$$-seen"

run "$hermit" run --save-config=saved.json --seed=9 --epoch=1999-01-01T00:00:00Z -- date +%Y
expect_out 1999 "save-config runs too"
run "$hermit" run --config-file=saved.json
expect_out 1999 "config-file brings options and program"
run "$hermit" run --config-file=saved.json --epoch=1998-01-01T00:00:00Z -- date +%Y:%m
expect_out 1998:01 "later options change it"
run "$hermit" run --config-file=saved.json --print-config=command
expect_out "hermit run --seed=9 --epoch=1999-01-01T00:00:00Z -- date +%Y" "as a command line"
run "$hermit" run --seed=9 --epoch=1999-01-01T00:00:00Z --print-config=json -- date +%Y
ok "as JSON, the same as the file" cmp -s out saved.json
sed 's/1999-01/1997-01/' saved.json >edited.json
run "$hermit" run --config-file=edited.json
expect 125 "an edited document is refused"
expect_err_has "fingerprint" "an edited document is refused"

run "$hermit" run --log-file=log.txt --log=debug true
expect_err "" "messages go to the file"

# A standard descriptor that the caller has closed: nothing of the tool's takes its place, whatever is opened; who uses it gets EBADF, as natively.
cat >closed.py <<'P'
import os, sys
said = []
for fd, use in (0, lambda: os.read(0, 1)), (1, lambda: os.write(1, b"x")), (2, lambda: os.write(2, b"x")):
    try:
        use()
        said.append("%d works" % fd)
    except OSError as e:
        said.append("%d %s" % (fd, os.strerror(e.errno)))
open("said", "w").write(", ".join(said))
P
for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	: >in
	sh -c "exec python3 closed.py $closed" <in >out 2>err
	mv said native
	for options in "" "--log-file=own.log --log=debug" "--log-file=own.log --log-events=own.events --report=own.json"; do
		: >said
		# shellcheck disable=SC2086 # options
		sh -c "exec \"\$@\" $closed" sh timeout -s KILL "$(at_most 60)" "$hermit" run $options --bind="$work" -- python3 closed.py <in >out 2>err
		ok "closed $closed, options '$options': as natively" cmp native said
	done
	sh -c "exec \"\$@\" $closed" sh timeout -s KILL "$(at_most 60)" "$hermit" run --verify --verify-json=own.json -- true <in >out 2>err
	ok "closed $closed: a verification" [ "$(jq -r .verdict own.json)" = equal ]
	case $closed in
	*'2>&-') ;;
	*)
		# shellcheck disable=SC2016 # of the inner shell
		sh -c "exec \"\$@\" $closed" sh timeout -s KILL "$(at_most 60)" "$hermit" run --log-file=own.log --log-events=own.events \
			-- readlink /proc/self/fd/0 <in >out 2>err
		ok "closed $closed: standard input is no file of ours" sh -c '! grep own out'
		;;
	esac
done
# Users and groups by number and by name, as this host's files say.
for who in nobody daemon:nogroup 65534:daemon; do
	user=${who%:*} group=${who#*:}
	[ "$group" != "$who" ] || group=$(awk -F : -v name="$user" '$1 == name { print $4 }' /etc/passwd)
	[ "$(id -u)" = 0 ] || break
	run "$hermit" run -q -u "$who" -- sh -c 'id -u; id -g; id -G'
	expect 0 "-u $who"
	want=$(awk -F : -v name="$user" '$1 == name || $3 == name { print $3; exit }' /etc/passwd)
	gid=$(awk -F : -v name="$group" '$1 == name || $3 == name { print $3; exit }' /etc/group)
	expect_out "$want
$gid
$gid" "-u $who"
done
run "$hermit" run -u no-such-user -- true
expect 125 "a user that there is not"
expect_err_has "--user: 'no-such-user' is no number, and no user of /etc/passwd" "a user that there is not"
run "$hermit" run -u 1:no-such-group -- true
expect 125 "a group that there is not"
# What a path leads to is looked up with the rights of who asks: root's without the capabilities that override permissions, too.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	for rights in "--inh-caps=-all --bounding-set=-all" "--inh-caps=-all --bounding-set=-dac_override" "--reuid=65534 --clear-groups"; do
		# shellcheck disable=SC2086 # words
		run "$hermit" run -- setpriv $rights sh -c 'mkfifo /dev/shm/f && { echo hello >/dev/shm/f & cat /dev/shm/f; wait; }'
		expect 0 "a FIFO, $rights"
		expect_out hello "a FIFO, $rights"
		expect_err "" "a FIFO, $rights: under control"
	done
fi
finish
