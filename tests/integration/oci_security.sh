#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a container must not reach: descriptors and programs of the host, paths outside of its root, the supervisor and its listener.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
mkfifo in
exec 8<>in

# The attacks are on a copy of the runtime.
cp "$supervisor" "$work/runtime" || exit 99
printf '#!/bin/sh\nexec "%s" --root "%s" "$@"\n' "$work/runtime" "$state" >"$work/rt"
before=$(sha256sum <"$work/runtime")
unharmed()
{
	equal "$before" "$(sha256sum <"$work/runtime")" "$1: the runtime's program is as it was"
}

# ---- descriptors ----
exec 9</etc/passwd 19</
bundle fds 'ls -l /proc/self/fd /proc/1/fd; ls /proc/self/fd | wc -l'
run rt run --bundle fds fds
equal 4 "$(tail -1 out)" "descriptors: three, and that of ls"
ok "no listener is seen" sh -c '! grep -q -e seccomp -e anon_inode -e passwd out'
bundle fds 'read x'
rt create --bundle fds fds <in >fds.out 2>&1
rt start fds
run rt exec fds /bin/sh -c 'ls -l /proc/self/fd /proc/1/fd; ls /proc/self/fd | wc -l'
equal 4 "$(tail -1 out)" "exec: descriptors"
ok "exec: no listener is seen" sh -c '! grep -q -e seccomp -e anon_inode -e passwd out'
exec 9<&- 19<&-

# ---- the supervisor ----
run rt exec fds /bin/sh -c 'grep -l hermit /proc/[0-9]*/comm; grep -c hermit /proc/net/unix; ls /run/hermit-supervisor 2>/dev/null; grep -c "'"$state"'" /proc/self/mountinfo'
expect_out "0
0" "no process, socket, directory or mount of the supervisor is seen"
for attack in 'kill -9 -1' 'kill -9 0'; do
	run rt exec fds /bin/sh -c "$attack"
	ok "$attack: the supervisor lives" kill -0 "$(field fds .supervisor.pid)"
done
run rt delete --force fds

# ---- the runtime's own program through /proc/self/exe ----
for program in /proc/self/exe /exe; do
	[ -e rootfs/exe ] || ln -s /proc/self/exe rootfs/exe
	bundle self true ".process.args = [\"$program\", \"--version\"] | .root.readonly = false"
	run rt run --bundle self self
	unharmed "args $program"
done
bundle self 'for i in $(seq 300); do for p in /proc/[0-9]*; do if { echo x >$p/exe; } 2>/dev/null; then echo written $p; fi; done; done; read x' \
	'.annotations["org.hermit.off"] = "true" | .root.readonly = false'
for off in true false; do
	jq '.annotations["org.hermit.off"] = "'$off'"' self/config.json >self/new && mv self/new self/config.json
	rt create --bundle self self <in >self.out 2>&1
	rt start self
	for i in 1 2 3 4 5 6; do timeout "$(at_most 20)" "$work/rt" exec self /exe --version >/dev/null 2>&1; done
	unharmed "exec of /proc/self/exe while others write (off: $off)"
	ok "nobody could write (off: $off)" sh -c '! grep -q written self.out'
	run rt delete --force self
done

# ---- paths ----
echo secret >"$work/secret"
ln -sfn / rootfs/up
ln -sfn "$work" rootfs/out
bundle links 'true' '.root.readonly = false | .mounts += [{destination: "/out/planted", type: "tmpfs", source: "tmpfs"},
	{destination: "/up/tmp/planted-hermit-test", type: "tmpfs", source: "tmpfs"}]'
run rt run --bundle links links # what a link leads to is made, inside
ok "mounts through links stay inside" [ ! -e "$work/planted" ]
ok "mounts through links to / stay inside" [ ! -e /tmp/planted-hermit-test ]
# shellcheck disable=SC2016 # the container's shell
look='for up in .. ../.. ../../.. ../../../.. ../../../../.. ../../../../../..; do [ -e "$up'$work'/secret" ] && echo LEAK; done; echo looked'
for cwd in /out /up/tmp /proc/self/cwd /proc/self/root $(seq -f /proc/self/fd/%g 3 12) $(seq -f /proc/1/fd/%g 3 12); do
	bundle cwd "$look" ".process.cwd = \"$cwd\" | .root.readonly = false"
	run rt run --bundle cwd cwd
	ok "cwd $cwd leads nowhere outside" sh -c '! grep -q LEAK out'
done
bundle hold 'read x' '.root.readonly = false'
rt create --bundle hold hold <in >hold.out 2>&1
rt start hold
for cwd in /out $(seq -f /proc/self/fd/%g 3 12); do
	run rt exec --cwd "$cwd" hold /bin/sh -c "$look"
	ok "exec: cwd $cwd leads nowhere outside" sh -c '! grep -q LEAK out'
