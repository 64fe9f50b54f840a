/* SPDX-License-Identifier: BSD-3-Clause */
/* What vm_signals.c, vm_signal_waits.c and vm_handlers.c share: a handler that notes what it is told, and lines about that. */
#ifndef HS_TESTS_GUESTS_VM_SIGNALS_H
#define HS_TESTS_GUESTS_VM_SIGNALS_H

#include <pthread.h>
#include <signal.h>

#include "vm.h"

enum { LOG = 64 };

static volatile struct {
	int signo, code, value, mine;
} seen[LOG];
static volatile sig_atomic_t n_seen;

static inline void note(int signo, siginfo_t *info, void *context)
{
	int i = n_seen;

	(void)context;
	if (i == LOG)
		return;
	seen[i].signo = signo;
	seen[i].code = info->si_code;
	seen[i].value = info->si_code == SI_QUEUE ? info->si_value.sival_int : -1;
	seen[i].mine = info->si_pid == getpid() && info->si_uid == getuid();
	n_seen = i + 1;
}

static inline void handle(int signo, int flags)
{
	struct sigaction sa = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | flags };

	MUST(sigaction(signo, &sa, NULL));
}

/* Runs with everything else blocked: handlers come one after the other, instead of inside each other. */
static inline void handle_alone(int signo)
{
	struct sigaction sa = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

	(void)sigfillset(&sa.sa_mask);
	MUST(sigaction(signo, &sa, NULL));
}

/* A thread that ends the waiting of who writes more into a pipe than goes in: the write's other half is a broken pipe. */
static inline void *read_and_close(void *arg)
{
	char some[5000];

	MUST(read(*(int *)arg, some, sizeof(some)));
	vm_sleep_ms(1);
	close(*(int *)arg);
	return NULL;
}

static inline sigset_t only(int signo)
{
	sigset_t set;

	(void)sigemptyset(&set);
	if (signo)
		(void)sigaddset(&set, signo);
	return set;
}

static inline sigset_t all_blocked(void)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	return before;
}

static inline void set_mask(const sigset_t *set)
{
	(void)pthread_sigmask(SIG_SETMASK, set, NULL);
}

static inline const char *name_of(int signo)
{
	static char text[32];

	if (signo < SIGRTMIN)
		return sigabbrev_np(signo);
	(void)snprintf(text, sizeof(text), "RTMIN+%d", signo - SIGRTMIN);
	return text;
}

static inline void say_seen(const char *what)
{
	for (int i = 0; i < n_seen; i++)
		SAME("%s: %d. %s code %d value %d, of ours %d", what, i + 1, name_of(seen[i].signo), seen[i].code, seen[i].value,
		     seen[i].mine);
	n_seen = 0;
}

static inline void queue_to(pid_t pid, int signo, int value)
{
	union sigval sv = { .sival_int = value };

	MUST(sigqueue(pid, signo, sv));
}

static inline void send_a_mixture(void)
{
	queue_to(getpid(), SIGRTMIN + 2, 1);
	MUST(kill(getpid(), SIGUSR2));
	queue_to(getpid(), SIGRTMIN + 1, 2);
	queue_to(getpid(), SIGUSR1, 3);
	queue_to(getpid(), SIGUSR1, 4); /* is pending already: lost */
	queue_to(getpid(), SIGRTMIN + 1, 5);
	MUST(raise(SIGRTMIN + 2));
	MUST(kill(getpid(), SIGHUP));
	queue_to(getpid(), SIGRTMIN + 1, 6);
}

#endif
