/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that need nothing but their place in the order of events: the kernel runs them, in turn. */
#include "engine/calls/handlers.h"
#include "engine/verdict.h"

int handle_plain(struct engine *e, struct task *t, struct verdict *v)
{
	return verdict_continue(v);
}
