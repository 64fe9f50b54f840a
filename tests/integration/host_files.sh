#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files of the host's tree that say which machine it is (its name and ids, its zone and name servers, who was logged in) have fixed contents in a run.
# Shown on two machines that differ in all of them, each a mount namespace with directories of its own; natively they do differ.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
skip()
{
	printf 'skipped: %s\n' "$*"
	exit 77
}
for tool in hostname hostid getent setpriv; do command -v $tool >/dev/null || skip "needs $tool"; done
chmod 755 "$work"
cp "$hermit" hermit || exit 99 # where another user may execute it
as_root=()
[ "$(id -u)" = 0 ] || as_root=(-r)
unshare "${as_root[@]}" -mu true 2>/dev/null || skip "no mount namespace can be made here"
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

all=(/etc/hostname /etc/hosts /etc/machine-id /etc/hostid /etc/localtime /etc/timezone /etc/resolv.conf /var/lib/dbus/machine-id /run/utmp
	/var/log/wtmp /var/log/btmp /var/log/lastlog)
# machine N: the directories of a machine
machine()
{
	mkdir -p "m$1/run" "m$1/log" "m$1/dbus" "m$1/here"
	chmod 777 "m$1/here"
	cp -a /etc "m$1/etc" 2>/dev/null # less what this user may not read
	rm -f "m$1/etc/"{hostname,hosts,machine-id,hostid,localtime,timezone,resolv.conf}
	echo "machine$1" >"m$1/etc/hostname"
	printf '127.0.0.1 localhost\n10.0.0.%s machine%s.example machine%s\n127.0.0.1 shared other # both have it\n' "$1" "$1" "$1" >"m$1/etc/hosts"
	printf '%032d\n' "$1" >"m$1/etc/machine-id"
	printf 'id0%s' "$1" >"m$1/etc/hostid"
	echo "Area/Place$1" >"m$1/etc/timezone"
	printf 'TZif2%039d%s' 0 "$1" >"m$1/etc/localtime"
	echo "nameserver 10.0.0.$1" >"m$1/etc/resolv.conf"
	cp "m$1/etc/machine-id" m"$1"/dbus/machine-id
	for file in run/utmp log/wtmp log/btmp log/lastlog; do printf 'somebody%s' "$1" >"m$1/$file"; done
}
machine 1
machine 2
[ -d /var/lib/dbus ] || all=("${all[@]/\/var\/lib\/dbus\/machine-id//etc/machine-id}")

# on N COMMAND...: on that machine, in its directory "here"
cat >on <<END
#!/bin/sh
cd "$work/m\$1" && hostname "machine\$1" && mount --bind etc /etc && mount --bind run /run && mount --bind log /var/log || exit 99
[ ! -d /var/lib/dbus ] || mount --bind dbus /var/lib/dbus || exit 99
cd here && shift && exec "\$@"
END
on()
{
	timeout -s KILL "$(at_most 60)" unshare "${as_root[@]}" -mu sh "$work/on" "$@" </dev/null
}

# run_on N COMMAND...: as run does
run_on()
{
	run unshare "${as_root[@]}" -mu sh "$work/on" "$@"
}

look=$(cat <<END
for file in ${all[*]}; do echo "\$file \$(stat -c '%A %Y' "\$file")"; cat "\$file"; echo; done
uname -n; cat /proc/sys/kernel/hostname; hostname; hostid; getent hosts machine1 machine2 shared; date; date +%Z
END
)

on 1 cat "${all[@]}" >native1 && on 2 cat "${all[@]}" >native2
ok "natively the machines have all files" [ -s native1 ]
for file in "${all[@]}"; do
	checks=$((checks + 1))
	! cmp -s <(on 1 cat "$file") <(on 2 cat "$file") || fail "natively both have the same $file: the test shows nothing"
done

