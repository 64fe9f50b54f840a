/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that move bytes between descriptors, and those that move several messages at once. sendfile into a pipe or socket is done in pieces by us, so
 * that a blocking one sends all; splice and its kin wait for their ends to be ready and move at once what is there.
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
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handlers.h"
#include "engine/net/network.h"
#include "engine/net/network_rest.h"
#include "engine/net/sockets.h"
#include "engine/files/paths.h"
#include "engine/files/readers.h"
#include "engine/files/terminals.h"
#include "engine/wait.h"

enum {
	PIECE = 65536,
	SPLICE_FLAGS = 15, /* all that there are */
};

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
static int move_pieces(struct engine *e, struct task *t, int in, const struct fd_info *out, struct verdict *v)
{
	bool terminal = terminals_is_own(out), master = terminals_is_master(out);
	uint64_t piece = terminal ? TERMINAL_PIECE : PIECE;
	_cleanup_free_ unsigned char *buf = malloc(PIECE);
	int64_t start = transfer_position(e, t, in), position;
	uint64_t count = t->call.args[3], left;
	ssize_t n, written;
	int r;

	if (!buf)
		return -ENOMEM;
	if (start < 0 || count > INT64_MAX)
		return verdict_continue(v); /* the kernel says what is wrong */
	if (count > SPAN_MOVE_LIMIT)
		count = SPAN_MOVE_LIMIT;
	for (;;) {
		position = start + (int64_t)t->call.progress;
		left = count - t->call.progress;
		n = left ? e->g->ops->handle_read_at(e->g, in, buf, left < piece ? left : piece, position) : 0;
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
		r = terminal ? terminals_moved_piece(e, master, true) : network_moved_piece(e);
		if (r < 0)
			return r;
	}
}

int handle_io_sendfile(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *in_info, *out_info;
	struct fd_info out;
	int in, r;

	r = fdtable_info(e, t, (int)t->call.args[1], &in_info);
	if (r == 0 && is_synthetic(in_info))
		return verdict_errno(v, EINVAL);
	if (r == 0)
		r = fdtable_info(e, t, (int)t->call.args[0], &out_info);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	if (!fd_may_block(out_info->kind) || fd_never_waits(out_info, POLLOUT)) {
		r = file_changed(e, out_info->dev, out_info->ino);
		if (r >= 0)
			r = network_note_write(e, t, (int)t->call.args[0], out_info);
		return r < 0 ? r : verdict_continue(v);
	}
	out = *out_info;
	r = wait_fd(e, t, (int)t->call.args[0], POLLOUT);
	if (r == 0 || r == 1) {
		int nonblocking = wait_is_nonblocking(e, t);

		if (nonblocking)
			return nonblocking < 0 ? nonblocking : verdict_continue(v);
	}
	if (r <= 0)
		return r == -EBADF ? verdict_continue(v) : r < 0 ? r : verdict_block(v);
	if (terminals_is_own(&out) && terminals_stop(e, t, &out, t->wait.polls[0].handle, true))
		return verdict_continue(v);
	in = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[1]);
	if (in < 0)
		return in == -EBADF ? verdict_errno(v, EBADF) : in;
	r = move_pieces(e, t, in, &out, v);
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

/* Can the call go on at this end now? 1, 0, or -errno; what is noted is what this end waits for. */
static int end_ready(struct engine *e, struct task *t, int fd, short events, bool *nonblocking)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r;
	if (!fd_may_block(info->kind) || fd_never_waits(info, events))
		return 1;
	wait_drop(e, t);
	r = wait_fd(e, t, fd, events);
	if (r < 0)
		return r;
	*nonblocking |= wait_is_nonblocking(e, t) > 0;
	return r;
}

/*
 * Waits until both ends (-1: none) are ready. 1: let the kernel go on; it moves what is there, and does not sleep.
 * 0: parked. These calls look for signals before they look for bytes, so they cannot be attempted.
 */
static int ends_wait(struct engine *e, struct task *t, int in, int out, uint64_t flags, struct verdict *v)
{
	bool nonblocking = flags & SPLICE_F_NONBLOCK;
	int r, other = 1;

	r = out >= 0 ? end_ready(e, t, out, POLLOUT, &nonblocking) : 1;
	if (r >= 0 && in >= 0) {
		other = r;
		r = end_ready(e, t, in, POLLIN, &nonblocking);
	}
	if (r == -EBADF)
		return 1;
	if (r < 0)
		return r;
	if ((r && other) || nonblocking)
		return 1;
	if (r) { /* the output is what lacks */
		r = end_ready(e, t, out, POLLOUT, &nonblocking);
		if (r)
			return r;
	}
	return verdict_block(v);
}

/* Does the kernel refuse at once, or have nothing to do? Facts of both ends; an offset into a pipe is wrong. */
static bool ends_at_once(const struct fd_info *in, bool in_offset, const struct fd_info *out, bool out_offset, uint64_t len, uint64_t flags)
{
	bool in_pipe = in->kind == FD_PIPE, out_pipe = out->kind == FD_PIPE;

	return !len || flags & ~(uint64_t)SPLICE_FLAGS || (!in_pipe && !out_pipe) || (in_pipe && in_offset) || (out_pipe && out_offset) ||
	       (in->open_flags & O_ACCMODE) == O_WRONLY || (out->open_flags & O_ACCMODE) == O_RDONLY ||
	       (in_pipe && out_pipe && in->dev == out->dev && in->ino == out->ino);
}

