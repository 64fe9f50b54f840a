#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# exec beside a container whose program only computes, and will never make a call: whoever joins gets his turns.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"

bundle computing :
cat >"$work/rootfs/compute.c" <<'END'
#include <pthread.h>
#include <stdio.h>

static volatile unsigned long long state = 1;

/* No state comes twice in this time. */
static void *compute(void *arg)
{
	for (;;)
		state = state * 6364136223846793005ull + 1442695040888963407ull;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	puts("up");
	fflush(stdout);
	if (argc > 1)
		pthread_create(&thread, NULL, compute, NULL);
	compute(NULL);
	return argv != NULL;
}
END
# shellcheck disable=SC2086 # a command with words
$CC -O1 -static -pthread -o "$work/rootfs/bin/compute" "$work/rootfs/compute.c" || exit 99

# answers WHAT STATUS OUT COMMAND...: exec says that while the container computes
answers()
{
	local what=$1 wanted=$2 out=$3
	shift 3
	run timeout "$(at_most 100)" rt exec computing "$@"
	expect "$wanted" "$what: exec $*"
	expect_out "$out" "$what: exec $*"
}

# shellcheck disable=SC2016 # the container's shell
for script in '/bin/compute threads' 'echo up; i=0; while :; do i=$((i + 1)); done' 'echo up; while :; do :; done' \
	'/bin/compute & /bin/compute'; do
	bundle computing "exec $script"
	case $script in echo* | *\&*) bundle computing "$script" ;; esac
	rt create --bundle computing computing <&- >computing.out 2>&1 || exit 99
	rt start computing
	ok "$script: begins" until_true grep -q up computing.out
	answers "$script" 0 "" /bin/true
	answers "$script" 7 "" /bin/sh -c 'exit 7'
	answers "$script" 0 "ABC" /bin/sh -c 'echo abc | tr a-z A-Z'
	answers "$script" 0 "slept" /bin/sh -c 'sleep 1; echo slept'
	# One that computes itself holds up nobody else who comes.
	timeout "$(at_most 100)" rt exec --detach computing /bin/compute >/dev/null 2>&1 </dev/null
	answers "$script" 0 "beside" /bin/echo beside
	ok "$script: it computes still" status_is computing running
	run timeout "$(at_most 100)" rt delete --force computing
	expect 0 "$script: delete --force"
	run rt state computing
	expect 1 "$script: it is gone"
done
finish
