/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out verdicts. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

/* The interrupt is asked for first: then the stop comes before any user code. */
static int stop_behind_call(struct notify_task *t)
{
	t->expect = EXPECT_POINT;
	return companion_interrupt(t->tid);
}

static int answer_return(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	int r = points_stop_behind_call(t) ? stop_behind_call(t) : 0;

	return r < 0 ? r : listener_reply(n, &t->cookie, v->value);
}

/* The kernel is about to run the call. */
static void note_call(struct notify *n, struct notify_task *t)
{
	if (t->call_nr == SYS_exit_group)
		t->process->ending = true;
	paths_note_call(n, t->call_nr);
}

static int answer_continue(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	note_call(n, t);
	return listener_continue(n, &t->cookie);
}

/* The task is dying where there is no such task: its death will be reported. */
static int answer_hook_unnoticed(struct notify *n, struct notify_task *t)
{
	int r;

	r = look_follow_call(n, t);
	if (r == 0)
		r = listener_continue(n, &t->cookie);
	return r == -ESRCH ? 0 : r;
}

static int answer_hook(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	int r;

	note_call(n, t);
	if (v->unnoticed)
		return answer_hook_unnoticed(n, t);
	t->expect = EXPECT_DONE;
	r = companion_interrupt(t->tid);
	return r < 0 ? r : listener_continue(n, &t->cookie);
}

static int answer_install(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	int r = points_stop_behind_call(t) ? stop_behind_call(t) : 0;

	return r < 0 ? r : listener_install(n, &t->cookie, v->handle, v->install_flags);
}

/*
 * The kernel takes a restart code for one only in a task that is marked as having a signal to look at. With several threads
 * the mark of a signal to the process may be at another one, so it is forced.
 */
static int answer_restart(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	int r = 0;

	if (t->process->n_tasks > 1) {
		t->expect = EXPECT_INTERNAL;
		r = companion_interrupt(t->tid);
	}
	return r < 0 ? r : listener_reply(n, &t->cookie, v->value);
}

static int leave_stop(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	int r = 0;

	if (v->set_result && t->stop == EVENT_DONE)
		r = companion_set_result(t->tid, v->value);
	return r < 0 ? r : points_go(n, t);
}

static int leave_signal(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	int signo = v->siginfo.si_signo;
	int r = 0;

	if (t->stop != EVENT_SIGNAL)
		return -EINVAL;
	if (signo != 0 && memcmp(&v->siginfo, &t->siginfo, sizeof(t->siginfo)) != 0)
		r = companion_set_siginfo(t->tid, &v->siginfo);
	return r < 0 ? r : companion_go(t->tid, signo);
}

static int leave_listening(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	if (t->stop != EVENT_STOPPED)
		return -EINVAL;
	return companion_listen(t->tid);
}

static int leave_trap(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	return t->stop == EVENT_TRAP ? trap_carry_out(t, &v->answers) : -EINVAL;
}

static int leave_spin(struct notify *n, struct notify_task *t, const struct verdict *v)
{
	return t->stop == EVENT_SPIN ? spin_again(n, t, (uint64_t)v->value) : -EINVAL;
}

struct action {
	enum task_where from, to;
	int (*run)(struct notify *n, struct notify_task *t, const struct verdict *v);
};

static const struct action actions[] = {
	[VERDICT_RETURN] = { WHERE_CALL, WHERE_RUNNING, answer_return },
	[VERDICT_CONTINUE] = { WHERE_CALL, WHERE_RUNNING, answer_continue },
	[VERDICT_HOOK] = { WHERE_CALL, WHERE_RUNNING, answer_hook },
	[VERDICT_INSTALL] = { WHERE_CALL, WHERE_RUNNING, answer_install },
	[VERDICT_RESTART] = { WHERE_CALL, WHERE_RUNNING, answer_restart },
	[VERDICT_GO] = { WHERE_STOP, WHERE_RUNNING, leave_stop },
	[VERDICT_SIGNAL] = { WHERE_STOP, WHERE_RUNNING, leave_signal },
	[VERDICT_ANSWER] = { WHERE_STOP, WHERE_RUNNING, leave_trap },
	[VERDICT_SPIN] = { WHERE_STOP, WHERE_RUNNING, leave_spin },
	[VERDICT_LISTEN] = { WHERE_STOP, WHERE_LISTEN, leave_listening },
};

int notify_resume(struct guest *g, int task, const struct verdict *v)
{
	struct notify *n = notify_of(g);
	const struct action *action;
	struct notify_task *t;
	int r;

	t = tasks_by_number(&n->tasks, task);
	if (!t)
		return -ESRCH;
	if (t->where == WHERE_DEAD)
		return 0; /* its EVENT_EXIT is queued */
	if ((size_t)v->kind >= sizeof(actions) / sizeof(actions[0]) || !actions[v->kind].run)
		return -EINVAL;
	action = &actions[v->kind];
	if (t->where != action->from)
		return -EINVAL;
	n->running = task;
	n->silent_ms = 0;
	n->entered_kernel = v->kind == VERDICT_CONTINUE || v->kind == VERDICT_HOOK;
	n->stops_there = v->kind == VERDICT_HOOK;
	n->user_ticks = n->system_ticks = UINT64_MAX;
	t->point = v->preempt;
	n->points_unit = v->preempt.unit;
	n->points_passed = 0;
	/* Before it goes: with what it does at once it may be stopped already when it has gone. */
	t->where = action->to;
	t->passed = v->kind == VERDICT_CONTINUE;
	t->repeats = 0;
	r = v->preempt.unit == PREEMPT_PLACES ? points_count(n, t) : 0;
	if (r == 0)
		r = action->run(n, t, v);
	if (r < 0 && t->where == action->to)
		t->where = action->from;
	return r < 0 || v->kind == VERDICT_INSTALL ? r : 0;
}
