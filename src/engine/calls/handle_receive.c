/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving from sockets, and accepting. The kernel does it when there is something; a call that wants all (MSG_WAITALL) is done in pieces by us,
 * so that it waits in our order.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handlers.h"
#include "engine/net/network.h"
#include "engine/net/passed.h"
#include "engine/files/readers.h"
#include "engine/net/sockets.h"
#include "engine/wait.h"

enum { PIECE = 65536 };

/* ---- accept ---- */

/* Could one of the outside come to this listener, which it has not got from there? 1, 0, or -errno. */
static int may_be_foreign(struct engine *e, struct task *t, const struct fd_info *info)
{
	int handle, r;

	if (info->kind != FD_UNIX || info->external)
		return 0;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_reach(e->g, handle);
	e->g->ops->handle_release(e->g, handle);
	return r < 0 ? r : r > REACH_GUEST;
}

/* One of the outside has come: what it says, and when, is nobody's to decide. The name is that of the listener, which both have. */
static int report_client(struct engine *e, struct task *t)
{
	int handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.result), r;
	struct sockaddr_storage address = { 0 };
	const struct sockaddr_un *un = (const void *)&address;
	socklen_t len = sizeof(address);
	char name[sizeof(un->sun_path) + 1];

	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_reach(e->g, handle);
	if (r == REACH_OUTSIDE && e->g->ops->handle_address(e->g, handle, &address, &len) == 0) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)sizeof(un->sun_path) - 1, un->sun_path[0] ? un->sun_path : un->sun_path + 1);
		engine_report_uncontrolled(e, "connection from a process outside", name);
	}
	e->g->ops->handle_release(e->g, handle);
	return r < 0 ? r : 0;
}

/* A socket that was accepted has the options of the one that listens. */
static int accept_done(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	uint64_t dev, ino;
	int r;

	v->kind = VERDICT_GO;
	if (t->call.result < 0)
		return 0;
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	dev = info->dev;
	ino = info->ino;
	r = info->kind == FD_UNIX && !info->external ? report_client(e, t) : 0;
	if (r < 0)
		return r;
	r = fdtable_info(e, t, (int)t->call.result, &info);
	return r < 0 ? (r == -EBADF ? 0 : r) : socket_note_copy(e, dev, ino, info);
}

/* Refused at once, like what is no socket. */
static bool makes_no_connections(struct engine *e, struct task *t)
{
	const struct fd_info *info;

	return fdtable_info(e, t, (int)t->call.args[0], &info) == 0 && info->sock_type != SOCK_STREAM && info->sock_type != SOCK_SEQPACKET;
}

int handle_io_accept(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	if (t->call.done)
		return accept_done(e, t, v);
	if (socket_is_none(e, t) || makes_no_connections(e, t))
		return verdict_continue(v);
	r = call_when_ready(e, t, (int)t->call.args[0], POLLIN, v);
	if (r < 0 || v->kind != VERDICT_CONTINUE || fdtable_info(e, t, (int)t->call.args[0], &info) < 0)
		return r;
	r = may_be_foreign(e, t, info);
	if (r < 0)
		return r;
	return r > 0 || (info->kind == FD_INET && socket_note(e, info, false)) ? verdict_hook(v) : 0;
}

int handle_io_accept4(struct engine *e, struct task *t, struct verdict *v)
{
	return handle_io_accept(e, t, v);
}

/* ---- all of it ---- */

/* A receiving call, in the terms of recvmsg(2). */
struct receive {
	int flags;
	const struct span *span;
	bool plain;           /* neither address nor control messages are asked for */
	uint64_t msghdr;      /* 0: none */
	uint64_t control_room;
};

static int end_all(struct engine *e, struct task *t, const struct receive *call, struct verdict *v)
{
	static const uint64_t zero;
	static const int no_flags;
	int r = 0;

	if (call->msghdr) {
		r = guest_write(e, t, call->msghdr + offsetof(struct msghdr, msg_controllen), &zero, sizeof(zero));
		if (r == 0)
			r = guest_write(e, t, call->msghdr + offsetof(struct msghdr, msg_flags), &no_flags, sizeof(no_flags));
	}
	return r < 0 && r != -EFAULT ? r : verdict_return(v, (int64_t)t->call.progress);
}

/* Is there nothing left but the error of a TCP stream? */
static bool is_at_error(struct engine *e, const struct task *t, const struct fd_info *info)
{
	int handle = t->wait.polls[0].handle;

	return socket_has_packets(info) && socket_is_broken(e, handle) && !socket_queued(e, handle);
}

