/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals: in which order they come, whom they go to. vm_signal_waits.c has what waits for them, vm_handlers.c what handlers find, vm_restart.c the calls
 * that are interrupted. See vm.h.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vm_signals.h"

/* ---- order ---- */

static void order(void)
{
	static const int signals[] = { SIGHUP, SIGUSR1, SIGUSR2 };
	sigset_t before, all, pending;
	siginfo_t info;
	int n = 0;

	for (size_t i = 0; i < 3; i++)
		handle_alone(signals[i]);
	handle_alone(SIGRTMIN + 1);
	handle_alone(SIGRTMIN + 2);
	before = all_blocked();
	send_a_mixture();
	MUST(sigpending(&pending));
	for (int signo = 1; signo < 65; signo++)
		n += sigismember(&pending, signo) == 1;
	SAME("pending kinds: %d", n);
	set_mask(&before);
	say_seen("one after the other");
	for (size_t i = 0; i < 3; i++)
		handle(signals[i], 0);
	handle(SIGRTMIN + 1, 0);
	handle(SIGRTMIN + 2, 0);
	before = all_blocked();
	send_a_mixture();
	set_mask(&before);
	say_seen("inside each other");
	before = all_blocked();
	send_a_mixture();
	(void)sigfillset(&all);
	for (struct timespec none = { 0 }; (n = sigtimedwait(&all, &info, &none)) > 0;)
		SAME("taken: %s code %d value %d", name_of(n), info.si_code, info.si_code == SI_QUEUE ? info.si_value.sival_int : -1);
	SAME("and then %s", strerrorname_np(errno));
	set_mask(&before);
}

/* ---- who may say what ---- */

static void sending(void)
{
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = 5 };
	pid_t child = fork();

	if (!child) {
		(void)pause();
		_exit(0);
	}
	info.si_pid = 77;
	info.si_value.sival_int = 9;
	handle(SIGUSR1, 0);
	SAME("of the kernel, to oneself %s", RESULT(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info)));
	say_seen("said so");
	SAME("of the kernel, to another %s", RESULT(syscall(SYS_rt_sigqueueinfo, child, SIGUSR1, &info)));
	info.si_code = SI_TKILL;
	SAME("as tkill, to another %s", RESULT(syscall(SYS_rt_sigqueueinfo, child, SIGUSR1, &info)));
	SAME("to the wrong process's thread %s", RESULT(syscall(SYS_tgkill, child, getpid(), 0)));
	SAME("to no thread %s", RESULT(syscall(SYS_tkill, 99999999, 0)));
	SAME("to thread 0 %s", RESULT(syscall(SYS_tkill, 0, 0)));
	SAME("to nobody %s", RESULT(kill(99999999, 0)));
	SAME("to no group %s", RESULT(kill(-99999999, 0)));
	SAME("no such signal %s", RESULT(kill(child, 65)));
	SAME("negative %s", RESULT(kill(child, -1)));
	SAME("to all, none %s", RESULT(kill(-1, 0)));
	SAME("to oneself, none %s", RESULT(kill(getpid(), 0)));
	MUST(kill(child, SIGKILL));
	MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
	SAME("to a dead one %s", RESULT(kill(child, SIGTERM)));
	MUST(waitpid(child, NULL, 0));
	SAME("to a buried one %s", RESULT(kill(child, SIGTERM)));
}

