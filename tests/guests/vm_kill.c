/* SPDX-License-Identifier: BSD-3-Clause */
/* Deaths by SIGKILL: when they take place, in which order, and what the parent hears of them. */
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vm.h"

enum { CHILDREN = 6 };

static volatile sig_atomic_t heard[CHILDREN * 2], n_heard;

static void on_child(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	if (n_heard < CHILDREN * 2)
		heard[n_heard++] = info->si_pid;
}

static void *rest(void *arg)
{
	while (pause() < 0)
		;
	return arg;
}

/* Parked in a call, in short sleeps, with threads. */
static _Noreturn void live(int how)
{
	pthread_t thread;

	if (how == 3)
		(void)pthread_create(&thread, NULL, rest, NULL);
	for (;;) {
		if (how == 0 || how == 3)
			pause();
		if (how == 1)
			vm_sleep_ms(1);
		if (how == 2)
			(void)poll(NULL, 0, 3);
	}
}

static void start(pid_t pids[CHILDREN])
{
	n_heard = 0;
	for (int i = 0; i < CHILDREN; i++) {
		pids[i] = (pid_t)MUST(fork());
		if (pids[i] == 0) {
			(void)setpgid(0, i ? pids[0] : 0);
			live(i % 4);
		}
		MUST(setpgid(pids[i], pids[0]));
	}
	vm_sleep_ms(20);
}

static int collect(const char *how, pid_t first)
{
	int status, killed = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
		if (pid < 0)
			continue;
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		SHOWN("%s: %d", how, pid - first);
	}
	for (int i = 0; i < n_heard; i++)
		SHOWN("%s: a signal says %d", how, heard[i] - first);
	return killed;
}

static void by_group(void)
{
	pid_t pids[CHILDREN];

	start(pids);
	MUST(kill(-pids[0], SIGKILL));
	SAME("the group: %d", collect("the group", pids[0]));
}

static void one_by_one(void)
{
	pid_t pids[CHILDREN];

	start(pids);
	for (int i = CHILDREN; i-- > 0;)
		MUST(i % 2 ? kill(pids[i], SIGKILL) : syscall(SYS_tgkill, pids[i], pids[i], SIGKILL));
	SAME("one by one: %d", collect("one by one", pids[0]));
}

static void by_pidfd(void)
{
	pid_t pids[CHILDREN];
	int fd;

	start(pids);
	for (int i = 0; i < CHILDREN; i++) {
		fd = (int)MUST(syscall(SYS_pidfd_open, pids[i], 0));
		MUST(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0));
		close(fd);
	}
	SAME("by descriptor: %d", collect("by descriptor", pids[0]));
}

/* Who kills its own group dies with it, and does not return. */
static void by_itself(void)
{
	pid_t pids[CHILDREN], killer;

	start(pids);
	killer = (pid_t)MUST(fork());
	if (killer == 0) {
		(void)setpgid(0, pids[0]);
		(void)kill(0, SIGKILL);
		SAME("returned");
	}
	SAME("with itself: %d", collect("with itself", pids[0]));
}

/* What a child's death does to its own children, which asked for that; they become this process's then, and it hears of all. */
static void by_parents_death(void)
{
	int ends[2], killed;
	pid_t child;
	char byte;

	MUST(pipe(ends));
	n_heard = 0;
	child = (pid_t)MUST(fork());
	if (child == 0) {
		for (int i = 0; i < CHILDREN; i++) {
			if (fork() == 0) {
				MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
				MUST(write(ends[1], "r", 1));
				live(i % 4);
			}
		}
		for (int i = 0; i < CHILDREN; i++)
			MUST(read(ends[0], &byte, 1));
		_exit(0);
	}
	close(ends[0]);
	close(ends[1]);
	killed = collect("parent ends", child);
	SAME("parent ends: %d killed", killed);
	SHOWN("at %llu", (unsigned long long)vm_now());
}

static void *have_children(void *arg)
{
	const int *ends = arg;

	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
			MUST(write(ends[1], "r", 1));
			live(i);
		}
	}
	return rest(arg);
}

/* Whoever a thread has made dies with the thread, before its process is dead. */
static void by_threads_death(void)
{
	int ends[2], killed;
	pthread_t thread;
	pid_t child;
	char byte;

	MUST(pipe(ends));
	n_heard = 0;
	child = (pid_t)MUST(fork());
	if (child == 0) {
		for (int i = 0; i < CHILDREN / 2; i++)
			(void)pthread_create(&thread, NULL, have_children, ends);
		for (int i = 0; i < CHILDREN / 2 * 2; i++)
			MUST(read(ends[0], &byte, 1));
		_exit(0);
	}
	close(ends[0]);
	close(ends[1]);
	killed = collect("threads end", child);
	SAME("threads end: %d killed", killed);
	SHOWN("at %llu", (unsigned long long)vm_now());
}

/* SIGCONT lets several go on at once: of one of them SIGCHLD tells. */
static void continued(void)
{
	pid_t pids[CHILDREN];
	int status, n = 0;

	start(pids);
	MUST(kill(-pids[0], SIGSTOP));
	for (int i = 0; i < CHILDREN; i++)
		n += waitpid(pids[i], &status, WUNTRACED) == pids[i] && WIFSTOPPED(status);
	SAME("stopped %d", n);
	MUST(kill(-pids[0], SIGCONT));
	for (int i = 0; i < CHILDREN; i++)
		n -= waitpid(pids[i], &status, WCONTINUED) == pids[i] && WIFCONTINUED(status);
	SAME("still stopped %d", n);
	MUST(kill(-pids[0], SIGKILL));
	SAME("continued: %d", collect("continued", pids[0]));
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_child, .sa_flags = SA_SIGINFO };

	MUST(sigaction(SIGCHLD, &action, NULL));
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (int i = 0; i < 3; i++) {
		by_group();
		one_by_one();
		by_pidfd();
		by_itself();
		by_parents_death();
		by_threads_death();
		continued();
	}
	vm_end();
	return 0;
}
