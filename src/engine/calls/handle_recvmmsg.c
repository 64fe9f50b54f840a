/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recvmmsg(2), in parts: see messages.h. Its time limit is looked at behind each message only, as by Linux: what has no message to end it waits for
 * ever.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handlers.h"
#include "engine/calls/messages.h"
#include "engine/net/network.h"
#include "engine/net/sockets.h"
#include "engine/time/clock.h"
#include "engine/wait.h"

static int stamp_messages(struct engine *e, struct task *t)
{
	uint64_t addr = t->call.args[AT_MESSAGES];
	const struct fd_info *info;
	int r;

	if (t->call.result <= 0)
		return 0;
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	for (int64_t i = 0; r == 0 && i < t->call.result; i++, addr += sizeof(struct mmsghdr))
		r = socket_stamp_message(e, t, info, addr, t->call.scratch[0]);
	return r == -EBADF || r == -EFAULT ? 0 : r;
}

/* Whose control parts the kernel fills in with the host's time. */
static void note_control_room(struct engine *e, struct task *t, const struct fd_info *info)
{
	struct msghdr first;

	/* all messages have room for the same, or none gets what lacks room */
	if (socket_received(e, info) && guest_read(e, t, t->call.args[AT_MESSAGES], &first, sizeof(first)) == 0)
		t->call.scratch[0] = first.msg_controllen;
}

/* What is left of the time limit goes back when something has come. */
static int receive_end(struct engine *e, struct task *t, int64_t error, struct verdict *v)
{
	uint64_t left = time_left(t->messages.deadline_ns, e->clock.now_ns);
	int64_t parts[2] = { (int64_t)(left / NS_PER_S), (int64_t)(left % NS_PER_S) };
	int64_t result = t->messages.moved ? (int64_t)t->messages.moved : error;
	int r = 0;

	if (result > 0 && t->messages.args[AT_TIMEOUT])
		r = guest_write(e, t, t->messages.args[AT_TIMEOUT], parts, sizeof(parts));
	if (r < 0 && r != -EFAULT)
		return r;
	return parts_finish(e, t, r == -EFAULT ? -EFAULT : result, v);
}

/* The kernel went to sleep behind some messages, was woken for our sake, and has left the reason where the next call would get it. */
static int take_back_reason(struct engine *e, struct task *t)
{
	int error, handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);

	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	(void)e->g->ops->handle_option(e->g, handle, SOL_SOCKET, SO_ERROR, &error, sizeof(error));
	e->g->ops->handle_release(e->g, handle);
	return 0;
}

/* Will the kernel refuse what a message points to before it waits for anything? 1, 0 or -errno. */
static int is_refused(struct engine *e, struct task *t, uint64_t message)
{
	struct msghdr first;
	struct iovec parts;
	int r;

	r = guest_read(e, t, message, &first, sizeof(first));
	if (r == 0 && first.msg_iovlen > UIO_MAXIOV)
		return 1;
	if (r == 0 && first.msg_iovlen > 0)
		r = guest_read(e, t, (uint64_t)(uintptr_t)first.msg_iov, &parts, sizeof(parts));
	return r == -EFAULT ? 1 : r;
}

static uint32_t queued_now(struct engine *e, struct task *t)
{
	int handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	uint32_t queued = handle < 0 ? 0 : socket_queued(e, handle);

	if (handle >= 0)
		e->g->ops->handle_release(e->g, handle);
	return queued;
}

/*
 * Some messages have come, and not all: did an error end them? The kernel has left it where the next call gets it, which must not be one of ours. With
 * datagrams it may be only the queue of errors that is not empty: none can have come meanwhile, so it is an error where some are left to be received, or the
 * next one has no place. 1, 0 or -errno.
 */
static int ended_by_error(struct engine *e, struct task *t, const struct fd_info *info)
{
	int64_t n = t->call.result;
	int r;

	if (n <= 0 || (uint64_t)n >= t->call.args[AT_COUNT])
		return 0;
	if (t->call.attempt)
		return take_back_reason(e, t);
	r = parts_socket_is(e, t, POLLERR);
	if (r <= 0 || info->sock_type == SOCK_STREAM || queued_now(e, t) == 0)
		return r;
	r = parts_socket_is(e, t, POLLIN);
	return r ? r : is_refused(e, t, t->call.args[AT_MESSAGES] + (uint64_t)n * sizeof(struct mmsghdr));
}

static int receive_part_done(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	uint64_t flags = t->messages.args[AT_FLAGS];
	bool at_once = socket_never_waits(info, (int)flags) || t->call.scratch[1], signal;
	int64_t n = t->call.result;
	int r, error;

	r = stamp_messages(e, t);
	error = r == 0 ? ended_by_error(e, t, info) : r;
	if (error < 0)
		return error;
	e->io_dirty = true;
	if (n > 0)
		t->messages.moved += (uint64_t)n;
	else if (n != -EAGAIN)
		return receive_end(e, t, n, v);
	signal = signals_pending(e, t); /* asked once: one may come from outside at any moment */
	if (t->messages.moved >= t->messages.args[AT_COUNT] || at_once || error ||
	    (t->messages.moved && (flags & MSG_WAITFORONE || t->messages.deadline_ns <= e->clock.now_ns || signal)))
		return receive_end(e, t, n < 0 ? n : 0, v);
	if (signal) /* before the first: as if it had waited, and begins anew */
		return parts_finish(e, t, WAIT_ERESTARTSYS, v);
	t->messages.queued = queued_now(e, t);
	return parts_next(e, t, v);
}

