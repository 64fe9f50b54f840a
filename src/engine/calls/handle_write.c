/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing and sending. The kernel does it, when there is room. Writes larger than what is sure to fit are done in pieces by us, so that a blocking
 * write returns what Linux would return, not what happened to fit; those to TCP that are more than one packet, so that each finds the answers to the one before.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "engine/engine_internal.h"
#include "engine/calls/handle_fastopen.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handle_write.h"
#include "engine/calls/handlers.h"
#include "engine/net/network.h"
#include "engine/net/network_rest.h"
#include "engine/net/passed.h"
#include "engine/files/paths.h"
#include "engine/files/readers.h"
#include "engine/files/terminals.h"
#include "engine/proc/credentials.h"
#include "engine/net/sockets.h"
#include "engine/wait.h"

enum {
	PIPE_SURE = 4096,     /* POLLOUT of a pipe promises PIPE_BUF */
	TERMINAL_SURE = 1,    /* POLLOUT of a pseudo-terminal promises one buffer; a line's end wants one of its own (n_tty.c: process_output_block) */
	PIECE = 65536,
};

int write_raise_broken(struct engine *e, struct task *t)
{
	siginfo_t info = { .si_signo = SIGPIPE, .si_code = SI_USER, .si_pid = t->process->vpid };
	uint32_t uid = 0;
	int r;

	r = credentials_uid(e, t, &uid);
	info.si_uid = uid;
	return r < 0 ? r : e->g->ops->signal_send(e->g, t->id, true, &info);
}

/* The reader is gone: what was written until then, with SIGPIPE for the thread if it is a pipe, or EPIPE. */
static int broken_pipe(struct engine *e, struct task *t, bool pipe, bool no_signal, struct verdict *v)
{
	int r;

	if (!t->call.progress && !no_signal)
		return verdict_continue(v); /* the kernel finds the same, and raises the signal */
	r = pipe ? write_raise_broken(e, t) : 0;
	return r < 0 ? r : verdict_return(v, t->call.progress ? (int64_t)t->call.progress : -EPIPE);
}

/* Up to `most` bytes from where it stands, out of as many ranges as it takes. */
static int fetch_piece(struct engine *e, struct task *t, const struct span *span, unsigned char *buf, uint64_t most, size_t *ret_n)
{
	size_t n = 0, got;
	int r = 0;

	while (n < most && t->call.progress + n < span->total) {
		r = span_fetch(e, t, span, t->call.progress + n, buf + n, most - n, &got);
		if (r < 0)
			break;
		n += got;
	}
	*ret_n = n;
	return n && r == -EFAULT ? 0 : r;
}

int write_on(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, int msg_flags, int *ret_end)
{
	bool terminal = terminals_is_own(info), master = terminals_is_master(info);
	int handle = t->wait.polls[0].handle, r;
	unsigned char buf[PIECE];
	ssize_t written;
	uint64_t left;
	size_t n;

	*ret_end = 0;
	while ((left = span->total - t->call.progress)) {
		/* What has gone is said first; the next call is told of the error, which writing would take away. */
		if (t->call.progress && socket_has_packets(info) && socket_is_broken(e, handle)) {
			*ret_end = -ECONNRESET;
			return 0;
		}
		r = fetch_piece(e, t, span, buf, terminal ? TERMINAL_PIECE : socket_piece(e, handle, info, PIECE), &n);
		if (r < 0) {
			*ret_end = r;
			return r == -EFAULT ? 0 : r;
		}
		/* a byte out of band is the last one */
		written = msg_flags & MSG_OOB && n == left ? e->g->ops->handle_write_urgent(e->g, handle, buf, n) : e->g->ops->handle_write(e->g, handle, buf, n);
		if (written < 0) {
			*ret_end = (int)written;
			return 0;
		}
		t->call.progress += (uint64_t)written;
		/* others may be ready, and the next piece finds what that has set going */
		r = terminal ? terminals_moved_piece(e, master, t->call.progress < span->total) : network_moved_piece(e);
		if (r < 0)
			return r;
	}
	if (msg_flags & MSG_OOB)
		signals_changed(e, NULL); /* who owns the other end has been sent one */
	return 0;
}

