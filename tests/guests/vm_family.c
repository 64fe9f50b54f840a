/* SPDX-License-Identifier: BSD-3-Clause */
/* Parents, children, orphans: who is found by which wait, and in which order, where several parents end at the same moment. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vm.h"

enum { SONS = 4, GRANDSONS = 3 };

static volatile sig_atomic_t n_heard;

static void on_child(int signo)
{
	(void)signo;
	n_heard++;
}

static void hear(int flags)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = flags };

	n_heard = 0;
	MUST(sigaction(SIGCHLD, &action, NULL));
}

static _Noreturn void end_after(unsigned ms, int status)
{
	vm_sleep_ms(ms);
	_exit(status);
}

/* Ways to ask for the next child; 0: none is left, -1: none has anything to say now. */
static pid_t by_wait(int *status)
{
	pid_t pid = waitpid(-1, status, 0);

	return pid < 0 && errno == ECHILD ? 0 : pid;
}

static pid_t by_peeking(int *status)
{
	siginfo_t info = { 0 };

	if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0)
		return errno == ECHILD ? 0 : -1;
	return waitpid(info.si_pid, status, 0);
}

static pid_t by_polling(int *status)
{
	pid_t pid = waitpid(-1, status, WNOHANG);

	if (pid == 0)
		vm_sleep_ms(1);
	return pid < 0 && errno == ECHILD ? 0 : pid ? pid : -1;
}

static pid_t by_group(int *status)
{
	siginfo_t info = { 0 };

	if (waitid(P_PGID, 0, &info, WEXITED) < 0)
		return errno == ECHILD ? 0 : -1;
	*status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return info.si_pid;
}

static pid_t (*const ways[])(int *status) = { by_wait, by_peeking, by_polling, by_group };

/* Everybody, in the order in which the way finds them. */
static unsigned collect(const char *what, unsigned way, pid_t first)
{
	unsigned n = 0;
	int status;
	pid_t pid;

	while ((pid = ways[way](&status)) != 0) {
		if (pid < 0)
			continue;
		n++;
		SHOWN("%s, way %u: %d %x", what, way, pid - first, status);
	}
	SHOWN("%s, way %u: at %llu", what, way, (unsigned long long)vm_now());
	return n;
}

static int ready[2]; /* a byte from each one that is where it is to be */

static void say_ready(void)
{
	MUST(write(ready[1], "r", 1));
}

static void await_ready(unsigned n)
{
	char byte;

	while (n--)
		MUST(read(ready[0], &byte, 1));
}

static _Noreturn void rest(void)
{
	for (;;)
		pause();
}

/* Two children each, down to a depth. */
static _Noreturn void beget(unsigned depth)
{
	unsigned made = 0;

	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	while (depth && made < 2) {
		if (fork() == 0) {
			MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
			depth--;
			made = 0;
		} else {
			made++;
		}
	}
	say_ready();
	rest();
}

/* Each one's death kills its children: whole generations end together. */
static void generations(unsigned way)
{
	pid_t first = (pid_t)MUST(fork());

	if (first == 0) {
		for (unsigned i = 2; i < 4; i++)
			if (fork() == 0)
				beget(i);
		await_ready(7 + 15);
		end_after(20, 1);
	}
	SAME("generations, way %u: %u", way, collect("generations", way, first));
}

static _Noreturn void bear(pid_t group)
{
	for (unsigned i = 0; i < GRANDSONS; i++) {
		if (fork() != 0)
			continue;
		setpgid(0, group);
		say_ready();
		end_after(i * 20, (int)i + 1);
	}
	say_ready();
	rest();
}

/* Several who have children are killed by one call; some children end later, and some are zombies that come along. */
static void bereaved(unsigned way)
{
	pid_t sons[SONS], group = getpgrp(), first;
	int ends[2];

	MUST(pipe(ends));
	first = (pid_t)MUST(fork());
	if (first == 0) {
		for (int i = 0; i < SONS; i++) {
			sons[i] = (pid_t)MUST(fork());
			if (sons[i] == 0) {
				setpgid(0, i ? sons[0] : 0);
				bear(group);
			}
			setpgid(sons[i], sons[0]);
		}
		MUST(write(ends[1], &sons[0], sizeof(sons[0])));
		end_after(200, 9);
	}
	MUST(read(ends[0], &sons[0], sizeof(sons[0])));
	close(ends[0]);
	close(ends[1]);
	await_ready(SONS + SONS * GRANDSONS);
	for (unsigned i = 0; i < 2; i++)
		if (fork() == 0)
			end_after(10 + 40 * i, 7);
	MUST(kill(-sons[0], SIGKILL));
	SAME("bereaved, way %u: %u", way, collect("bereaved", way, first));
}