/* The kernel takes what is there. Behind the deadline one more message is. */
static int receive_part(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	uint64_t args[6];
	int r;

	parts_rest(t, args);
	if (t->messages.deadline_ns <= e->clock.now_ns)
		args[AT_COUNT] = 1;
	args[AT_FLAGS] |= MSG_DONTWAIT;
	args[AT_TIMEOUT] = 0;
	r = parts_set_args(e, t, args);
	if (r == -EBUSY && !t->messages.moved) { /* a signal is on its way: as if it had come first */
		signals_changed(e, t->process);
		return verdict_block(v);
	}
	if (r == -EBUSY)
		return parts_last(t, v);
	if (r < 0)
		return r;
	note_control_room(e, t, info);
	return verdict_hook(v);
}

static int receive_begin(struct engine *e, struct task *t, struct verdict *v)
{
	int64_t parts[2];
	uint64_t limit;
	int r;

	parts_begin(t);
	if (!t->call.args[AT_TIMEOUT])
		return 0;
	r = guest_read(e, t, t->call.args[AT_TIMEOUT], parts, sizeof(parts));
	if (r == 0 && !time_from_parts(parts[0], parts[1], &limit))
		r = -EINVAL;
	if (r == 0)
		t->messages.deadline_ns = time_add(t->call.start_ns, limit);
	else
		t->messages.on = false;
	if (r == -EFAULT || r == -EINVAL) {
		(void)verdict_errno(v, -r);
		return 1;
	}
	return r;
}

/* An error has come that the kernel, asked once more, would say and forget. */
static int end_unasked(struct engine *e, struct task *t, struct verdict *v)
{
	int r = parts_set_args(e, t, t->messages.args);

	if (r < 0)
		return r == -EBUSY ? parts_last(t, v) : r;
	r = receive_end(e, t, 0, v);
	return r < 0 ? r : verdict_return(v, v->value);
}

/*
 * Nothing is there but errors. One that the call is to answer comes before all messages; behind some the kernel leaves it for the next call. Those in the
 * queue are not waited for.
 */
static int receive_errors(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	int handle = t->wait.polls[0].handle, error = 0, r;

	r = wait_is_nonblocking(e, t);
	t->call.scratch[1] = r > 0;
	if (r)
		return r < 0 ? r : receive_part(e, t, info, v);
	if (t->messages.moved && (wait_interrupted(t) || wait_timed_out(t)))
		return parts_last(t, v);
	if (t->messages.moved && socket_queued(e, handle) != t->messages.queued)
		return end_unasked(e, t, v);
	r = t->messages.moved ? 0 : e->g->ops->handle_option(e->g, handle, SOL_SOCKET, SO_ERROR, &error, sizeof(error));
	if (r < 0)
		return r;
	if (error) {
		t->messages.on = false;
		return verdict_errno(v, error);
	}
	r = socket_block(e, t, info, true, v);
	if (v->kind == VERDICT_BLOCK)
		wait_for(t, WAIT_EVENT); /* a look at the descriptor says nothing new */
	return r;
}

static int receive_in_parts(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	int r;

	if (t->call.done)
		return receive_part_done(e, t, info, v);
	if (t->call.first && !parts_is_one(t)) {
		r = receive_begin(e, t, v);
		if (r)
			return r < 0 ? r : 0;
	}
	r = socket_never_waits(info, (int)t->messages.args[AT_FLAGS]) ? 1 : is_refused(e, t, t->call.args[AT_MESSAGES]);
	if (r)
		return r < 0 ? r : receive_part(e, t, info, v);
	r = wait_fd(e, t, (int)t->call.args[0], POLLIN);
	if (r == -EBADF)
		return verdict_continue(v);
	if (r > 0 && socket_has_errors_only(t, info))
		return receive_errors(e, t, info, v);
	if (r == 0) {
		wait_for(t, WAIT_FDS);
		r = wait_is_nonblocking(e, t);
		t->call.scratch[1] = r > 0;
	}
	if (r < 0)
		return r;
	if (r > 0)
		return receive_part(e, t, info, v);
	if (t->messages.moved && (wait_interrupted(t) || wait_timed_out(t)))
		return parts_last(t, v);
	return socket_block(e, t, info, true, v);
}

static bool needs_parts(const uint64_t a[6], const struct fd_info *info)
{
	int flags = (int)a[AT_FLAGS];

	return a[AT_COUNT] && (a[AT_TIMEOUT] || (a[AT_COUNT] > 1 && !socket_never_waits(info, flags) && !(flags & MSG_WAITFORONE)));
}

int handle_io_recvmmsg(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	const struct fd_info *info;
	int r;

	if (netlink_serves(e, t, (int)a[0], &info))
		return netlink_recvmmsg(e, t, info, v);
	r = fdtable_info(e, t, (int)a[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	/* With neither a time limit nor more than one message to wait for, the kernel does it all. */
	if (parts_is_one(t) || t->call.done ? t->messages.on :
	    e->g->ops->set_args && needs_parts(a, info))
		return receive_in_parts(e, t, info, v);
	if (t->call.done) {
		r = stamp_messages(e, t);
		if (r < 0)
			return r;
	} else {
		note_control_room(e, t, info);
	}
	if (socket_never_waits(info, (int)a[AT_FLAGS])) {
		v->kind = t->call.done ? VERDICT_GO : t->call.scratch[0] ? VERDICT_HOOK : VERDICT_CONTINUE;
		return 0;
	}
	return attempt_call(e, t, socket_deadline(e, t, info, true), EAGAIN, v);
}
