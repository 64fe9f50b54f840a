/* SPDX-License-Identifier: BSD-3-Clause */
/* The network at rest: see network.h. */
#include "engine/net/network.h"

#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"

bool network_concerns(struct engine *e, struct task *t)
{
	const struct fd_info *info;

	if (!e->network_used || !(t->call.row->flags & CALL_TOUCHES_IO))
		return false;
	/* Descriptors that are closed, and calls with two of them. */
	if (t->call.row->flags & (CALL_FD_CHANGE | CALL_PIECEWISE))
		return true;
	return fdtable_info(e, t, (int)t->call.args[0], &info) == 0 && info->kind == FD_INET;
}

int network_settle(struct engine *e)
{
	int r = 0;

	if (e->network_dirty)
		r = e->g->ops->settle_network(e->g);
	if (r >= 0)
		e->network_dirty = false;
	return r;
}

int network_moved_piece(struct engine *e)
{
	e->io_dirty = true;
	e->network_dirty |= e->network_used;
	return network_settle(e);
}
