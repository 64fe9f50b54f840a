#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit oci run: images without an engine. The image is made here: a layer, a configuration, a manifest, an index.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
export XDG_CACHE_HOME=$work/cache

# blob FILE: puts it into the layout; says its descriptor's digest and size
blob()
{
	local sum
	sum=$(sha256sum "$1" | cut -d' ' -f1)
	cp "$1" "layout/blobs/sha256/$sum"
	printf '"digest": "sha256:%s", "size": %s' "$sum" "$(stat -c %s "$1")"
}

rootfs "$work/rootfs"
echo 'unchanged:x:4294967295:4294967295::/:' >>"$work/rootfs/etc/passwd"
printf 'root:x:0:\nuser:x:1000:\nextra:x:77:user\n' >"$work/rootfs/etc/group"
mkdir -p layout/blobs/sha256
echo '{"imageLayoutVersion": "1.0.0"}' >layout/oci-layout
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C rootfs -cf layer.tar .
layer=$(blob layer.tar)
echo "{\"architecture\": \"amd64\", \"os\": \"linux\", \"config\": {\"Env\": [\"PATH=/bin\", \"WORD=said\"], \"Entrypoint\": [\"/bin/sh\", \"-c\"],
	\"Cmd\": [\"echo \$WORD; date -u +%Y; head -c 8 /dev/urandom | md5sum; echo x >/tmp/x; ls /tmp; exit 4\"], \"WorkingDir\": \"/etc\"},
	\"rootfs\": {\"type\": \"layers\", \"diff_ids\": [\"sha256:$(sha256sum layer.tar | cut -d' ' -f1)\"]}}" >config.blob
config=$(blob config.blob)
echo "{\"schemaVersion\": 2, \"config\": {\"mediaType\": \"application/vnd.oci.image.config.v1+json\", $config},
	\"layers\": [{\"mediaType\": \"application/vnd.oci.image.layer.v1.tar\", $layer}]}" >manifest.blob
manifest=$(blob manifest.blob)
echo "{\"schemaVersion\": 2, \"manifests\": [{\"mediaType\": \"application/vnd.oci.image.manifest.v1+json\", $manifest,
	\"annotations\": {\"org.opencontainers.image.ref.name\": \"one\"}}]}" >layout/index.json
digest=$(echo "{$manifest}" | jq -r .digest)

# Without its helpers, in a PATH that has none of them
mkdir bare
run env PATH="$work/bare" "$hermit" oci run layout
expect 125 "without umoci"
expect_err_has 'umoci is not installed' "without umoci"
run env PATH="$work/bare" "$hermit" oci run layer.tar
expect 125 "without skopeo"
expect_err_has 'skopeo is not installed' "without skopeo"
run "$hermit" oci run nowhere
expect 125 "no such image"
expect_err_has 'nowhere: No such file or directory' "no such image"
run "$hermit" oci run layout:two
expect 125 "no such tag"
expect_err_has 'there is no such tag' "no such tag"
run "$hermit" oci walk
expect 125 "no such subcommand"
command -v umoci >/dev/null || { echo "the rest left out: umoci is not installed"; finish; }

run "$hermit" oci run --report=report.json layout
expect 4 "the image's own command: exit status"
equal "said 2026 x" "$(sed 2d out | head -1) $(sed -n 2p out) $(tail -1 out)" "output"
equal "$digest" "$(jq -r .image report.json)" "the digest in the report"
cp out first
for i in 1 2 3 4 5; do
	run "$hermit" oci run layout:one
	ok "run $i is the same" cmp -s first out
done
run "$hermit" oci run --seed=9 layout
ok "another seed" sh -c '! cmp -s first out'
run "$hermit" oci run --summary layout 'pwd; ls /tmp; exit 6'
expect 6 "another command, the same entry point"
expect_out "/etc" "a fresh layer for each run; the image's directory"
expect_err_has "image +$digest" "the digest in the summary"
ok "the image is unpacked once, and unchanged" [ ! -e "$work/cache/hermit/images/${digest#sha256:}/rootfs/tmp/x" ]
equal 1 "$(ls cache/hermit/images | wc -l)" "one image in the cache"
ok "nothing is mounted" sh -c '! grep -q hermit/images /proc/self/mountinfo'
# What users of podman change
run "$hermit" oci run -e WORD=other -e MORE=1 -w /tmp/new layout 'echo $WORD $MORE $PATH; pwd'
expect_out "other 1 /bin
/tmp/new" "-e, -w"
run env HANDED=on "$hermit" oci run --env HANDED layout 'echo $HANDED'
expect_out "on" "-e NAME"
run "$hermit" oci run -u user layout 'id -u; id -g; id -G; echo $HOME'
expect_out "1000
1000
1000 77
/home/user" "-u NAME: groups and home of the image's list"
run "$hermit" oci run --user 5:extra layout 'id -u; id -g; id -G; echo $HOME'
expect_out "5
77
77
/" "-u NUMBER:GROUP"
run "$hermit" oci run -u unchanged layout true
expect 125 "-u with a user of the image's that has the number -1"
expect_err_has "is the number of nobody" "-u with a user of the image's that has the number -1"
run "$hermit" oci run -u nobody-here layout true
expect 125 "-u with a name that there is not"
expect_err_has "the image has no user 'nobody-here'" "-u with a name that there is not"
run "$hermit" oci run --entrypoint /bin/echo layout a b
expect_out "a b" "--entrypoint"
run "$hermit" oci run --rm --entrypoint '["/bin/echo", "x"]' layout
expect_out "x" "--entrypoint as JSON; the image's command goes with its entry point"
run "$hermit" oci run --entrypoint '' layout /bin/echo c
expect_out "c" "--entrypoint ''"
run "$hermit" oci run --entrypoint '' layout
expect 125 "--entrypoint '' and no command"
mkdir shared && echo host >shared/file
run "$hermit" oci run -v "$work/shared:/a:z" -v "$work/shared/file:/b:ro,Z" layout 'cat /a/file /b; echo x >/b'
expect_out "host
host" "-v with the labels of SELinux, which are nothing here"
run "$hermit" oci run -v "$work/shared:/data" -v "$work/shared/file:/etc/one:ro" layout 'cat /data/file; echo new >/data/made; echo x >/etc/one || cat /etc/one'
expect_out "host
host" "-v"
equal "new" "$(cat shared/made)" "-v: written for real"
run "$hermit" oci run --mount "type=tmpfs,target=/data/deep" layout 'echo x >/data/deep/x && ls /data/deep'
expect_out "x" "--mount"
for network in none local veth host; do
	run "$hermit" oci run -q --network=$network layout 'cat /proc/self/net/dev | grep -c :'
	cp out "net.$network"
