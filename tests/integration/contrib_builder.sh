#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# contrib/ci/Dockerfile, built by podman with the rights that it says: the step is deterministic, its artifacts are there; without one of the rights
# it fails, and names it. The image is made of this machine's own programs.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
skip()
{
	printf 'skipped: %s\n' "$*"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root"
command -v podman >/dev/null || skip "needs podman"
command -v runc >/dev/null || skip "needs runc"
file=$top_srcdir/contrib/ci/Dockerfile

# shellcheck source=tests/support/podman.sh
. "$top_srcdir/tests/support/podman.sh"
machine_tree tree
mkdir -p context/source tree/hermit artifacts || exit 99
cp "$hermit" tree/hermit/hermit || exit 99
tar -C tree -c . >context/tree.tar
printf 'all:\ncheck:\n\t@od -An -N8 -tx1 /dev/urandom; date +%%N\n' >context/Makefile
# Its own base in place of HERMIT_IMAGE, which has make; what the last stage would copy is written to a directory of ours.
sed -e 's,^FROM \${HERMIT_IMAGE} AS tested$,FROM scratch AS tested\nADD tree.tar /\nENV PATH=/hermit:/usr/bin:/bin,' -e '/^RUN apt-get /d' -e '/^FROM scratch$/,$d' "$file" >context/Dockerfile

# build OPTION...
build()
{
	RUN_LIMIT=120 run "${podman[@]}" --runtime runc \
		build --network=none --no-cache -v /usr:/usr:ro -v "$work/artifacts:/hermit-ci" "$@" -t tested context
	cat out err >said
}

rights=$(sed -n 's/^#	podman build \(.*\) -t tested \.$/\1/p' "$file")
caps=${rights%% *} profile=${rights#* }
ok "the file says which rights: $rights" [ "$caps" != "$rights" ]
# shellcheck disable=SC2086 # words
build $rights
if [ "$status" != 0 ] && ! grep -q 'RUN hermit ci' said; then skip "podman builds nothing here: $(tail -n 1 said)"; fi
expect 0 "with the rights that it says"
ok "the verdict" [ "$(sed -n 's/.*"verdict": "\(.*\)",/\1/p' artifacts/verify.json)" = equal ]
ok "the report" grep -q '<testsuite name="tests" tests="3" failures="0" errors="0"' artifacts/junit.xml

# without WHAT WORDS OPTION...: it fails, and says WORDS.
without()
{
	local what=$1 words=$2
	shift 2
	build "$@"
	ok "$what: it fails" [ "$status" != 0 ]
	ok "$what: with 125" grep -q 'exit status 125' said
	ok "$what: and says why" grep -q "$words" said
}
without "no rights" "a seccomp filter of the launcher refuses it, or CAP_SYS_ADMIN is missing"
without "no capabilities" "CAP_SYS_ADMIN is missing" "$profile"
without "no CAP_NET_ADMIN" "cannot bring up lo (CAP_NET_ADMIN is missing)" --cap-add=SYS_ADMIN "$profile"
without "the default profile" "personality 0x40000 (a seccomp filter of the launcher refuses it)" "$caps"
finish
