/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A container that somebody else's runtime made, whose listener came over a socket. What the runtime itself still has to call before
 * it executes the program is let through; the execve is the first call of the guest. Its caller is parked there, and is made to
 * switch off the randomisation of addresses first: no runtime can be asked to do that.
 */
#include "backend/notify/adopt.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
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

enum taken { TAKEN_NOTHING = 0, TAKEN_EXEC, TAKEN_OTHER };

/* One call, which stays parked: the awaited execve (only of thread `tid`, or, tid 0, of process `pid`), or another. */
static int take(struct notify *n, pid_t tid, pid_t pid, struct adopted *ret)
{
	int r;

	r = listener_receive(n, n->listeners[0], &ret->tid, &ret->cookie, &ret->event);
	if (r <= 0)
		return r;
	if (is_exec(&ret->event) && (tid ? ret->tid == tid : pid == 0 || is_thread_of(ret->tid, pid)))
		return TAKEN_EXEC;
	n->strange_calls++;
	return TAKEN_OTHER;
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

/* A call of the runtime's, which it may be possible to replace the listener at. */
static int pass_call(struct notify *n, pid_t pid, struct adopted *call)
{
	int r = 0;

	if (n->replacement && (n->seized_early ? call->tid == n->seized_early : pid == 0 || is_thread_of(call->tid, pid)))
		r = replace_listener(n, call);
	return r == 0 ? listener_continue(n, &call->cookie) : r;
}

static int serve_early(struct notify *n, pid_t tid, pid_t pid, struct adopted *ret)
{
	int r = take(n, tid, pid, ret);

	if (r == TAKEN_OTHER) {
		r = pass_call(n, pid, ret);
		return r < 0 ? r : 0;
	}
	if (r != TAKEN_EXEC || !n->replacement)
		return r;
	r = replace_listener(n, ret);
	return r == 0 ? TAKEN_EXEC : r < 0 ? r : 0;
}

int adopt_await_exec(struct notify *n, pid_t pid, struct adopted *ret)
{
	struct pollfd fd = { .events = POLLIN };
	int ready, r = 0;

	while (r == 0) {
		fd.fd = n->listeners[0];
		ready = poll(&fd, 1, n->seized_early ? LOOK_MS : -1);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0 && !(fd.revents & POLLIN))
			return -ECHILD; /* nobody is left below the filter */
		if (ready > 0)
			r = serve_early(n, n->seized_early, pid, ret);
		else if (ready == 0)
			r = pass_stops(n->seized_early);
	}
	return r < 0 ? r : 0;
}

enum wanted_stop { STOP_INTERRUPT, STOP_SYSCALL };

static bool is_wanted(enum wanted_stop wanted, int status)
{
	if (wanted == STOP_SYSCALL)
		return status >> 16 == 0 && WSTOPSIG(status) == COMPANION_SYSCALL_STOP;
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

static bool is_repeat(const struct adopted *call, const struct adopted *other)
{
	return call->tid == other->tid && call->event.call.nr == other->event.call.nr;
}

/*
 * Waits for a stop, serving calls meanwhile. -EALREADY: the call has come again, or the execve. SIGURG is how a Go runtime interrupts
 * itself and means nothing to the next program; other signals are the container's own: -EAGAIN, the task goes on with it.
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
			if (r == TAKEN_EXEC || (r == TAKEN_OTHER && wanted == STOP_INTERRUPT && is_repeat(adopted, &other))) {
				*adopted = other; /* it was not stopped in time */
				return -EALREADY;
			}
			if (r == TAKEN_OTHER)
				r = listener_continue(n, &other.cookie);
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

