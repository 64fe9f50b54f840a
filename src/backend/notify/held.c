/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SIGCONT to tasks that are stopped. One that listens for it (PTRACE_LISTEN) goes on by itself, and the first of several that the kernel lets run is
 * the one of which their parent's SIGCHLD tells. So before the signal is sent they are made to stand still in an ordinary stop, which SIGCONT does
 * not end; then one after the other is let go on, to the stop in which SIGCONT is noted: on the way there the kernel tells its parent.
 */
#include "backend/notify/notify.h"

#include <errno.h>

int notify_hold_stopped(struct guest *g, int task)
{
	struct notify_task *t = notify_find(g, task);
	int r, status;

	if (!t || t->where != WHERE_LISTEN)
		return 0;
	r = companion_interrupt(t->tid);
	if (r == 0)
		r = look_await_stop(t, &status);
	if (r < 0)
		return r == -ESRCH ? 0 : r; /* its death will be reported */
	if (WSTOPSIG(status) == SIGTRAP) /* somebody has let it go on before */
		return notify_stop(notify_of(g), t->tid, status);
	t->where = WHERE_HELD;
	return 0;
}

/* It is enough that one thread has it: SIGCONT lets all of a process go on. */
static int is_continued(struct notify *n, const struct notify_process *p)
{
	struct notify_task *t, *next;
	struct signal_state s;
	int r;

	HASH_ITER(hh_number, n->tasks.by_number, t, next) {
		if (t->process != p)
			continue;
		r = notify_signal_state(&n->guest, t->number, &s);
		if (r < 0 && r != -ESRCH)
			return r;
		if (r == 0 && (s.thread_pending | s.process_pending) >> (SIGCONT - 1) & 1)
			return 1;
	}
	return 0;
}

static int go_on(struct notify *n, struct notify_task *t)
{
	int r, status;

	r = companion_go(t->tid, 0);
	if (r == 0)
		r = look_await_stop(t, &status);
	if (r == 0)
		r = notify_stop(n, t->tid, status);
	return r < 0 ? r : t->where == WHERE_STOP;
}

int notify_release_stopped(struct guest *g, int task)
{
	struct notify *n = notify_of(g);
	struct notify_task *t = notify_find(g, task);
	int r;

	if (!t || t->where != WHERE_HELD)
		return 0;
	r = is_continued(n, t->process);
	if (r < 0)
		return r;
	t->where = WHERE_LISTEN;
	r = r ? go_on(n, t) : companion_listen(t->tid);
	return r == -ESRCH ? 0 : r;
}
