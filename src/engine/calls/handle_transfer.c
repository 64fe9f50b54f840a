/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that move bytes between descriptors. sendfile into a pipe or socket is done in pieces by us, so
 * that a blocking one sends all, and so is a splice into a stream; its kin wait for their ends to be ready and move at once what is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handle_write.h"
#include "engine/calls/handlers.h"
#include "engine/net/network.h"
#include "engine/net/netlink_socket.h"
#include "engine/net/network_rest.h"
#include "engine/net/sockets.h"
#include "engine/files/paths.h"
#include "engine/files/readers.h"
#include "engine/files/terminals.h"
#include "engine/proc/machine.h"
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

/* Zeros without end: each of them is at every place, and reading gets no further. */
static bool is_endless(const struct fd_info *info)
{
	enum { MEMORY_DEVICES = 1, ZERO = 5, FULL = 7 }; /* admin-guide/devices.txt */

	return info->kind == FD_CHAR && major(info->rdev) == MEMORY_DEVICES && (minor(info->rdev) == ZERO || minor(info->rdev) == FULL);
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
	const struct fd_info *info;
	int r = 0;

	if (fdtable_info(e, t, (int)t->call.args[1], &info) == 0 && is_endless(info))
		return verdict_return(v, (int64_t)t->call.progress);
	if (t->call.args[2])
		r = guest_write(e, t, t->call.args[2], &position, sizeof(position));
	else
		(void)e->g->ops->handle_seek(e->g, in, position, SEEK_SET);
	return r < 0 && r != -EFAULT ? r : verdict_return(v, (int64_t)t->call.progress);
}

/* Moves what goes now; call.progress counts. */
static int move_pieces(struct engine *e, struct task *t, int in, const struct fd_info *out, bool nonblocking, struct verdict *v)
{
	bool terminal = terminals_is_own(out), master = terminals_is_master(out);
	uint64_t piece = TERMINAL_PIECE;
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
		if (!terminal)
			piece = socket_piece(e, t->wait.polls[0].handle, out, PIECE);
		n = left ? e->g->ops->handle_read_at(e->g, in, buf, left < piece ? left : piece, position) : 0;
		if (n < 0 && !t->call.progress)
			return verdict_return(v, n);
		if (n <= 0)
			return transfer_end(e, t, in, position, v);
		written = e->g->ops->handle_write(e->g, t->wait.polls[0].handle, buf, (size_t)n);
		if (written == -EAGAIN && t->call.progress && (nonblocking || wait_interrupted(t)))
			return transfer_end(e, t, in, position, v);
		if (written == -EAGAIN)
			return nonblocking ? verdict_errno(v, EAGAIN) : verdict_block(v);
		if (written < 0 && t->call.progress)
			return transfer_end(e, t, in, position, v);
		if (written == -EPIPE)
			return verdict_continue(v); /* the kernel finds the same, and raises the signal */
		if (written < 0)
			return verdict_return(v, written);
		t->call.progress += (uint64_t)written;
		r = terminal ? terminals_moved_piece(e, master, true) : network_moved_piece(e);
		if (r < 0)
			return r;
	}
}

/* Where bytes come from, or go to. */
struct side {
	int fd;
	struct fd_info info;
};

/* One end of a transfer: what it has to be ready for, and whether the call waits for that. */
struct end {
	int fd;
	short events;
	bool waits;
};

/* The kernel has nothing to move out of these. */
static bool is_refused_source(enum fd_kind kind)
{
	return kind == FD_EVENTFD || kind == FD_TIMERFD || kind == FD_SIGNALFD || kind == FD_INOTIFY;
}

/*
 * The ends in the order in which the kernel looks at them: pipes first. Flag and O_NONBLOCK are about pipes; what else is read or written goes
 * by its own O_NONBLOCK, but UNIX streams know the flag, too (fs/splice.c; net/unix/af_unix.c: unix_stream_splice_read). Their count, or -errno.
 */