int write_pieces(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, int msg_flags, struct verdict *v)
{
	int end, r;

	r = write_on(e, t, info, span, msg_flags, &end);
	if (r < 0)
		return r;
	if (end == -EPIPE)
		return broken_pipe(e, t, info->kind == FD_PIPE, msg_flags & MSG_NOSIGNAL, v);
	if (end == -EAGAIN) {
		r = terminals_is_own(info) ? wait_is_nonblocking(e, t) : (msg_flags & MSG_DONTWAIT) != 0;
		if (r < 0)
			return r;
		if (!r && !(wait_interrupted(t) && t->call.progress))
			return socket_block_fd(e, t, (int)t->call.args[0], false, v);
	}
	return verdict_return(v, t->call.progress || !end ? (int64_t)t->call.progress : end);
}

bool write_knows(int msg_flags)
{
	/* What nobody looks at, or asks for what is done anyway: nothing is held back for more to come (net/network.c). */
	const int nothing = MSG_MORE | MSG_EOR | MSG_CONFIRM | MSG_DONTROUTE;

	return !(msg_flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_OOB | nothing));
}

/* `plainly`: there is no flag but of those that pieces know. */
static bool fits_surely(struct engine *e, struct task *t, const struct fd_info *info, uint64_t total, bool plainly)
{
	uint64_t most;

	if (info->kind == FD_PIPE)
		return total <= PIPE_SURE;
	if ((info->kind == FD_UNIX || info->kind == FD_INET) && info->sock_type == SOCK_STREAM) {
		most = socket_takes_surely(e, info);
		return total <= (plainly ? socket_piece(e, t->wait.polls[0].handle, info, most) : most);
	}
	if (terminals_is_own(info))
		return total <= TERMINAL_SURE;
	return true; /* message kinds go whole or not at all; others take what comes */
}

static int write_span(struct engine *e, struct task *t, int fd, const struct span *span, int msg_flags,
		      struct verdict *v)
{
	bool plainly = write_knows(msg_flags), sure, pieces;
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r == -EBADF)
		return verdict_continue(v);
	if (r < 0)
		return r;
	r = network_note_write(e, t, fd, info);
	if (r < 0)
		return r;
	if (info->kind == FD_NETLINK && netlinks_usable(e, t))
		return netlink_write(e, t, info, span, v);
	if (info->kind == FD_FILE) {
		r = span->total ? file_changed(e, info->dev, info->ino) : 0;
		return r < 0 ? r : verdict_continue(v);
	}
	/* A byte out of band sends a signal when it arrives: before anybody goes on. */
	pieces = plainly && socket_has_packets(info) && span->total > (msg_flags & MSG_OOB ? 0 : SOCKET_PACKET_SURE);
	if (!fd_may_block(info->kind) || fd_never_waits(info, POLLOUT) || (msg_flags & MSG_DONTWAIT && !pieces))
		return verdict_continue(v);
	if (t->call.progress)
		return write_pieces(e, t, info, span, msg_flags, v);
	r = wait_fd(e, t, fd, POLLOUT);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	sure = !(pieces && msg_flags & MSG_OOB) && fits_surely(e, t, info, span->total, plainly);
	if (r > 0 && sure)
		return verdict_continue(v);
	if (r == 0 || !sure) {
		int nonblocking = msg_flags & MSG_DONTWAIT ? 1 : wait_is_nonblocking(e, t);

		if (nonblocking < 0)
			return nonblocking;
		if (nonblocking && !(r && (terminals_is_own(info) || pieces)))
			return verdict_continue(v);
		if (nonblocking)
			msg_flags |= MSG_DONTWAIT;
	}
	if (r && terminals_is_own(info) && terminals_stop(e, t, info, t->wait.polls[0].handle, true))
		return verdict_continue(v);
	return r ? write_pieces(e, t, info, span, msg_flags, v) : socket_block(e, t, info, false, v);
}

bool write_ignores_control(struct engine *e, struct task *t, const struct msghdr *message)
{
	const struct fd_info *info;

	return fdtable_info(e, t, (int)t->call.args[0], &info) == 0 && socket_has_packets(info) && passed_is_ignored(e, t, message);
}

static int write_buffer(struct engine *e, struct task *t, int msg_flags, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct span span;

	span_buffer(&span, a[1], a[2]);
	return write_span(e, t, (int)a[0], &span, msg_flags, v);
}

