/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registers of a task that stands still. One that is parked in a call is not stopped for ptrace: it is told to restart its
 * call, is stopped on the way, looked at, and let go; it makes the same call again, as if nothing had been.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { RESTART = -512, PATIENCE_MS = 5000 };

static int get_registers(pid_t tid, struct user_regs_struct *ret_regs)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, ret_regs) < 0 ? -errno : 0;
}

/* A signal would be delivered on the way. */
static int check_no_signal(struct notify *n, int task)
{
	struct signal_state state;
	int r;

	r = notify_signal_state(&n->guest, task, &state);
	if (r < 0)
		return r;
	return (state.thread_pending | state.process_pending) & ~state.blocked ? -EBUSY : 0;
}

/* Takes the stop that was asked for. A death is left for notify_reap(). */
static int await_stop(const struct notify_task *t)
{
	siginfo_t info;
	int status;

	if (waitid(P_PID, (id_t)t->tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) < 0)
		return -errno;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return -ESRCH;
	return waitpid(t->tid, &status, __WALL) < 0 ? -errno : 0;
}

/* Out of the call, into the stop. */
static int stop_on_the_way(struct notify *n, const struct notify_task *t)
{
	int r;

	r = companion_interrupt(t->tid);
	if (r == 0)
		r = listener_reply(n, &t->cookie, RESTART);
	return r < 0 ? r : await_stop(t);
}

/* In a job control stop that listens for SIGCONT the tracer can ask nothing: it is made an ordinary stop for a moment. */
static int look_at_listener(const struct notify_task *t, struct user_regs_struct *ret_regs)
{
	int look, r;

	r = companion_interrupt(t->tid);
	if (r == 0)
		r = await_stop(t);
	if (r < 0)
		return r;
	look = get_registers(t->tid, ret_regs);
	r = companion_listen(t->tid);
	return r < 0 ? r : look;
}

/* The same call again. */
static int park_again(struct notify *n, struct notify_task *t)
{
	struct pollfd fd = { .fd = t->cookie.listener, .events = POLLIN };
	struct event event;
	pid_t tid;
	int r;

	r = companion_go(t->tid, 0);
	if (r < 0)
		return r;
	do {
		if (poll(&fd, 1, PATIENCE_MS) <= 0)
			return -ETIMEDOUT;
		r = listener_receive(n, fd.fd, &tid, &t->cookie, &event);
	} while (r == 0);
	if (r < 0)
		return r;
	return tid == t->tid && event.call.nr == t->call_nr ? 0 : -EPROTO;
}

int look_registers(struct notify *n, int task, struct user_regs_struct *ret_regs)
{
	struct notify_task *t = tasks_by_number(&n->tasks, task);
	int look, r;

	if (!t || t->where == WHERE_DEAD)
		return -ESRCH;
	if (t->where == WHERE_STOP)
		return get_registers(t->tid, ret_regs);
	if (t->where == WHERE_LISTEN)
		return look_at_listener(t, ret_regs);
	if (t->where != WHERE_CALL)
		return -EBUSY;
	r = check_no_signal(n, task);
	if (r == 0)
		r = stop_on_the_way(n, t);
	if (r < 0)
		return r;
	look = get_registers(t->tid, ret_regs);
	r = park_again(n, t);
	return r < 0 ? r : look;
}
