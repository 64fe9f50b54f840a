#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit-supervisor --config: an OCI bundle in the foreground.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
supervisor=$top_builddir/hermit-supervisor

# bundle DIR SCRIPT [ANNOTATIONS]: a root that shows the host's programs.
bundle()
{
	local mounts='' dir
	mkdir -p "$1/rootfs"
	for dir in /usr /bin /lib /lib64; do
		[ -e $dir ] || continue
		mounts="$mounts{\"destination\":\"$dir\",\"type\":\"bind\",\"source\":\"$dir\",\"options\":[\"rbind\",\"ro\"]},"
	done
	cat >"$1/config.json" <<-END
	{ "ociVersion": "1.0.2", "hostname": "box", "root": { "path": "rootfs" },
	  "process": { "cwd": "/", "user": { "uid": 0, "gid": 0 }, "env": [ "PATH=/usr/bin:/bin", "WORD=said" ],
	    "args": [ "/bin/sh", "-c", "$2" ] },
	  "mounts": [ $mounts { "destination": "/proc", "type": "proc", "source": "proc" } ],
	  "linux": { "namespaces": [ { "type": "pid" }, { "type": "mount" }, { "type": "uts" }, { "type": "ipc" },
	    { "type": "network" } ] },
	  "annotations": { ${3:-} } }
	END
}

bundle one 'echo $WORD $$; uname -n; date -u +%Y-%m; pwd; exit 5'
run "$supervisor" --config one/config.json
expect 5 "exit status of process 1"
expect_out "said 1
box
2026-01
/" "environment, process number, host name, time, directory"
run "$supervisor" --bundle one
expect 5 "config.json of a bundle"
run "$supervisor" --bundle=one name-of-a-container
expect 5 "with a name"
run "$supervisor" --bundle=one two names
expect 125 "with two names"

mkdir cache
XDG_CACHE_HOME=$work/cache run "$supervisor" --bundle one
checks=$((checks + 1))
[ -n "$(find cache/hermit -name '*.insn')" ] || fail "what was found in programs is not kept"

bundle two 'date -u +%Y; kill -TERM $$; echo lives; kill -KILL $$; echo too' \
	'"org.hermit.epoch": "2001-01-01T00:00:00Z", "org.hermit.log": "error", "org.example": "x", "org.hermit.unknown": "y"'
run "$supervisor" --bundle two
expect_out "2001
lives
too" "annotations; process 1 is immune against signals of its own that it does not handle"
run "$supervisor" --bundle two --epoch=1999-06-01T00:00:00Z
expect_out "1999
lives
too" "the command line is stronger than annotations"

bundle three true '"org.hermit.seed": "many"'
run "$supervisor" --bundle three
expect 125 "a bad annotation"
expect_err "hermit-supervisor: annotations.org.hermit.seed: --seed: 'many' is not a number" "a bad annotation is named"
run "$supervisor" --config nowhere/config.json
expect 125 "no document"
expect_err_has "nowhere" "no document is explained"
echo '{ "ociVersion": 1 }' >one/config.json
run "$supervisor" --bundle one
expect 125 "a bad document"
expect_err_has "config.json:1:[0-9]+: ociVersion: expected string" "a bad document is explained"
bundle four /bin/true
sed -i 's|"/bin/sh", "-c", "/bin/true"|"/no/such/program"|' four/config.json
run "$supervisor" --bundle four
expect 127 "no such program in the bundle"

# What hermit run offers for evidence. Every run of a verification begins with the root as it is.
bundle five 'word=first; [ ! -e /made ] || word=again; echo $word >/made; cat /made; exit 4'
run "$supervisor" --bundle five --verify=3 --verify-json=verdict.json
expect 4 "--verify of a bundle"
expect_out first "--verify of a bundle"
expect_err_has '^verified: 3 runs are equal: exit status 4, [0-9]+ events, 1 changed file$' "--verify of a bundle"
ok "--verify of a bundle writes nothing for real" [ ! -e five/rootfs/made ]
run "$supervisor" --bundle five --seed=7 --log-events=one.log --report=report.json --summary
expect 4 "report, summary and log"
expect_out first "report, summary and log"
expect_err_has '^summary: exited, exit status 4$' "--summary of a bundle"
ok "without --verify it is written for real" [ -e five/rootfs/made ]
again=$(jq -r .command report.json)
ok "the report says how the bundle is run again" [ "$(echo "$again" | cut -d ' ' -f 1-4)" = \
	"hermit-supervisor --config=$PWD/five/config.json --bundle=$PWD/five --seed=7" ]
