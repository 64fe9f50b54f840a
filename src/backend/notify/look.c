/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registers of a task that stands still. One that is parked in a call is not stopped for ptrace: it is told to restart its
 * call, is stopped on the way, looked at, and let go; it makes the same call again, as if nothing had been.
 *
 * In the same way it is made to stop at the end of its call: from a stop it can be let go with PTRACE_SYSCALL, which no call notices, while
 * PTRACE_INTERRUPT is to the call like a signal.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/process.h"

enum { RESTART = -512 };

static int get_registers(pid_t tid, struct user_regs_struct *ret_regs)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, ret_regs) < 0 ? -errno : 0;
}

#define STOP_BIT (1ull << (SIGSTOP - 1))

/* A signal would be delivered on the way. What is ignored the kernel would have dropped, but for the tracer; a stop is put off (park_again()). */
static int check_no_signal(struct notify *n, int task)
{
	struct signal_state state;
	int r;

	r = notify_signal_state(&n->guest, task, &state);
	if (r < 0)
		return r;
	return (state.thread_pending | state.process_pending) & ~state.blocked & ~signal_state_ignored(&state) & ~STOP_BIT ? -EBUSY : 0;
}

int look_await_stop(const struct notify_task *t, int *ret_status)
{
	int r = companion_await(t->tid, ret_status);

	return r < 0 ? r : r ? 0 : -ESRCH;
}

/* Out of the call, into the stop. */
static int stop_on_the_way(struct notify *n, const struct notify_task *t, int *ret_status)
{
	int r;

	r = companion_interrupt(t->tid);
	if (r == 0)
		r = listener_reply(n, &t->cookie, RESTART);
	return r < 0 ? r : look_await_stop(t, ret_status);
}

/* In a job control stop that listens for SIGCONT the tracer can ask nothing: it is made an ordinary stop for a moment. */
static int look_at_listener(const struct notify_task *t, struct user_regs_struct *ret_regs)
{
	int look, r, status;

	r = companion_interrupt(t->tid);
	if (r == 0)
		r = look_await_stop(t, &status);
	if (r < 0)
		return r;
	look = get_registers(t->tid, ret_regs);
	r = companion_listen(t->tid);
	return r < 0 ? r : look;
}

