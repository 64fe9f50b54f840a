#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Instructions that show the host, in runs: each kind, in each way that code comes into a program, gives the same in each run, half of them
# beside busy loops, whether it is replaced or made to fault by the processor. HERMIT_INSN_RUNS says how often each is run (4).
# shellcheck source=tests/integration/lib.sh
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
# shellcheck source=tests/support/load.sh
. "$top_srcdir/tests/support/load.sh"
runs=${HERMIT_INSN_RUNS:-4}
guests=$top_srcdir/tests/guests
CC=${CC##ccache } # the guests are small

build()
{
	local name=$1 source=$2
	shift 2
	$CC -O2 -o "$name" "$guests/$source" "$@" 2> cc.err || { fail "$name does not build"; cat cc.err; }
}
build all insn_all.c
build all-static insn_all.c -static
build table insn_table.c
build table-static insn_table.c -static
build lookalike insn_lookalike.c
build lookalike-fixed insn_lookalike.c -fno-pie -no-pie
build border insn_border.c
build border-static insn_border.c -static
build hot insn_hot.c
build mapped insn_mapped.c
build signals insn_signals.c -O0
build places insn_places.c -pthread
build libinsn.so insn_lib.c -shared -fPIC
build dlopen insn_dlopen.c
build shared insn_shared.c -L. -linsn -Wl,-rpath,"$work"
build liball.so insn_all.c -Dmain=insn_all_main -shared -fPIC
build all-shared insn_host.c -DLINKED -L. -lall -Wl,-rpath,"$work"
build all-dlopen insn_host.c
# Its text ends shortly behind the beginning of a page.
build_linker()
{
	build linker.so insn_linker.c "-DROOM=$1" -fno-stack-protector -shared -nostdlib -fPIC -Wl,-e,start -Wl,-z,separate-code
}
build_linker 0
size=$(readelf -lW linker.so | awk '$1 == "LOAD" && / R E / { print $5 }')
build_linker $((4096 - size % 4096 + 64))
build linked insn_hot.c -Wl,--dynamic-linker,"$work/linker.so"

# Does the processor help here?
ways=replace
run "$hermit" run --tsc=fault -- true
if [ "$status" = 0 ]; then
	ways="replace fault"
else
	expect 125 "--tsc=fault where it does not work"
	expect_err_has '^hermit: --tsc=fault: RDTSC cannot be made to fault on this host' "--tsc=fault where it does not work"
fi
echo "ways: $ways"

# same OPTIONS COMMAND: output, status and events are the same in each run.
same()
{
	local n
	for n in $(seq 1 "$runs"); do
		progress "$n" "$runs" "$1 $2"
		[ "$n" -le $((runs / 2)) ] || start_load
		# shellcheck disable=SC2086 # options and a command
		run "$hermit" run --log-events=events.$n $1 -- $2
		cat out err > "result.$n"
		echo "status $status" >> "result.$n"
		checks=$((checks + 1))
		cmp -s result.1 "result.$n" || { cp "result.$n" out; fail "$1 $2: run $n gives something else"; }
		cmp -s events.1 "events.$n" || { "$hermit" log-diff events.1 "events.$n" > out; fail "$1 $2: run $n goes another way"; }
	done
	stop_load
	expect 0 "$1 $2"
}

for command in ./all ./all-static ./all-shared "./all-dlopen $work/liball.so" ./shared "./dlopen $work/libinsn.so" "./hot 3000" "./mapped private" "./mapped moved" "./mapped copied"; do
	for way in $ways; do
		same --tsc="$way" "$command"
		cp result.1 "$way.result"
	done
	checks=$((checks + 1))
	cmp -s replace.result "${way}.result" || { cp "${way}.result" out; fail "$command: it matters how RDTSC is put under control"; }
done
for command in ./all ./all-static ./all-shared "./all-dlopen $work/liball.so"; do
	# shellcheck disable=SC2086 # a command and an argument
	run "$hermit" run -- $command
	! grep -q sigill out || fail "$command: an instruction that this processor does not have, or that was replaced and not known again"
	grep -q '^xbegin aborted$' out || fail "$command: a transaction has begun"
	grep -q '^rdpid 0$' out || fail "$command: RDPID"
	[ "$(grep -c '^rdrand.*carry 1$\|^rdseed.*carry 1$' out)" = 6 ] || fail "$command: RDRAND and RDSEED set the carry"
done
run "$hermit" run --seed=7 -- ./all
cp out seven
run "$hermit" run --seed=8 -- ./all
ok "random numbers are the seed's" test "$(grep '^rd[rs]' seven)" != "$(grep '^rd[rs]' out)"
ok "time is not" test "$(grep '^rdtsc ' seven)" = "$(grep '^rdtsc ' out)"

# The controls: the same programs vary, natively and when the instructions are left alone.
for control in "" "$hermit run --keep-instructions --"; do
	for n in 1 2; do
		# shellcheck disable=SC2086
		$control ./all
	done | grep '^rdtsc ' | sort -u > native
	[ "$(wc -l < native)" = 2 ] || fail "'$control' gives the same each time: these tests show nothing"
done

# What a dynamic linker asks is answered without a trap, where something can be moved for a jump: by the same answers, and all else is as the
# instruction leaves it, also where the code is stepped through. Only those that nothing can be moved for trap, and what the table does not have.
jumps=$(printf 'text 233 233 233 204\n%.0s' 1 2 3)
for options in "" --cpu=baseline "--chaos --preempt=steps --seed=3" "--chaos --preempt=functions"; do
	same "$options" ./linked
	expect_out "compared 690, different 0
passed 400 400 400
$jumps" "answers in the linker, $options"
done
run "$hermit" run --log-events=events.1 -- ./linked
for row in rdtsc:20 xgetbv:20; do
	[ "$("$hermit" log-print events.1 | grep -c "instruction=${row%:*}")" = "${row#*:}" ] || fail "${row%:*} in the linker: not one trap of four"
done
traps=$("$hermit" log-print events.1 | grep -c instruction=cpuid)
{ [ "$traps" -ge 652 ] && [ "$traps" -lt 2500 ]; } || fail "CPUID in the linker: $traps traps"
run ./linked
grep -q '^compared 690, different 0$' out || fail "answers in the linker: it is not so natively"
[ "$(grep -c '^text 15 15 [0-9]* 15$' out)" = 3 ] || fail "the text is another one natively"
! grep -q '^passed 400 400 400$' out || fail "time does not vary natively"

# Data that looks like an instruction stays; functions with jump tables and instructions across pages do what they do; faults and signals of
# the program's own are its own, and blocking or ignoring them does not keep it from an answer.
for program in signals table table-static lookalike lookalike-fixed border border-static; do
	run ./$program
	cp out native
	for way in auto $ways; do
		run "$hermit" run --tsc="$way" -- ./$program
		expect 0 "$program, $way"
		# a SIGSEGV that was blocked is not any more when RDTSC has faulted: see hermit-run(1)
		[ "$way" != fault ] || sed -i 's/^signal 11: .*/signal 11: blocked, handled/' out
		cmp -s native out || fail "$program, $way: not as natively"
	done
done

# Places to count at that begin with such an instruction: one breakpoint is both. Functions are come to in the order that is asked for, and
# neither a look nor a place is lost.
# first FILE THREAD THREAD: the first one's third look comes before the other one's first.
first()
{
	printf '{ "anchors": [ { "name": "x", "thread": %d, "function": "begins_with_rdtsc", "nth": 3 },
		{ "name": "y", "thread": %d, "function": "begins_with_rdtsc" } ], "edges": [ { "before": "x", "after": "y" } ] }\n' "$2" "$3" >"$1"
}
first a.order 0 1
first b.order 1 0
everything="a: 120 looks, 40 leaves
b: 120 looks, 40 leaves"
for seed in 1 2 3 4; do
	for who in a b; do
		for n in 1 2; do
			run "$hermit" run --chaos --preempt=functions --seed=$seed --happens-before=$who.order --log-events=events.$n --report=report.json -- ./places
			expect 0 "places, seed $seed, $who first"
			[ "$(head -n 2 out)" = "$everything" ] || fail "places, seed $seed, $who first: a look is missing"
			[ "$(tail -n 1 out | cut -c 1-2)" = $who$who ] || fail "places, seed $seed: $who is not first"
			cp out "result.$n"
		done
		cmp -s result.1 result.2 || fail "places, seed $seed, $who first: not the same"
		cmp -s events.1 events.2 || fail "places, seed $seed, $who first: goes another way"
		# two threads with 40 times 4 looks and one leaf, beside those of the dynamic linker
		python3 -c '
