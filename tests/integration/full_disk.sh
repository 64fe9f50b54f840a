#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A disk that is full in mid-run: what fails says so, and which file it is; nothing is left.
if [ -z "${HERMIT_TEST_MOUNTS:-}" ]; then
	user=
	[ "$(id -u)" = 0 ] || user=-Ur
	# shellcheck disable=SC2086 # an option or none
	unshare $user -m true 2>/dev/null || { echo "skipped: needs a mount namespace of its own for a small file system"; exit 77; }
	export HERMIT_TEST_MOUNTS=1
	# shellcheck disable=SC2086
	exec unshare $user -m --propagation private bash "$0" "$@"
fi
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
mkdir full
mount -t tmpfs -o size=128k full full || { echo "skipped: no small file system can be mounted here"; exit 77; }
trap 'umount "$work/full"; rm -rf "$work"' EXIT
full=$work/full
enospc='No space left on device$'

# empty WHAT: nothing is left of it.
empty()
{
	ok "$1: nothing is left" [ -z "$(find "$full" -mindepth 1)" ]
	find "$full" -mindepth 1 -delete
}

# more events than there is room for, each with a hash that nothing can compress
busy=(dd if=/dev/urandom of=/dev/null bs=8 count=12000 status=none)
run "$hermit" run -q --log-events=log -- "${busy[@]}"
expect 0 "a log where there is room"
for form in html perfetto; do
	run "$hermit" log-export --format=$form -o "$full/page" log
	expect 125 "log-export --format=$form"
	expect_err_has "^hermit: $full/page: $enospc" "log-export --format=$form"
	empty "log-export --format=$form"
done
for name in log log.zst; do
	run "$hermit" run -q --log-events="full/$name" -- "${busy[@]}"
	expect 125 "--log-events=full/$name"
	expect_err_has "^hermit: $full/$name: the event log is incomplete: $enospc" "--log-events=full/$name"
	rm -f "$full"/log*
done
export TMPDIR=$full
# no two schedules are the same, and each is kept
run "$hermit" chaos --runs=3 -- head -c 300000 /dev/zero
expect 125 "chaos: output"
expect_err_has "^hermit: the run of seed 0 failed: .*$full/hermit-chaos-[^/]*/run0\.[a-z]*: $enospc" "chaos: output"
empty "chaos: output"
run "$hermit" run --verify=2 -- "${busy[@]}"
expect 125 "--verify"
expect_err_has "^no result after 0 of 2 runs: $full/hermit-verify-.*/log.jsonl.zst: the event log is incomplete: $enospc" "--verify"
empty "--verify"
head -c 300000 /dev/zero >full/file 2>/dev/null
run "$hermit" chaos --runs=2 -- true
expect 125 "chaos"
expect_err_has "^hermit: the run of seed 0 failed: .*$full/hermit-chaos-[^/]*/run0\.[a-z]*: $enospc" "chaos"
run "$hermit" ci -q --runs=2 --artifacts=artifacts -- true
expect 125 "ci"
expect_err_has "^hermit: --verify-json: $full/hermit-ci-[^/]*/verify.json: $enospc" "ci"
rm full/file
empty "a disk that was full before"
# the artifacts' disk, not the one of temporary files
export TMPDIR=$work
head -c 300000 /dev/zero >full/file 2>/dev/null
run "$hermit" ci -q --runs=2 --artifacts=full/artifacts -- true
expect 125 "ci: artifacts"
expect_err_has "full/artifacts/[a-z.]*: $enospc" "ci: artifacts"
rm -r full/*
finish
