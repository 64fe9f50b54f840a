/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A container that somebody else's runtime made, whose listener came over a socket. What the runtime itself still has to call before
 * it executes the program is let through; the execve is the first call of the guest. Its caller is parked there, and is made to
 * switch off the randomisation of addresses first: no runtime can be asked to do that.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESTART = -512, SYSCALL_SIZE = 2, LOOK_MS = 5 };

static bool is_exec(const struct event *event)
{
	return event->call.nr == SYS_execve || event->call.nr == SYS_execveat;
}

static bool is_thread_of(pid_t tid, pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return access(path, F_OK) == 0;
}

/* One call: 1 when it is the awaited execve (only of thread `tid`, or, tid 0, of process `pid`), else it is let through: 0. */
static int take(struct notify *n, pid_t tid, pid_t pid, struct adopted *ret)
{
	int r;

	r = listener_receive(n, n->listeners[0], &ret->tid, &ret->cookie, &ret->event);
	if (r <= 0)
		return r;
	if (is_exec(&ret->event) && (tid ? ret->tid == tid : pid == 0 || is_thread_of(ret->tid, pid)))
		return 1;
	n->strange_calls++;
	return listener_continue(n, &ret->cookie);
}

/* Stops that nobody waits for: of a signal, which is delivered, or of an interruption that a signal came before. */
static int pass_stops(pid_t tid)
{
	int status, r = 0;

	while (r == 0 && waitpid(tid, &status, __WALL | WNOHANG) == tid) {
		if (!WIFSTOPPED(status))
			return -ESRCH;
		r = companion_go(tid, status >> 16 ? 0 : WSTOPSIG(status));
	}
	return r;
}

int adopt_await_exec(struct notify *n, pid_t tid, pid_t pid, struct adopted *ret)
{
	struct pollfd fd = { .fd = n->listeners[0], .events = POLLIN };
	int ready, r = 0;

	while (r == 0) {
		ready = poll(&fd, 1, tid ? LOOK_MS : -1);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0 && !(fd.revents & POLLIN))
			return -ECHILD; /* nobody is left below the filter */
		if (ready > 0)
			r = take(n, tid, pid, ret);
		else if (ready == 0)
			r = pass_stops(tid);
	}
	return r < 0 ? r : 0;
}

enum wanted_stop { STOP_INTERRUPT, STOP_SYSCALL };

static bool is_wanted(enum wanted_stop wanted, int status)
{
	if (WSTOPSIG(status) != SIGTRAP)
		return false;
	return wanted == STOP_INTERRUPT ? status >> 16 == PTRACE_EVENT_STOP : status >> 16 == 0;
}

/*
 * Waits for a stop, serving calls meanwhile. -EALREADY: the execve has come (again). SIGURG is how a Go runtime interrupts itself and means nothing to the next program;
 * other signals are the container's own: -EAGAIN, the task goes on with it.
 */
static int await_stop(struct notify *n, struct adopted *adopted, enum wanted_stop wanted)
{
	struct pollfd fd = { .fd = n->listeners[0], .events = POLLIN };
	pid_t tid = adopted->tid;
	struct adopted other;
	int status, r = 0;
	pid_t reaped;

	while (r >= 0) {
		reaped = waitpid(tid, &status, __WALL | WNOHANG);
		if (reaped < 0)
			return -errno;
		if (reaped == 0) {
			r = poll(&fd, 1, LOOK_MS) > 0 && fd.revents & POLLIN ? take(n, tid, 0, &other) : 0;
			if (r == 1) {
				*adopted = other; /* it was not stopped in time */
				return -EALREADY;
			}
			continue;
		}
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (is_wanted(wanted, status))
			return 0;
		if (status >> 16 == 0 && WSTOPSIG(status) != SIGURG && WSTOPSIG(status) != SIGTRAP) {
			r = companion_go(tid, WSTOPSIG(status));
			return r < 0 ? r : -EAGAIN;
		}
		r = ptrace(wanted == STOP_SYSCALL ? PTRACE_SYSCALL : PTRACE_CONT, tid, NULL, NULL) < 0 ? -errno : 0;
	}
	return r;
}

