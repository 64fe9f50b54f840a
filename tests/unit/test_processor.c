/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe believes what it sees, not what the kernel says: a filter plays a kernel that says yes and does nothing,
 * and one that says no. What is true of this host cannot be known here; but two probes must agree, and leave nothing
 * behind.
 */
#include "backend/processor.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* From now on the call number nr ends at once with this errno; 0: with success, and nothing done. */
static void answer_call(unsigned nr, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		_exit(77);
}

struct row {
	const char *what;
	unsigned nr, error;
};

/* Probes in a child with one call answered by a filter. */
static struct processor_probe probe_with(const struct row *row)
{
	struct processor_probe probe;
	int pipe_fds[2], status;

	cr_assert_eq(pipe(pipe_fds), 0);
	if (fork() == 0) {
		if (row)
			answer_call(row->nr, row->error);
		processor_probe_run(&probe);
		/* Its own children are reaped. */
		if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
			_exit(2);
		_exit(write(pipe_fds[1], &probe, sizeof(probe)) != sizeof(probe));
	}
	cr_assert(wait(&status) > 0);
	cr_assert_eq(status, 0, "%s: child ended with %x", row ? row->what : "plain", status);
	cr_assert_eq(read(pipe_fds[0], &probe, sizeof(probe)), sizeof(probe));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return probe;
}

Test(processor, a_kernel_that_only_says_yes_is_found_out)
{
	const struct row prctl_lies = { "prctl", SYS_prctl, 0 }, arch_prctl_lies = { "arch_prctl", SYS_arch_prctl, 0 };

	cr_assert_eq(probe_with(&prctl_lies).tsc, PROCESSOR_FAULTING_LIES);
	cr_assert_eq(probe_with(&arch_prctl_lies).cpuid, PROCESSOR_FAULTING_LIES);
}

Test(processor, a_kernel_that_says_no_is_believed)
{
	const struct row no_prctl = { "prctl", SYS_prctl, EINVAL },
			 no_arch_prctl = { "arch_prctl", SYS_arch_prctl, ENODEV };
	struct processor_probe probe = probe_with(&no_prctl);

	cr_assert_eq(probe.tsc, PROCESSOR_FAULTING_ABSENT);
	cr_assert_eq(probe.tscp, PROCESSOR_FAULTING_ABSENT);
	cr_assert_eq(probe_with(&no_arch_prctl).cpuid, PROCESSOR_FAULTING_ABSENT);
}

Test(processor, counters_are_told_apart)
{
	const struct row denied = { "denied", SYS_perf_event_open, EACCES },
			 absent = { "absent", SYS_perf_event_open, ENOENT };
	/* Descriptor 0 is no counter: a kernel that gives one on which nothing can be done. */
	const struct row odd = { "odd", SYS_perf_event_open, 0 };

	cr_assert_eq(probe_with(&denied).branches, PROCESSOR_COUNTER_DENIED);
	cr_assert_eq(probe_with(&absent).branches, PROCESSOR_COUNTER_ABSENT);
	cr_assert_eq(probe_with(&odd).branches, PROCESSOR_COUNTER_UNKNOWN);
}

Test(processor, two_probes_of_this_host_agree)
{
	struct processor_probe first = probe_with(NULL), second = probe_with(NULL);

	cr_assert_neq(first.tsc, PROCESSOR_FAULTING_UNKNOWN);
	cr_assert_neq(first.cpuid, PROCESSOR_FAULTING_UNKNOWN);
	cr_assert_eq(first.tsc, second.tsc);
	cr_assert_eq(first.tscp, second.tscp);
	cr_assert_eq(first.cpuid, second.cpuid);
	cr_assert_eq(first.branches, second.branches);
	printf("this host: rdtsc %s, rdtscp %s, cpuid %s, branches %s\n", processor_faulting_name(first.tsc),
	       processor_faulting_name(first.tscp), processor_faulting_name(first.cpuid),
	       processor_counter_name(first.branches));
}

Test(processor, names)
{
	cr_assert_str_eq(processor_faulting_name(PROCESSOR_FAULTING_WORKS), "works");
	cr_assert_str_eq(processor_counter_name(PROCESSOR_COUNTER_INEXACT), "inexact");
	cr_assert_str_eq(processor_counter_name((enum processor_counter)99), "unknown");
}

static uint64_t read_tsc(void)
{
	return __builtin_ia32_rdtsc();
}

Test(processor, a_clock_that_was_forgone_is_there_all_the_same)
{
	struct timespec first, second;

	cr_assert_eq(processor_tsc_faults(), probe_with(NULL).tsc == PROCESSOR_FAULTING_WORKS);
	cr_assert_neq(read_tsc(), 0, "the question leaves nothing behind");
	for (int i = 0; i < 3; i++) {
		processor_tsc_forgo();
		cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &first), 0);
		cr_assert_neq(read_tsc(), 0);
		cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &second), 0);
		cr_assert(second.tv_sec > first.tv_sec || second.tv_nsec >= first.tv_nsec);
		cr_assert(processor_tsc_is_back() || !processor_tsc_faults());
	}
	processor_tsc_take_back();
	cr_assert_neq(read_tsc(), 0);
}

static void *read_in_thread(void *arg)
{
	*(uint64_t *)arg = read_tsc();
	return NULL;
}

Test(processor, threads_may_read_it_too)
{
	uint64_t there = 0;
	pthread_t thread;

	processor_tsc_forgo();
	cr_assert_eq(pthread_create(&thread, NULL, read_in_thread, &there), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_neq(there, 0);
	cr_assert_neq(read_tsc(), 0, "who has made the thread is served, too");
	processor_tsc_take_back();
}

/* A fault that is no reading of the clock ends the process, as ever. */
Test(processor, other_faults_are_not_hidden, .signal = SIGSEGV)
{
	volatile uintptr_t nowhere = 8;

	(void)signal(SIGSEGV, SIG_DFL); /* a sanitizer has a handler */
	processor_tsc_forgo();
	*(volatile int *)nowhere = 1;
}
