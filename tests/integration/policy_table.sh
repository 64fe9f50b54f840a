#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the compiler promises about src/engine/policy/syscalls.def: a number cannot stand twice, a class or flag set cannot be misspelt, and a row
# without its function does not link. Each mistake is made on a copy of the table.
set -u
top=${top_srcdir:-.}
cc=${CC:-cc}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/policy.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/engine/policy"
failures=0

# shellcheck disable=SC2086 # CC may hold options
compile()
{
	$cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror -I"$scratch" -I"$top/src" -c \
		"$top/src/engine/policy/policy.c" -o "$scratch/policy.o" > "$scratch/out" 2>&1
}

# The table as it is, plus the row $1.
with_row()
{
	cat "$top/src/engine/policy/syscalls.def" > "$scratch/engine/policy/syscalls.def" # not its mode, which may be read-only
	printf '%s\n' "$1" >> "$scratch/engine/policy/syscalls.def"
}

expect_rejected()
{
	with_row "$2"
	if compile; then
		echo "compiled although $1: $2"
		failures=$((failures + 1))
	elif ! grep -qiE "$3" "$scratch/out"; then
		echo "rejected for another reason than that $1:"
		cat "$scratch/out"
		failures=$((failures + 1))
	fi
}

with_row 'ROW(500, sound, ORDER, plain, INT, 0, 0, 1000, "a row like others", FD, FLAGS(OPEN))'
compile || {
	echo "a sound row does not compile:"
	cat "$scratch/out"
	exit 1
}
expect_rejected "a number stands twice" 'ROW(3, twice, ORDER, plain, INT, 0, 0, 1000, "x")' 'overrid|overwritten'
expect_rejected "the last number stands twice" 'ROW(470, twice, ORDER, plain, INT, 0, 0, 1000, "x")' 'overrid|overwritten'
expect_rejected "there is no such class" 'ROW(500, x, ORDRE, plain, INT, 0, 0, 1000, "x")' 'CLASS_ORDRE'
expect_rejected "there is no such set of flags" 'ROW(500, x, ORDER, plain, INT, 0, 0, 1000, "x", FLAGS(NONSENSE))' 'FLAG_SET_NONSENSE'
expect_rejected "there are seven arguments" 'ROW(500, x, ORDER, plain, INT, 0, 0, 1000, "x", FD, FD, FD, FD, FD, FD, FD)' 'excess elements'
expect_rejected "the number is beyond the table" 'ROW(512, x, ORDER, plain, INT, 0, 0, 1000, "x")' 'exceeds|bounds'

with_row 'ROW(500, x, ORDER, nobody_wrote_this, INT, 0, 0, 1000, "x")'
if ! compile || ! ${NM:-nm} "$scratch/policy.o" | grep -q ' U handle_nobody_wrote_this'; then
	echo "a row without a function does not ask the linker for it"
	failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