static int transfer_ends(struct engine *e, struct task *t, const struct side *in, const struct side *out, bool nonblocking, struct end ret_ends[2])
{
	bool in_pipe = in->info.kind == FD_PIPE, out_pipe = out->info.kind == FD_PIPE, pipes_wait;
	bool stream = in->info.kind == FD_UNIX && in->info.sock_type == SOCK_STREAM;
	int in_own = fdtable_nonblocking(e, t, in->fd), out_own = fdtable_nonblocking(e, t, out->fd);

	if (in_own < 0 || out_own < 0)
		return in_own < 0 ? in_own : out_own;
	pipes_wait = !nonblocking && !(in_pipe && in_own) && !(out_pipe && out_own);
	ret_ends[!in_pipe] = (struct end){ in->fd, POLLIN, in_pipe ? pipes_wait : !in_own && (pipes_wait || !stream) };
	ret_ends[in_pipe] = (struct end){ out->fd, POLLOUT, out_pipe ? pipes_wait : !out_own };
	return is_refused_source(in->info.kind) ? 1 : 2;
}

enum readiness { END_BLOCKS, END_READY, END_REFUSES };

/* Can the call go on at this end? It blocks there, or the kernel refuses it without sleeping. -errno. */
static int end_wait(struct engine *e, struct task *t, const struct end *end)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, end->fd, &info);
	if (r < 0)
		return r == -EBADF ? END_REFUSES : r;
	if (!fd_may_block(info->kind) || fd_never_waits(info, end->events))
		return END_READY;
	wait_drop(e, t);
	r = wait_fd(e, t, end->fd, end->events);
	if (r == 0 && end->waits)
		return END_BLOCKS;
	return r == 0 || r == -EBADF ? END_REFUSES : r < 0 ? r : END_READY;
}

/*
 * Waits until the ends are ready. 1: let the kernel go on; it moves what is there or refuses, and does not sleep. 0: parked. These calls look for
 * signals before they look for bytes, so they cannot be attempted.
 */
static int ends_wait(struct engine *e, struct task *t, const struct end *ends, size_t n, struct verdict *v)
{
	int r = END_READY;

	for (size_t i = 0; i < n && r == END_READY; i++)
		r = end_wait(e, t, &ends[i]);
	return r < 0 ? r : r == END_BLOCKS ? verdict_block(v) : 1;
}

/* The same of both sides of a call. */
static int sides_wait(struct engine *e, struct task *t, const struct side *in, const struct side *out, bool nonblocking, struct verdict *v)
{
	struct end ends[2];
	int n = transfer_ends(e, t, in, out, nonblocking, ends);

	if (n < 0)
		return n == -EBADF ? 1 : n;
	return ends_wait(e, t, ends, (size_t)n, v);
}

/* The facts of both: -EBADF when one is not open. */
static int sides_of(struct engine *e, struct task *t, int in, int out, struct side *ret_in, struct side *ret_out)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, in, &info);
	if (r < 0)
		return r;
	*ret_in = (struct side){ in, *info };
	r = fdtable_info(e, t, out, &info);
	if (r >= 0)
		*ret_out = (struct side){ out, *info };
	return r;
}

/* ---- netlink: what goes into its sockets and comes from there is translated ---- */

/* A count or the guest's error, as the verdict; errors of ours end the run. */
static int netlink_moved(int64_t n, struct verdict *v)
{
	return n < 0 ? netlink_answer_error((int)n, v) : verdict_return(v, n);
}

