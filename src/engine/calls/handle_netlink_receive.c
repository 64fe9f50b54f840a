/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving from netlink sockets, of which each datagram comes from the socket's queue (netlink_socket.h): see handle_netlink.h. */
#include "engine/calls/handle_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "engine/calls/handle_netlink_internal.h"
#include "engine/engine_internal.h"
#include "engine/net/netlink_socket.h"
#include "engine/span.h"
#include "engine/wait.h"

enum { CONTROL_MAX = 128 };

/*
 * The next datagram, for a buffer of so many bytes: what the receiving call returns, or -errno; -EAGAIN when there is none. *ret->bytes do not
 * outlive the call; received() is due when they have been used.
 */
static int64_t next_datagram(struct netlink_use *use, uint64_t size, int flags, struct nl_datagram *ret)
{
	struct nl_queue *queue = &use->socket->queue;
	int r = 0;

	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (!nl_queue_is_ready(queue))
		r = netlink_socket_settle(use->e, use->socket, use->handle);
	if (r < 0)
		return r;
	switch ((enum nl_queue_outcome)nl_queue_next(queue, size, flags, ret)) {
	case NL_QUEUE_EMPTY:
		return -EAGAIN;
	case NL_QUEUE_OVERRUN:
		r = netlink_socket_settle(use->e, use->socket, use->handle);
		return r < 0 ? r : -ENOBUFS;
	case NL_QUEUE_DATAGRAM:
		break;
	}
	return (int64_t)ret->result;
}

/* The socket is readable as long as its queue has something. 0 or -errno. */
static int received(struct netlink_use *use)
{
	return nl_queue_is_ready(&use->socket->queue) ? 0 : netlink_socket_settle(use->e, use->socket, use->handle);
}

/* The same into the span. */
static int64_t receive_datagram(struct netlink_use *use, const struct span *span, int flags, struct nl_datagram *ret)
{
	int64_t result = next_datagram(use, span->total, flags, ret);
	size_t done;
	int r;

	if (result < 0)
		return result;
	r = span_store(use->e, use->t, span, 0, ret->bytes, ret->len, &done);
	if (r >= 0)
		r = received(use);
	return r < 0 ? r : result;
}

int64_t netlink_get(struct engine *e, struct task *t, int fd, const struct fd_info *info, void *buf, size_t size)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	struct nl_datagram datagram;
	int64_t result;
	int r;

	r = netlink_use_begin_at(e, t, fd, info, &use);
	if (r < 0)
		return r;
	result = next_datagram(&use, size, 0, &datagram);
	if (result < 0)
		return result;
	memcpy(buf, datagram.bytes, datagram.len);
	r = received(&use);
	return r < 0 ? r : (int64_t)datagram.len;
}

/* The call cannot go on without a datagram: parks, or says so. */
static int receive_later(struct engine *e, struct task *t, int flags, struct verdict *v)
{
	int r;

	if (flags & MSG_DONTWAIT)
		return verdict_errno(v, EAGAIN);
	r = wait_fd(e, t, (int)t->call.args[0], POLLIN);
	if (r >= 0)
		r = wait_is_nonblocking(e, t);
	if (r < 0)
		return netlink_answer_error(r, v);
	return r ? verdict_errno(v, EAGAIN) : verdict_block(v);
}

/* The sender's address, as the kernel's recvfrom(2) leaves it: cut to the buffer, its true length told. */
static int write_sender(struct engine *e, struct task *t, uint32_t group, uint64_t addr, uint32_t room)
{
	const struct sockaddr_nl from = { .nl_family = AF_NETLINK, .nl_groups = nl_group_mask(group) };

	return addr ? guest_write(e, t, addr, &from, room < sizeof(from) ? room : sizeof(from)) : 0;
}

static int finish_receive(struct engine *e, struct task *t, int64_t result, int flags, struct verdict *v)
{
	if (result == -EAGAIN)
		return receive_later(e, t, flags, v);
	return result < 0 ? netlink_answer_error((int)result, v) : verdict_return(v, result);
}

int netlink_read(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	struct nl_datagram datagram;
	int64_t r;

	if (!netlinks_usable(e, t))
		return READER_DECLINES;
	if (request->positional)
		return verdict_errno(v, ESPIPE);
	if (!request->span->total)
		return verdict_return(v, 0);
	r = netlink_use_begin(e, t, request->info, &use);
	if (r >= 0)
		r = receive_datagram(&use, request->span, 0, &datagram);
	return finish_receive(e, t, r, request->nowait ? MSG_DONTWAIT : 0, v);
}

int netlink_recvfrom(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	struct nl_datagram datagram;
	const uint32_t true_len = sizeof(struct sockaddr_nl);
	struct span span;
	uint32_t room = 0;
	int64_t r;

	span_buffer(&span, a[1], a[2]);
	r = a[4] ? guest_read(e, t, a[5], &room, sizeof(room)) : 0;
	if (r < 0)
		return netlink_answer_error((int)r, v);
	r = netlink_use_begin(e, t, info, &use);
	if (r >= 0)
		r = receive_datagram(&use, &span, (int)a[3], &datagram);
	if (r >= 0 && a[4]) {
		int error = write_sender(e, t, datagram.group, a[4], room);

		if (error >= 0)
			error = guest_write(e, t, a[5], &true_len, sizeof(true_len));
		r = error < 0 ? error : r;
	}
	return finish_receive(e, t, r, (int)a[3], v);
}

