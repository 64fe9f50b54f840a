/* SPDX-License-Identifier: BSD-3-Clause */
/* Missed signal: "has it come? no, then wait": it may come in between, and the wait has no end. */
#include <signal.h>

#include "bug.h"

static volatile sig_atomic_t come;

static void on_signal(int signo)
{
	come = signo;
}

static void *sender(void *arg)
{
	(void)pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), thread;

	(void)sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&thread, NULL, sender, &self) != 0)
		return 99;
	if (!come) {
		note("wait\n");
		(void)pause();
	}
	(void)pthread_join(thread, NULL);
	return 0;
}