/* What the kernel would put into a pipe at once is one datagram: as many pages. */
static int file_to_netlink(struct engine *e, struct task *t, int in, const struct side *out, struct verdict *v)
{
	int64_t start = transfer_position(e, t, in), n = 1;
	_cleanup_free_ unsigned char *buf = malloc(PIECE);
	uint64_t count = t->call.args[3], piece, position;

	if (!buf)
		return -ENOMEM;
	if (start < 0 || count > INT64_MAX)
		return verdict_continue(v); /* the kernel says what is wrong */
	while (n > 0 && t->call.progress < count) {
		position = (uint64_t)start + t->call.progress;
		piece = PIECE - position % MACHINE_PAGE;
		if (piece > count - t->call.progress)
			piece = count - t->call.progress;
		n = e->g->ops->handle_read_at(e->g, in, buf, piece, (int64_t)position);
		if (n > 0)
			n = netlink_put(e, t, out->fd, &out->info, buf, (size_t)n);
		if (n > 0)
			t->call.progress += (uint64_t)n;
	}
	if (n < 0 && !t->call.progress)
		return netlink_moved(n, v);
	return transfer_end(e, t, in, start + (int64_t)t->call.progress, v);
}

/* All that is in the pipe is one datagram. Who can write into it stands still. */
static int pipe_to_netlink(struct engine *e, struct task *t, int pipe, const struct side *out, uint64_t len, struct verdict *v)
{
	_cleanup_free_ unsigned char *buf = malloc(PIECE);
	int64_t n;
	int in;

	if (!buf)
		return -ENOMEM;
	in = e->g->ops->fd_borrow(e->g, t->id, pipe);
	if (in < 0)
		return netlink_moved(in, v);
	n = e->g->ops->handle_read(e->g, in, buf, len < PIECE ? len : PIECE);
	e->g->ops->handle_release(e->g, in);
	if (n > 0)
		n = netlink_put(e, t, out->fd, &out->info, buf, (size_t)n);
	return netlink_moved(n, v);
}

static bool has_reader(struct engine *e, int pipe)
{
	struct handle_poll poll = { .handle = pipe, .events = POLLOUT };

	return e->g->ops->handles_poll(e->g, &poll, 1, 0) == 1 && !(poll.revents & POLLERR);
}

/* The next datagram; what the pipe has no room for is lost, as what a buffer has no room for is. */
static int netlink_to_pipe(struct engine *e, struct task *t, const struct side *in, int pipe, uint64_t len, struct verdict *v)
{
	_cleanup_free_ unsigned char *buf = malloc(PIECE);
	int64_t n;
	int out;

	if (!buf)
		return -ENOMEM;
	out = e->g->ops->fd_borrow(e->g, t->id, pipe);
	if (out < 0)
		return netlink_moved(out, v);
	n = has_reader(e, out) ? netlink_get(e, t, in->fd, &in->info, buf, len < PIECE ? len : PIECE) : -EPIPE;
	if (n > 0)
		n = e->g->ops->handle_write(e->g, out, buf, (size_t)n);
	e->g->ops->handle_release(e->g, out);
	e->io_dirty = e->event_dirty = true;
	return n == -EPIPE ? verdict_continue(v) : netlink_moved(n, v); /* the kernel looks at the pipe first, and sends the signal */
}

static bool is_translated(struct engine *e, struct task *t, const struct fd_info *info)
{
	return info->kind == FD_NETLINK && e->g->ops->network_ask && netlinks_usable(e, t);
}

/* ---- sendfile ---- */

/* Into a pipe goes what can be read, of sockets and terminals too: in one piece. */
static int sendfile_to_pipe(struct engine *e, struct task *t, const struct side *in, const struct side *out, struct verdict *v)
{
	int r;

	if (t->call.args[2] || !t->call.args[3] || in->info.kind == FD_PIPE || fd_never_waits(&in->info, POLLIN) || fd_never_waits(&out->info, POLLOUT))
		return verdict_continue(v); /* refused, or nothing to do */
	r = sides_wait(e, t, in, out, false, v);
	if (r <= 0)
		return r;
	return is_translated(e, t, &in->info) ? netlink_to_pipe(e, t, in, out->fd, t->call.args[3], v) : verdict_continue(v);
}

