#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An event log has the result of every call that is seen, and neither that nor copies of large files disturb the calls.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
outside=$(mktemp -d "${TMPDIR:-/var/tmp}/hermit-outside.XXXXXX") || exit 99
trap 'rm -rf "$work" "$outside"' EXIT
mkdir cwd && cd cwd || exit 99
cp "$top_builddir/tests/guests/every_call" . || exit 99

# All but those that end the program or begin another: these have events of their own.
"$hermit" syscalls --json >table
mapfile -t rows < <(jq -r '.[] | select(.class == "ORDER" or .class == "FIXUP" or .class == "EMULATE")
	| select(.name | IN("exit", "exit_group", "execve", "execveat") | not) | "\(.number) \(.name)"' table)
ok "there are many calls" [ "${#rows[@]}" -gt 200 ]
guest=(./every_call moving "${rows[@]%% *}")
for i in 1 2; do
	rm -f moving.*
	run "$hermit" run -q --log-events=log$i --report=report$i -- "${guest[@]}"
	expect 0 "every call, with a log"
done
rm -f moving.*
run "$hermit" run -q --report=report0 -- "${guest[@]}"
expect 0 "every call, without a log"
ok "logs of every call are equal byte for byte" cmp log1 log2
ok "a log changes neither turns nor virtual time nor calls" \
	[ "$(jq -cS 'del(.real_ns, .command)' report0)" = "$(jq -cS 'del(.real_ns, .command)' report1)" ]
jq -r 'select(.result != null) | .call' log1 | sort -u >with_result
printf '%s\n' "${rows[@]#* }" | grep -vE '^(fork|vfork)$' | sort >wanted
ok "each has a result: $(comm -23 wanted with_result | xargs)" [ -z "$(comm -23 wanted with_result)" ]
ok "and none is unknown" [ "$(jq -r 'select(.outcome == "left to the kernel") | .call' log1 | sort -u | xargs)" = "clone execve exit_group fork vfork" ]
ok "births follow the calls that make them" jq -es '[.[] | select(.call == "fork" or .call == "vfork")] | length == 4' log1

# What moves bytes has their number; and a hash where they are in the program's memory.
moved() { jq -r --arg call "$1" 'select(.call == $call and (.result // "" | test("^[1-9]"))) | .result' log1 | sort -u | xargs; }
for call in sendfile:200000 copy_file_range:200000 vmsplice:4096 tee:4096 splice:4096; do
	ok "${call%:*}: ${call#*:} bytes" [ "$(moved "${call%:*}")" = "${call#*:}" ]
done
bytes=$(jq -r 'select(.call == "write" and .result == "200000") | .in' log1 | uniq | xargs)
ok "the same bytes in a file and in a device have one hash" [ "$bytes" = "$(jq -r 'select(.call == "pread64" and .result == "200000") | .out' log1)" ]
ok "zeros read from a device are hashed" [ "$(jq -r 'select(.call == "read" and .result == "200000") | .out' log1)" = "$(head -c 200000 /dev/zero | sha256sum | cut -c 1-16)" ]
for call in sendfile copy_file_range; do
	ok "$call: the hash of what it moved" [ "$(jq -r --arg call $call 'select(.call == $call and .result == "200000") | .moved' log1)" = "${bytes%% *}" ]
done
vmsplice=$(jq -r 'select(.call == "vmsplice" and .result == "4096") | .in, .out' log1 | xargs)
read -r first _ _ last <<<"$vmsplice"
ok "bytes that came out of a pipe by vmsplice are those that went in" [ "$first" = "$last" ]

# Instructions that are answered in place of the processor, with their answers; those before main() are the loader's.
cp "$top_builddir/tests/guests/insn_all" . || exit 99
for i in 1 2; do
	run "$hermit" run -q --log-events=trap$i --report=report$i -- ./insn_all
	expect 0 "instructions"
done
cp ../out seen
run "$hermit" run -q --report=report0 -- ./insn_all
ok "the program sees the same without a log" cmp seen ../out
ok "logs with instructions are equal" cmp trap1 trap2
ok "a log changes neither turns nor virtual time of instructions" \
	[ "$(jq -cS 'del(.real_ns, .command)' report0)" = "$(jq -cS 'del(.real_ns, .command)' report1)" ]
answer() { jq -r --arg insn "$1" 'select(.kind == "trap" and .instruction == $insn) | .answer' trap1 | tail -n 1; }
ok "RDTSC: its answer" [ "$(answer rdtsc)" = "$(awk '$1 == "rdtsc" { print $2 }' seen)" ]
ok "RDTSCP: its answer" [ "$(answer rdtscp)" = "$(awk '$1 == "rdtscp" { print $2 }' seen)" ]
ok "RDRAND: its answer" [ "$(answer rdrand)" = "$(awk '/^rdrand r14/ { print $3 }' seen)" ]
ok "RDSEED: its answer" [ "$(answer rdseed)" = "$(awk '$1 == "rdseed64" { print $2 }' seen)" ]
ok "RDPID: its answer" [ "$(answer rdpid)" = "$(awk '$1 == "rdpid" { print $2 }' seen)" ]
ok "XGETBV: its answer" [ "$(answer xgetbv)" = "$((0x$(awk '$1 == "xgetbv" { print $2 }' seen)))" ]
ok "XBEGIN: its answer" [ "$(answer xbegin)" = 0 ]
ok "CPUID: its leaf and answer" jq -es --arg regs "$(awk '$2 == "b.1" { print $3, $4, $5, $6 }' seen)" \
	'any(.instruction == "cpuid" and .leaf == 11 and .subleaf == 1 and .answer == $regs)' trap1
ok "no subleaf where there are none" jq -es 'all(.leaf != 1 or .subleaf == null)' trap1

# A file that is changed for the first time is copied, which takes the kernel long enough for every kind of disturbance.
head -c 40000000 /dev/zero >"$outside/a"
cp "$outside/a" "$outside/b"
cat >change.sh <<'END'
echo end >>"$1/a"
chmod 600 "$1/b"
truncate -s 30000000 "$1/b"
stat -c %s "$1/a" "$1/b"
fallocate -l 100000000 "$1/c" && stat -c %s "$1/c"
END
for i in 0 1 2; do
	log=()
	[ $i = 0 ] || log=("--log-events=big$i")
	run "$hermit" run -q --report=report$i "${log[@]}" -- sh change.sh "$outside"
	expect 0 "large files are copied"
	expect_out '40000004
30000000
100000000' "large files are copied"
done
ok "the originals are as before" [ "$(stat -c %s "$outside/a" "$outside/b" | xargs)" = "40000000 40000000" ]
ok "logs of copies are equal" cmp big1 big2
ok "copies take the same turns with and without a log" \
	[ "$(jq -c '[.turns, .virtual_ns]' report0)" = "$(jq -c '[.turns, .virtual_ns]' report1)" ]
ok "no call was given up" [ "$(grep -c ERESTART big1)" = 0 ]
finish
