/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deaths that were seen but not yet reported. In which order tasks die that die together is chance, and so is how many are
 * found dead at a time. The order of the reports is not: of those found together by number, threads before leaders;
 * and of a process that ends as a whole (exit_group, a fatal signal) nothing before its leader is reaped, which is last.
 */
#ifndef HS_BACKEND_NOTIFY_DEATHS_H
#define HS_BACKEND_NOTIFY_DEATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "backend/notify/queue.h"

struct death {
	int number, status;
	pid_t tgid;
	bool leader;
	bool held; /* until the leader's death */
};

struct deaths {
	struct death *list;
	size_t n, room;
};

/* The death of a leader releases what was held of its process. */
int deaths_add(struct deaths *deaths, const struct death *death);
/* Is there one that is not held? */
bool deaths_any_ready(const struct deaths *deaths);
/* Moves what is not held to the queue. */
int deaths_report(struct deaths *deaths, struct event_queue *queue);
void deaths_deinit(struct deaths *deaths);

#endif