int handle_io_write(struct engine *e, struct task *t, struct verdict *v)
{
	return write_buffer(e, t, 0, v);
}

static int write_vector(struct engine *e, struct task *t, int msg_flags, struct verdict *v)
{
	struct span span;
	int r;

	r = span_vector(e, t, t->call.args[1], t->call.args[2], &span);
	if (r == -EFAULT || r == -EINVAL)
		return verdict_continue(v); /* the kernel says what is wrong */
	return r < 0 ? r : write_span(e, t, (int)t->call.args[0], &span, msg_flags, v);
}

int handle_io_writev(struct engine *e, struct task *t, struct verdict *v)
{
	return write_vector(e, t, 0, v);
}

/* The positional forms work on files only; what can wait has no positions. */
static int write_at(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r == 0)
		r = network_note_write(e, t, (int)t->call.args[0], info);
	if (r == 0 && info->kind == FD_FILE)
		r = file_changed(e, info->dev, info->ino);
	return r < 0 && r != -EBADF ? r : verdict_continue(v);
}

int handle_io_pwrite(struct engine *e, struct task *t, struct verdict *v)
{
	return write_at(e, t, v);
}

int handle_io_pwritev(struct engine *e, struct task *t, struct verdict *v)
{
	return write_at(e, t, v);
}

/* Position -1 means the file's own (pwritev2(2)). Of flags that it does not know the kernel says so; only files have those that are younger. */
int handle_io_pwritev2(struct engine *e, struct task *t, struct verdict *v)
{
	const int known = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND | 0x20 /* RWF_NOAPPEND */;
	int flags = (int)t->call.args[5], r;
	const struct fd_info *info;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	if (info->kind != FD_FILE && flags & ~known)
		return verdict_continue(v);
	if (flags & RWF_NOWAIT && info->kind == FD_FILE && (info->open_flags & O_ACCMODE) != O_RDONLY)
		return verdict_errno(v, EOPNOTSUPP); /* not every file system can; and whether it would wait is the host's */
	if (flags == RWF_NOWAIT && socket_has_packets(info) && t->call.args[3] == UINT64_MAX)
		return write_vector(e, t, MSG_DONTWAIT, v);
	if (flags & RWF_NOWAIT && info->kind != FD_NETLINK)
		return verdict_continue(v); /* never waits */
	return t->call.args[3] == UINT64_MAX ? handle_io_writev(e, t, v) : write_at(e, t, v);
}

int handle_io_sendto(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	if (netlink_serves(e, t, (int)t->call.args[0], &info))
		return netlink_sendto(e, t, info, v);
	if (socket_is_none(e, t))
		return verdict_continue(v);
	if (fastopen_serves(e, t, (int)t->call.args[3]))
		return fastopen_sendto(e, t, v);
	r = t->call.first && t->call.args[4] ? socket_give_port(e, t, (int)t->call.args[0]) : 0;
	if (r < 0)
		return r;
	return write_buffer(e, t, (int)t->call.args[3], v);
}

int handle_io_sendmsg(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	struct span span;
	struct msghdr message;
	int r;

	if (netlink_serves(e, t, (int)t->call.args[0], &info))
		return netlink_sendmsg(e, t, info, v);
	if (socket_is_none(e, t))
		return verdict_continue(v);
	if (fastopen_serves(e, t, (int)t->call.args[2]))
		return fastopen_sendmsg(e, t, v);
	r = guest_read(e, t, t->call.args[1], &message, sizeof(message));
	if (r >= 0)
		r = span_vector(e, t, (uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen, &span);
	if (r == -EFAULT || r == -EINVAL)
		return verdict_continue(v);
	if (r >= 0 && t->call.first && message.msg_name)
		r = socket_give_port(e, t, (int)t->call.args[0]);
	if (r >= 0 && t->call.first)
		r = passed_note_message(e, t, &message);
	if (r < 0)
		return r;
	if (message.msg_controllen && !write_ignores_control(e, t, &message)) /* descriptors and credentials go with the first byte: not ours to send */
		return t->call.args[2] & MSG_DONTWAIT ? verdict_continue(v) : call_when_ready(e, t, (int)t->call.args[0], POLLOUT, v);
	return write_span(e, t, (int)t->call.args[0], &span, (int)t->call.args[2], v);
}
