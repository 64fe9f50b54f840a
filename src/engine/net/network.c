/* SPDX-License-Identifier: BSD-3-Clause */
/* The network at rest: see network.h. */
#include "engine/net/network.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/cleanup.h"
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

/* Calls that can say that more follows, for which TCP waits 200 ms of the kernel's time: where the descriptor is, and the flag. */
static const struct {
	int nr;
	unsigned fd, flags;
	uint64_t more;
} holding[] = {
	{ __NR_sendto, 0, 3, MSG_MORE },
	{ __NR_sendmsg, 0, 2, MSG_MORE },
	{ __NR_sendmmsg, 0, 3, MSG_MORE },
	{ __NR_splice, 2, 5, SPLICE_F_MORE },
};

/* What is not sent yet goes. */
static void push_held(struct engine *e)
{
	const int off = 0;

	while (e->n_held > 0) {
		int handle = e->held[--e->n_held];

		(void)e->g->ops->handle_set_option(e->g, handle, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
		e->g->ops->handle_release(e->g, handle);
	}
}

static void note_held(struct engine *e, struct task *t, int fd)
{
	const struct fd_info *info;
	int handle;

	if (fdtable_info(e, t, fd, &info) < 0 || info->kind != FD_INET || info->sock_type != SOCK_STREAM)
		return;
	if (e->n_held == ARRAY_SIZE(e->held))
		push_held(e);
	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle >= 0)
		e->held[e->n_held++] = handle;
}

void network_note_call(struct engine *e, struct task *t)
{
	if (!network_concerns(e, t))
		return;
	e->network_dirty = true;
	for (size_t i = 0; i < ARRAY_SIZE(holding); i++)
		if (t->call.nr == holding[i].nr && t->call.args[holding[i].flags] & holding[i].more)
			note_held(e, t, (int)t->call.args[holding[i].fd]);
}

void network_deinit(struct engine *e)
{
	while (e->n_held > 0)
		e->g->ops->handle_release(e->g, e->held[--e->n_held]);
}

int network_settle(struct engine *e)
{
	int r = 0;

	if (e->network_dirty) {
		push_held(e);
		r = e->g->ops->settle_network(e->g);
	}
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
