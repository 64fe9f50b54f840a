/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that move several messages: sendmmsg(2), recvmmsg(2). One that sleeps in the middle and is woken for our sake returns early, and recvmmsg
 * leaves the reason to the next call on the socket (net/socket.c: do_recvmmsg). So each is made in parts: the kernel moves what goes without
 * sleep, the call comes back with the arguments of the rest, and at the end the guest has its own arguments and the sum.
 *
 * The time limit of recvmmsg is looked at behind each message only, as by Linux: what has no message to end it waits for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/calls/handle_fastopen.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handlers.h"
#include "engine/files/readers.h"
#include "engine/net/network.h"
#include "engine/net/passed.h"
#include "engine/net/sockets.h"
#include "engine/time/clock.h"
#include "engine/wait.h"

enum { AT_MESSAGES = 1, AT_COUNT, AT_FLAGS, AT_TIMEOUT, MESSAGES_MAX = 1024 /* UIO_MAXIOV */, PIECE = 65536 };

/* ---- parts ---- */

/* The call is the next part of the one that is under way. */
static bool is_part(const struct task *t)
{
	return t->messages.on && t->messages.nr == t->call.nr && !memcmp(t->messages.part, t->call.args, sizeof(t->messages.part));
}

static void begin(struct task *t)
{
	t->messages.on = true;
	t->messages.nr = t->call.nr;
	t->messages.moved = 0;
	t->messages.cut = false;
	t->messages.deadline_ns = TIME_NEVER;
	memcpy(t->messages.args, t->call.args, sizeof(t->messages.args));
	memcpy(t->messages.part, t->call.args, sizeof(t->messages.part));
}

static int set_args(struct engine *e, struct task *t, const uint64_t args[6])
{
	int r;

	if (!memcmp(t->call.args, args, sizeof(t->call.args)))
		return 0;
	r = e->g->ops->set_args(e->g, t->id, args);
	if (r == 0)
		memcpy(t->call.args, args, sizeof(t->call.args));
	return r;
}

/* The arguments of what is still to be moved: nothing, before all of the last message is gone. */
static void rest_of(const struct task *t, uint64_t args[6])
{
	memcpy(args, t->messages.args, sizeof(t->messages.args));
	args[AT_MESSAGES] += t->messages.moved * sizeof(struct mmsghdr);
	args[AT_COUNT] = t->messages.cut ? 0 : args[AT_COUNT] - t->messages.moved;
}

/* A part is over, the guest's code is next: it sees its own arguments, and this result. */
static int finish(struct engine *e, struct task *t, int64_t result, struct verdict *v)
{
	t->messages.on = false;
	v->kind = VERDICT_GO;
	v->set_result = true;
	v->value = result;
	return set_args(e, t, t->messages.args);
}

/* A part is over, and the call comes back for the next. */
static int next_part(struct engine *e, struct task *t, struct verdict *v)
{
	rest_of(t, t->messages.part);
	v->kind = VERDICT_GO;
	v->set_result = true;
	v->value = WAIT_ERESTARTSYS;
	return set_args(e, t, t->messages.part);
}

/* Is one of these (of poll(2)) so of the call's descriptor now? 1, 0 or -errno. */
static int is_now(struct engine *e, struct task *t, short events)
{
	struct handle_poll look = { .handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]), .events = events };
	int r;

	if (look.handle < 0)
		return look.handle == -EBADF ? 0 : look.handle;
	r = network_settle(e);
	if (r == 0)
		r = e->g->ops->handles_poll(e->g, &look, 1, 0);
	e->g->ops->handle_release(e->g, look.handle);
	return r < 0 ? r : (look.revents & events) != 0;
}

/* ---- receiving ---- */

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
	return finish(e, t, r == -EFAULT ? -EFAULT : result, v);
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
	if (r == 0 && first.msg_iovlen > MESSAGES_MAX)
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
	r = is_now(e, t, POLLERR);
	if (r <= 0 || info->sock_type == SOCK_STREAM || queued_now(e, t) == 0)
		return r;
	r = is_now(e, t, POLLIN);
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
		return finish(e, t, WAIT_ERESTARTSYS, v);
	t->messages.queued = queued_now(e, t);
	return next_part(e, t, v);
}

