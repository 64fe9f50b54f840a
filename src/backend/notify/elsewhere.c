/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work in another network namespace. A namespace of the network is a thread's own, and the way into the guest's is open to an ordinary
 * user's supervisor, which is root of the user namespace above it; but not the way back: its own network belongs to the host. So a
 * thread goes there, and ends there. Descriptors that it makes are the process's.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

struct errand {
	int netns; /* -1: a new one */
	int (*function)(void *argument);
	void *argument;
	int result;
};

static void *run_errand(void *argument)
{
	struct errand *errand = argument;
	int r;

	r = errand->netns < 0 ? unshare(CLONE_NEWNET) : setns(errand->netns, CLONE_NEWNET);
	errand->result = r < 0 ? -errno : errand->function(errand->argument);
	return NULL;
}

int elsewhere(int netns, int (*function)(void *argument), void *argument)
{
	struct errand errand = { .netns = netns, .function = function, .argument = argument };
	sigset_t all, before;
	pthread_t thread;
	int r;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGSEGV); /* the thread inherits that RDTSC faults (processor_tsc_forgo()), and may read a clock */
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(&thread, NULL, run_errand, &errand);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return -r;
	(void)pthread_join(thread, NULL);
	return errand.result;
}