/* Ancillary data under construction. */
struct control {
	unsigned char bytes[CONTROL_MAX];
	size_t len, room;
	bool cut;
};

/* Appends a control message, cut as put_cmsg() of the kernel cuts. */
static void put_control(struct control *control, int level, int type, const void *data, size_t len)
{
	struct cmsghdr header = { .cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type };
	size_t left = control->room - control->len, space = CMSG_SPACE(len);

	if (left < sizeof(header) || sizeof(control->bytes) - control->len < space) {
		control->cut = true;
		return;
	}
	if (left < header.cmsg_len) {
		control->cut = true;
		header.cmsg_len = left;
	}
	memcpy(control->bytes + control->len, &header, sizeof(header));
	memcpy(control->bytes + control->len + CMSG_LEN(0), data, header.cmsg_len - CMSG_LEN(0));
	control->len += left < space ? left : space;
}

/* What the socket has asked to be told with each datagram: its group, and who sent it (the kernel, always). */
static void make_control(const struct netlink_use *use, uint32_t group, struct control *control)
{
	const struct nl_pktinfo info = { .group = group };
	const struct ucred kernel = { 0 };

	if (netlink_option(use, SOL_NETLINK, NETLINK_PKTINFO))
		put_control(control, SOL_NETLINK, NETLINK_PKTINFO, &info, sizeof(info));
	if (netlink_option(use, SOL_SOCKET, SO_PASSCRED))
		put_control(control, SOL_SOCKET, SCM_CREDENTIALS, &kernel, sizeof(kernel));
}

/* Fills in the rest of the guest's struct msghdr. 0 or -errno. */
static int write_message(struct netlink_use *use, uint64_t addr, struct msghdr *message, const struct nl_datagram *datagram)
{
	struct control control = { .room = message->msg_control ? message->msg_controllen : 0 };
	int r;

	make_control(use, datagram->group, &control);
	r = write_sender(use->e, use->t, datagram->group, (uint64_t)(uintptr_t)message->msg_name, message->msg_namelen);
	if (r >= 0 && control.len)
		r = guest_write(use->e, use->t, (uint64_t)(uintptr_t)message->msg_control, control.bytes, control.len);
	message->msg_namelen = message->msg_name ? sizeof(struct sockaddr_nl) : message->msg_namelen;
	message->msg_controllen = control.len;
	message->msg_flags = (datagram->truncated ? MSG_TRUNC : 0) | (control.cut ? MSG_CTRUNC : 0);
	return r < 0 ? r : guest_write(use->e, use->t, addr, message, sizeof(*message));
}

static int64_t receive_message(struct netlink_use *use, uint64_t addr, int flags)
{
	struct nl_datagram datagram;
	struct msghdr message;
	struct span span;
	int64_t result;
	int r;

	r = netlink_read_message(use->e, use->t, addr, &message, &span);
	if (r < 0)
		return r;
	result = receive_datagram(use, &span, flags, &datagram);
	r = result >= 0 ? write_message(use, addr, &message, &datagram) : 0;
	return r < 0 ? r : result;
}

int netlink_recvmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	int64_t r;

	r = netlink_use_begin(e, t, info, &use);
	if (r >= 0)
		r = receive_message(&use, t->call.args[1], (int)t->call.args[2]);
	return finish_receive(e, t, r, (int)t->call.args[2], v);
}

/* The time that recvmmsg(2) may take. 0 or -errno, the guest's. */
static int set_deadline(struct engine *e, struct task *t)
{
	struct timespec limit;
	uint64_t ns;
	int r;

	if (!t->call.args[4])
		return 0;
	r = guest_read(e, t, t->call.args[4], &limit, sizeof(limit));
	if (r < 0)
		return r;
	if (limit.tv_nsec < 0 || !time_from_parts(limit.tv_sec, limit.tv_nsec, &ns))
		return -EINVAL;
	wait_until(e, t, time_add(t->call.start_ns, ns));
	return 0;
}

/* call.progress counts the messages that are there already. */
int netlink_recvmmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	const uint64_t *a = t->call.args;
	uint64_t n = a[2] < UIO_MAXIOV ? a[2] : UIO_MAXIOV, addr;
	int flags = (int)a[3];
	int64_t r;

	r = netlink_use_begin(e, t, info, &use);
	if (r >= 0)
		r = set_deadline(e, t);
	while (r >= 0 && t->call.progress < n) {
		addr = a[1] + t->call.progress * sizeof(struct mmsghdr);
		r = receive_message(&use, addr, flags & ~MSG_WAITFORONE);
		if (r >= 0)
			r = netlink_write_length(e, t, addr, r);
		t->call.progress += r >= 0;
	}
	if (r >= 0 || (t->call.progress && (r != -EAGAIN || flags & MSG_WAITFORONE || wait_timed_out(t) || wait_interrupted(t))))
		return verdict_return(v, (int64_t)t->call.progress);
	if (r != -EAGAIN)
		return netlink_answer_error((int)r, v);
	r = receive_later(e, t, flags, v);
	return r >= 0 && v->kind == VERDICT_RETURN && t->call.progress ? verdict_return(v, (int64_t)t->call.progress) : (int)r;
}
