/* SPDX-License-Identifier: BSD-3-Clause */
/* sendmmsg(2): to TCP by us, packet by packet, else in parts: see messages.h. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/calls/handle_fastopen.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handle_write.h"
#include "engine/calls/handlers.h"
#include "engine/calls/messages.h"
#include "engine/files/readers.h"
#include "engine/net/network.h"
#include "engine/net/passed.h"
#include "engine/net/sockets.h"
#include "engine/wait.h"

enum { PIECE = 65536 };

/* What the messages carry, before they are on their way. */
static int note_messages(struct engine *e, struct task *t)
{
	struct mmsghdr message;
	int r = 0;

	for (uint64_t i = 0; i < t->call.args[AT_COUNT] && i < UIO_MAXIOV && r >= 0; i++) {
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
	if (t->messages.moved >= t->messages.args[AT_COUNT] || t->messages.moved >= UIO_MAXIOV)
		return 1;
	return rest ? 0 : !n ? 1 : info->kind == FD_INET ? parts_socket_is(e, t, POLLOUT) : 0;
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
			return parts_finish(e, t, (int64_t)t->messages.moved, v);
		return attempt_call(e, t, deadline_ns, EAGAIN, v);
	}
	e->io_dirty = e->event_dirty = true;
	t->messages.moved += (uint64_t)n;
	r = send_is_over(e, t, info, (uint64_t)n);
	if (r < 0)
		return r;
	return r ? parts_finish(e, t, (int64_t)t->messages.moved, v) : parts_next(e, t, v);
}

/* ---- messages to TCP ---- */

/* Scratch: how many messages have gone (call.progress is of the next one); whether this is how they go. scratch[1] is parts_last()'s. */
enum { SENT = 0, IS_PACKETS = 2 };

static uint64_t messages_count(const struct task *t)
{
	return t->call.args[AT_COUNT] < UIO_MAXIOV ? t->call.args[AT_COUNT] : UIO_MAXIOV;
}

/* Message i and its bytes. 0; -EFAULT and -EINVAL are the guest's, or another -errno. */
static int read_message(struct engine *e, struct task *t, uint64_t i, struct mmsghdr *ret, struct span *ret_span)
{
	int r;

	r = guest_read(e, t, t->call.args[AT_MESSAGES] + i * sizeof(*ret), ret, sizeof(*ret));
	return r < 0 ? r : span_vector(e, t, (uint64_t)(uintptr_t)ret->msg_hdr.msg_iov, ret->msg_hdr.msg_iovlen, ret_span);
}

/* Can all of them be sent by us, and are they, or may they be, more than one packet? 1, 0 or -errno. */
static int are_packets(struct engine *e, struct task *t, const struct fd_info *info)
{
	uint64_t n = messages_count(t), total = 0, sure = t->call.args[AT_FLAGS] & MSG_OOB ? 0 : SOCKET_PACKET_SURE;
	struct mmsghdr message;
	struct span span;
	int r;

	if (!socket_has_packets(info) || !write_knows((int)t->call.args[AT_FLAGS]))
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		r = read_message(e, t, i, &message, &span);
		if (r == -EFAULT || r == -EINVAL)
			return i > 0 && total > sure; /* those before it go */
		if (r < 0)
			return r;
		if (message.msg_hdr.msg_name || (message.msg_hdr.msg_controllen && !write_ignores_control(e, t, &message.msg_hdr)))
			return 0;
		total += span.total;
	}
	return total > sure;
}

/* The message has gone as far as it does: the guest is told. 1 with the count in *v when this is the end, 0 or -errno. */
static int packets_note(struct engine *e, struct task *t, uint64_t total, struct verdict *v)
{
	uint64_t address = t->call.args[AT_MESSAGES] + t->call.scratch[SENT] * sizeof(struct mmsghdr);
	unsigned sent = (unsigned)t->call.progress;
	int r;

	r = guest_write(e, t, address + offsetof(struct mmsghdr, msg_len), &sent, sizeof(sent));
	if (r < 0 && r != -EFAULT)
		return r;
	t->call.scratch[SENT] += r == 0;
	t->call.progress = 0;
	if (r == 0 && sent == total && t->call.scratch[SENT] < messages_count(t))
		return 0;
	verdict_return(v, t->call.scratch[SENT] ? (int64_t)t->call.scratch[SENT] : r);
	return 1;
}

/* Nothing of a message goes, for this -errno: behind others nobody is told, but by the signal. */
static int packets_refused(struct engine *e, struct task *t, int error, struct verdict *v)
{
	bool silent = error != -EPIPE || t->call.args[AT_FLAGS] & MSG_NOSIGNAL;
	int r;

	if (!t->call.scratch[SENT])
		return silent ? verdict_return(v, error) : verdict_continue(v); /* the kernel finds the same, and raises the signal */
	r = silent ? 0 : write_raise_broken(e, t);
	return r < 0 ? r : verdict_return(v, (int64_t)t->call.scratch[SENT]);
}

/* No room: waits for it, where the call waits. 1 when it comes back with what has gone. */
static int packets_wait(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	bool some = t->call.progress || t->call.scratch[SENT];
	int r;

	r = t->call.args[AT_FLAGS] & MSG_DONTWAIT ? 1 : wait_is_nonblocking(e, t);
	if (r || wait_timed_out(t) || (wait_interrupted(t) && some))
		return r < 0 ? r : 1;
	return socket_block(e, t, info, false, v);
}

/* Sends them as far as they go now, each as sendmsg does. */
static int packets_send(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	struct mmsghdr message;
	struct span span;
	int end, r;

	r = wait_fd(e, t, (int)t->call.args[0], POLLOUT);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	do {
		end = read_message(e, t, t->call.scratch[SENT], &message, &span);
		if (end == 0) {
			r = write_on(e, t, info, &span, (int)t->call.args[AT_FLAGS], &end);
			if (r == 0 && end == -EAGAIN)
				r = packets_wait(e, t, info, v);
			if (r < 0 || (r == 0 && end == -EAGAIN))
				return r;
		} else if (end != -EFAULT && end != -EINVAL) {
			return end;
		}
		if (end && !t->call.progress)
			return packets_refused(e, t, end, v);
		r = packets_note(e, t, span.total, v);
	} while (r == 0);
	return r < 0 ? r : 0;
}

/* ---- */

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
	r = t->call.first && !parts_is_one(t) ? are_packets(e, t, info) : t->call.scratch[IS_PACKETS] != 0;
	if (r < 0)
		return r;
	t->call.scratch[IS_PACKETS] = (uint64_t)r;
	if (r)
		return packets_send(e, t, info, v);
	r = t->call.args[AT_FLAGS] & MSG_DONTWAIT ? 1 : fdtable_nonblocking(e, t, (int)t->call.args[0]);
	if (r)
		return r < 0 ? r : verdict_continue(v);
	deadline_ns = socket_deadline(e, t, info, false);
	if (!e->g->ops->set_args)
		return attempt_call(e, t, deadline_ns, EAGAIN, v);
	if (t->call.done)
		return send_part_done(e, t, info, deadline_ns, v);
	if (t->call.first && !parts_is_one(t))
		parts_begin(t);
	if (t->messages.cut) {
		r = send_rest(e, t, info, v);
		return r <= 0 ? r : verdict_hook(v);
	}
	if (t->messages.moved && (wait_interrupted(t) || wait_timed_out(t)))
		return parts_last(t, v);
	return attempt_call(e, t, deadline_ns, EAGAIN, v);
}