done
equal "1 1 3" "$(cat net.none net.local net.veth | xargs)" "--network: loopback, and a pair"
equal "$(grep -c : /proc/net/dev)" "$(cat net.host)" "--network=host: its devices"
run "$hermit" oci run --network=bridge layout
ok "--network=bridge is refused" [ "$status" != 0 ]
run "$hermit" oci run --summary -e WORD=w --entrypoint /bin/echo layout z
expect_err_has '-e WORD=w|--env=WORD=w' "the command to run it again has the changes"
sed 's/"sha256:/"sha256:..\/..\//' layout/index.json >index.new && mkdir evil && cp -r layout/. evil/ && mv index.new evil/index.json
run "$hermit" oci run evil
expect 125 "a digest that is a path"
ls -d /var/tmp/hermit-image-?????? >before 2>/dev/null # of others
# An ordinary user, who is root inside, and sees what root sees, but for whose /proc and /sys are.
if ! command -v setpriv >/dev/null; then
	echo "an ordinary user left out: needs setpriv"
elif ! setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --mount true 2>user.err; then
	echo "an ordinary user left out: $(cat user.err)"
else
	chmod 755 "$work"
	mkdir user && cp "$hermit" user/hermit && chown -R 65534:65534 user || exit 99 # the tree may be its owner's alone
	chmod -R a+rX layout
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/user" XDG_CACHE_HOME="$work/user/cache" "$work/user/hermit" oci run)
	for i in 1 2 3; do
		run "${user[@]}" layout
		expect 4 "an ordinary user, run $i: exit status"
		ok "an ordinary user, run $i: output" cmp -s first out
	done
	run "${user[@]}" layout 'id; ls /etc; grep " /sys " /proc/mounts; cat /sys/class/net/lo/mtu'
	expect_out "uid=0(root) gid=0(root)
group
passwd
sysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0
65536" "an ordinary user: is root inside, with a /sys of its own"
	run "${user[@]}" --network=host layout 'ls /etc'
	ok "an ordinary user: the host's network, and its name servers" grep -q resolv.conf out
	run "${user[@]}" -u user layout true
	expect 125 "an ordinary user: another user"
	expect_err_has 'user 1000:1000 of the image: who is not root here has only root inside, where there are no numbers' "an ordinary user: another user"
	mkdir -m 777 theirs
	run "${user[@]}" -v "$work/theirs:/data" layout 'echo made >/data/file'
	equal "made 65534" "$(cat theirs/file) $(stat -c %u theirs/file)" "an ordinary user: -v"
	# with numbers of its own, in a list of this test's
	echo 65534:300000:65536 >numbers
	# shellcheck disable=SC2016 # the inner shell's
	many=(unshare --mount --propagation private sh -c 'mount --bind numbers /etc/subuid && mount --bind numbers /etc/subgid && exec "$@"' sh)
	if "${many[@]}" true 2>/dev/null && command -v newuidmap >/dev/null; then
		run "${many[@]}" "${user[@]}" layout
		expect 4 "an ordinary user with others: exit status"
		ok "an ordinary user with others: output" cmp -s first out
		run "${many[@]}" "${user[@]}" -u user layout 'id -u; id -g; id -G; echo $HOME; touch /etc/x 2>/dev/null || echo denied; exit 5'
		expect 5 "an ordinary user with others: another user: exit status"
		expect_out "1000
1000
1000 77
/home/user
denied" "an ordinary user with others: another user"
		equal 2 "$(find user/cache/hermit/images -mindepth 1 -maxdepth 1 | wc -l)" "an ordinary user: an image for each of both"
	else
		echo "other users of an ordinary one left out: needs newuidmap, and files /etc/subuid and /etc/subgid"
	fi
fi
run "$hermit" oci run layout 'echo x >/etc/new; stat -c %d /bin /bin/busybox /etc/new | uniq | wc -l'
expect_out 1 "one device number for the image and what is new"
if command -v skopeo >/dev/null; then
	skopeo copy --insecure-policy oci:layout:one docker-archive:archive.tar:busy:1 >skopeo.out 2>&1 || fail "skopeo: $(tail -1 skopeo.out)"
	run "$hermit" oci run archive.tar
	expect 4 "an archive of docker save"
	ok "an archive of docker save: output" cmp -s first out
	skopeo copy --insecure-policy oci:layout:one dir:flat >skopeo.out 2>&1 || fail "skopeo: $(tail -1 skopeo.out)"
	run "$hermit" oci run flat
	expect 4 "a directory of skopeo's"
	ok "a directory of skopeo's: output" cmp -s first out
	equal "" "$(ls -d /var/tmp/hermit-image-?????? 2>/dev/null | comm -13 before -)" "nothing temporary is left"
fi
finish