int adopt_inject(struct notify *n, struct adopted *adopted, const struct stopped *saved, const struct injected *call,
		 int64_t *ret_result)
{
	struct user_regs_struct regs;
	pid_t tid = adopted->tid;
	int r;

	do {
		regs = saved->regs;
		regs.orig_rax = ~0ull;
		regs.rax = (uint64_t)call->nr;
		regs.rdi = call->args[0];
		regs.rsi = call->args[1];
		regs.rdx = call->args[2];
		regs.r10 = call->args[3];
		regs.r8 = call->args[4];
		regs.r9 = call->args[5];
		regs.rip -= SYSCALL_SIZE;
		if (ptrace(PTRACE_SETREGS, tid, NULL, &regs) < 0)
			return -errno;
		r = to_syscall_stop(n, adopted); /* on the way in */
		if (r == 0)
			r = to_syscall_stop(n, adopted);
		if (r == 0 && ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0)
			r = -errno;
		*ret_result = (int64_t)regs.rax;
	} while (r == 0 && *ret_result == RESTART); /* broken off by a signal */
	return r;
}

/* A signal may have led the caller out of its call, to a handler. */
static bool in_call(const struct user_regs_struct *regs, int nr)
{
	return (int64_t)regs->orig_rax == nr && (int64_t)regs->rax == RESTART;
}

int adopt_stop_there(struct notify *n, struct adopted *adopted, struct stopped *ret_saved)
{
	const uint64_t all = ~0ull;
	int r;

	r = companion_interrupt(adopted->tid);
	if (r == 0)
		r = listener_reply(n, &adopted->cookie, RESTART);
	if (r == 0)
		r = await_stop(n, adopted, STOP_INTERRUPT);
	if (r == 0 && ptrace(PTRACE_GETREGS, adopted->tid, NULL, &ret_saved->regs) < 0)
		r = -errno;
	if (r == 0 && !in_call(&ret_saved->regs, adopted->event.call.nr)) {
		r = companion_go(adopted->tid, 0);
		return r < 0 ? r : -EAGAIN;
	}
	if (r == 0)
		r = companion_get_blocked(adopted->tid, &ret_saved->blocked);
	return r == 0 ? companion_set_blocked(adopted->tid, all) : r;
}

int adopt_call_again(pid_t tid, const struct stopped *saved)
{
	struct user_regs_struct regs = saved->regs;
	int r;

	regs.rax = saved->regs.orig_rax;
	regs.orig_rax = ~0ull;
	regs.rip -= SYSCALL_SIZE;
	r = companion_set_blocked(tid, saved->blocked);
	if (r == 0 && ptrace(PTRACE_SETREGS, tid, NULL, &regs) < 0)
		r = -errno;
	return r < 0 ? r : companion_go(tid, 0);
}

static int switch_off(struct notify *n, struct adopted *adopted, const struct stopped *saved, int64_t *ret_result)
{
	const struct injected call = { .nr = SYS_personality, .args = { current_personality(n, adopted->tid) | ADDR_NO_RANDOMIZE } };
	int r;

	r = companion_seize_fully(adopted->tid);
	if (r == 0)
		r = adopt_inject(n, adopted, saved, &call, ret_result);
	return r < 0 ? r : adopt_call_again(adopted->tid, saved);
}

int adopt_fix_addresses(struct notify *n, struct adopted *adopted)
{
	struct stopped saved;
	int64_t result = -EPERM;
	int r;

	n->seized_early = adopted->tid;
	do {
		r = adopt_stop_there(n, adopted, &saved);
		if (r == 0)
			r = switch_off(n, adopted, &saved, &result);
		if (r == 0)
			break;
		if (r == -EAGAIN)
			r = adopt_await_exec(n, 0, adopted);
		else if (r == -EALREADY)
			r = 0;
	} while (r == 0);
	if (r == 0)
		r = adopt_await_exec(n, 0, adopted);
	if (r < 0)
		return r;
	return result < 0 && result > -4096 ? 1 : 0;
}

unsigned adopt_shared_namespaces(pid_t tid)
{
	static const struct {
		const char *name;
		unsigned flag;
	} kinds[] = { { "ipc", CLONE_NEWIPC }, { "net", CLONE_NEWNET }, { "pid", CLONE_NEWPID }, { "uts", CLONE_NEWUTS } };
	struct stat own, other;
	unsigned shared = 0;
	char path[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i].name);
		if (stat(path, &own) < 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)tid, kinds[i].name);
		if (stat(path, &other) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino)
			shared |= kinds[i].flag;
	}
	return shared;
}
