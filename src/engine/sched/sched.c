/* SPDX-License-Identifier: BSD-3-Clause */
/* The run queue: see sched.h. A sorted array: queues are short, and order is all that matters. */
#include "engine/sched/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/task.h"

#define SEQ_MIDDLE (UINT64_MAX / 2)

void sched_init(struct sched *s)
{
	*s = (struct sched){ .next_back = SEQ_MIDDLE, .next_front = SEQ_MIDDLE - 1 };
}

void sched_deinit(struct sched *s)
{
	free(s->queue);
	*s = (struct sched){ 0 };
}

static bool goes_before(const struct task *a, const struct task *b)
{
	if (a->priority != b->priority)
		return a->priority < b->priority;
	return a->queue_seq < b->queue_seq;
}

static int insert(struct sched *s, struct task *t)
{
	struct task **grown;
	size_t at, room;

	if (s->n == s->room) {
		room = s->room ? s->room * 2 : 64;
		grown = realloc(s->queue, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->queue = grown;
		s->room = room;
	}
	for (at = s->n; at > 0 && goes_before(t, s->queue[at - 1]); at--)
		;
	memmove(s->queue + at + 1, s->queue + at, (s->n - at) * sizeof(*s->queue));
	s->queue[at] = t;
	s->n++;
	return 0;
}

int sched_push_back(struct sched *s, struct task *t)
{
	t->queue_seq = s->next_back++;
	return insert(s, t);
}

int sched_push_front(struct sched *s, struct task *t)
{
	t->queue_seq = s->next_front--;
	return insert(s, t);
}

struct task *sched_peek(const struct sched *s)
{
	return s->n ? s->queue[0] : NULL;
}

struct task *sched_pop(struct sched *s)
{
	struct task *t = sched_peek(s);

	if (t)
		sched_remove(s, t);
	return t;
}

void sched_remove(struct sched *s, struct task *t)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->queue[i] != t)
			continue;
		memmove(s->queue + i, s->queue + i + 1, (s->n - i - 1) * sizeof(*s->queue));
		s->n--;
		return;
	}
}