/* Out of a file. */
static int sendfile_pieces(struct engine *e, struct task *t, const struct side *out, bool nonblocking, struct verdict *v)
{
	int in, r;

	in = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[1]);
	if (in < 0)
		return in == -EBADF ? verdict_errno(v, EBADF) : in;
	r = is_translated(e, t, &out->info) ? file_to_netlink(e, t, in, out, v) : move_pieces(e, t, in, &out->info, nonblocking, v);
	e->g->ops->handle_release(e->g, in);
	return r;
}

/* When there is room for it. */
static int sendfile_when_ready(struct engine *e, struct task *t, const struct side *out, struct verdict *v)
{
	int r = wait_fd(e, t, out->fd, POLLOUT), nonblocking;

	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	nonblocking = wait_is_nonblocking(e, t);
	if (nonblocking && !(r && socket_has_packets(&out->info)))
		return nonblocking < 0 ? nonblocking : verdict_continue(v);
	if (nonblocking < 0 || r == 0)
		return nonblocking < 0 ? nonblocking : verdict_block(v);
	if (terminals_is_own(&out->info) && terminals_stop(e, t, &out->info, t->wait.polls[0].handle, true))
		return verdict_continue(v);
	return sendfile_pieces(e, t, out, nonblocking, v);
}

int handle_io_sendfile(struct engine *e, struct task *t, struct verdict *v)
{
	struct side in, out;
	int r;

	r = sides_of(e, t, (int)t->call.args[1], (int)t->call.args[0], &in, &out);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	if (is_synthetic(&in.info) && !is_endless(&in.info))
		return verdict_errno(v, EINVAL);
	if (fd_may_block(in.info.kind) && !is_endless(&in.info)) /* into anything but a pipe go things with positions only */
		return out.info.kind == FD_PIPE ? sendfile_to_pipe(e, t, &in, &out, v) : verdict_continue(v);
	if (is_translated(e, t, &out.info))
		return sendfile_pieces(e, t, &out, false, v);
	if (fd_may_block(out.info.kind) && !fd_never_waits(&out.info, POLLOUT))
		return sendfile_when_ready(e, t, &out, v);
	r = file_changed(e, out.info.dev, out.info.ino);
	if (r >= 0)
		r = network_note_write(e, t, out.fd, &out.info);
	return r < 0 ? r : verdict_continue(v);
}

/* ---- the others ---- */

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

/* Pipes, sockets, terminals: an offset is wrong. */
static bool has_positions(const struct fd_info *info)
{
	return !fd_may_block(info->kind) || info->kind == FD_CHAR || info->kind == FD_OTHER;
}

/* Does the kernel refuse at once, or have nothing to do? Facts of both ends. */
static bool ends_at_once(const struct fd_info *in, bool in_offset, const struct fd_info *out, bool out_offset, uint64_t len, uint64_t flags)
{
	bool in_pipe = in->kind == FD_PIPE, out_pipe = out->kind == FD_PIPE;

	return !len || flags & ~(uint64_t)SPLICE_FLAGS || (!in_pipe && !out_pipe) || (in_offset && !has_positions(in)) ||
	       (out_offset && !has_positions(out)) || (in->open_flags & O_ACCMODE) == O_WRONLY || (out->open_flags & O_ACCMODE) == O_RDONLY ||
	       (in_pipe && out_pipe && in->dev == out->dev && in->ino == out->ino);
}

/* Both ends of what goes from a pipe into a stream, borrowed. */
struct flow {
	int in, out;
	const struct fd_info *stream;
};

/* What the next piece finds. The pipe is looked at first. */
enum flow_state { FLOW_READY, FLOW_EMPTY, FLOW_FULL, FLOW_BROKEN };