/* The facts of both ends: -EBADF when one is not open. */
static int ends_info(struct engine *e, struct task *t, int in, int out, struct fd_info *ret_in, struct fd_info *ret_out)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, in, &info);
	if (r < 0)
		return r;
	*ret_in = *info;
	r = fdtable_info(e, t, out, &info);
	if (r >= 0)
		*ret_out = *info;
	return r;
}

/* Are both ready, the stream without an error? What of it is the kernel to say. */
static bool both_ready(struct engine *e, int in, int out)
{
	struct handle_poll polls[] = { { .handle = in, .events = POLLIN }, { .handle = out, .events = POLLOUT } };

	return e->g->ops->handles_poll(e->g, polls, 2, 0) == 2 && polls[0].revents & POLLIN && polls[1].revents == POLLOUT;
}

/*
 * Moves up to `len` bytes in pieces that surely fit: what was taken out of the pipe could not go back. What the guest gets to know is in *ret:
 * how many, or the -errno of the first piece.
 */
static int move_sure(struct engine *e, int in, int out, const struct fd_info *stream, uint64_t len, int64_t *ret)
{
	uint64_t sure = socket_takes_surely(e, stream), left;
	_cleanup_free_ unsigned char *buf = malloc(sure);
	ssize_t n = 0;
	int r = 0;

	if (!buf)
		return -ENOMEM;
	for (*ret = 0; r == 0 && (left = len - (uint64_t)*ret) && both_ready(e, in, out); *ret += n) {
		n = e->g->ops->handle_read(e->g, in, buf, left < sure ? left : sure);
		if (n > 0)
			n = e->g->ops->handle_write(e->g, out, buf, (size_t)n);
		if (n <= 0) {
			*ret = *ret ? *ret : n;
			return 0;
		}
		r = network_moved_piece(e);
	}
	return r;
}

/* From a pipe into a stream: more than what surely fits would sleep on the way, so that much is moved at once. */
static int pipe_to_stream(struct engine *e, struct task *t, const struct fd_info *stream, struct verdict *v)
{
	uint64_t len = t->call.args[4];
	int64_t moved = 0;
	int in, out, r;

	in = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (in < 0)
		return in == -EBADF ? verdict_errno(v, EBADF) : in;
	out = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[2]);
	r = out < 0 ? out : move_sure(e, in, out, stream, len < PIECE ? len : PIECE, &moved);
	e->g->ops->handle_release(e->g, in);
	if (out >= 0)
		e->g->ops->handle_release(e->g, out);
	if (out == -EBADF)
		return verdict_errno(v, EBADF);
	if (r < 0)
		return r;
	/* nothing: an end is gone, and the kernel says what that means, without sleeping */
	return moved && moved != -EPIPE ? verdict_return(v, moved) : verdict_continue(v);
}

int handle_io_splice(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t in_offset = t->call.args[1], out_offset = t->call.args[3], len = t->call.args[4], flags = t->call.args[5];
	int in_fd = (int)t->call.args[0], out_fd = (int)t->call.args[2], r;
	struct fd_info in, out;

	r = ends_info(e, t, in_fd, out_fd, &in, &out);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	if (is_synthetic(&in) && (in.kind != FD_CHAR || is_random_device(&in)))
		return verdict_errno(v, EINVAL);
	if (terminals_is_own(&out)) /* the kernel would sleep until all of it fits; before Linux 5.11 it had this answer, and programs write then */
		return verdict_errno(v, EINVAL);
	if (ends_at_once(&in, in_offset, &out, out_offset, len, flags))
		return verdict_continue(v);
	r = out.kind == FD_FILE ? file_changed(e, out.dev, out.ino) : network_note_write(e, t, out_fd, &out);
	if (r < 0)
		return r;
	r = ends_wait(e, t, in_fd, out_fd, flags, v);
	if (r <= 0)
		return r;
	if (in.kind == FD_PIPE && (out.kind == FD_INET || out.kind == FD_UNIX) && len > socket_takes_surely(e, &out) && !(flags & SPLICE_F_NONBLOCK))
		return pipe_to_stream(e, t, &out, v);
	return verdict_continue(v);
}

int handle_io_tee(struct engine *e, struct task *t, struct verdict *v)
{
	int in_fd = (int)t->call.args[0], out_fd = (int)t->call.args[1], r;
	struct fd_info in, out;

	r = ends_info(e, t, in_fd, out_fd, &in, &out);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	if (in.kind != FD_PIPE || out.kind != FD_PIPE || ends_at_once(&in, false, &out, false, t->call.args[2], t->call.args[3]))
		return verdict_continue(v);
	r = ends_wait(e, t, in_fd, out_fd, t->call.args[3], v);
	return r <= 0 ? r : verdict_continue(v);
}

/* Into a pipe's write end, out of any other. */
int handle_io_vmsplice(struct engine *e, struct task *t, struct verdict *v)
{
	int fd = (int)t->call.args[0], r;
	const struct fd_info *info;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0 || info->kind != FD_PIPE || !t->call.args[2] || t->call.args[3] & ~(uint64_t)SPLICE_FLAGS)
		return r < 0 && r != -EBADF ? r : verdict_continue(v);
	if ((info->open_flags & O_ACCMODE) == O_RDONLY)
		r = ends_wait(e, t, fd, -1, t->call.args[3], v);
	else
		r = ends_wait(e, t, -1, fd, t->call.args[3], v);
	return r <= 0 ? r : verdict_continue(v);
}
