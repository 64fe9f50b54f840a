#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# contrib/docker/all as a user calls it: the base by debootstrap, the image, all of its steps. Needs root, podman, debootstrap and a Debian mirror.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
skip()
{
	printf 'skipped: %s\n' "$*"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root"
for program in podman debootstrap; do
	command -v $program >/dev/null || skip "needs $program"
done
place=$(mktemp -d /var/tmp/hermit-image-test.XXXXXX) || exit 99
options=(--podman=--root="$place/root" --podman=--runroot="$place/run" --podman=--tmpdir="$place/tmp")
trap 'podman "${options[@]#--podman=}" rmi -a -f >/dev/null 2>&1; rm -rf --one-file-system "$work" "$place"' EXIT
RUN_LIMIT=3600 run "$top_srcdir/contrib/docker/all" "${options[@]}" --debootstrap
if grep -q '^all: debootstrap: ' err; then skip "$(grep '^all: debootstrap: ' err)"; fi
expect 0 "everything"
tail -n 8 out
ok "each step" [ "$(tail -n 8 out | grep -c ' passed ')" = 8 ]
finish
