/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking calls by attempt: see attempt.h. */
#include "engine/attempt.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/wait.h"

/* The kernel's codes for "a signal came": ERESTARTSYS, NOINTR, NOHAND, RESTARTBLOCK. */
bool attempt_gave_up(int64_t result)
{
	return result == -EINTR || (result <= -512 && result >= -516);
}

static bool same_call(const struct task *t)
{
	return t->attempt.failed && t->attempt.nr == t->call.nr && !memcmp(t->attempt.args, t->call.args, sizeof(t->attempt.args));
}

static int attempt_done(struct engine *e, struct task *t, uint64_t deadline_ns, struct verdict *v)
{
	v->kind = VERDICT_GO;
	if (!attempt_gave_up(t->call.result)) {
		e->event_dirty = true;
		return 0;
	}
	/* The kernel makes the call again; it will come back to us to be parked. */
	t->attempt.failed = true;
	t->attempt.nr = t->call.nr;
	memcpy(t->attempt.args, t->call.args, sizeof(t->attempt.args));
	t->attempt.deadline_ns = t->wait.deadline_ns != TIME_NEVER ? t->wait.deadline_ns : deadline_ns;
	v->set_result = true;
	v->value = WAIT_ERESTARTSYS;
	return 0;
}

int attempt_call(struct engine *e, struct task *t, uint64_t deadline_ns, int timeout_error, struct verdict *v)
{
	if (t->call.done)
		return attempt_done(e, t, deadline_ns, v);
	if (wait_timed_out(t))
		return verdict_errno(v, timeout_error);
	if (!t->call.first || !same_call(t)) {
		if (!wait_interrupted(t)) {
			t->call.attempt = true;
			return verdict_hook(v);
		}
		return verdict_block(v); /* becomes an interruption */
	}
	/* The first look at a call that has just failed: park. Its deadline is that of the first attempt. */
	t->attempt.failed = false;
	if (t->attempt.deadline_ns != TIME_NEVER)
		wait_until(e, t, t->attempt.deadline_ns);
	wait_for(t, WAIT_EVENT);
	return verdict_block(v);
}
