/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that change what descriptor numbers mean. The kernel does it; what was known about the numbers is forgotten. */
#include <errno.h>
#include <stdint.h>

#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handlers.h"

int handle_fs_close(struct engine *e, struct task *t, struct verdict *v)
{
	fdtable_forget(t->fds, (int)t->call.args[0]);
	return verdict_continue(v);
}

int handle_fs_close_range(struct engine *e, struct task *t, struct verdict *v)
{
	fdtable_forget_range(t->fds, (unsigned)t->call.args[0], (unsigned)t->call.args[1]);
	return verdict_continue(v);
}

int handle_fs_dup(struct engine *e, struct task *t, struct verdict *v)
{
	return verdict_continue(v); /* takes a free number, of which nothing is known */
}

int handle_fs_dup2(struct engine *e, struct task *t, struct verdict *v)
{
	fdtable_forget(t->fds, (int)t->call.args[1]);
	return verdict_continue(v);
}

int handle_fs_dup3(struct engine *e, struct task *t, struct verdict *v)
{
	return handle_fs_dup2(e, t, v);
}

/* With a descriptor it changes which signals that one shows. */
int handle_fs_signalfd(struct engine *e, struct task *t, struct verdict *v)
{
	fdtable_forget(t->fds, (int)t->call.args[0]);
	return verdict_continue(v);
}
