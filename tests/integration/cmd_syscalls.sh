#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hermit syscalls and hermit-syscalls(7) show the whole table, each row once.
set -u
top=${top_srcdir:-.}
build=${top_builddir:-.}
hermit=$build/hermit
page=$build/man/hermit-syscalls.7
scratch=$(mktemp -d "${TMPDIR:-/tmp}/syscalls.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
failures=0

fail()
{
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# What the table holds, read without the help of its readers: "number name class".
sed -n 's/^ROW( *\([0-9]*\), *\([a-z_0-9]*\), *\([A-Z]*\),.*/\1 \2 \3/p' "$top/src/engine/policy/syscalls.def" > "$scratch/table"
rows=$(wc -l < "$scratch/table")
[ "$rows" -ge 380 ] || fail "only $rows rows found in syscalls.def"

"$hermit" syscalls | sed 1d | awk '{ print $1, $2, $3 }' > "$scratch/list" || fail "hermit syscalls"
cmp "$scratch/table" "$scratch/list" || fail "the list differs from the table"

for class in PASS ORDER FIXUP EMULATE REFUSE; do
	"$hermit" syscalls --class "$class" | sed 1d | awk '{ print $1, $2, $3 }' > "$scratch/class"
	awk -v class="$class" '$3 == class' "$scratch/table" | cmp - "$scratch/class" || fail "--class $class"
	[ -s "$scratch/class" ] || fail "no call of class $class"
done

"$hermit" syscalls --markdown | sed 1,2d | awk -F ' *\\| *' '{ print $2, $3, $4 }' | cmp "$scratch/table" - || fail "--markdown"
"$hermit" syscalls --json | python3 -c '
import json, sys
for row in json.load(sys.stdin):
	print(row["number"], row["name"], row["class"])' | cmp "$scratch/table" - || fail "--json"

"$hermit" syscalls openat 0 > "$scratch/two"
grep -q '^openat (257)$' "$scratch/two" || fail "openat is not shown"
grep -q '^read (0)$' "$scratch/two" || fail "number 0 is not shown"
[ "$(grep -c '^  class ' "$scratch/two")" -eq 2 ] || fail "two calls were asked for"
"$hermit" syscalls 400 | grep -q 'UNLISTED' || fail "a number without a row"

for wrong in no_such_call 512 -1x --class=NONE; do
	"$hermit" syscalls "$wrong" > "$scratch/out" 2> "$scratch/err"
	[ $? -eq 125 ] || fail "$wrong: exit status"
	[ -s "$scratch/err" ] || fail "$wrong: no message"
	[ ! -s "$scratch/out" ] || fail "$wrong: output"
done
"$hermit" syscalls > /dev/full 2> "$scratch/err"
[ $? -eq 125 ] || fail "a full disk is not noticed"

sed -n 's/^\.It Fn \([a-z_0-9]*\) .*Pq \([0-9]*\)$/\2 \1/p' "$page" | sort -n > "$scratch/page"
awk '{ print $1, $2 }' "$scratch/table" | cmp - "$scratch/page" || fail "hermit-syscalls(7) differs from the table"
if command -v mandoc > /dev/null; then
	mandoc -Tlint -Wwarning "$page" || fail "mandoc has warnings"
fi
[ "$failures" -eq 0 ]
