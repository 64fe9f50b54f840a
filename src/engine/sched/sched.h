/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run queue: who goes on next among the tasks that can. Default policy: lowest priority number first, first come first served
 * within one; a running task keeps its place at the front until it blocks or its slice is used up (run until block).
 */
#ifndef HS_ENGINE_SCHED_H
#define HS_ENGINE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task;

#define PRIORITY_DEFAULT 1000

struct sched {
	struct task **queue; /* sorted by (priority, queue_seq) */
	size_t n, room;
	uint64_t next_back, next_front; /* sequence numbers that are handed out */
};

void sched_init(struct sched *s);
void sched_deinit(struct sched *s);

/* 0 or -ENOMEM. The task must not be queued. */
int sched_push_back(struct sched *s, struct task *t);
int sched_push_front(struct sched *s, struct task *t);

/* Takes out the next one; NULL when empty. */
struct task *sched_pop(struct sched *s);
struct task *sched_peek(const struct sched *s);
void sched_remove(struct sched *s, struct task *t);

#endif
