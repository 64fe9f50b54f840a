/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that wait by spinning: they have given up their turn until somebody else does something, and use processor time while time
 * passes. A loop that changes memory on its way and restores it shows others another memory at each of its points; where nobody
 * can go on it is moved to its next point, each of them once.
 */
#include "engine/sched/spinners.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "engine/engine_internal.h"

/* Virtual time of a turn that was given up by spinning, as of a call that yields. */
#define SPIN_COST_NS 1000

/* And of one that was ended for somebody who joined: about as much as it has had of real time, so that who sleeps beside it wakes in time. */
#define OUTSIDER_COST_NS 20000000

/* The first line of the stack. */
static void name_place(struct engine *e, struct task *t, char *buf, size_t size)
{
	char *stack = NULL, *line;

	(void)snprintf(buf, size, "thread %d", t->vtid);
	if (e->g->ops->backtrace && e->g->ops->backtrace(e->g, t->id, &stack) == 0 && stack) {
		line = stack + strspn(stack, " ");
		line[strcspn(line, "\n")] = '\0';
		(void)snprintf(buf, size, "thread %d in %s", t->vtid, line + (strncmp(line, "#0 ", 3) ? 0 : 3));
	}
	free(stack);
}

/* It was stopped anywhere, because others had waited for too long. It may have a result yet: it is not idle. That somebody joins is no secret. */
static int leave_loop(struct engine *e, struct task *t)
{
	char where[200];

	task_charge(e, t, e->g->outsider_waits ? OUTSIDER_COST_NS : e->options.quantum_ns);
	if (!e->g->outsider_waits) {
		name_place(e, t, where, sizeof(where));
		engine_report_uncontrolled(e, UNCONTROLLED_LOOP, where);
	}
	t->verdict = (struct verdict){ .kind = VERDICT_GO };
	return task_check_cpu(e, t);
}

int spinners_add(struct engine *e, struct task *t, const struct event *event)
{
	int r = 0;

	t->state = TASK_SPINNING;
	t->in_call = false;
	t->spin.forced = event->spin.forced;
	t->spin.points = event->spin.points;
	t->verdict = (struct verdict){ .kind = VERDICT_SPIN, .value = (int64_t)t->spin.turn };
	if (t->spin.forced)
		r = leave_loop(e, t);
	else if (!event->spin.idle)
		task_charge(e, t, SPIN_COST_NS);
	t->spin.moving = false;
	t->spin.changes = e->changes;
	return r;
}

void spinners_note(struct engine *e, struct task *t, const struct event *event)
{
	bool idle = event->kind == EVENT_SPIN && event->spin.idle;

	e->changes += !idle;
	e->progress += !idle && !(event->kind == EVENT_SPIN && t && t->spin.moving);
	if (t && event->kind != EVENT_SPIN)
		t->spin.turn = 0;
}

int spinners_wake(struct engine *e)
{
	struct task *t;
	int r = 0;

	LL_FOREACH(e->tasks, t) {
		if (r >= 0 && t->state == TASK_SPINNING && t->spin.changes != e->changes)
			r = task_wake(e, t, 0);
	}
	return r;
}

/* Has it stopped at each of its points since anything else has happened? */
static bool may_move(const struct engine *e, const struct task *t)
{
	if (t->state != TASK_SPINNING || t->spin.forced || t->spin.points < 2)
		return false;
	return t->spin.progress != e->progress || t->spin.moves < t->spin.points;
}

static uint64_t moves_of(const struct engine *e, const struct task *t)
{
	return t->spin.progress == e->progress ? t->spin.moves : 0;
}

int spinners_move(struct engine *e)
{
	struct task *t, *next = NULL;

	LL_FOREACH(e->tasks, t) {
		if (may_move(e, t) && (!next || moves_of(e, t) < moves_of(e, next)))
			next = t;
	}
	if (!next)
		return 0;
	next->spin.moves = moves_of(e, next) + 1;
	next->spin.progress = e->progress;
	next->spin.moving = true;
	next->verdict.value = (int64_t)++next->spin.turn;
	return task_wake(e, next, 0) < 0 ? -ENOMEM : 1;
}

int spinners_go_on(struct engine *e)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->state == TASK_SPINNING && t->spin.forced)
			return task_wake(e, t, 0) < 0 ? -ENOMEM : 1;
	}
	return 0;
}

/* ---- processor time ---- */

static uint64_t count_spinning(const struct engine *e, const struct process *p)
{
	const struct task *t;
	uint64_t n = 0;

	LL_FOREACH(e->tasks, t) {
		n += t->state == TASK_SPINNING && (!p || t->process == p);
	}
	return n;
}

/* The processor time at which something happens to the process. */
static uint64_t cpu_deadline(const struct engine *e, const struct process *p)
{
	const struct rlimit *limit = &p->traits.limits[RLIMIT_CPU];
	uint64_t next = itimers_next_cpu(e, &p->itimers), ns;

	if (p->traits.cpu_limit_next_ns && p->traits.cpu_limit_next_ns < next)
		next = p->traits.cpu_limit_next_ns;
	if (!p->traits.cpu_limit_next_ns && limit->rlim_cur < TIME_NEVER / NS_PER_S && (ns = limit->rlim_cur * NS_PER_S) < next)
		next = ns;
	return next;
}

uint64_t spinners_deadline(const struct engine *e)
{
	uint64_t all = count_spinning(e, NULL), next = TIME_NEVER, rest, mine, at;
	const struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->state != TASK_SPINNING || (at = cpu_deadline(e, t->process)) == TIME_NEVER)
			continue;
		mine = count_spinning(e, t->process);
		rest = at > t->process->cpu_ns ? at - t->process->cpu_ns : 0;
		if (__builtin_mul_overflow(rest, all, &rest))
			continue;
		at = time_add(e->clock.now_ns, rest / mine + (rest % mine != 0));
		next = at < next ? at : next;
	}
	return next;
}

int spinners_pass_time(struct engine *e, uint64_t ns)
{
	uint64_t all = count_spinning(e, NULL), share;
	struct task *t;
	int r = 0;

	if (!all)
		return 0;
	share = ns / all + (ns % all != 0);
	LL_FOREACH(e->tasks, t) {
		if (t->state != TASK_SPINNING)
			continue;
		t->cpu_ns = time_add(t->cpu_ns, share);
		t->process->cpu_ns = time_add(t->process->cpu_ns, share);
	}
	LL_FOREACH(e->tasks, t) {
		if (r >= 0 && t->state == TASK_SPINNING)
			r = task_check_cpu(e, t);
	}
	return r < 0 ? r : 0;
}
