/* SPDX-License-Identifier: BSD-3-Clause */
/* Points inside code: see preempt.h. */
#include "engine/sched/preempt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "engine/engine_internal.h"

const char *preempt_unit_name(enum preempt_unit unit)
{
	static const char *const names[] = {
		[PREEMPT_NOWHERE] = "nowhere", [PREEMPT_INSTRUCTIONS] = "instructions", [PREEMPT_PLACES] = "places",
	};

	return names[unit];
}

int interrupt_parse(const char *text, struct interrupt_rule *ret, struct error *err)
{
	struct interrupt_rule rule = { 0 };
	char copy[96], *turn, *after;
	uint64_t vtid;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	turn = strchr(copy, ':');
	if (turn)
		*turn++ = '\0';
	after = turn ? strchr(turn, '+') : NULL;
	if (after)
		*after++ = '\0';
	if (strlen(text) >= sizeof(copy) || !turn || parse_u64(copy, &vtid) < 0 || vtid > INT32_MAX || parse_u64(turn, &rule.turn) < 0 ||
	    (after && (parse_u64(after, &rule.after) < 0 || rule.after == 0)))
		return error_set(err, EINVAL, "'%.40s' is not THREAD:TURN or THREAD:TURN+K", text);
	rule.vtid = (int)vtid;
	*ret = rule;
	return 0;
}

static size_t find_interrupt(const struct engine *e, const struct task *t)
{
	size_t i;

	for (i = 0; i < e->options.n_interrupts; i++)
		if (e->options.interrupts[i].turn == e->turn && e->options.interrupts[i].vtid == t->vtid)
			break;
	return i;
}

/* What is counted at all: nothing where nobody else could go on, or when the budget is used up. */
static enum preempt_unit unit_of(const struct engine *e)
{
	static const enum preempt_unit units[] = { [PREEMPT_STEPS] = PREEMPT_INSTRUCTIONS, [PREEMPT_FUNCTIONS] = PREEMPT_PLACES };
	const struct chaos_options *chaos = &e->options.chaos;

	if (!chaos->on || !sched_peek(&e->sched) || e->stats.instructions + e->stats.places >= chaos->preempt_budget)
		return PREEMPT_NOWHERE;
	return units[chaos->preempt];
}

static void ask(struct engine *e, struct task *t, struct preempt_point *point)
{
	const struct engine_chooser *chooser = e->options.chooser;
	size_t rule;

	point->unit = unit_of(e);
	if (chooser) {
		if (chooser->preempt)
			(void)chooser->preempt(chooser->arg, e, e->turn, t->id, point);
		return;
	}
	rule = find_interrupt(e, t);
	if (rule < e->options.n_interrupts && e->options.interrupts[rule].after) {
		*point = (struct preempt_point){ PREEMPT_INSTRUCTIONS, e->options.interrupts[rule].after };
		e->stats.interrupts[rule] = INTERRUPT_SHORT;
		return;
	}
	if (point->unit == PREEMPT_INSTRUCTIONS)
		point->after = sched_policy_steps(&e->policy);
	else if (point->unit == PREEMPT_PLACES)
		point->after = sched_policy_places(&e->policy);
}

/* Is the program's own code what runs next? */
static bool runs_code(const struct verdict *v)
{
	return v->kind == VERDICT_GO || v->kind == VERDICT_RETURN || v->kind == VERDICT_INSTALL || v->kind == VERDICT_CONTINUE;
}

void preempt_arm(struct engine *e, struct task *t, struct verdict *v)
{
	t->armed = (struct preempt_point){ 0 };
	t->armed_turn = e->turn;
	if (!runs_code(v) || (v->kind == VERDICT_CONTINUE && t->call.no_return))
		return;
	ask(e, t, &t->armed);
	if (!(e->g->abilities & GUEST_CAN_STEP) || (t->armed.unit == PREEMPT_INSTRUCTIONS && !t->armed.after))
		t->armed.unit = PREEMPT_NOWHERE;
	/* Into and out of the kernel the task is not stepped: it is stopped when it comes back. */
	if (v->kind != VERDICT_CONTINUE || t->armed.unit == PREEMPT_PLACES)
		v->preempt = t->armed;
}

void preempt_arm_watched(struct task *t, struct verdict *v)
{
	if (v->kind == VERDICT_GO && !t->call.disturbed)
		v->preempt = t->armed;
}

static const char *what_came(const struct event *event)
{
	const char *name = event->kind == EVENT_CALL ? policy_row(event->call.nr)->name : NULL;

	static const char *const others[] = { [EVENT_EXIT] = "its end", [EVENT_SIGNAL] = "a signal", [EVENT_PREEMPT] = "an anchor" };
	const char *other = event->kind < ARRAY_SIZE(others) ? others[event->kind] : NULL;

	return name ? name : other ? other : "another event";
}

/* The schedule that is followed has the task stopped there. */
static void miss(struct engine *e, const struct task *t, const struct event *event)
{
	e->misfit = true;
	(void)snprintf(e->failure, sizeof(e->failure), "turn %" PRIu64 ", thread %d: expected its turn to end after %" PRIu64 " %s, got %s",
		       t->armed_turn, t->vtid, t->armed.after, preempt_unit_name(t->armed.unit), what_came(event));
}

static void observe(struct engine *e, const struct task *t)
{
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i].preempted)
			e->observers[i].preempted(e->observers[i].arg, e, t->id, t->armed_turn, &t->armed);
}

static void note_interrupt(struct engine *e, const struct task *t)
{
	for (size_t i = 0; i < e->options.n_interrupts; i++) {
		if (e->options.interrupts[i].turn != t->armed_turn || e->options.interrupts[i].vtid != t->vtid)
			continue;
		e->stats.interrupts[i] = sched_peek(&e->sched) ? INTERRUPT_DONE : INTERRUPT_ALONE;
		e->avoid = t->id;
	}
}

void preempt_settle(struct engine *e, struct task *t, const struct event *event)
{
	bool reached = event->kind == EVENT_PREEMPT && !event->anchors;

	if (event->points.unit == PREEMPT_INSTRUCTIONS)
		e->stats.instructions += event->points.after;
	else if (event->points.unit == PREEMPT_PLACES)
		e->stats.places += event->points.after;
	chaos_passed(e, t, event->points.unit == PREEMPT_PLACES ? event->points.after : 0);
	if (reached) {
		e->stats.preemptions++;
		observe(e, t);
		note_interrupt(e, t);
	} else if (t->armed.unit && t->armed.after && e->options.chooser) {
		miss(e, t, event);
	}
	t->armed.unit = PREEMPT_NOWHERE;
}

bool preempt_forbids(struct engine *e, const struct task *t, bool alone)
{
	size_t rule = find_interrupt(e, t);

	if (e->avoid == t->id)
		return !alone;
	if (rule == e->options.n_interrupts || e->options.interrupts[rule].after || e->stats.interrupts[rule] == INTERRUPT_DONE)
		return false;
	e->stats.interrupts[rule] = alone ? INTERRUPT_ALONE : INTERRUPT_DONE;
	return !alone;
}
