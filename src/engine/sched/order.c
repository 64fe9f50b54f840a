/* SPDX-License-Identifier: BSD-3-Clause */
/* Holding threads for an order: see order.h. */
#include "engine/sched/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "engine/engine_internal.h"

static bool fits(const struct order_anchor *a, const struct task *t)
{
	return (a->vtid < 0 || a->vtid == t->vtid) && (a->task < 0 || a->task == t->id);
}

/* Does this event bring the task to the anchor? Each that fits counts. */
static bool comes_to(const struct order_anchor *a, size_t number, const struct task *t, const struct event *event)
{
	if (!fits(a, t))
		return false;
	if (a->kind == ANCHOR_CALL)
		return event->kind == EVENT_CALL && t->call.first && (a->call < 0 || a->call == event->call.nr);
	return event->kind == EVENT_PREEMPT && event->anchors & 1ull << number;
}

/* The first edge that keeps the anchor from coming; NULL: none. */
static const struct order_edge *missing(const struct engine *e, size_t anchor)
{
	const struct order_spec *spec = e->options.order;

	for (size_t i = 0; i < spec->n_edges; i++)
		if (spec->edges[i].after == anchor && !e->order.fired[spec->edges[i].before] && !e->order.given_up[i])
			return &spec->edges[i];
	return NULL;
}

/* Of all anchors at which it stands. */
static const struct order_edge *keeps(const struct engine *e, const struct task *t)
{
	const struct order_edge *edge = NULL;

	for (size_t i = 0; i < e->options.order->n_anchors && !edge; i++)
		if (t->at_anchors & 1ull << i)
			edge = missing(e, i);
	return edge;
}

/* The call at which it stood is over; places have come when they are come to and nothing keeps the task. */
static void fire(struct engine *e, struct task *t, bool calls)
{
	for (size_t i = 0; i < e->options.order->n_anchors; i++)
		if (t->at_anchors & 1ull << i && (calls || e->options.order->anchors[i].kind != ANCHOR_CALL))
			e->order.fired[i] = true;
}

static int let_go(struct engine *e)
{
	struct task *t;
	bool more;
	int r = 0;

	do {
		more = false;
		LL_FOREACH(e->tasks, t) {
			if (r < 0 || t->state != TASK_HELD || keeps(e, t))
				continue;
			t->state = TASK_READY;
			r = sched_push_back(&e->sched, t);
			fire(e, t, false);
			more = true;
		}
	} while (r >= 0 && more);
	return r;
}

static void stand(struct engine *e, struct task *t, const struct event *event)
{
	const struct order_spec *spec = e->options.order;

	t->at_anchors = 0;
	for (size_t i = 0; i < spec->n_anchors; i++)
		if (comes_to(&spec->anchors[i], i, t, event) && ++e->order.seen[i] == spec->anchors[i].nth)
			t->at_anchors |= 1ull << i;
	if (!t->at_anchors)
		return;
	if (!keeps(e, t)) {
		fire(e, t, false);
	} else if (t->state == TASK_READY) {
		sched_remove(&e->sched, t);
		t->state = TASK_HELD;
	}
}

int order_event(struct engine *e, int task, const struct event *event)
{
	struct task *t = task_find(e, task);

	if (!e->options.order || event->kind == EVENT_DONE || event->kind == EVENT_ALARM)
		return 0;
	if (event->kind == EVENT_EXIT) {
		for (size_t i = 0; i < e->options.order->n_anchors; i++)
			e->order.fired[i] |= (e->dead_at_anchors & 1ull << i) != 0;
	} else if (t) {
		fire(e, t, true);
		stand(e, t, event);
	}
	return let_go(e);
}

static void explain(struct engine *e, const struct task *t, const struct order_edge *edge)
{
	const struct order_anchor *anchors = e->options.order->anchors;

	(void)snprintf(e->failure, sizeof(e->failure),
		       "turn %" PRIu64 ": nobody can go on; thread %d is held before '%s' until '%s' has come (seen %" PRIu64 " of %" PRIu64
		       " times)",
		       e->turn, t->vtid, anchors[edge->after].name, anchors[edge->before].name, e->order.seen[edge->before],
		       anchors[edge->before].nth);
}

bool order_relent(struct engine *e)
{
	const struct order_edge *edge;
	struct task *t;

	if (!e->options.order)
		return false;
	LL_FOREACH(e->tasks, t) {
		edge = t->state == TASK_HELD ? keeps(e, t) : NULL;
		if (!edge)
			continue;
		if (!edge->soft) {
			explain(e, t, edge);
			continue;
		}
		e->order.given_up[edge - e->options.order->edges] = true;
		e->failure[0] = '\0';
		return let_go(e) == 0;
	}
	return false;
}
