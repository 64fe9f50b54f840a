/* SPDX-License-Identifier: BSD-3-Clause */
/* Events in waiting: see queue.h. */
#include "backend/notify/queue.h"

#include <errno.h>
#include <stdlib.h>

static int grow(struct event_queue *q)
{
	size_t room = q->room ? q->room * 2 : 16;
	struct event *events;
	size_t i;

	events = calloc(room, sizeof(*events));
	if (!events)
		return -ENOMEM;
	for (i = 0; i < q->n; i++)
		events[i] = q->events[(q->first + i) % q->room];
	free(q->events);
	q->events = events;
	q->first = 0;
	q->room = room;
	return 0;
}

int queue_push(struct event_queue *q, const struct event *event)
{
	int r;

	if (q->n == q->room) {
		r = grow(q);
		if (r < 0)
			return r;
	}
	q->events[(q->first + q->n) % q->room] = *event;
	q->n++;
	return 0;
}

bool queue_pop(struct event_queue *q, struct event *ret_event)
{
	if (q->n == 0)
		return false;
	*ret_event = q->events[q->first];
	q->first = (q->first + 1) % q->room;
	q->n--;
	return true;
}

void queue_deinit(struct event_queue *q)
{
	free(q->events);
	*q = (struct event_queue){ 0 };
}