int look_has_stopped(const struct notify_task *t, int *ret_status)
{
	siginfo_t info = { 0 };
	int r;

	if (waitid(P_PID, (id_t)t->tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
		return -errno;
	if (!info.si_pid)
		return process_is_ending(t->tid) ? -ESRCH : 0;
	r = look_await_stop(t, ret_status);
	return r < 0 ? r : 1;
}

/*
 * Waits for the call: 0. 1: a signal has come before we could receive it, which only then is out of reach of signals, and has stopped the task:
 * *ret_status. For that it is looked now and then: SIGCHLD stands for all tasks. Somebody from outside may kill the task meanwhile.
 */
static int await_call(struct notify *n, struct notify_task *t, int *ret_status)
{
	enum { LOOK_MS = 1 };
	struct pollfd fds[] = {
		{ .fd = t->cookie.listener, .events = POLLIN },
		{ .fd = handles_pidfd(n, t->tid), .events = POLLIN },
	};
	struct event event;
	pid_t tid;
	int r = 0;

	while (r == 0) {
		fds[0].revents = fds[1].revents = 0;
		if (poll(fds, 2, LOOK_MS) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents || fds[0].revents & POLLHUP)
			return -ESRCH;
		if (fds[0].revents) {
			r = listener_receive(n, t->cookie.listener, &tid, &t->cookie, &event);
		} else {
			r = look_has_stopped(t, ret_status);
			if (r > 0)
				return 1;
		}
	}
	if (r < 0)
		return r;
	return tid == t->tid && event.call.nr == t->call_nr ? 0 : -EPROTO;
}

/* Signals that come from outside on the way (a key that was typed, say), there having been none before. They wait until the task is parked again. */
struct held {
	siginfo_t *infos;
	size_t n, room;
};

static int hold(struct notify *n, const struct notify_task *t, struct held *held)
{
	struct signal_state state;
	siginfo_t *grown;
	siginfo_t info;
	int r;

	r = companion_get_siginfo(t->tid, &info);
	if (r == 0)
		r = notify_signal_state(&n->guest, t->number, &state);
	if (r < 0 || signal_state_ignored(&state) >> (info.si_signo - 1) & 1)
		return r;
	grown = array_grow(held->infos, held->n, &held->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	held->infos = grown;
	held->infos[held->n++] = info;
	return 0;
}

/* From a stop to the one at the beginning of the call. */
static int come_to_call(struct notify *n, const struct notify_task *t, int status, struct held *held)
{
	int r = 0;

	while (r == 0 && WSTOPSIG(status) != COMPANION_SYSCALL_STOP) {
		if (status >> 16 == 0)
			r = hold(n, t, held);
		if (r == 0)
			r = companion_go_to_call(t->tid, 0);
		if (r == 0)
			r = look_await_stop(t, &status);
	}
	return r;
}

/* The same call again, after a stop: into it with `go`, and parked there. */
static int park_again(struct notify *n, struct notify_task *t, int status, int (*go)(pid_t tid, int signo))
{
	struct held held = { 0 };
	int r;

	do {
		r = come_to_call(n, t, status, &held);
		if (r == 0)
			r = go(t->tid, 0);
		if (r == 0)
			r = await_call(n, t, &status);
	} while (r > 0);
	for (size_t i = 0; r == 0 && i < held.n; i++)
		r = look_send_again(n, t, &held.infos[i]);
	free(held.infos);
	return r;
}

int look_send_again(struct notify *n, const struct notify_task *t, const siginfo_t *info)
{
	struct signal_state state;
	int r;

	r = notify_signal_state(&n->guest, t->number, &state);
	if (r == 0 && info->si_signo == SIGSTOP && (state.process_pending | state.thread_pending) >> (SIGCONT - 1) & 1)
		return 0;
	return r < 0 ? r : notify_signal_send(&n->guest, t->number, info->si_code == SI_TKILL, info);
}

typedef int stopped_fn(pid_t tid, void *arg);

/* With the task stopped, do. */
static int do_stopped(struct notify *n, int task, stopped_fn *act, void *arg)
{
	struct notify_task *t = tasks_by_number(&n->tasks, task);
	int done, r, status;

	if (!t || t->where == WHERE_DEAD)
		return -ESRCH;
	if (t->where == WHERE_STOP)
		return act(t->tid, arg);
	if (t->where != WHERE_CALL)
		return -EBUSY;
	r = check_no_signal(n, task);
	if (r == 0)
		r = stop_on_the_way(n, t, &status);
	if (r < 0)
		return r;
	done = act(t->tid, arg);
	r = park_again(n, t, status, companion_go);
	return r < 0 ? r : done;
}

static int get(pid_t tid, void *ret_regs)
{
	return get_registers(tid, ret_regs);
}

int look_registers(struct notify *n, int task, struct user_regs_struct *ret_regs)
{
	const struct notify_task *t = tasks_by_number(&n->tasks, task);

	return t && t->where == WHERE_LISTEN ? look_at_listener(t, ret_regs) : do_stopped(n, task, get, ret_regs);
}

static int set(pid_t tid, void *args)
{
	return companion_set_args(tid, args);
}

int notify_set_args(struct guest *g, int task, const uint64_t args[6])
{
	return do_stopped(notify_of(g), task, set, (void *)(uintptr_t)args);
}

int look_follow_call(struct notify *n, struct notify_task *t)
{
	int status, r;

	r = stop_on_the_way(n, t, &status);
	return r < 0 ? r : park_again(n, t, status, companion_go_to_call);
}
