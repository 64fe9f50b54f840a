/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that have joined from outside: see outsiders.h. */
#include "engine/sched/outsiders.h"

#include <utlist.h>

#include "engine/engine_internal.h"

static bool waits(const struct task *t)
{
	return t->state == TASK_READY || (t->state == TASK_BLOCKED && t->wait.deadline_ns != TIME_NEVER);
}

void outsiders_note(struct engine *e)
{
	const struct task *t;

	e->g->outsider_waits = false;
	if (!e->n_joined)
		return;
	LL_FOREACH(e->tasks, t) {
		if (t != e->running && waits(t) && t->process->outsider)
			e->g->outsider_waits = true;
	}
}
