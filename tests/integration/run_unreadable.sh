#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that may be executed but not read, run by an ordinary user: nobody could look into them, so they are refused, and all else goes on.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
if [ "$(id -u)" != 0 ] || ! command -v runuser >/dev/null || ! id nobody >/dev/null 2>&1; then
	echo "needs root, runuser and a user nobody"
	exit 77
fi
place=$(mktemp -d /var/tmp/hermit-test.XXXXXX) || exit 99
trap 'rm -rf "$work" "$place"' EXIT
chmod 755 "$place" && cd "$place" || exit 99

# What nobody is to run is out of a build directory that it may not enter.
cp "$hermit" "$place/hermit" && cp "$(type -P true)" "$place/hidden" && cp "$place/hidden" "$place/open" || exit 99
chmod 755 "$place/hermit" "$place/open"
chmod 711 "$place/hidden"
printf '#!%s/hidden\n' "$place" >"$place/script"
chmod 755 "$place/script"

as_nobody()
{
	run runuser -u nobody -- "$@"
}

as_nobody "$place/hermit" run -- "$place/open"
[ "$status" = 0 ] || { echo "an ordinary user cannot run anything here: $(cat "$work/err")"; exit 77; }
as_nobody "$place/hidden"
expect 0 "control: it runs without hermit"

for program in hidden script; do
	as_nobody "$place/hermit" run -- "$place/$program"
	expect 126 "the command itself: $program"
	expect_err_has "^hermit: uncontrolled: refused to run a program that may not be read \(make it readable\): $place/hidden$" "which file and why: $program"
	expect_err_has "^hermit: .*'$place/$program': Permission denied" "it cannot be executed: $program"
	as_nobody "$place/hermit" run --strict -- "$place/$program"
	expect 121 "under --strict: $program"
done

as_nobody "$place/hermit" run -- sh -c "$place/hidden; echo \$?; $place/hidden; echo \$?; $place/open; echo \$?"
expect 0 "a child"
expect_out "126
126
0" "the shell goes on"
expect_err_has "hidden \(2 times\)$" "it is listed once"

cat >"$place/exec.py" <<'PYTHON'
import os, sys
os.chdir(sys.argv[1])
for what in "hidden", "./hidden", "script", os.open("hidden", os.O_PATH), os.open("open", os.O_PATH):
    child = os.fork()
    if not child:
        try:
            os.execve(what, ["x"], {})
        except OSError as e:
            os._exit(e.errno)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PYTHON
if command -v python3 >/dev/null; then
	as_nobody "$place/hermit" run -q -- python3 "$place/exec.py" "$place"
	expect 0 "execve and execveat"
	expect_out "13
13
13
13
0" "execve and execveat"
fi

# What loads the program counts, too.
if command -v gcc >/dev/null && command -v readelf >/dev/null; then
	loader=$(readelf -l "$place/open" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	if [ -n "$loader" ] && cp "$loader" "$place/loader" && chmod 711 "$place/loader" && echo 'int main(void) { return 0; }' >"$work/one.c" &&
		gcc -Wl,--dynamic-linker="$place/loader" -o "$place/loaded" "$work/one.c"; then
		chmod 755 "$place/loaded"
		as_nobody "$place/loaded"
		expect 0 "control: its loader is no hindrance without hermit"
		as_nobody "$place/hermit" run -- "$place/loaded"
		expect 126 "a program whose loader may not be read"
		expect_err_has "may not be read .*: $place/loader$" "the loader is named"
	fi
fi

# Whose file it is has power over it: nothing changes for the owner, and for root.
cp "$place/open" "$place/own" && chown nobody: "$place/own" && chmod 111 "$place/own"
as_nobody "$place/hermit" run -- "$place/own"
expect 0 "one's own program that may not be read"
run "$hermit" run -- "$place/hidden"
expect 0 "root"
expect_err "" "root"
finish
