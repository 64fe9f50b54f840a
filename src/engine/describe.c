/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits for what, and who computes, in words: engine_describe_waiters() and engine_describe_running() in engine.h. */
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/wait.h"

static const char *const wait_names[] = {
	[WAIT_NONE] = "nothing",	   [WAIT_FDS] = "a descriptor", [WAIT_FUTEX] = "a futex",
	[WAIT_CHILD] = "a child process",  [WAIT_SIGNAL] = "a signal",	[WAIT_TIME] = "time to pass",
	[WAIT_EVENT] = "another process",
};

static void describe(struct engine *e, FILE *f, struct task *t)
{
	char *stack = NULL;

	(void)fprintf(f, "  thread %d of process %d", t->vtid, t->process->vpid);
	if (t->state == TASK_BLOCKED)
		(void)fprintf(f, " waits in %s for %s since turn %llu\n", t->call.row->name, wait_names[t->wait.kind],
			      (unsigned long long)t->wait.since_turn);
	else if (t->state == TASK_VFORK)
		(void)fprintf(f, " waits for its vfork child\n");
	else if (t->state == TASK_SPINNING)
		(void)fprintf(f, " spins: it goes round in a loop that %s\n",
			      t->spin.points > 1 ? "restores whatever it changes" : "changes nothing");
	else if (t->state == TASK_HELD)
		(void)fprintf(f, " is held for the order that was asked for\n");
	else if (t->state == TASK_STOPPED)
		(void)fprintf(f, " is stopped by a signal\n");
	else
		(void)fprintf(f, " could go on\n");
	if (e->g->ops->backtrace && e->g->ops->backtrace(e->g, t->id, &stack) == 0 && stack)
		(void)fprintf(f, "%s", stack);
	free(stack);
}

char *engine_describe_waiters(struct engine *e)
{
	struct task *t;
	char *text = NULL;
	size_t size;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	LL_FOREACH(e->tasks, t) {
		if (!t->leader_gone)
			describe(e, f, t);
	}
	return fclose(f) == 0 ? text : NULL;
}

char *engine_describe_running(struct engine *e, bool *ret_holds_up)
{
	const struct task *t = e->running;
	bool computes = t && e->silent_turn == e->turn;
	char *text = NULL;
	size_t size;
	FILE *f;

	*ret_holds_up = computes && engine_others_wait(e, t);
	f = t ? open_memstream(&text, &size) : NULL;
	if (!f)
		return NULL;
	(void)fprintf(f, "  thread %d of process %d %s", t->vtid, t->process->vpid, computes ? "computes, and makes no call" : "has the turn");
	return fclose(f) == 0 ? text : NULL;
}