import json
r = json.load(open("report.json"))
assert r["instructions"]["carried_out"]["rdtsc"] >= 320 and r["instructions"]["carried_out"]["cpuid"] >= 80 and r["preemption"]["places_passed"] > 0' ||
			fail "places, seed $seed, $who first: counts"
	done
	for options in --preempt=steps --preempt=syscalls; do
		for n in 1 2; do
			run "$hermit" run --chaos $options --seed=$seed --log-events=events.$n -- ./places pending
			expect 0 "places, seed $seed, $options, a SIGTRAP that is pending"
			[ "$(head -n 3 out)" = "pending: one
$everything" ] || fail "places, seed $seed, $options: a SIGTRAP that is pending"
		done
		cmp -s events.1 events.2 || fail "places, seed $seed, $options: goes another way"
	done
	run "$hermit" run --chaos --preempt=steps --seed=$seed -- ./places
	[ "$(head -n 2 out)" = "$everything" ] || fail "places, seed $seed: a look is missing where it is stepped to"
	tail -n 1 out >> orders
done
[ "$(sort -u orders | wc -l)" -gt 1 ] || fail "places: one order for all seeds, so they show nothing"

# Each look at the counter in a hot loop is a look of virtual time.
run "$hermit" run -- ./hot 3000
grep -q '^rounds 3000 went back 0 ' out || fail "the counter goes back"

# What no run can replace: said, or under control by the processor.
for kind in generated shared; do
	run "$hermit" run --tsc=replace --summary --report=report.json -- ./mapped $kind
	expect 0 "$kind code"
	case $kind in
	generated) expect_err_has 'not covered   RDTSC, CPUID, RDRAND and their like in code made at run time' "generated code" ;;
	shared) expect_err_has 'uncontrolled: instructions that show the host: code that cannot be changed' "shared text" ;;
	esac
	grep -q '"tsc": "replaced"' report.json || fail "the report does not say how"
	case $ways in
	*fault*)
		same --tsc=fault "./mapped $kind"
		! grep -q uncontrolled err || fail "$kind code: uncontrolled, although the processor helps"
		run "$hermit" run --report=report.json -- ./mapped $kind
		cmp -s result.1 <(cat out err; echo "status $status") || fail "$kind code: another answer when RDTSC is replaced, too"
		grep -q '"tsc": "faults"' report.json || fail "the processor helps, and is not asked to"
		;;
	esac