rm five/rootfs/made
run "$supervisor" --bundle five --seed=7 --log-events=two.log
run "$hermit" log-diff one.log two.log
expect 0 "the same log again"
run "$supervisor" --bundle five --stop-at-turn=3
expect 118 "--stop-at-turn of a bundle"
# What is bound is as it was for each run, under all of its names, and nothing is written for real.
mkdir shared && echo 0 >shared/count && echo 0 >single
jq --arg at "$PWD" '.process.args[-1] = "echo $(($(cat /mnt/count) + 1)) >/mnt/count; echo $(($(cat /mnt/one) + 1)) >/mnt/one; cat /other/count /mnt/one; echo no >/read/x || ls /read" |
	.mounts += [{ destination: "/mnt", type: "bind", source: ($at + "/shared"), options: ["rbind", "rw"] },
	{ destination: "/other", type: "bind", source: ($at + "/shared"), options: ["bind"] }, { destination: "/mnt/one", type: "bind", source: ($at + "/single"), options: ["bind"] },
	{ destination: "/read", type: "bind", source: ($at + "/shared"), options: ["bind", "ro"] }]' five/config.json >changed && cp five/config.json plain && mv changed five/config.json
run "$supervisor" --bundle five --verify
expect 0 "--verify of a bundle that binds files of the host"
expect_out "1
1
count
one" "--verify of a bundle that binds files of the host"
ok "--verify: nothing of what is bound is written for real" [ "$(cat shared/count single)" = "0
0" ]
cp plain five/config.json
# One that has another mount below it stays the host's, each of its names with as much as it is asked for.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir -p below/mount
	jq --arg at "$PWD/below" '.process.args[-1] = "ls /without/mount; cat /with/mount/file" |
		.mounts += [{ destination: "/without", type: "bind", source: $at, options: ["bind"] },
		{ destination: "/with", type: "bind", source: $at, options: ["rbind"] }]' plain >five/config.json
	# shellcheck disable=SC2016 # of the inner shell
	run unshare -m --propagation private sh -c 'mount -t tmpfs x below/mount && echo mounted >below/mount/file && exec "$0" --bundle five --verify' "$supervisor"
	expect 0 "--verify of a bundle with a bind that has a mount below"
	expect_out mounted "--verify of a bundle with a bind that has a mount below"
fi
mv plain five/config.json
# Sources within each other stay the host's: what one run writes there the next one finds, and that is named.
jq --arg at "$PWD/shared" '.process.args[-1] = "echo $(($(cat /mnt/count) + 1)) >/mnt/count; cat /mnt/count" |
	.mounts += [{ destination: "/mnt", type: "bind", source: $at, options: ["rbind", "rw"] },
	{ destination: "/mnt/count", type: "bind", source: ($at + "/count"), options: ["bind"] }]' five/config.json >five/changed && mv five/changed five/config.json
run "$supervisor" --bundle five --verify --verify-json=verdict.json
expect 123 "--verify of a bundle that binds a directory of the host"
expect_err_has "^  starting points: $PWD/shared/count has changed on the host while the runs went on" "--verify: what has changed on the host"
ok "--verify: what has changed on the host, in JSON" [ "$(jq -r .difference.changed_on_host verdict.json)" = "$PWD/shared/count" ]
run "$supervisor" --bundle five --verify=1
expect 125 "a verification of one run"

bundle six true '"org.hermit.log-events": "/somewhere"'
run "$supervisor" --bundle six
expect 125 "a file of the host by annotation"
expect_err_has "annotations.org.hermit.log-events: .*names a file of the host" "a file of the host by annotation"
bundle six true '"org.hermit.verify": "2"'
run "$supervisor" --bundle six
expect 125 "an option of the command line by annotation"

# Without a network namespace of its own: never silent.
bundle seven true
jq 'del(.linux.namespaces[] | select(.type == "network"))' seven/config.json >seven/changed && mv seven/changed seven/config.json
run "$supervisor" --bundle seven
expect 0 "a bundle in the host's network"
expect_err "hermit-supervisor: uncontrolled: network: the host's" "a bundle in the host's network"
run "$supervisor" --bundle seven --strict
expect 122 "a bundle in the host's network under --strict"
# An ordinary user's devices are binds: their mount points stay in the root file system, and are there in the next run.
as=
bundle again 'test -c /dev/null && exit 5'
if [ "$(id -u)" = 0 ]; then
	as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	chmod 755 "$work"
	chown -R 65534:65534 again
	cp "$supervisor" "$work" || exit 99 # the tree need not be readable for everybody
	supervisor=$work/hermit-supervisor
fi
for turn in first second; do
	# shellcheck disable=SC2086 # a command or nothing
	run $as "$supervisor" --bundle=again
	expect 5 "an ordinary user's bundle, $turn time"
done
# One that spec --rootless has made maps its user, alone, with no entry of /etc/subuid, whichever way it runs.
if [ -z "$as" ]; then
	echo "an ordinary user's own numbers left out: needs root"
	finish
fi
# shellcheck disable=SC2016,SC2206 # the inner shell's; words
no_numbers=(unshare --mount --propagation private sh -c 'mount --bind /dev/null /etc/subuid; exec "$@"' sh $as)
bundle alone 'id -u; id -g; cut -d. -f1 /proc/uptime; exit 6'
mkdir spec && chown -R 65534:65534 spec alone
# shellcheck disable=SC2086 # words
$as "$supervisor" spec --rootless --bundle spec || fail "spec --rootless"
jq --slurpfile spec spec/config.json '.linux = $spec[0].linux | .linux.namespaces += [{type: "network"}]
	| del(.linux.resources, .linux.seccomp) | .linux.namespaces |= unique' alone/config.json >changed && cat changed >alone/config.json
run "${no_numbers[@]}" "$supervisor" --bundle=alone
expect 6 "a rootless bundle: --bundle"
cp out alone.out
expect_out "0
0
120" "a rootless bundle: --bundle"
run "${no_numbers[@]}" "$supervisor" --config=alone/config.json
expect 6 "a rootless bundle: --config"
run "${no_numbers[@]}" "$supervisor" --bundle=alone --verify
expect 6 "a rootless bundle: --verify"

# Without XDG_RUNTIME_DIR the state is in /tmp, for each user in a directory of its own.
mkdir -m 1777 tmp
cp "$supervisor" tmp/supervisor && cp -a alone tmp/alone || exit 99
# their UID COMMAND...: with this test's own /tmp
cat >their <<'END'
#!/bin/sh
uid=$1
shift
mount --bind tmp /tmp
mount --bind /dev/null /etc/subuid
cd /
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups env -u XDG_RUNTIME_DIR /tmp/supervisor "$@"
END
their=(unshare --mount --propagation private sh ./their)
sed 's/65534/65533/' alone/config.json >tmp/other.json
cp -a tmp/alone tmp/other && cat tmp/other.json >tmp/other/config.json && chown -R 65533:65533 tmp/other
run "${their[@]}" 65534 run --bundle=/tmp/alone one
expect 6 "state in /tmp: the first user"
run "${their[@]}" 65533 run --bundle=/tmp/other one
expect 6 "state in /tmp: the second user"
ok "state in /tmp: of each user" [ "$(stat -c '%u %a' tmp/hermit-supervisor-65534 tmp/hermit-supervisor-65533 | xargs)" = "65534 700 65533 700" ]
run "${their[@]}" 65533 list -q
expect_out "" "state in /tmp: list"
# refused WHAT: for list, and for what makes the directory
refused()
{
	run "${their[@]}" 65533 list
	expect 1 "state in /tmp, $1: list"
	expect_err_has "/tmp/hermit-supervisor-65533 is $1; set XDG_RUNTIME_DIR, or say --root=DIR" "state in /tmp, $1: list"
	run "${their[@]}" 65533 run --bundle=/tmp/other one
	ok "state in /tmp, $1: run" [ "$status" != 6 ]
	expect_err_has "/tmp/hermit-supervisor-65533 is $1; " "state in /tmp, $1: run"
}
chmod 777 tmp/hermit-supervisor-65533
refused "writable by others"
chmod 700 tmp/hermit-supervisor-65533 && chown 65534 tmp/hermit-supervisor-65533
refused "another user's"
mkdir -m 700 tmp/elsewhere && chown 65533 tmp/elsewhere && rmdir tmp/hermit-supervisor-65533 && ln -s elsewhere tmp/hermit-supervisor-65533
refused "no directory"
finish
