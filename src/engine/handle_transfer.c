/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that move bytes between descriptors, and those that move several messages at once. sendfile into a pipe or socket is done in pieces by us, so
 * that a blocking one sends all; the others are attempted (attempt.h): what they move at once is what is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/handle_netlink.h"
#include "engine/handlers.h"
#include "engine/paths.h"
#include "engine/readers.h"
#include "engine/wait.h"

enum { PIECE = 65536, SPLICE_NONBLOCK = 2 };

/* Files of ours have no bytes that the kernel could move: programs fall back to read and write. */
static bool is_synthetic(const struct fd_info *info)
{
	return info->kind == FD_PROC || info->kind == FD_SYS || info->kind == FD_CHAR;
}

/* Where a sendfile reads: the offset argument, or the input's own position. */
static int64_t transfer_position(struct engine *e, struct task *t, int in)
{
	int64_t position = 0;
	int r;

	if (!t->call.args[2])
		return e->g->ops->handle_seek(e->g, in, 0, SEEK_CUR);
	r = guest_read(e, t, t->call.args[2], &position, sizeof(position));
	return r < 0 ? r : position;
}

static int transfer_end(struct engine *e, struct task *t, int in, int64_t position, struct verdict *v)
{
	int r = 0;

	if (t->call.args[2])
		r = guest_write(e, t, t->call.args[2], &position, sizeof(position));
	else
		(void)e->g->ops->handle_seek(e->g, in, position, SEEK_SET);
	return r < 0 && r != -EFAULT ? r : verdict_return(v, (int64_t)t->call.progress);
}

/* Moves what goes now; call.progress counts. */
static int move_pieces(struct engine *e, struct task *t, int in, struct verdict *v)
{
	_cleanup_free_ unsigned char *buf = malloc(PIECE);
	int64_t start = transfer_position(e, t, in), position;
	uint64_t left;
	ssize_t n, written;

	if (!buf)
		return -ENOMEM;
	if (start < 0)
		return verdict_continue(v); /* the kernel says what is wrong */
	for (;;) {
		position = start + (int64_t)t->call.progress;
		left = t->call.args[3] - t->call.progress;
		n = left ? e->g->ops->handle_read_at(e->g, in, buf, left < PIECE ? left : PIECE, position) : 0;
		if (n < 0 && !t->call.progress)
			return verdict_return(v, n);
		if (n <= 0)
			return transfer_end(e, t, in, position, v);
		written = e->g->ops->handle_write(e->g, t->wait.polls[0].handle, buf, (size_t)n);
		if (written == -EAGAIN)
			return wait_interrupted(t) && t->call.progress ? transfer_end(e, t, in, position, v) : verdict_block(v);
		if (written < 0)
			return t->call.progress ? transfer_end(e, t, in, position, v) : verdict_continue(v);
		t->call.progress += (uint64_t)written;
		e->io_dirty = true;
	}
}

int handle_io_sendfile(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *in_info, *out_info;
	int in, r;

	r = fdtable_info(e, t, (int)t->call.args[1], &in_info);
	if (r == 0 && is_synthetic(in_info))
		return verdict_errno(v, EINVAL);
	if (r == 0)
		r = fdtable_info(e, t, (int)t->call.args[0], &out_info);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	if (!fd_may_block(out_info->kind)) {
		r = file_changed(e, out_info->dev, out_info->ino);
		return r < 0 ? r : verdict_continue(v);
	}
	r = wait_fd(e, t, (int)t->call.args[0], POLLOUT);
	if (r == 0 || r == 1) {
		int nonblocking = wait_is_nonblocking(e, t);

		if (nonblocking)
			return nonblocking < 0 ? nonblocking : verdict_continue(v);
	}
	if (r <= 0)
		return r == -EBADF ? verdict_continue(v) : r < 0 ? r : verdict_block(v);
	in = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[1]);
	if (in < 0)
		return in == -EBADF ? verdict_errno(v, EBADF) : in;
	r = move_pieces(e, t, in, v);
	e->g->ops->handle_release(e->g, in);
	return r;
}

int handle_io_copy_file_range(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r == 0 && is_synthetic(info))
		return verdict_errno(v, EINVAL);
	if (r == 0)
		r = fdtable_info(e, t, (int)t->call.args[2], &info);
	if (r == 0)
		r = file_changed(e, info->dev, info->ino);
	return r < 0 && r != -EBADF ? r : verdict_continue(v);
}

/* The kernel moves what is there as soon as both ends are ready; until then the call waits for the one that is not. */
static int splice_call(struct engine *e, struct task *t, int source, int target, uint64_t flags, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	if (source >= 0) {
		r = fdtable_info(e, t, source, &info);
		if (r == 0 && is_synthetic(info) && info->kind != FD_CHAR)
			return verdict_errno(v, EINVAL);
		if (r < 0 && r != -EBADF)
			return r;
	}
	if (flags & SPLICE_NONBLOCK)
		return verdict_continue(v);
	wait_drop(e, t);
	r = call_when_ready(e, t, source, POLLIN, v);
	if (r < 0 || v->kind != VERDICT_CONTINUE)
		return r;
	wait_drop(e, t);
	return call_when_ready(e, t, target, POLLOUT, v);
}

int handle_io_splice(struct engine *e, struct task *t, struct verdict *v)
{
	return splice_call(e, t, (int)t->call.args[0], (int)t->call.args[2], t->call.args[5], v);
}

int handle_io_tee(struct engine *e, struct task *t, struct verdict *v)
{
	return splice_call(e, t, (int)t->call.args[0], (int)t->call.args[1], t->call.args[3], v);
}

/* Memory into the end of a pipe that is written to, or out of the other one. */
int handle_io_vmsplice(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	bool writes;
	int r;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	writes = (info->open_flags & O_ACCMODE) != O_RDONLY;
	if (t->call.args[3] & SPLICE_NONBLOCK)
		return verdict_continue(v);
	return call_when_ready(e, t, (int)t->call.args[0], writes ? POLLOUT : POLLIN, v);
}

int handle_io_sendmmsg(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;

	if (netlink_serves(e, t, (int)t->call.args[0], &info))
		return netlink_sendmmsg(e, t, info, v);
	if (t->call.args[3] & MSG_DONTWAIT)
		return verdict_continue(v);
	return attempt_call(e, t, TIME_NEVER, EAGAIN, v);
}