done
run "$hermit" run --tsc=replace --strict -- ./mapped shared
expect 122 "shared text, --strict"

# Levels of processors: what CPUID says, /proc/cpuinfo says.
run "$hermit" run --cpu=baseline -- ./all
grep -q '^cpuid 7.0 00000000 00000000 00000000 00000000$' out || fail "--cpu=baseline: leaf 7"
run "$hermit" run --cpu=baseline -- grep -c -E 'avx|rdrand' /proc/cpuinfo
expect_out 0 "--cpu=baseline: /proc/cpuinfo"
run "$hermit" run -- grep -c -E 'rdrand|rdseed|rtm' /proc/cpuinfo
expect_out 0 "instructions that are hidden"

# Real programs.
if command -v openssl > /dev/null; then
	openssl dgst -sha256 "$guests/insn_all.c" > native
	run "$hermit" run --tsc=replace -- openssl dgst -sha256 "$guests/insn_all.c"
	cmp -s native out || fail "openssl dgst: not as natively"
	for way in $ways; do
		same --tsc="$way" "openssl rand -hex 32"
	done
fi
if command -v c++ > /dev/null; then
	cat > device.cc << 'END'
#include <cstdio>
#include <random>
int main()
{
	std::random_device device;
	std::printf("%08x %08x\n", device(), device());
}
END
	c++ -O1 -o device device.cc || fail "device.cc does not build"
	same --tsc=replace ./device
	[ "$(./device)" != "$(./device)" ] || fail "std::random_device gives the same natively"
fi
for java in /usr/lib/jvm/*/bin/java; do
	[ -x "$java" ] || continue
	mkdir java # it looks through the directory it is in
	cp "$top_srcdir/tests/same/Hello.java" java
	for way in $ways; do
		run "$hermit" run --workdir="$work/java" --tsc="$way" -- "$java" -Xint Hello.java
		expect 0 "java, $way"
		cp out "java.$way"
	done
	cmp -s java.replace "java.$way" || fail "java: it matters how RDTSC is put under control"
	break
done
finish
