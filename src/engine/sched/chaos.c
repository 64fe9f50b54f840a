/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choices: who of those that can run goes on (by the run queue, a policy, or a recorded schedule), and who is first where Linux promises no
 * order. Each pick is told to observers, from which a schedule can be written that is followed again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "engine/engine_internal.h"

void chaos_init(struct engine *e)
{
	struct rng rng;

	rng_init(&rng, e->options.sched_seed, "picks", 0);
	sched_policy_init(&e->policy, &e->options.chaos.policy, &rng);
	e->policy.steps = e->options.chaos.preempt == PREEMPT_STEPS;
	e->last_pick = -1;
	e->avoid = -1;
}

/* ---- priorities ---- */

static void tell_priority(struct engine *e, const struct sched_priority *change)
{
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i].priority)
			e->observers[i].priority(e->observers[i].arg, e, change);
}

static void priority_settled(struct engine *e, const struct task *t, uint64_t before, enum sched_priority_why why)
{
	struct sched_priority change = { .turn = e->turn, .task = t->id, .place = t->place, .why = why };

	if (t->place != before)
		tell_priority(e, &change);
}

/* They decide nothing where a schedule is followed, but belong to it. */
static void follow_priorities(struct engine *e)
{
	const struct engine_chooser *chooser = e->options.chooser;
	struct sched_priority change;
	struct task *t;

	while (chooser->priority && chooser->priority(chooser->arg, e->turn, &change)) {
		t = task_find(e, change.task);
		if (t)
			t->place = change.place;
		tell_priority(e, &change);
	}
}

void chaos_birth(struct engine *e, struct task *t)
{
	if (e->options.chooser)
		return;
	sched_policy_birth(&e->policy, t);
	priority_settled(e, t, 0, SCHED_PRIORITY_BORN);
}

void chaos_event(struct engine *e, struct task *t)
{
	uint64_t before = t->place;

	if (e->options.chooser) {
		follow_priorities(e);
		return;
	}
	sched_policy_event(&e->policy, t);
	priority_settled(e, t, before, SCHED_PRIORITY_POINT);
}

void chaos_passed(struct engine *e, struct task *t, uint64_t places)
{
	uint64_t before = t->place;

	if (e->options.chooser)
		return;
	sched_policy_passed(&e->policy, t, places);
	priority_settled(e, t, before, SCHED_PRIORITY_POINT);
}

void chaos_yield(struct engine *e, struct task *t)
{
	uint64_t before = t->place;

	if (e->options.chooser)
		return;
	sched_policy_yield(&e->policy, t);
	priority_settled(e, t, before, SCHED_PRIORITY_YIELDED);
}

void chaos_observed(struct engine *e, const struct engine_observer *observer)
{
	const struct task *t;

	LL_FOREACH(e->tasks, t) {
		struct sched_priority born = { .turn = e->turn, .task = t->id, .place = t->place };

		if (observer->priority && t->place)
			observer->priority(observer->arg, e, &born);
	}
}

/* ---- what is drawn ---- */

uint64_t chaos_draw(struct engine *e, uint64_t n)
{
	return e->options.chaos.on && n > 1 ? rng_below(&e->chaos_rng, n) : 0;
}

void chaos_fork(struct engine *e, const struct task *parent, const struct task *child)
{
	bool child_first = e->options.post_fork == POST_FORK_CHILD;

	if (e->options.post_fork == POST_FORK_RANDOM)
		child_first = rng_below(&e->chaos_rng, 2);
	if (child_first || e->options.post_fork == POST_FORK_RANDOM)
		e->policy.fork_pick = child_first ? child->id : parent->id;
}

/* ---- picks ---- */

/* In the middle of something that no other task may come into. */
static bool must_go_on(const struct task *t)
{
	return t->in_call ? t->call.done : t->verdict.kind == VERDICT_LISTEN;
}

/* Is it the policy's turn to say who goes on? Otherwise the run queue's order counts. */
static bool may_switch(struct engine *e, const struct task *front)
{
	if (e->policy.fork_pick >= 0)
		return true;
	return e->options.chaos.on && (e->options.chaos.preempt != PREEMPT_NONE || front != e->last);
}

static struct task *queued(struct engine *e, int id)
{
	for (size_t i = 0; i < e->sched.n; i++)
		if (e->sched.queue[i]->id == id)
			return e->sched.queue[i];
	return NULL;
}

static struct task *misfit(struct engine *e, const char *what, int task)
{
	e->misfit = true;
	(void)snprintf(e->failure, sizeof(e->failure), "turn %" PRIu64 ", thread %d: %s", e->turn, engine_vtid(e, task), what);
	return NULL;
}

/* As the schedule says, or the one that was picked last. */
static struct task *follow(struct engine *e, unsigned nth)
{
	const struct engine_chooser *chooser = e->options.chooser;
	const char *message = "";
	struct task *t;
	int id, r;

	r = chooser->pick(chooser->arg, e, e->turn, nth, &id, &message);
	if (r < 0)
		return misfit(e, message, id);
	if (r == 0)
		id = e->last_pick;
	t = queued(e, id);
	if (!t)
		return misfit(e, r ? "cannot go on, the schedule says it does" : "cannot go on, and the schedule names no other", id);
	return t;
}

static struct task *pick_by(struct engine *e, unsigned nth, enum sched_why *ret_why)
{
	struct task *front = sched_peek(&e->sched);

	if (e->options.chooser) {
		*ret_why = SCHED_WHY_FOLLOWED;
		return follow(e, nth);
	}
	*ret_why = SCHED_WHY_FORCED;
	if (must_go_on(front))
		return front;
	*ret_why = SCHED_WHY_QUEUE;
	return may_switch(e, front) ? sched_policy_pick(&e->policy, &e->sched, e->last, ret_why) : front;
}

/* Somebody else where this one is not to go on. */
static struct task *pick_other(struct engine *e, struct task *t, enum sched_why *why)
{
	size_t i;

	if (e->options.chooser || must_go_on(t) || !preempt_forbids(e, t, e->sched.n == 1))
		return t;
	for (i = 0; e->sched.queue[i] == t; i++)
		;
	*why = SCHED_WHY_INTERRUPT;
	return e->sched.queue[i];
}

struct task *chaos_pick(struct engine *e)
{
	enum sched_why why;
	struct task *t;
	unsigned nth;

	if (!sched_peek(&e->sched))
		return NULL;
	if (e->options.chooser)
		follow_priorities(e);
	nth = e->pick_turn == e->turn ? e->picks_of_turn : 0;
	e->pick_turn = e->turn;
	e->picks_of_turn = nth + 1;
	t = pick_by(e, nth, &why);
	if (!t)
		return NULL;
	t = pick_other(e, t, &why);
	e->avoid = -1;
	sched_remove(&e->sched, t);
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i].picked)
			e->observers[i].picked(e->observers[i].arg, e, t->id, nth, t->id == e->last_pick, why);
	e->last_pick = t->id;
	return t;
}