/* Another user's. */
static void not_allowed(void)
{
	pid_t other = fork(), child;
	int status;

	if (!other) {
		(void)pause();
		_exit(0);
	}
	child = fork();
	if (!child) {
		if (setresuid(4321, 4321, 4321) < 0)
			_exit(77);
		SAME("another user: TERM %s", RESULT(kill(other, SIGTERM)));
		SAME("another user: CONT %s", RESULT(kill(other, SIGCONT)));
		SAME("another user: nothing %s", RESULT(kill(other, 0)));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	SAME("tried %d", WEXITSTATUS(status));
	MUST(kill(other, SIGKILL));
	MUST(waitpid(other, NULL, 0));
}

/* ---- which thread ---- */

static atomic_int taker, threads_ready;
static atomic_bool threads_end;

static void on_taken(int signo)
{
	(void)signo;
	atomic_store(&taker, (int)syscall(SYS_gettid));
}

struct waiter {
	pthread_t thread;
	bool blocks;
	int tid;
};

static void *wait_for_end(void *arg)
{
	struct waiter *w = arg;
	sigset_t set = only(SIGUSR1);

	(void)pthread_sigmask(w->blocks ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
	w->tid = (int)syscall(SYS_gettid);
	atomic_fetch_add(&threads_ready, 1);
	while (!atomic_load(&threads_end))
		vm_sleep_ms(1);
	return NULL;
}

static int who(const struct waiter *w, int n)
{
	int tid;

	while (!(tid = atomic_exchange(&taker, 0)))
		vm_sleep_ms(1);
	if (tid == getpid())
		return 0;
	for (int i = 0; i < n; i++)
		if (w[i].tid == tid)
			return i + 1;
	return -1;
}

static void choice_of_thread(void)
{
	struct waiter w[3] = { { .blocks = true }, { .blocks = false }, { .blocks = true } };
	struct sigaction sa = { .sa_handler = on_taken, .sa_flags = SA_RESTART };
	sigset_t set = only(SIGUSR1);

	MUST(sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < 3; i++)
		pthread_create(&w[i].thread, NULL, wait_for_end, &w[i]);
	while (atomic_load(&threads_ready) < 3)
		vm_sleep_ms(1);
	MUST(kill(getpid(), SIGUSR1));
	SAME("nobody but two may, the first of them takes it: %d", who(w, 3));
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	MUST(kill(getpid(), SIGUSR1));
	SAME("only one may: %d", who(w, 3));
	(void)pthread_kill(w[1].thread, SIGUSR1);
	SAME("meant for it: %d", who(w, 3));
	(void)pthread_kill(w[2].thread, SIGUSR1);
	vm_sleep_ms(5);
	SAME("meant for one that blocks it: %d", atomic_load(&taker));
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	atomic_store(&threads_end, true);
	for (int i = 0; i < 3; i++)
		pthread_join(w[i].thread, NULL);
}

/* ---- groups ---- */

static int report[2];

static void on_group(int signo)
{
	char c = (char)signo;

	(void)!write(report[1], &c, 1);
	_exit(0);
}

/* A child that says when it is there, and then what it was told. */
static pid_t member(pid_t group)
{
	struct sigaction sa = { .sa_handler = on_group };
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		MUST(setpgid(0, group));
		MUST(sigaction(SIGUSR1, &sa, NULL));
		MUST(write(report[1], "+", 1));
		for (;;)
			(void)pause();
	}
	return child;
}

static void wait_members(int n)
{
	char c;

	while (n--)
		MUST(read(report[0], &c, 1));
}

static void buried(const char *what, int n)
{
	int status, by_handler = 0;

	for (int i = 0; i < n; i++)
		by_handler += wait(&status) > 0 && WIFEXITED(status);
	SAME("%s: %d", what, by_handler);
}

static void groups(void)
{
	pid_t a, b;

	MUST(pipe(report));
	a = member(0);
	wait_members(1);
	b = member(a);
	wait_members(1);
	SAME("a group %s", RESULT(kill(-a, SIGUSR1)));
	buried("of a group", 2);
	wait_members(2); /* what they said last */
	(void)b;
	/* kill(0): in a group of its own, with two members. */
	a = (pid_t)MUST(fork());
	if (!a) {
		MUST(setpgid(0, 0));
		handle(SIGUSR1, 0);
		(void)member(getpgrp());
		(void)member(getpgrp());
		wait_members(2);
		SAME("one's own group %s", RESULT(kill(0, SIGUSR1)));
		say_seen("the sender too");
		buried("of one's own group", 2);
		wait_members(2);
		_exit(0);
	}
	MUST(waitpid(a, NULL, 0));
	/* kill(-1) reaches the host's processes where there is no container. */
	if (getenv("VM_CALLS_REFUSED")) {
		(void)member(0);
		(void)member(0);
		wait_members(2);
		handle(SIGUSR1, 0);
		SHOWN("everybody %s", RESULT(kill(-1, SIGUSR1)));
		SHOWN("not the sender: %d", (int)n_seen);
		n_seen = 0;
		for (int i = 0; i < 2; i++)
			SHOWN("died %d", (int)wait(NULL));
		wait_members(2);
	}
	close(report[0]);
	close(report[1]);
}

int main(void)
{
	order();
	sending();
	not_allowed();
	choice_of_thread();
	groups();
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