done
run rt delete --force hold
# a file that is a link where the runtime makes one
rm -rf rootfs/dev
ln -s "$work" rootfs/dev
bundle dev 'true' '.root.readonly = false | .mounts |= map(select(.destination | startswith("/dev") | not))'
run rt run --bundle dev dev
ok "devices are made inside" [ ! -e "$work/null" ]
rm rootfs/dev
mkdir rootfs/dev

# ---- masked and read-only paths ----
ln -sfn /etc rootfs/conf
bundle mask 'for f in /proc/kcore /proc/keys /conf/passwd /etc/passwd; do [ -s $f ] && echo seen $f; done; for f in /proc/sys/kernel/hostname /proc/sysrq-trigger /sys/kernel/uevent_helper; do (echo x >$f) 2>/dev/null && echo written $f; done; echo done' \
	'.linux.maskedPaths += ["/conf", "/no/such"]'
run rt run --bundle mask mask
expect_out done "masked and read-only paths, one through a link: what it leads to is masked under its own name, too"
mkdir fakedev && echo readable >fakedev/null
bundle fake 'cat /etc/passwd' '.mounts += [{destination: "/dev", type: "bind", source: "'"$work"'/fakedev", options: ["rbind"]}] | .linux.maskedPaths = ["/etc/passwd"]'
run rt run --bundle fake fake
expect 1 "a null device that is none hides nothing"
expect_err_has 'cannot mask /etc/passwd: /dev/null is not the null device' "a null device that is none"
# ---- privileges ----
bundle priv 'grep -E "^(CapBnd|CapEff|NoNewPrivs)" /proc/self/status | xargs; mount -t tmpfs t /tmp 2>/dev/null && echo mounted; unshare -m true 2>/dev/null && echo unshared; echo done'
run rt run --bundle priv priv
expect_out "CapEff: 0000000020000420 CapBnd: 0000000020000420 NoNewPrivs: 1
done" "capabilities, no_new_privs"

# ---- labels of security modules: said where there is no such module, applied, and its refusal said in runc's words, where there is ----
label='system_u:system_r:container_t:s0'
if [ ! -e /sys/kernel/security/apparmor ]; then
	bundle labelled 'echo ran' '.process.apparmorProfile = "some-profile"'
	run rt run --bundle labelled l
	expect_out ran "apparmorProfile without AppArmor"
	expect_err_has "process.apparmorProfile: AppArmor is not active here: 'some-profile' is not applied" "apparmorProfile without AppArmor"
	if [ -d /sys/kernel/security ] && [ "$(cat /proc/self/attr/current 2>&1)" != "" ] && ! cat /proc/self/attr/exec >/dev/null 2>&1; then
		# a directory that looks like it
		cat >pretend <<'END'
mount -t tmpfs none /sys/kernel/security && mkdir /sys/kernel/security/apparmor && exec "$@"
END
		for annotation in false true; do
			bundle labelled 'echo ran' ".process.apparmorProfile = \"some-profile\" | .annotations = {\"org.hermit.off\": \"$annotation\"}"
			run unshare -m --propagation private sh pretend rt run --bundle labelled l
			expect 1 "a profile that is refused (off: $annotation)"
			expect_out "" "a profile that is refused: nothing runs (off: $annotation)"
			expect_err_has "unable to apply apparmor profile: apparmor failed to apply profile: write /proc/self/attr/exec: 'exec some-profile': [Ii]nvalid argument" \
				"a profile that is refused (off: $annotation)"
		done
		equal "" "$(rt list -q)" "a profile that is refused: nothing is left"
	fi
	bundle plain 'read x'
	mkfifo label-in
	exec 7<>label-in
	rt run --detach --bundle plain l <label-in >/dev/null 2>&1
	run rt exec --apparmor some-profile l /bin/echo ran
	expect_out ran "exec --apparmor without AppArmor"
	expect_err_has "process.apparmorProfile: AppArmor is not active here: 'some-profile' is not applied" "exec --apparmor without AppArmor"
	rt delete --force l
fi
if [ ! -e /sys/fs/selinux/enforce ]; then
	bundle labelled 'echo ran' ".process.selinuxLabel = \"$label\" | .linux.mountLabel = \"$label\""
	run rt run --bundle labelled l
	expect_out ran "labels without SELinux"
	expect_err_has "process.selinuxLabel: SELinux is not active here: '$label' is not applied" "selinuxLabel without SELinux"
	expect_err_has "linux.mountLabel: SELinux is not active here: '$label' is not applied" "mountLabel without SELinux"
fi
finish
