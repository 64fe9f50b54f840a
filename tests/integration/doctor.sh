#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit doctor: what works here is found to work, what is taken away is found missing and named, by run too.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
forbid=$top_builddir/tests/integration/forbid

# result NAME: what the report in $work/out says about a probe.
result()
{
	python3 -c 'import json, sys; print([f["result"] for f in json.load(open("out"))["findings"] if f["name"] == sys.argv[1]][0])' "$1"
}

run "$hermit" doctor
expect 0 "a run is possible here, or this test suite could not run"
ok "the report says so" grep -qx 'A run is possible on this host.' out
run "$hermit" doctor --json
expect 0 "as JSON"
ok "a document with all probes" python3 -c '
import json
d = json.load(open("out"))
assert d["possible"] is True and len(d["findings"]) >= 18, d
for f in d["findings"]:
    assert f["result"] in ("works", "partly", "missing"), f
    assert f["result"] in ("works", "partly") or not f["required"], f'
run "$hermit" doctor surplus
expect 125 "an argument"

# What each probe is called in the manual.
sed -n '/^The probes are:/,/^\.Sh/s/^\.It Li \(.*\)/\1/p' "$top_srcdir/man/hermit-doctor.1" | tr -d ',' | xargs -n 1 | sort >page
"$hermit" doctor --json | sed -n 's/.*"name": "\(.*\)",/\1/p' | sort >names
ok "hermit-doctor(1) names all probes" cmp page names

# Where ptrace is forbidden a leak checker of the build cannot work.
plain=(env ASAN_OPTIONS=detect_leaks=0)

# taken CALL PROBE WORDS: without the call the probe fails, a run is not possible, and both say why.
taken()
{
	run "${plain[@]}" "$forbid" "$1" "$hermit" doctor --json
	expect 1 "without $1 there is no run"
	ok "without $1: $2 is missing" [ "$(result "$2")" = missing ]
	run "${plain[@]}" "$forbid" "$1" "$hermit" run true
	expect 125 "run without $1"
	expect_err_has "^hermit: missing: $3.*Operation not permitted" "run without $1 says what is missing"
	run "${plain[@]}" "$forbid" "$1" "$hermit" doctor
	ok "doctor without $1 ends with what is missing" grep -qx "  $2: $3" out
}

taken seccomp listener "seccomp user notification"
taken ptrace ptrace "seizing a process"
taken pidfd_getfd pidfd-getfd "borrowing descriptors"

# Whether RDTSC and CPUID trap is found out by trying, not by what the kernel says of itself; runs take the other way then.
meaning()
{
	python3 -c 'import json, sys; print([f["meaning"] for f in json.load(open("out"))["findings"] if f["name"] == sys.argv[1]][0])' "$1"
}

# traps CALL PROBE RESULT MEANING
traps()
{
	run "$forbid" "$1" "$hermit" doctor --json
	expect 0 "$1: a run is possible all the same"
	ok "$1: $2 is '$(result "$2")'" [ "$(result "$2")" = "$3" ]
	ok "$1: it says what that means: '$(meaning "$2")'" [ "$(meaning "$2")" = "$4" ]
	run "$forbid" "$1" "$hermit" doctor
	ok "$1: in words" grep -qx "         $4" out
}

traps tsc tsc-trap missing "RDTSC is replaced where code is mapped; code made at run time is not under control"
traps tsc-lies tsc-trap partly \
	"the kernel says that RDTSC traps, but it does not: it is replaced where code is mapped; code made at run time is not under control"
traps cpuid cpuid-trap missing "CPUID is replaced where code is mapped; code made at run time sees this processor"
traps cpuid-lies cpuid-trap partly "the kernel says that CPUID traps, but it does not: it is replaced where code is mapped"
for call in tsc tsc-lies; do
	run "$forbid" "$call" "$hermit" run --tsc=fault -- true
	expect 125 "$call: --tsc=fault"
	expect_err_has "^hermit: --tsc=fault: RDTSC cannot be made to fault" "$call: --tsc=fault"
	run "$forbid" "$call" "$hermit" run --report=report.json -- true
	expect 0 "$call: run"
	ok "$call: the report says how" grep -q '"tsc": "replaced"' report.json
done
run "$hermit" doctor --json
if [ "$(result tsc-trap)" = works ]; then
	ok "tsc-trap: it says what that means" [ "$(meaning tsc-trap)" = "the processor's clock is under control wherever it is read" ]
	run "$hermit" run --report=report.json -- true
	ok "tsc-trap: a run makes use of it" grep -q '"tsc": "faults"' report.json
	run "$hermit" run --tsc=fault -- true
	expect 0 "tsc-trap: --tsc=fault"
fi

# No user namespaces for an ordinary user.
user=
[ "$(id -u)" = 0 ] && user="setpriv --reuid 65534 --regid 65534 --clear-groups"
# Neither the tree nor its programs need be readable for everybody.
chmod 755 "$work"
cp "$hermit" "$forbid" "$work" || exit 99
hermit=$work/hermit forbid=$work/$(basename "$forbid")
run $user "$forbid" unshare "$hermit" doctor --json
expect 1 "an ordinary user without user namespaces"
ok "user-namespaces is missing" [ "$(result user-namespaces)" = missing ]
run $user "$forbid" unshare "$hermit" run true
expect 125 "run of an ordinary user without user namespaces"
expect_err_has "user namespace" "it says what is missing"
finish