static unsigned long current_personality(const struct notify *n, pid_t tid)
{
	char text[32];

	return procfs_read(n, tid, "personality", text, sizeof(text)) < 0 ? 0 : strtoul(text, NULL, 16);
}

static int to_syscall_stop(struct notify *n, struct adopted *adopted)
{
	if (ptrace(PTRACE_SYSCALL, adopted->tid, NULL, NULL) < 0)
		return -errno;
	return await_stop(n, adopted, STOP_SYSCALL);
}

/* Makes the stopped task call personality(2), in place of the call that it was parked in. *ret_result: what came of it. */
static int call_personality(struct notify *n, struct adopted *adopted, const struct user_regs_struct *saved, long *ret_result)
{
	struct user_regs_struct regs;
	pid_t tid = adopted->tid;
	int r;

	do {
		regs = *saved;
		regs.orig_rax = ~0ull;
		regs.rax = SYS_personality;
		regs.rdi = current_personality(n, tid) | ADDR_NO_RANDOMIZE;
		regs.rip -= SYSCALL_SIZE;
		if (ptrace(PTRACE_SETREGS, tid, NULL, &regs) < 0)
			return -errno;
		r = to_syscall_stop(n, adopted); /* on the way in */
		if (r == 0)
			r = to_syscall_stop(n, adopted);
		if (r == 0 && ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0)
			r = -errno;
		*ret_result = (long)regs.rax;
	} while (r == 0 && *ret_result == RESTART); /* broken off by a signal */
	return r;
}

/* A signal may have led the caller out of its call, to a handler. */
static bool in_exec(const struct user_regs_struct *regs)
{
	return (regs->orig_rax == SYS_execve || regs->orig_rax == SYS_execveat) && (int64_t)regs->rax == RESTART;
}

/* Out of the parked execve, into a stop. */
static int stop_there(struct notify *n, struct adopted *adopted, struct user_regs_struct *ret_saved)
{
	int r;

	r = companion_interrupt(adopted->tid);
	if (r == 0)
		r = listener_reply(n, &adopted->cookie, RESTART);
	if (r == 0)
		r = await_stop(n, adopted, STOP_INTERRUPT);
	if (r == 0 && ptrace(PTRACE_GETREGS, adopted->tid, NULL, ret_saved) < 0)
		r = -errno;
	if (r == 0 && !in_exec(ret_saved)) {
		r = companion_go(adopted->tid, 0);
		return r < 0 ? r : -EAGAIN;
	}
	return r;
}

/* Back to the execve. */
static int make_call_again(pid_t tid, const struct user_regs_struct *saved)
{
	struct user_regs_struct regs = *saved;

	regs.rax = saved->orig_rax;
	regs.orig_rax = ~0ull;
	regs.rip -= SYSCALL_SIZE;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &regs) < 0)
		return -errno;
	return companion_go(tid, 0);
}

int adopt_fix_addresses(struct notify *n, struct adopted *adopted)
{
	struct user_regs_struct saved;
	long result = -EPERM;
	int r;

	do {
		r = stop_there(n, adopted, &saved);
		if (r == 0)
			r = call_personality(n, adopted, &saved, &result);
		if (r == 0)
			r = make_call_again(adopted->tid, &saved);
		if (r == 0)
			break;
		if (r == -EAGAIN)
			r = adopt_await_exec(n, adopted->tid, 0, adopted);
		else if (r == -EALREADY)
			r = 0;
	} while (r == 0);
	if (r == 0)
		r = adopt_await_exec(n, adopted->tid, 0, adopted);
	if (r < 0)
		return r;
	return result < 0 && result > -4096 ? 1 : 0;
}