/* Takes what is there, until all has come; call.progress counts. */
static int receive_pieces(struct engine *e, struct task *t, const struct fd_info *info, const struct receive *call, struct verdict *v)
{
	unsigned char buf[PIECE];
	uint64_t left;
	size_t stored;
	ssize_t n;
	int r;

	while (t->call.progress < call->span->total) {
		/* What has come is said first; the next call is told of the error, which receiving nothing would take away. */
		if (t->call.progress && is_at_error(e, t, info))
			break;
		left = call->span->total - t->call.progress;
		passed_note_taken(e, t, (int)t->call.args[0]);
		n = e->g->ops->handle_receive(e->g, t->wait.polls[0].handle, buf, left < PIECE ? left : PIECE, NULL, 0);
		if (n == -EAGAIN && !wait_interrupted(t) && !wait_timed_out(t))
			return socket_block(e, t, info, true, v);
		if (n < 0 && !t->call.progress)
			return n == -EAGAIN ? socket_block(e, t, info, true, v) : verdict_return(v, n);
		if (n <= 0)
			break;
		r = network_moved_piece(e);
		if (r < 0)
			return r;
		(void)socket_received(e, info);
		r = span_store(e, t, call->span, t->call.progress, buf, (size_t)n, &stored);
		t->call.progress += stored;
		if (r == -EFAULT)
			return t->call.progress ? end_all(e, t, call, v) : verdict_errno(v, EFAULT);
		if (r < 0)
			return r;
	}
	return end_all(e, t, call, v);
}

static bool wants_all(const struct fd_info *info, int flags)
{
	return flags & MSG_WAITALL && !(flags & (MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE | MSG_OOB)) &&
	       info->sock_type == SOCK_STREAM && (info->kind == FD_UNIX || info->kind == FD_INET);
}

static int receive_all(struct engine *e, struct task *t, const struct fd_info *info, const struct receive *call, struct verdict *v)
{
	int r;

	r = wait_fd(e, t, (int)t->call.args[0], POLLIN);
	if (r == -EBADF)
		return verdict_continue(v);
	if (r >= 0)
		r = wait_is_nonblocking(e, t);
	if (r)
		return r < 0 ? r : verdict_continue(v);
	return receive_pieces(e, t, info, call, v);
}

/* ---- receiving ---- */

/* The kernel runs it: what it says of time is looked at afterwards. */
static int receive_now(struct engine *e, struct task *t, const struct fd_info *info, const struct receive *call, struct verdict *v)
{
	bool stamps = socket_received(e, info) && call->control_room;

	t->call.scratch[0] = call->control_room;
	/* The part that wants all and that we cannot do: it ends with what is there, rather than wait in the kernel. */
	return stamps || (wants_all(info, call->flags) && !call->plain) ? verdict_hook(v) : verdict_continue(v);
}

static int receive(struct engine *e, struct task *t, const struct receive *call, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	if (wants_all(info, call->flags) && call->plain)
		return receive_all(e, t, info, call, v);
	r = 0;
	if (socket_never_waits(info, call->flags))
		verdict_continue(v);
	else
		r = receive_when_ready(e, t, (int)t->call.args[0], v);
	if (r == 0 && v->kind == VERDICT_CONTINUE)
		return receive_now(e, t, info, call, v);
	return r;
}

int handle_io_recvfrom(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct span span;
	struct receive call = { .flags = (int)a[3], .span = &span, .plain = !a[4] };
	const struct fd_info *info;

	if (netlink_serves(e, t, (int)a[0], &info))
		return netlink_recvfrom(e, t, info, v);
	if (t->call.done) { /* it had an address to fill in, and wanted all */
		v->kind = VERDICT_GO;
		return 0;
	}
	span_buffer(&span, a[1], a[2]);
	return receive(e, t, &call, v);
}

static int recvmsg_done(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	v->kind = VERDICT_GO;
	r = t->call.result >= 0 ? fdtable_info(e, t, (int)t->call.args[0], &info) : -EBADF;
	if (r == 0)
		r = socket_stamp_message(e, t, info, t->call.args[1], t->call.scratch[0]);
	return r == -EBADF || r == -EFAULT ? 0 : r;
}

int handle_io_recvmsg(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	const struct fd_info *info;
	struct msghdr message;
	struct span span;
	struct receive call = { .flags = (int)a[2], .span = &span, .msghdr = a[1] };
	int r;

	if (netlink_serves(e, t, (int)a[0], &info))
		return netlink_recvmsg(e, t, info, v);
	if (t->call.done)
		return recvmsg_done(e, t, v);
	r = guest_read(e, t, a[1], &message, sizeof(message));
	if (r >= 0 && call.flags & MSG_WAITALL)
		r = span_vector(e, t, (uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen, &span);
	if (r < 0 && r != -EFAULT && r != -EINVAL)
		return r;
	if (r >= 0) {
		call.plain = !message.msg_name && !message.msg_controllen;
		call.control_room = message.msg_controllen;
	} else {
		call.flags &= ~MSG_WAITALL; /* the kernel says what is wrong */
	}
	return receive(e, t, &call, v);
}