/* The kernel is asked once more, so that the guest gets its arguments back; it gives up instead of sleep. */
static int last_part(struct task *t, struct verdict *v)
{
	t->call.scratch[1] = true;
	t->call.attempt = true;
	return verdict_hook(v);
}

/* The kernel takes what is there. Behind the deadline one more message is. */
static int receive_part(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	uint64_t args[6];
	int r;

	rest_of(t, args);
	if (t->messages.deadline_ns <= e->clock.now_ns)
		args[AT_COUNT] = 1;
	args[AT_FLAGS] |= MSG_DONTWAIT;
	args[AT_TIMEOUT] = 0;
	r = set_args(e, t, args);
	if (r == -EBUSY && !t->messages.moved) { /* a signal is on its way: as if it had come first */
		signals_changed(e, t->process);
		return verdict_block(v);
	}
	if (r == -EBUSY)
		return last_part(t, v);
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

	begin(t);
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
	int r = set_args(e, t, t->messages.args);

	if (r < 0)
		return r == -EBUSY ? last_part(t, v) : r;
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
		return last_part(t, v);
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
	if (t->call.first && !is_part(t)) {
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
		return last_part(t, v);
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
	if (is_part(t) || t->call.done ? t->messages.on :
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

/* ---- sending ---- */

/* What the messages carry, before they are on their way. */
static int note_messages(struct engine *e, struct task *t)
{
	struct mmsghdr message;
	int r = 0;

	for (uint64_t i = 0; i < t->call.args[AT_COUNT] && i < MESSAGES_MAX && r >= 0; i++) {
		r = guest_read(e, t, t->call.args[AT_MESSAGES] + i * sizeof(message), &message, sizeof(message));
		if (r >= 0)
			r = passed_note_message(e, t, &message.msg_hdr);
	}
	return r == -EFAULT ? 0 : r;
}

/* The message that was sent last, what it has of bytes, and where it stands. 0, or -errno: -EFAULT and -EINVAL are the guest's. */
static int last_message(struct engine *e, struct task *t, struct mmsghdr *ret, struct span *ret_span, uint64_t *ret_address)
{
	int r;

	*ret_address = t->messages.args[AT_MESSAGES] + (t->messages.moved - 1) * sizeof(*ret);
	r = guest_read(e, t, *ret_address, ret, sizeof(*ret));
	return r < 0 ? r : span_vector(e, t, (uint64_t)(uintptr_t)ret->msg_hdr.msg_iov, ret->msg_hdr.msg_iovlen, ret_span);
}

/* Has it bytes left? A stream takes a part of a message, and the kernel sends none behind such a one. 1, 0 or -errno. */
static int is_cut(struct engine *e, struct task *t, const struct fd_info *info)
{
	struct mmsghdr last;
	struct span span;
	uint64_t address;
	int r;

	if (info->sock_type != SOCK_STREAM)
		return 0;
	r = last_message(e, t, &last, &span, &address);
	return r == -EFAULT || r == -EINVAL ? 0 : r < 0 ? r : last.msg_len < span.total;
}

/* Sends what the last message has left, as far as it goes now. 1: that is all, or no more will go; 0: parked. */
static int send_rest(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	unsigned char buf[PIECE];
	struct mmsghdr last;
	struct span span;
	uint64_t address;
	ssize_t sent;
	size_t n;
	int r;

	r = wait_fd(e, t, (int)t->call.args[0], POLLOUT);
	if (r >= 0)
		r = last_message(e, t, &last, &span, &address);
	while (r == 0 && last.msg_len < span.total) {
		r = span_fetch(e, t, &span, last.msg_len, buf, sizeof(buf), &n);
		sent = r == 0 ? e->g->ops->handle_write(e->g, t->wait.polls[0].handle, buf, n) : 0;
		if (sent == -EAGAIN && !wait_interrupted(t) && !wait_timed_out(t)) {
			r = socket_block(e, t, info, false, v);
			return r < 0 ? r : 0;
		}
		if (sent <= 0)
			break;
		last.msg_len += (unsigned)sent;
		r = guest_write(e, t, address + offsetof(struct mmsghdr, msg_len), &last.msg_len, sizeof(last.msg_len));
		if (r == 0)
			r = network_moved_piece(e);
	}
	if (r < 0 && r != -EFAULT && r != -EINVAL && r != -EBADF)
		return r;
	t->messages.cut = r < 0 || last.msg_len < span.total;
	return 1;
}

/*
 * n messages went: has an error ended them, which the kernel does not tell, or did the next one not fit? An error of the internet's sockets
 * is forgotten when it has been found once; with others the next message finds the same. 1, 0 or -errno.
 */
static int send_is_over(struct engine *e, struct task *t, const struct fd_info *info, uint64_t n)
{
	bool rest = !t->call.args[AT_COUNT]; /* of one that was cut: it is gone, or never will be */
	int r;

	if (signals_pending(e, t) || (rest && t->messages.cut))
		return 1;
	if (!rest) {
		r = n ? is_cut(e, t, info) : 0;
		t->messages.cut = r > 0;
		if (r)
			return r < 0 ? r : 0;
	}
	if (t->messages.moved >= t->messages.args[AT_COUNT] || t->messages.moved >= MESSAGES_MAX)
		return 1;
	return rest ? 0 : !n ? 1 : info->kind == FD_INET ? is_now(e, t, POLLOUT) : 0;
}

/* Where a message did not fit, and no error ended it, the rest waits for room. */
static int send_part_done(struct engine *e, struct task *t, const struct fd_info *info, uint64_t deadline_ns, struct verdict *v)
{
	int64_t n = t->call.result;
	int r;

	if (n < 0 && !t->messages.moved) { /* gave up, or an error: as for any call */
		t->messages.on = false;
		return attempt_call(e, t, deadline_ns, EAGAIN, v);
	}
	if (n < 0) {
		if (t->call.scratch[1] || !attempt_gave_up(n) || signals_pending(e, t))
			return finish(e, t, (int64_t)t->messages.moved, v);
		return attempt_call(e, t, deadline_ns, EAGAIN, v);
	}
	e->io_dirty = e->event_dirty = true;
	t->messages.moved += (uint64_t)n;
	r = send_is_over(e, t, info, (uint64_t)n);
	if (r < 0)
		return r;
	return r ? finish(e, t, (int64_t)t->messages.moved, v) : next_part(e, t, v);
}

int handle_io_sendmmsg(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	uint64_t deadline_ns;
	int r;

	if (netlink_serves(e, t, (int)t->call.args[0], &info))
		return netlink_sendmmsg(e, t, info, v);
	if (t->call.args[AT_COUNT] && fastopen_serves(e, t, (int)t->call.args[AT_FLAGS]))
		return fastopen_sendmmsg(e, t, v);
	r = t->call.first ? note_messages(e, t) : 0;
	if (r < 0)
		return r;
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	r = t->call.args[AT_FLAGS] & MSG_DONTWAIT ? 1 : fdtable_nonblocking(e, t, (int)t->call.args[0]);
	if (r)
		return r < 0 ? r : verdict_continue(v);
	deadline_ns = socket_deadline(e, t, info, false);
	if (!e->g->ops->set_args)
		return attempt_call(e, t, deadline_ns, EAGAIN, v);
	if (t->call.done)
		return send_part_done(e, t, info, deadline_ns, v);
	if (t->call.first && !is_part(t))
		begin(t);
	if (t->messages.cut) {
		r = send_rest(e, t, info, v);
		return r <= 0 ? r : verdict_hook(v);
	}
	if (t->messages.moved && (wait_interrupted(t) || wait_timed_out(t)))
		return last_part(t, v);
	return attempt_call(e, t, deadline_ns, EAGAIN, v);
}