/* A zombie that is adopted ends a wait that is under way. */
static void zombie_comes(void)
{
	pid_t son = (pid_t)MUST(fork()), pid;
	int status;

	if (son == 0) {
		if (fork() == 0) {
			if (fork() == 0)
				_exit(7);
			end_after(20, 8);
		}
		end_after(100, 9);
	}
	while ((pid = waitpid(-1, &status, 0)) > 0)
		SAME("came %x", status);
}

/* Whoever ignores its children's ends has no zombies: not of its own, not of others. */
static void unwanted(const char *how)
{
	pid_t son = (pid_t)MUST(fork()), other = (pid_t)fork();
	int status;

	if (son == 0) {
		if (fork() == 0) {
			if (fork() == 0)
				_exit(7);
			end_after(30, 8);
		}
		end_after(10, 9);
	}
	if (other == 0)
		end_after(100, 1);
	vm_sleep_ms(50);
	SAME("%s: one that has ended: %s", how, RESULT(kill(son, 0)));
	SAME("%s: wait %s, heard %d", how, RESULT(wait(&status)), n_heard > 0);
	SAME("%s: one that has ended: %s", how, RESULT(kill(other, 0)));
}

/* Ends without SIGCHLD, which is no reason to be gone. */
static void quiet(void)
{
	pid_t son, found;
	int status = 0;

	son = (pid_t)MUST(syscall(SYS_clone, 0, NULL, NULL, NULL, 0));
	if (son == 0)
		end_after(10, 3);
	vm_sleep_ms(20);
	SAME("quiet: wait %s", RESULT(waitpid(-1, &status, 0)));
	found = waitpid(-1, &status, __WALL);
	SAME("quiet: __WALL %d %x", found == son, status);
}

/* An orphan is a child like others, whatever signal it was to end with. */
static void becomes_ordinary(void)
{
	int status;

	if (fork() == 0) {
		if (syscall(SYS_clone, SIGUSR1, NULL, NULL, NULL, 0) == 0)
			end_after(20, 4);
		_exit(1);
	}
	while (wait(&status) > 0)
		SAME("ordinary: %x", status);
}

static _Noreturn void have_stopped(void)
{
	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	for (int i = 0; i < 2; i++) {
		if (fork() != 0)
			continue;
		say_ready();
		raise(SIGSTOP);
		_exit(5);
	}
	say_ready();
	rest();
}

/* Stopped orphans of parents that ended together, and those that are let go on. */
static void stopped(void)
{
	int status, n = 0;
	pid_t first = (pid_t)MUST(fork()), pid;

	if (first == 0) {
		for (int i = 0; i < SONS; i++)
			if (fork() == 0)
				have_stopped();
		await_ready(SONS + SONS * 2);
		end_after(20, 1);
	}
	vm_sleep_ms(50);
	while ((pid = waitpid(-1, &status, WUNTRACED)) > 0) {
		SHOWN("stopped: %d %x", pid - first, status);
		n += WIFSTOPPED(status);
		if (WIFSTOPPED(status))
			kill(pid, SIGCONT);
	}
	SAME("stopped: %d", n);
}

int main(void)
{
	MUST(pipe(ready));
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		hear(way % 2 ? 0 : SA_RESTART);
		generations(way);
		bereaved(way % 3);
	}
	MUST(signal(SIGCHLD, SIG_DFL) == SIG_ERR ? -1 : 0);
	generations(0);
	bereaved(2);
	zombie_comes();
	becomes_ordinary();
	stopped();
	hear(SA_RESTART);
	stopped();
	n_heard = 0;
	MUST(signal(SIGCHLD, SIG_IGN) == SIG_ERR ? -1 : 0);
	unwanted("ignored");
	quiet();
	hear(SA_NOCLDWAIT | SA_RESTART);
	unwanted("no zombies");
	quiet();
	vm_end();
	return 0;
}