static int flow_state(struct engine *e, const struct flow *flow, enum flow_state *ret)
{
	struct handle_poll polls[] = { { .handle = flow->in, .events = POLLIN }, { .handle = flow->out, .events = POLLOUT } };
	int r = e->g->ops->handles_poll(e->g, polls, 2, 0);

	*ret = !(polls[0].revents & POLLIN) ? FLOW_EMPTY : polls[1].revents == POLLOUT ? FLOW_READY : polls[1].revents ? FLOW_BROKEN : FLOW_FULL;
	return r < 0 ? r : 0;
}

/* One piece. A count; 0: nothing was in the pipe; -errno of the stream, for which what was taken is lost, as it is when the kernel finds it. */
static ssize_t flow_piece(struct engine *e, const struct flow *flow, unsigned char *buf, size_t most)
{
	ssize_t n = e->g->ops->handle_read(e->g, flow->in, buf, most);

	return n > 0 ? e->g->ops->handle_write(e->g, flow->out, buf, (size_t)n) : 0;
}

/*
 * Moves bytes in pieces that surely fit, since what was taken out of the pipe could not go back; call.progress counts. *ret_state: why no more go, or
 * FLOW_READY when all have gone. *ret_error: the stream's, for what was taken; else 0.
 */
static int flow_move(struct engine *e, struct task *t, const struct flow *flow, uint64_t len, enum flow_state *ret_state,
		     int *ret_error)
{
	uint64_t sure = socket_takes_surely(e, flow->stream), left, piece;
	_cleanup_free_ unsigned char *buf = malloc(sure);
	ssize_t n;
	int r = 0;

	if (!buf)
		return -ENOMEM;
	*ret_state = FLOW_READY;
	*ret_error = 0;
	while (r == 0 && (left = len - t->call.progress)) {
		r = flow_state(e, flow, ret_state);
		if (r < 0 || *ret_state != FLOW_READY)
			return r;
		piece = socket_piece(e, flow->out, flow->stream, sure);
		n = flow_piece(e, flow, buf, left < piece ? left : piece);
		if (n <= 0) {
			*ret_state = n < 0 ? FLOW_BROKEN : FLOW_EMPTY;
			*ret_error = (int)n;
			return 0;
		}
		t->call.progress += (uint64_t)n;
		r = network_moved_piece(e);
	}
	return r;
}

/* Some have gone. The kernel would have gone on to an error, and keeps that to itself: the next call finds none to write to. */
static int flow_end(struct engine *e, struct task *t, const struct flow *flow, enum flow_state state, struct verdict *v)
{
	int error;

	if (state == FLOW_BROKEN && socket_has_packets(flow->stream))
		(void)e->g->ops->handle_option(e->g, flow->out, SOL_SOCKET, SO_ERROR, &error, sizeof(error));
	return verdict_return(v, (int64_t)t->call.progress);
}

static int flow_on(struct engine *e, struct task *t, const struct flow *flow, struct verdict *v)
{
	uint64_t len = t->call.args[4] < SPAN_MOVE_LIMIT ? t->call.args[4] : SPAN_MOVE_LIMIT;
	int out = (int)t->call.args[2], r;
	enum flow_state state;
	int error;

	r = flow_move(e, t, flow, len, &state, &error);
	if (r < 0)
		return r;
	if (error && !t->call.progress) {
		r = error == -EPIPE ? write_raise_broken(e, t) : 0;
		return r < 0 ? r : verdict_return(v, error);
	}
	if (!t->call.progress) /* an end is gone, and the kernel says what that means, without sleeping */
		return verdict_continue(v);
	r = state == FLOW_FULL && !wait_interrupted(t) ? fdtable_nonblocking(e, t, out) : 1;
	if (r < 0)
		return r;
	if (r)
		return flow_end(e, t, flow, state, v);
	wait_drop(e, t);
	r = wait_fd(e, t, out, POLLOUT);
	return r < 0 ? r : socket_block(e, t, flow->stream, false, v);
}