# alike WHAT OPTION...: all is the same on both machines.
alike()
{
	local what=$1
	shift
	on 1 "${prefix[@]}" "$work/hermit" run --hostname=box "$@" -- sh -c "$look" >out 2>err
	ok "$what: it ran" [ $? = 0 ]
	cp out alike1
	on 2 "${prefix[@]}" "$work/hermit" run --hostname=box "$@" -- sh -c "$look" >out 2>err
	checks=$((checks + 1))
	cmp alike1 out || fail "$what: the machines show"
	checks=$((checks + 1))
	! grep -E 'machine[12]|somebody|Place|10\.0\.0' out || fail "$what: the machine shows"
	ok "$what: its name" [ "$(grep -cx box out)" = 4 ] # /etc/hostname, and three that ask the kernel
}
prefix=()
alike "copy-on-write"
ok "the zone" grep -qx UTC alike1
ok "the zone's name" grep -qx Etc/UTC alike1
ok "names that are no machine's own" grep -q '^127.0.0.1 *shared other$' alike1
ok "its own name leads to itself" grep -q '^127.0.1.1	box$' alike1
ok "one id" [ "$(grep -cx 6865726d697440008000000000000001 alike1)" = 2 ]
alike "nothing is written for real" --fs=overlay
mkdir kept
alike "layers of its own, kept" --fs=overlay:"$work/kept"
alike "the whole tree is written for real" --fs=host
alike "a directory of it is" --writable=/etc
if [ ${#user[@]} != 0 ] && "${user[@]}" unshare -r true 2>/dev/null; then
	prefix=("${user[@]}")
	alike "an ordinary user"
	alike "an ordinary user, nothing is written for real" --fs=overlay
	prefix=()
fi
for n in 1 2; do
	on $n cat "${all[@]}" >after
	ok "machine $n has its own files yet" cmp after "native$n"
done

# The guest may change them, as all files, in its own layer.
# shellcheck disable=SC2016
change='set -e; echo new >/etc/new-name; mv /etc/new-name /etc/hostname; cat /etc/hostname; rm /etc/machine-id; ls /etc | grep -c "^machine-id" || :
	echo more >>/etc/hosts; tail -n 1 /etc/hosts; ln -sf /nowhere /etc/localtime; readlink /etc/localtime; : >/etc/machine-id; mv /etc/timezone /etc/zone; cat /etc/zone'
printf 'new\n0\nmore\n/nowhere\nEtc/UTC\n' >expected
run_on 1 "$hermit" run -- sh -c "$change"
expect 0 "changes"
ok "changes" cmp expected out
if [ ${#user[@]} != 0 ]; then
	run_on 1 "${user[@]}" "$work/hermit" run -- sh -c "$change"
	expect 0 "changes by an ordinary user"
	ok "changes by an ordinary user" cmp expected out
fi
run_on 1 "$hermit" run --fs=host -- sh -c 'echo gone >/etc/hostname; echo gone >/etc/timezone; cat /etc/hostname /etc/timezone'
expect_out "$(printf 'gone\ngone')" "where all is written for real, they are not"
mkdir layers
run_on 1 "$hermit" run --fs=overlay:"$work/layers" -- sh -c 'touch /etc/mine; rm /etc/timezone'
run_on 1 "$hermit" run --fs=overlay:"$work/layers" -- sh -c 'ls /etc/mine /etc/timezone; cat /etc/hostname'
expect_out "$(printf '/etc/mine\nhermit')" "kept layers once more"
ok "kept layers have what was changed only" [ "$(find layers/upper \( -name mine -o -name timezone -o -name hostname -o -name machine-id \) -printf '%f\n' | sort | tr '\n' ' ')" = "mine timezone " ]
on 1 cat "${all[@]}" >after
ok "machine 1 has its own files yet, after changes" cmp after native1
run_on 1 "$hermit" run --verify -- sh -c 'cat /etc/hostname; touch /etc/mine'
expect 0 "--verify"
expect_out hermit "--verify: the name"
ok "--verify: one changed file" grep -q '/etc/mine' err
checks=$((checks + 1))
! grep -E 'hostname|machine-id|localtime' err || fail "--verify: files that nobody has changed"

# What the caller says is stronger.
echo mine >m1/here/name
run_on 1 "$hermit" run --bind="$work/m1/here/name:/etc/hostname" --network=host -q -- sh -c 'cat /etc/hostname; cat /etc/resolv.conf'
expect_out "$(printf 'mine\nnameserver 10.0.0.1')" "--bind, and --network=host: its name servers"
run_on 1 "$hermit" run --writable=/etc/timezone -- sh -c 'cat /etc/timezone; echo Else/Where >/etc/timezone'
expect_out "Area/Place1" "--writable of one"
ok "--writable of one: written" grep -qx Else/Where m1/etc/timezone
# What a machine has not got, a run has not got, and a link of the way is none of ours.
rm m2/etc/machine-id m2/etc/timezone
run_on 2 "$hermit" run -- sh -c 'ls /etc/machine-id /etc/timezone; cat /etc/hostname'
expect_out hermit "files that are not there"
finish
