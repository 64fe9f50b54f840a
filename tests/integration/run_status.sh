#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Exit statuses of hermit run: the guest's own, signals, and the tool's own table.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing

run "$hermit" run echo hi
expect 0 "echo"
expect_out hi "echo"
expect_err "" "echo"

for code in 0 1 7 125 255; do
	run "$hermit" run -- sh -c "exit $code"
	expect $code "exit $code"
done

for signal in 6 9 11 13 15; do
	run "$hermit" run -- sh -c "kill -$signal \$\$"
	expect $((128 + signal)) "death by signal $signal"
done

# Whoever is left when the first process ends, ends with it. No core file is left, whatever the caller's limit is.
run "$hermit" run -- sh -c '(sleep 36000; echo late) & exit 3'
expect 3 "a process that is left behind"
expect_out "" "a process that is left behind"
limit=$(ulimit -Sc)
ulimit -Sc "$(ulimit -Hc)"
run "$hermit" run -- sh -c 'kill -SEGV $$'
ulimit -Sc "$limit"
expect 139 "death by SIGSEGV"
ok "there is no core file" [ -z "$(find . -name '*core*')" ]

run "$hermit" run no-such-program-anywhere
expect 127 "no such program"
expect_err_has "^hermit: .*no-such-program-anywhere" "no such program is named"
run "$hermit" run /no/such/path
expect 127 "no such path"
run "$hermit" run /tmp/no-such-program
expect 127 "no such program in /tmp"
expect_err_has "^hermit: .*/tmp/no-such-program.*--tmp=/tmp" "it is said that /tmp is the run's own"
run "$hermit" run --tmp=/tmp /tmp/no-such-program
expect 127 "no such program in the host's /tmp"
expect_err "hermit: cannot execute /tmp/no-such-program: no such file or directory" "nothing of the run's own is said there"
run "$hermit" run
expect 125 "no program"
expect_err_has "^hermit: no program was given; .*hermit run" "no program is explained"
run "$hermit" run /etc/passwd
expect 126 "not executable"
expect_err_has "^hermit: .*/etc/passwd.*permission denied" "not executable is explained"
run "$hermit" run /etc
expect 126 "a directory"
printf 'not a program\n' >text && chmod +x text
run "$hermit" run ./text
expect 126 "not a program"
expect_err_has "^hermit: .*'./text': exec format error" "not a program is explained"
printf '#!/no/such/interpreter\n' >orphan && chmod +x orphan
run "$hermit" run ./orphan
expect 127 "no interpreter"
expect_err_has "^hermit: .*'./orphan': .*does not exist" "no interpreter is explained"
# Broken in a way that the kernel finds when there is no way back: an ELF header that wants to be where no program can be.
{
	printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\76\0\1\0\0\0\0\0\100\0\0\0\0\0\100\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
	printf '\0\0\0\0\100\0\70\0\1\0\0\0\0\0\0\0'
	printf '\1\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\377\377\177\0\0\0\0\0\377\377\177\0\40\0\0\0\0\0\0\0\60\0\0\0\0\0\0\0\20\0\0\0\0\0\0'
} >broken && chmod +x broken
run "$hermit" run ./broken
expect 126 "a broken program"
expect_err_has "^hermit: .*'./broken': exec format error" "a broken program is explained"

# Programs for other machines, by hand: one for i386 that ends with 42 where the kernel takes it, a header for 64-bit ARM. Also as what runs a script.
{
	printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0\124\200\4\10\64\0\0\0\0\0\0\0\0\0\0\0\64\0\40\0\1\0\0\0\0\0\0\0'
	printf '\1\0\0\0\0\0\0\0\0\200\4\10\0\200\4\10\133\0\0\0\133\0\0\0\5\0\0\0\0\20\0\0\61\300\100\263\52\315\200'
} >i386
{
	printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\267\0\1\0\0\0'
	head -c 100 /dev/zero
} >arm
printf '#!%s/i386\nexit 0\n' "$PWD" >script
printf '#! ./script -x\nexit 0\n' >scripts
cp i386 closed
chmod +x i386 arm script scripts
for program in i386 arm script scripts; do
	run "$hermit" run --bind="$PWD" -- "./$program"
	expect 126 "a program for another machine ($program)"
	expect_err_has "^hermit: .*$program.*64-bit x86" "why $program is not run"
done
run "$hermit" run --bind="$PWD" -- ./closed
expect_err_has "closed.*permission denied" "a program for another machine that nobody may execute"
cat >exec.py <<'PYTHON'
import os
for program in "i386", "arm", "script", "scripts", "closed":
    for what in "./" + program, os.open(program, os.O_RDONLY):
        if isinstance(what, int):
            os.set_inheritable(what, True)
        try:
            os.execve(what, ["x"], {})
        except OSError as e:
            print(program, e.errno)
