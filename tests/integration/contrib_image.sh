#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# contrib/docker/all, with an image of busybox only: its options, the base made of a tree, what it runs. tests/soak/image.sh has the real image.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
all=$top_srcdir/contrib/docker/all

run "$all" --help
expect 0 "--help"
for option in $(sed -n 's/^\t\(--[a-z]*\)\(=\*\)\?) .*/\1/p' "$all"); do
	ok "--help: $option" grep -q -- "^  $option\b" out
done
ok "--help: there are options" [ "$(grep -c '^  --' out)" = 10 ]
run "$all" --nonsense
expect 1 "an option that there is not"
expect_err_has 'there is no option --nonsense' "an option that there is not"
run "$all" --file=/no/such/file
expect 1 "no Dockerfile"
run "$all" --root=/no/such/directory
expect 1 "no tree"
mkdir bare
for name in bash dirname env; do ln -s "$(command -v $name)" bare/$name; done
run env PATH="$work/bare" "$all"
expect 1 "without podman"
expect_err_has 'podman is not installed \(Debian: apt-get install podman\)' "without podman"
run "$top_srcdir/contrib/docker/steps" hook nonsense
expect 2 "a step that there is not"
expect_err_has 'there is no step nonsense; there are: doctor demo' "a step that there is not"
# Each step has its function, and the image's document installs what they call.
for step in $(sed -n 's/^steps="\(.*\)"$/\1/p' "$top_srcdir/contrib/docker/steps"); do
	ok "step $step" grep -q "^step_$step()" "$top_srcdir/contrib/docker/steps"
done
for package in crun podman runc; do
	ok "Dockerfile.debian12 installs $package" grep -qw $package "$top_srcdir/contrib/docker/Dockerfile.debian12"
done

busybox=$(command -v busybox)
if [ "$(id -u)" != 0 ] || ! command -v podman >/dev/null || [ -z "$busybox" ] || ldd "$busybox" >/dev/null 2>&1; then
	echo "an image is not made: that needs root, podman and a static busybox"
	finish
fi
mkdir -p tree/bin tree/etc tree/proc tree/sys tree/dev tree/tmp
cp "$busybox" tree/bin/busybox
for name in sh cat id uname wc mount; do ln -s busybox tree/bin/$name; done
echo marked >tree/etc/mark
cat >Dockerfile <<'END'
ARG BASE=nothing:here
FROM ${BASE}
COPY contrib/docker/steps /steps
RUN cat /etc/mark > /made && uname -m >> /made
ENTRYPOINT ["/bin/sh", "-c", "cat /made; echo \"$0 $*\"; wc -l < /steps; : >/tmp/x && exit 7"]
END
options=(--podman=--root="$work/pod/root" --podman=--runroot="$work/pod/run" --podman=--tmpdir="$work/pod/tmp" --podman=--storage-driver=vfs
	--podman=--events-backend=file --podman=--cgroup-manager=cgroupfs)
run "$all" "${options[@]}" --root="$work/tree" --file="$work/Dockerfile" --image=localhost/tiny one two
if [ "$status" != 7 ] && grep -q '^Error: ' err; then
	printf 'an image is not made: podman cannot do it here: %s\n' "$(grep '^Error: ' err | tail -n 1)"
	finish
fi
expect 7 "an image of a tree: the exit status is that of what runs in it"
tail -n 3 out >last
ok "an image of a tree: base, build, arguments, sources" cmp last - <<END
$(uname -m)
one two
$(wc -l <"$top_srcdir/contrib/docker/steps")
END
ok "an image of a tree: the base is the tree" grep -qx marked out
podman --root="$work/pod/root" --runroot="$work/pod/run" --tmpdir="$work/pod/tmp" --storage-driver=vfs rmi -a -f >/dev/null 2>&1
finish
