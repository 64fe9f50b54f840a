#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The manual says what the programs say: commands, options, exit statuses; and it is well-formed.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
man=$top_srcdir/man

# same WHAT FILE FILE: two sorted lists are equal.
same()
{
	checks=$((checks + 1))
	diff "$2" "$3" >"$work/out" || fail "$1"
	checks=$((checks + 1))
	[ -s "$2" ] || fail "$1: the list is empty"
}

# page_options PAGE: the long options that it describes, one a line.
page_options()
{
	grep '^\.It Fl' "$1" | grep -o 'Fl -[a-z][a-z-]*' | sed 's/Fl -/--/' | sort -u
}

# help_options COMMAND...: those that the program's help lists.
help_options()
{
	"$@" --help | grep -oE '^ +(-[a-zA-Z?], *)?--[a-z][a-z-]*(=[A-Z]+.*, --[a-z-]+|, --[a-z-]+)*' | grep -oE -- '--[a-z][a-z-]*' | sort -u
}

page_options "$man/hermit-run.1" >page
help_options "$hermit" run >help
same "hermit-run(1) and hermit run --help list other options" page help

# The C library's argp may put the margin of one line in front of an earlier one, where its buffer happens to end there: other words help.
# Known margins are those of groups, of short and long options, and of what they mean; words from the first column end a list.
margins()
{
	"$@" --help >margins
	awk '/^ / { match($0, /^ +/); if (RLENGTH != 1 && RLENGTH != 2 && RLENGTH != 6 && RLENGTH != 29) print }
		/^[^ ]/ && before ~ /^ / && !/^Usage:/ { print } { before = $0 }' margins >"$work/out"
	checks=$((checks + 1))
	[ ! -s "$work/out" ] || fail "$* --help has lines of a wrong margin"
}
for command in run chaos ci doctor instruction-map log-diff log-export log-print netlink-dump syscalls; do
	margins "$hermit" "$command"
done
margins "$hermit" oci run
margins "$top_builddir/hermit-supervisor" --bundle=.

# What commands that run programs add to these options.
cp help run-help
for command in chaos ci; do
	page_options "$man/hermit-$command.1" >page
	help_options "$hermit" $command | comm -23 - run-help >help
	same "hermit-$command(1) and hermit $command --help list other options" page help
done

page_options "$man/hermit-supervisor.1" >page
help_options "$top_builddir/hermit-supervisor" --bundle=. >help
same "hermit-supervisor(1) and hermit-supervisor --help list other options" page help

# Commands that take the options of a run as well describe their own; --help and its kin are everybody's.
help_options "$hermit" run >run
for command in chaos ci doctor instruction-map log-diff log-export log-print netlink-dump; do
	page_options "$man/hermit-$command.1" | comm -23 - run >page
	help_options "$hermit" "$command" | comm -23 - run >help
	same "hermit-$command(1) and hermit $command --help list other options" page help
done

# Commands in the order of the table; help is none.
for program in hermit hermit-supervisor; do
	sed -n 's/^\.It Cm \([a-z][a-z-]*\)$/\1/p' "$man/$program.1" | grep -vx help | sort >page
	"$top_builddir/$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | sort >help
	same "$program(1) and $program --help list other commands" page help
done

# Options of the commands of a container runtime, and of those before them, as both lists are written there.
runtime=$top_builddir/hermit-supervisor
for command in $(sed -n 's/^\.It Cm \([a-z][a-z-]*\)$/\1/p' "$man/hermit-supervisor.1" | grep -vxE 'help|version|checkpoint|restore'); do
	sed -n "/^\.It Cm $command\$/,/^\.It Cm\|^\.El/p" "$man/hermit-supervisor.1" | sed -n 's/^\.Op //p' | grep -o 'Fl -[a-z][a-z-]*' |
		sed 's/Fl -/--/' | sort -u >page
	margins "$runtime" "$command"
	help_options "$runtime" "$command" | grep -vxE -- '--(help|usage|version)' >help
	checks=$((checks + 1))
	diff page help >"$work/out" || fail "hermit-supervisor(1) and hermit-supervisor $command --help list other options"
done
sed -n '/^Before the command stand:/,/^\.El/p' "$man/hermit-supervisor.1" | sed 's/\\-/-/g' | grep -o -- '--[a-z][a-z-]*' | sort -u >page
"$runtime" --usage | grep -o -- '--[a-z][a-z-]*' | grep -vxE -- '--(help|usage|version)' | sort -u >help
same "hermit-supervisor(1) and hermit-supervisor --usage list other options" page help

# Exit statuses: number and words.
sed -n 's/^	X([A-Z_]*, *\([0-9]*\), "\(.*\)").*/\1 \2/p' "$top_srcdir/src/supervisor/exit_codes.h" >table
awk '/^\.It [0-9]+$/ { number = $2; getline; print number, $0 }' "$man/hermit.1" >page
same "hermit(1) and exit_codes.h have other exit statuses" page table

if command -v mandoc >/dev/null; then
	for page in "$man"/*.[1-8] "$top_builddir"/man/*.[1-8]; do
		[ -f "$page" ] || continue
		# Pages that are not installed cannot be found; sources have lines of 130 characters here.
		# What it says of its data base comes in the middle of its other lines.
		mandoc -Tlint "$page" 2>"$work/err" | grep -Ev 'STYLE: (referenced manual not found|input text line longer)' >"$work/out"
		grep -v 'outdated mandoc.db' "$work/err" >>"$work/out"
		ok "mandoc has nothing to say about $page" [ ! -s "$work/out" ]
	done
else
	echo "mandoc is not installed: the form of the pages was not checked"
fi
finish