/* From a pipe into a stream: more than what surely fits would sleep on the way. As long as there is something in the pipe the call goes on. */
static int pipe_to_stream(struct engine *e, struct task *t, const struct fd_info *stream, struct verdict *v)
{
	struct flow flow = { .stream = stream };
	int r;

	flow.in = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (flow.in < 0)
		return flow.in == -EBADF ? verdict_errno(v, EBADF) : flow.in;
	flow.out = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[2]);
	r = flow.out < 0 ? flow.out : flow_on(e, t, &flow, v);
	e->g->ops->handle_release(e->g, flow.in);
	if (flow.out >= 0)
		e->g->ops->handle_release(e->g, flow.out);
	return flow.out == -EBADF ? verdict_errno(v, EBADF) : r;
}

/* How much of a pipe the kernel may be left to move into a stream. */
static uint64_t moved_at_once(struct engine *e, const struct fd_info *stream)
{
	return socket_has_packets(stream) ? SOCKET_PACKET_SURE : socket_takes_surely(e, stream);
}

int handle_io_splice(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t in_offset = t->call.args[1], out_offset = t->call.args[3], len = t->call.args[4], flags = t->call.args[5];
	struct side in, out;
	int r;

	r = sides_of(e, t, (int)t->call.args[0], (int)t->call.args[2], &in, &out);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	if (is_synthetic(&in.info) && (in.info.kind != FD_CHAR || is_random_device(&in.info)))
		return verdict_errno(v, EINVAL);
	if (terminals_is_own(&out.info)) /* the kernel would sleep until all of it fits; before Linux 5.11 it had this answer, and programs write then */
		return verdict_errno(v, EINVAL);
	if (ends_at_once(&in.info, in_offset, &out.info, out_offset, len, flags))
		return verdict_continue(v);
	r = out.info.kind == FD_FILE ? file_changed(e, out.info.dev, out.info.ino) : network_note_write(e, t, out.fd, &out.info);
	if (r < 0)
		return r;
	if (t->call.progress)
		return pipe_to_stream(e, t, &out.info, v);
	r = sides_wait(e, t, &in, &out, flags & SPLICE_F_NONBLOCK, v);
	if (r <= 0)
		return r;
	if (is_translated(e, t, &in.info))
		return netlink_to_pipe(e, t, &in, out.fd, len, v);
	if (is_translated(e, t, &out.info))
		return pipe_to_netlink(e, t, in.fd, &out, len, v);
	if (in.info.kind == FD_PIPE && (out.info.kind == FD_INET || out.info.kind == FD_UNIX) && len > moved_at_once(e, &out.info))
		return pipe_to_stream(e, t, &out.info, v);
	return verdict_continue(v);
}

int handle_io_tee(struct engine *e, struct task *t, struct verdict *v)
{
	struct side in, out;
	int r;

	r = sides_of(e, t, (int)t->call.args[0], (int)t->call.args[1], &in, &out);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	if (in.info.kind != FD_PIPE || out.info.kind != FD_PIPE || ends_at_once(&in.info, false, &out.info, false, t->call.args[2], t->call.args[3]))
		return verdict_continue(v);
	r = sides_wait(e, t, &in, &out, t->call.args[3] & SPLICE_F_NONBLOCK, v);
	return r <= 0 ? r : verdict_continue(v);
}

/* Into a pipe's write end, out of any other. O_NONBLOCK is not looked at. */
int handle_io_vmsplice(struct engine *e, struct task *t, struct verdict *v)
{
	struct end end = { (int)t->call.args[0], POLLOUT, !(t->call.args[3] & SPLICE_F_NONBLOCK) };
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, end.fd, &info);
	if (r < 0 || info->kind != FD_PIPE || !t->call.args[2] || t->call.args[3] & ~(uint64_t)SPLICE_FLAGS)
		return r < 0 && r != -EBADF ? r : verdict_continue(v);
	if ((info->open_flags & O_ACCMODE) == O_RDONLY)
		end.events = POLLIN;
	r = ends_wait(e, t, &end, 1, v);
	return r <= 0 ? r : verdict_continue(v);
}
