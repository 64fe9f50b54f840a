/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handlers that the table names and that no family file defines yet: one entry each, taken out when the real function comes in.
 * ORDERED(handler): the kernel runs the call, in turn; where the row's class promises more than that, it is reported as uncontrolled
 */
#include "engine/engine_internal.h"
#include "engine/handlers.h"
#include "engine/verdict.h"

/* An ORDER row asks the kernel for its answer anyway; the other classes promise one that is not the host's. */
static int let_through(struct engine *e, struct task *t, struct verdict *v)
{
	if (t->call.row->class != CLASS_ORDER)
		engine_report_uncontrolled(e, "not modelled", t->call.row->name);

	return verdict_continue(v);
}

#define ORDERED(name)                                                         \
	int handle_##name(struct engine *e, struct task *t, struct verdict *v) \
	{                                                                     \
		return let_through(e, t, v);                                  \
	}

/* clang-format off */
ORDERED(io_lseek)
