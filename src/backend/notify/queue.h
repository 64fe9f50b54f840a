/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that were seen but not yet asked for, in order. */
#ifndef HS_BACKEND_NOTIFY_QUEUE_H
#define HS_BACKEND_NOTIFY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/guest.h"

struct event_queue {
	struct event *events; /* a ring */
	size_t first, n, room;
};

/* 0 or -ENOMEM. */
int queue_push(struct event_queue *q, const struct event *event);
/* False when there is none. */
bool queue_pop(struct event_queue *q, struct event *ret_event);
void queue_deinit(struct event_queue *q);

#endif
