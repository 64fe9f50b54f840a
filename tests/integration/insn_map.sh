#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit instruction-map on guests whose sources say what is to be found, built in every way that changes what a file tells about itself;
# on the system's own libraries, with objdump as an independent witness; and guests that run with their instructions replaced.
# shellcheck source=tests/integration/lib.sh
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
guests=$top_srcdir/tests/guests
trace=$top_builddir/tests/support/insn_trace
CC=${CC##ccache } # the guests are small

truth()
{
	run python3 "$top_srcdir/tests/integration/insn_truth.py" "$hermit" "$@"
	expect 0 "instruction-map of $1"
}

# build NAME FLAGS...: the guest's source with these flags, as $work/NAME-VARIANT.
build()
{
	local name=$1 variant=$2
	shift 2
	$CC -O2 "$@" -o "$name-$variant" "$guests/insn_$name.c" 2> cc.err || { fail "$name-$variant does not build"; cat cc.err; }
}

for name in all table lookalike border hot; do
	build $name pie -fPIE -pie
	build $name fixed -fno-pie -no-pie
	build $name slow -O0 -fPIE -pie
	build $name static -static
	build $name nocfi -fno-asynchronous-unwind-tables -fno-pie -no-pie
	for variant in pie fixed slow static nocfi; do
		truth "$name-$variant"
	done
	# Without symbols, and without section headers: program headers are all that is left.
	strip -o "$name-stripped" "$name-pie" && truth "$name-stripped" "$name-pie"
	objcopy --strip-all "$name-static" "$name-static-stripped" && truth "$name-static-stripped" "$name-static"
	cp "$name-stripped" "$name-headless"
	printf '\0\0\0\0\0\0\0\0' | dd of="$name-headless" bs=1 seek=40 conv=notrunc status=none
	printf '\0\0\0\0' | dd of="$name-headless" bs=1 seek=60 conv=notrunc status=none
	truth "$name-headless" "$name-pie"
done
$CC -O2 -shared -fPIC -o libinsn.so "$guests/insn_lib.c" || fail "libinsn.so does not build"
truth libinsn.so
strip -o libinsn-stripped.so libinsn.so && truth libinsn-stripped.so libinsn.so

# All that is replaced, objdump calls an instruction of that kind; all that objdump finds, we find or have called unsure.
witness()
{
	objdump -d --no-show-raw-insn "$1" 2>/dev/null | awk '
		/^ *[0-9a-f]+:/ {
			address = $1; sub(":", "", address)
			for (i = 2; i <= NF; i++)
				if ($i ~ /^(rdtscp?|cpuid|rdrand|rdseed|rdpid|xgetbv|xbegin)$/) { print address, $i; break }
				else if ($i !~ /^(data16|rex.*|repn?z|lock|[cdefgs]s)$/) break
		}' | sort > objdump.txt
	"$hermit" instruction-map --all "$1" | awk 'NR > 1 { print $2, $3 }' | sort > all.txt
	"$hermit" instruction-map "$1" | awk 'NR > 1 { print $2, $3 }' | sort > ours.txt
	checks=$((checks + 2))
	comm -23 ours.txt objdump.txt > out && [ ! -s out ] || fail "$1: not an instruction for objdump"
	comm -23 objdump.txt all.txt > out && [ ! -s out ] || fail "$1: objdump finds more"
	echo "$1: $(wc -l < ours.txt) replaced, $(wc -l < objdump.txt) by objdump"
}

found=0
for file in /lib64/ld-linux-x86-64.so.2 /lib/x86_64-linux-gnu/libc.so.6 /usr/lib/x86_64-linux-gnu/libcrypto.so.3 \
	/usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/lib/jvm/*/lib/server/libjvm.so ${INSN_TEST_FILES-}; do
	[ -f "$file" ] || continue
	witness "$file"
	found=$((found + 1))
done
[ "$found" -gt 0 ] || fail "no library of the system to compare with"

# The command itself.
run "$hermit" instruction-map --json libinsn.so /bin/sh
expect 0 "two files"
ok "JSON of two files" python3 -c 'import json, sys; d = json.load(open("out")); sys.exit(len(d["files"]) != 2)'
run "$hermit" instruction-map "$guests/insn_all.c"
expect 125 "no ELF file"
expect_err_has 'insn_all.c: is no 64-bit x86 program or library' "no ELF file"
run "$hermit" instruction-map /does/not/exist libinsn.so
expect 125 "a missing file"
grep -q '^libinsn.so: 3 to be replaced' out || fail "the file behind a missing one is not listed"
run "$hermit" instruction-map
expect 125 "no file"
XDG_CACHE_HOME=$work/cache run "$hermit" instruction-map --cache libinsn.so
expect 0 "--cache"
[ "$(find cache/hermit -name '*.insn' | wc -l)" = 1 ] || fail "no cache file"
cp out first
XDG_CACHE_HOME=$work/cache run "$hermit" instruction-map --cache libinsn.so
cmp -s first out || fail "the cached answer differs"

# Replaced and run: what does not depend on the host is as natively; what does is the same each time.
for program in table-pie table-static lookalike-pie lookalike-fixed border-pie border-static; do
	run ./$program
	cp out native
	run "$trace" ./$program
	expect 0 "$program with its instructions replaced"
	cmp -s native out || fail "$program: other output with its instructions replaced"
done
$CC -O2 -o dlopen "$guests/insn_dlopen.c" && $CC -O2 -o shared "$guests/insn_shared.c" -L. -linsn -Wl,-rpath,"$work" ||
	fail "guests of the library do not build"
for command in ./all-pie ./all-static ./shared "./dlopen $work/libinsn.so" "./hot-pie 2000"; do
	# shellcheck disable=SC2086
	run "$trace" $command
	expect 0 "$command"
	cp out first
	# shellcheck disable=SC2086
	run "$trace" $command
	cmp -s first out || fail "$command: two runs differ"
done
run "$trace" ./shared
expect_out 'tsc 1000 apic 0' "instructions of a shared library"
run "$trace" -v ./hot-pie 2000
grep -q '^rounds 2000 went back 0 elapsed 2000000 ' out || fail "each RDTSC of the loop is replaced"
for level in baseline x86-64-v2; do
	run "$trace" -m $level ./all-pie
	grep -q '^cpuid 0.0 0000000d 68747541 444d4163 69746e65$' out || fail "--cpu=$level: leaf 0"
	grep -q '^cpuid 7.0 00000000 00000000 00000000 00000000$' out || fail "--cpu=$level: leaf 7"
done

# Real programs whose output does not depend on time or chance, on every model of processor.
cat > Sum.java <<'END'
import java.util.*;
import java.util.concurrent.*;
public class Sum {
	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(3);
		List<Future<Long>> parts = new ArrayList<>();
		for (int i = 1; i < 6; i++) {
			final int k = i;
			parts.add(pool.submit(() -> { long s = 0; for (int j = 0; j < 100000; j++) s += j * k ^ s; return s; }));
		}
		long sum = 0;
		for (Future<Long> part : parts)
			sum += part.get();
		pool.shutdown();
		System.out.println(sum);
	}
}
END
same_as_natively()
{
	run "$@"
	[ "$status" = 0 ] || return
	cp out native
	for level in host baseline x86-64-v2; do
		run "$trace" -m $level "$@"
		expect 0 "$* as $level"
		cmp -s native out || fail "$* as $level: other output"
	done
}
same_as_natively openssl dgst -sha512 "$guests/insn_all.c"
same_as_natively "$(python3 -c 'import sys; print(sys.executable)')" -S -c 'import hashlib; print(hashlib.sha256(b"x" * 100000).hexdigest())'
for java in /usr/lib/jvm/*/bin/java; do
	[ -x "$java" ] && same_as_natively "$java" Sum.java && break
done

# A real one: the random device of libstdc++ asks CPUID, is told that there is neither RDRAND nor RDSEED, and goes to the kernel.
if command -v c++ > /dev/null; then
	cat > device.cc <<'END'
#include <cstdio>
#include <random>
int main(int, char **argv)
{
	std::random_device device(argv[1]);
	std::printf("%08x %08x\n", device(), device());
}
END
	c++ -O1 -o device device.cc || fail "device.cc does not build"
	run "$trace" -v ./device default
	expect 0 "random_device"
	grep -q '^cpuid' err || fail "random_device does not ask CPUID"
	! grep -q '^rd[rs]' err || fail "random_device executes RDRAND or RDSEED"
	run "$trace" ./device rdrand
	expect 134 "random_device(rdrand), which is not there"
fi
finish
