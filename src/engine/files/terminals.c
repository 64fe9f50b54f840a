/* SPDX-License-Identifier: BSD-3-Clause */
/* Pseudo-terminals at rest: see terminals.h. */
#include "engine/files/terminals.h"

#include <sys/sysmacros.h>

#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"

enum { PTMX_MAJOR = 5, PTMX_MINOR = 2 }; /* a master is an open /dev/ptmx */

bool terminals_is_own(const struct fd_info *info)
{
	const dev_t controlling = makedev(5, 0);

	return info->kind == FD_TTY && !info->external && info->rdev != controlling;
}

bool terminals_is_master(const struct fd_info *info)
{
	return info->rdev == makedev(PTMX_MAJOR, PTMX_MINOR);
}

bool terminals_stop(struct engine *e, struct task *t, const struct fd_info *info, int handle, bool writes)
{
	return e->g->ops->terminal_stops && !terminals_is_master(info) && e->g->ops->terminal_stops(e->g, t->id, handle, info->rdev, writes);
}

int terminals_moved_piece(struct engine *e, bool master, bool more)
{
	e->io_dirty = true;
	terminals_moved(e, master);
	return more ? terminals_settle(e) : 0;
}

void terminals_moved(struct engine *e, bool echoes)
{
	e->terminals_dirty |= e->terminals_used;
	e->terminals_echo |= e->terminals_used && echoes;
}

/* Writing moves, and so does reading: it makes room for what did not fit. What is written to a master comes back, what is read from a slave may. */
void terminals_note(struct engine *e, struct task *t)
{
	const struct policy_row *row = t->call.row;
	const struct fd_info *info;
	bool master, reads;

	if (!e->terminals_used || !(row->flags & CALL_TOUCHES_IO) || row->ret != RET_LEN)
		return;
	if (row->flags & CALL_PIECEWISE) /* two descriptors */
		terminals_moved(e, true);
	info = row->args[0].kind == ARG_FD ? fdtable_known(t->fds, (int)t->call.args[0]) : NULL; /* the handler has looked at it */
	if (!info || info->kind != FD_TTY || info->external)
		return; /* terminals from outside are input from outside */
	master = terminals_is_master(info);
	reads = !(row->flags & CALL_SIGNALS);
	terminals_moved(e, master != reads);
}

int terminals_settle(struct engine *e)
{
	bool echoes = e->terminals_echo;

	if (!e->terminals_dirty)
		return 0;
	e->terminals_dirty = e->terminals_echo = false;
	e->io_dirty = true;
	signals_changed(e, NULL);
	return e->g->ops->settle_terminals(e->g, echoes);
}
