/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals. Queues, masks and actions stay in the kernel, which keeps them correctly as long as events happen in a fixed order. What is decided
 * here is when a task that is parked in a call is taken out of it for a signal; the kernel then delivers it (EVENT_SIGNAL) and restarts or ends
 * the call as signal(7) says.
 */
#include <errno.h>
#include <utlist.h>

#include "engine/engine_internal.h"

#define BIT(signo) (1ull << ((signo)-1))

#define DEFAULT_STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

bool signal_default_is_fatal(int signo)
{
	return !(BIT(signo) & (SIGNALS_DEFAULT_IGNORED | DEFAULT_STOPS));
}

void signals_changed(struct engine *e, struct process *p)
{
	if (p) {
		p->signals_dirty = true;
	} else {
		LL_FOREACH(e->processes, p)
			p->signals_dirty = true;
	}
	e->signals_dirty = true;
}

void signals_note_sent(struct engine *e, int signo)
{
	e->stops_itself |= signo == SIGSTOP;
}

/*
 * Of the pending ones, those that would do something if they were delivered. kill -STOP from outside does nothing to who is parked: the backend keeps it from
 * all of them, and nobody is taken out of a call for it.
 */
static uint64_t effective(const struct engine *e, const struct signal_state *s, uint64_t pending, uint64_t mask)
{
	return pending & ~mask & ~signal_state_ignored(s) & ~(e->stops_itself ? 0 : BIT(SIGSTOP));
}

int signals_deliverable(struct engine *e, struct task *t, const uint64_t *mask, bool *ret_deliverable)
{
	struct signal_state s;
	int r;

	*ret_deliverable = false;
	r = e->g->ops->signal_state(e->g, t->id, &s);
	if (r == -ESRCH)
		return 0;
	if (r < 0)
		return r;
	*ret_deliverable = effective(e, &s, s.thread_pending | s.process_pending, mask ? *mask : s.blocked) != 0;
	return 0;
}

bool signals_pending(struct engine *e, struct task *t)
{
	struct signal_state s;

	return e->g->ops->signal_state(e->g, t->id, &s) < 0 || effective(e, &s, s.thread_pending | s.process_pending, s.blocked);
}

/* Signals that are pending for the process and that some thread has been woken for are in *taken. */
static int wake_thread(struct engine *e, struct task *t, uint64_t *taken)
{
	struct signal_state s;
	uint64_t mine, shared;
	int r;

	r = e->g->ops->signal_state(e->g, t->id, &s);
	if (r < 0)
		return r == -ESRCH ? 0 : r;
	if (t->wait.has_sigmask)
		s.blocked = t->wait.sigmask;
	mine = effective(e, &s, s.thread_pending, s.blocked) | (s.thread_pending & t->wait.sigwanted);
	shared = (effective(e, &s, s.process_pending, s.blocked) | (s.process_pending & t->wait.sigwanted)) & ~*taken;
	if ((s.thread_pending | s.process_pending) & t->wait.signalfds)
		return task_wake(e, t, WAKE_READY);
	if (!mine && !shared)
		return 0;
	*taken |= shared;
	return task_wake(e, t, WAKE_SIGNAL);
}

static bool waits_in(const struct task *t, const struct process *p)
{
	return t->process == p && (t->state == TASK_BLOCKED || task_in_loop(t));
}

/*
 * One process: thread-directed signals wake their thread, process-directed ones a thread that does not block them: the first one, or under chaos
 * the first one from a thread on that is drawn.
 */
static int wake_process(struct engine *e, struct process *p)
{
	uint64_t taken = 0, n = 0, from;
	struct task *t, *first;
	int r = 0;

	LL_FOREACH(e->tasks, t)
		n += waits_in(t, p);
	from = chaos_draw(e, n);
	LL_FOREACH(e->tasks, first) {
		if (waits_in(first, p) && from-- == 0)
			break;
	}
	for (t = first; t && r >= 0; t = t->next)
		r = waits_in(t, p) ? wake_thread(e, t, &taken) : r;
	for (t = e->tasks; t != first && r >= 0; t = t->next)
		r = waits_in(t, p) ? wake_thread(e, t, &taken) : r;
	return r < 0 ? r : 0;
}

int signals_wake(struct engine *e)
{
	struct process *p;
	int r;

	if (!e->signals_dirty)
		return 0;
	e->signals_dirty = false;
	LL_FOREACH(e->processes, p) {
		if (!p->signals_dirty)
			continue;
		p->signals_dirty = false;
		r = wake_process(e, p);
		if (r < 0)
			return r;
	}
	return 0;
}