PYTHON
if command -v python3 >/dev/null; then
	run "$hermit" run --bind="$PWD" -- python3 exec.py
	expect 0 "execve and execveat go on"
	expect_out "$(for program in i386 arm script scripts; do printf '%s 8\n%s 8\n' $program $program; done; printf 'closed 13\nclosed 13\n')" "execve and execveat"
fi

run "$hermit" run
expect 125 "no program"
run "$hermit" run --no-such-option true
expect 125 "unknown option"
expect_err_has "no-such-option" "unknown option is named"
run "$hermit" run --seed=abc true
expect 125 "bad value"
expect_err_has "^hermit run: --seed: 'abc' is not a number" "bad value is named"
run "$hermit" run --strict --network=host true
expect 125 "bad combination"
run "$hermit" run --network=host --report=report.json true
expect 0 "the host's network"
expect_err_has "^hermit: uncontrolled: network: the host's$" "the host's network is listed"
ok "the host's network is in the report" [ "$(jq -c '[.uncontrolled[] | [.what, .where, .count]]' report.json)" = '[["network","the host'"'"'s",1]]' ]
run "$hermit" rnu
expect 125 "unknown command"
expect_err_has "did you mean 'run'" "the nearest command is proposed"
run "$hermit" run --help
expect 0 "help"
run "$hermit" --version
expect 0 "version"
for words in "help help" "help --help" "help -h"; do
	# shellcheck disable=SC2086 # words
	run "$hermit" $words
	expect 0 "$words"
	ok "$words: the commands" grep -q '^Commands:$' "$work/out"
done
# What cannot be written is said, once, by all that print and do nothing else.
for words in --help --version version help "help run" "run --help" doctor syscalls "syscalls --json" "run --print-config=json true" \
	"run --save-config=- true" "run --report=- true"; do
	# shellcheck disable=SC2086 # words
	run sh -c 'exec "$@" >/dev/full' sh "$hermit" $words
	expect 125 "$words, to a full device"
	expect_err_has ': No space left on device$' "$words, to a full device"
	ok "$words, to a full device: said once" [ "$(grep -c 'No space' "$work/err")" = 1 ]
done
run sh -c 'exec "$@" >/dev/full' sh "$hermit" run --print-config=json true
expect_err_has '^hermit: --print-config: standard output: ' "the option that was given"
run sh -c 'exec "$@" >/dev/full' sh "$top_builddir/hermit-supervisor" --help
expect 1 "hermit-supervisor --help, to a full device"

cp "$hermit" inner
# The leak sanitizer wants to trace its own process, which a run has no room for.
inside=(run -e ASAN_OPTIONS=detect_leaks=0 -- ./inner)
run "$hermit" "${inside[@]}" run -- true
expect 125 "a run inside of a run"
ok "a run inside of a run: one line says so" [ "$(grep -c ^ "$work/err")$(grep -c '^hermit: this is inside of a hermit run already' "$work/err")" = 11 ]
for words in "chaos --runs=2" "run --verify=2"; do
	# shellcheck disable=SC2086 # words
	run "$hermit" "${inside[@]}" $words -- true
	expect 125 "$words inside of a run"
	expect_err_has '^hermit: this is inside of a hermit run already' "$words inside of a run"
done

run "$hermit" run --summary --report=- -- sh -c 'kill -SEGV $$'
expect 139 "a death by signal"
expect_err_has '^summary: killed by signal 11 \(SIGSEGV\), exit status 139$' "a death by signal, in the summary"
ok "a death by signal, in the report" [ "$(jq -c '[.end, .guest.signal]' "$work/out")" = '["signal",11]' ]
run "$hermit" chaos --runs=1 -- sh -c 'kill -SEGV $$'
expect 1 "a death by signal, chaos"
ok "a death by signal, in the table" grep -Eq '^0 +FAIL  killed by signal 11 \(SIGSEGV\)  ' "$work/out"

run "$hermit" run --timeout=0.3 -- sh -c 'while :; do :; done'
expect 124 "time limit on a busy loop"
expect_err_has "the time limit of 0.3 s is over" "time limit is explained"
run "$hermit" run sleep infinity
expect 120 "nobody can ever go on"
expect_err_has "deadlock" "deadlock is explained"
expect_err_has "waits in (pause|nanosleep|clock_nanosleep)" "who waits for what"

# Under --strict: a call that nobody knows is refused, and that ends the run; without, the guest gets ENOSYS.
call='import ctypes, errno; print(ctypes.CDLL(None, use_errno=True).syscall(500), errno.errorcode[ctypes.get_errno()])'
run "$hermit" run -q python3 -c "$call"
expect 0 "an unknown call"
expect_out "-1 ENOSYS" "an unknown call is refused"
run "$hermit" run python3 -c "$call"
expect_err_has "^hermit: uncontrolled: unknown system call: call 500$" "an unknown call is reported"
run "$hermit" run --strict python3 -c "$call"
ok "an unknown call ends a strict run" [ "$status" = 121 ]
expect_err_has "^hermit: refused under --strict: " "a strict run says why it ends"
run "$hermit" run sleep 36000
expect 0 "ten hours of virtual sleep"
finish
