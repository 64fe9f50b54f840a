#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Exit statuses of hermit run: the guest's own, signals, and the tool's own table.
. "$top_srcdir/tests/integration/lib.sh"

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

run "$hermit" run no-such-program-anywhere
expect 127 "no such program"
expect_err_has "^hermit: .*no-such-program-anywhere" "no such program is named"
run "$hermit" run /no/such/path
expect 127 "no such path"
run "$hermit" run /etc/passwd
expect 126 "not executable"
expect_err_has "^hermit: .*/etc/passwd.*permission denied" "not executable is explained"
run "$hermit" run /etc
expect 126 "a directory"
printf 'not a program\n' >text && chmod +x text
run "$hermit" run ./text
expect 126 "not a program"

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
run "$hermit" rnu
expect 125 "unknown command"
expect_err_has "did you mean 'run'" "the nearest command is proposed"
run "$hermit" run --help
expect 0 "help"
run "$hermit" --version
expect 0 "version"

run "$hermit" run --timeout=0.3 -- sh -c 'while :; do :; done'
expect 124 "time limit on a busy loop"
expect_err_has "the time limit of 0.3 s is over" "time limit is explained"
run "$hermit" run sleep infinity
expect 120 "nobody can ever go on"
expect_err_has "deadlock" "deadlock is explained"
expect_err_has "waits in (pause|nanosleep|clock_nanosleep)" "who waits for what"

# Under --strict: a call that nobody knows is refused, and that ends the run; without, the guest gets ENOSYS.
call='import ctypes, os; print(ctypes.CDLL(None, use_errno=True).syscall(500), os.strerror(ctypes.get_errno()))'
run "$hermit" run -q python3 -c "$call"
expect 0 "an unknown call"
expect_out "-1 Function not implemented" "an unknown call is refused"
run "$hermit" run python3 -c "$call"
expect_err_has "^hermit: uncontrolled: unknown system call: call 500$" "an unknown call is reported"
run "$hermit" run --strict python3 -c "$call"
ok "an unknown call ends a strict run" [ "$status" = 121 ]
expect_err_has "^hermit: refused under --strict: " "a strict run says why it ends"
RUN_LIMIT=20 run "$hermit" run sleep 36000
expect 0 "ten hours of virtual sleep"
finish
