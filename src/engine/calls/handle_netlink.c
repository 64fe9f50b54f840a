/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on netlink sockets. Requests are translated and sent by us through the guest's socket; answers come from the socket's queue
 * (netlink_socket.h), so every receiving call is answered here.
 *
 * What only means something in the guest's own hands (another namespace by pid or descriptor) is refused, as are messages to
 * other sockets than the kernel's.
 */
#include "engine/calls/handle_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/netlink_socket.h"
#include "engine/span.h"
#include "engine/wait.h"
#include "netlink/request.h"

enum {
	SEND_LIMIT = 212992 - 32, /* what a socket with the default buffer sends at once */
	RECEIVE_ROOM = 212992,    /* net.core.rmem_max as it is by default */
	MESSAGES_MAX = 1024,      /* UIO_MAXIOV: of recvmmsg(2) and sendmmsg(2) */
	CONTROL_MAX = 128,
};

/* An open netlink socket while a call is at work on it. */
struct netlink_use {
	struct engine *e;
	struct task *t;
	struct netlink_socket *socket;
	int handle;
};

static void use_end(struct netlink_use *use)
{
	if (use->handle >= 0)
		use->e->g->ops->handle_release(use->e->g, use->handle);
	use->handle = -1;
}

static int use_begin(struct engine *e, struct task *t, const struct fd_info *info, struct netlink_use *use)
{
	*use = (struct netlink_use){ .e = e, .t = t, .handle = -1 };
	use->handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	return use->handle < 0 ? use->handle : netlink_socket_get(e, t, (int)t->call.args[0], info, &use->socket);
}

bool netlink_serves(struct engine *e, struct task *t, int fd, const struct fd_info **ret_info)
{
	return e->g->ops->network_ask && fdtable_info(e, t, fd, ret_info) == 0 && (*ret_info)->kind == FD_NETLINK &&
	       netlinks_usable(e, t);
}

/* --- addresses --- */

/* An address as the guest gives it. 0, or the guest's error. */
static int read_address(struct engine *e, struct task *t, uint64_t addr, uint64_t len, struct sockaddr_nl *ret)
{
	int r;

	if (len < sizeof(*ret))
		return -EINVAL;
	r = guest_read(e, t, addr, ret, sizeof(*ret));
	return r < 0 ? r : ret->nl_family == AF_NETLINK ? 0 : -EINVAL;
}

/* Errors of ours end the run; what is the guest's becomes its answer. */
static int answer_error(int r, struct verdict *v)
{
	return r == -ENOMEM || r == -ESRCH ? r : verdict_return(v, r);
}

static int take_port(struct netlink_use *use, uint32_t port, uint32_t groups)
{
	int r = netlink_socket_bind(use->e, use->t, use->socket, use->handle, port, groups);

	/* What a group has sent since it was joined is seen from now on. */
	return r < 0 ? r : netlink_socket_settle(use->e, use->socket, use->handle);
}

int netlink_bind(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	struct sockaddr_nl address;
	int r;

	r = use_begin(e, t, info, &use);
	if (r >= 0)
		r = read_address(e, t, t->call.args[1], t->call.args[2], &address);
	if (r < 0)
		return answer_error(r, v);
	if (use.socket->port) {
		use.socket->listens |= address.nl_groups != 0;
		return verdict_continue(v); /* the kernel adds groups, or refuses */
	}
	r = take_port(&use, address.nl_pid, address.nl_groups);
	return r < 0 ? answer_error(r, v) : verdict_return(v, 0);
}

/* Messages go to the kernel in any case; what is left of connect is that the socket has a port. */
int netlink_connect(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	struct sockaddr_nl address;
	int r;

	r = use_begin(e, t, info, &use);
	if (r >= 0)
		r = read_address(e, t, t->call.args[1], t->call.args[2], &address);
	if (r < 0)
		return answer_error(r, v);
	if (address.nl_pid || address.nl_groups)
		return verdict_errno(v, EPERM);
	r = take_port(&use, 0, 0);
	return r < 0 ? answer_error(r, v) : verdict_return(v, 0);
}

/* --- sending --- */

static int option(const struct netlink_use *use, int level, int name)
{
	int value = 0;

	return use->e->g->ops->handle_option(use->e->g, use->handle, level, name, &value, sizeof(value)) < 0 ? 0 : value;
}

static int fetch_all(struct engine *e, struct task *t, const struct span *span, struct nl_buf *ret)
{
	unsigned char piece[4096];
	size_t n;
	int r = 0;

	while (r >= 0 && ret->len < span->total) {
		r = span_fetch(e, t, span, ret->len, piece, sizeof(piece), &n);
		if (r >= 0)
			r = nl_buf_put(ret, piece, n);
	}
	return r;
}

/* Sends what is left of a request, takes in everything that it has caused. 0 or -errno. */
static int send_real(struct netlink_use *use, const struct nl_buf *real, const struct nl_buf *refusals, bool changes)
{
	struct engine *e = use->e;
	ssize_t n = 0;
	int r;

	if (real->len)
		n = e->g->ops->handle_send(e->g, use->handle, real->data, real->len, NULL, 0);
	if (n < 0)
		return (int)n;
	r = nl_queue_push_own(&use->socket->queue, refusals->data, refusals->len);
	if (r >= 0 && changes)
		r = netlinks_update(e, use->t);
	e->io_dirty = e->event_dirty = true;
	return r < 0 ? r : netlink_socket_settle(e, use->socket, use->handle);
}

/* One datagram to the kernel. Its length, or -errno. */
static int64_t send_datagram(struct netlink_use *use, const struct span *span)
{
	_cleanup_(nl_buf_deinit) struct nl_buf all = { 0 }, real = { 0 }, refusals = { 0 };
	struct netlink_socket *s = use->socket;
	struct nl_request_report report;
	int r;

	if (span->total > SEND_LIMIT)
		return -EMSGSIZE;
	r = take_port(use, 0, 0);
	if (r < 0)
		return r;
	if (!span->total)
		return -ENODATA;
	r = fetch_all(use->e, use->t, span, &all);
	if (r >= 0)
		r = nl_request_prepare(&use->e->netlinks.env, s->protocol, s->port, option(use, SOL_NETLINK, NETLINK_CAP_ACK),
				       all.data, all.len, &real, &refusals, &report);
	if (r >= 0 && report.names_task)
		r = -EPERM;
	if (r >= 0)
		r = send_real(use, &real, &refusals, report.changes);
	return r < 0 ? r : (int64_t)span->total;
}

/* May it go to this address? Without one it goes to the kernel. */
static int check_destination(struct engine *e, struct task *t, uint64_t addr, uint64_t len)
{
	struct sockaddr_nl to;
	int r;

	if (!addr || !len)
		return 0;
	r = read_address(e, t, addr, len, &to);
	return r < 0 ? r : to.nl_pid || to.nl_groups ? -EPERM : 0;
}

static int send_span(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, struct verdict *v)
{
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	int64_t r;

	r = use_begin(e, t, info, &use);
	if (r >= 0)
		r = send_datagram(&use, span);
	return r < 0 ? answer_error((int)r, v) : verdict_return(v, r);
}

int netlink_write(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, struct verdict *v)
{
	return send_span(e, t, info, span, v);
}

int netlink_sendto(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct span span;
	int r;

	if (a[3] & MSG_OOB)
		return verdict_errno(v, EOPNOTSUPP);
	r = check_destination(e, t, a[4], a[5]);
	if (r < 0)
		return answer_error(r, v);
	span_buffer(&span, a[1], a[2]);
	return send_span(e, t, info, &span, v);
}

/* A struct msghdr of the guest and the memory that it is about. 0 or -errno. */
static int read_message(struct engine *e, struct task *t, uint64_t addr, struct msghdr *ret, struct span *ret_span)
{
	int r;

	r = guest_read(e, t, addr, ret, sizeof(*ret));
	return r < 0 ? r : span_vector(e, t, (uint64_t)(uintptr_t)ret->msg_iov, ret->msg_iovlen, ret_span);
}

static int64_t send_message(struct netlink_use *use, uint64_t addr)
{
	struct msghdr message;
	struct span span;
	int r;

	r = read_message(use->e, use->t, addr, &message, &span);
	if (r >= 0)
		r = check_destination(use->e, use->t, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen);
	return r < 0 ? r : send_datagram(use, &span);
}

int netlink_sendmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	int64_t r;

	r = use_begin(e, t, info, &use);
	if (r >= 0)
		r = send_message(&use, t->call.args[1]);
	return r < 0 ? answer_error((int)r, v) : verdict_return(v, r);
}

/* Notes how long the message was in its struct mmsghdr. */
static int write_length(struct engine *e, struct task *t, uint64_t addr, int64_t length)
{
	uint32_t len = (uint32_t)length;

	return guest_write(e, t, addr + offsetof(struct mmsghdr, msg_len), &len, sizeof(len));
}

int netlink_sendmmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	uint64_t n = t->call.args[2] < MESSAGES_MAX ? t->call.args[2] : MESSAGES_MAX, done = 0, addr = t->call.args[1];
	int64_t r;

	r = use_begin(e, t, info, &use);
	for (; r >= 0 && done < n; done += r >= 0, addr += sizeof(struct mmsghdr)) {
		r = send_message(&use, addr);
		if (r >= 0)
			r = write_length(e, t, addr, r);
	}
	if (r < 0 && !done)
		return answer_error((int)r, v);
	return verdict_return(v, (int64_t)done);
}

/* --- receiving --- */

/*
 * The next datagram into the span: what the receiving call returns, or -errno; -EAGAIN when there is none. *ret->bytes do not
 * outlive the call.
 */
static int64_t receive_datagram(struct netlink_use *use, const struct span *span, int flags, struct nl_datagram *ret)
{
	struct nl_queue *queue = &use->socket->queue;
	size_t done;
	int r = 0;

	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (!nl_queue_is_ready(queue))
		r = netlink_socket_settle(use->e, use->socket, use->handle);
	if (r < 0)
		return r;
	switch ((enum nl_queue_outcome)nl_queue_next(queue, span->total, flags, ret)) {
	case NL_QUEUE_EMPTY:
		return -EAGAIN;
	case NL_QUEUE_OVERRUN:
		r = netlink_socket_settle(use->e, use->socket, use->handle);
		return r < 0 ? r : -ENOBUFS;
	case NL_QUEUE_DATAGRAM:
		break;
	}
	r = span_store(use->e, use->t, span, 0, ret->bytes, ret->len, &done);
	if (r >= 0 && !nl_queue_is_ready(queue))
		r = netlink_socket_settle(use->e, use->socket, use->handle);
	return r < 0 ? r : (int64_t)ret->result;
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
		return answer_error(r, v);
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
	return result < 0 ? answer_error((int)result, v) : verdict_return(v, result);
}

int netlink_read(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v)
{
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	struct nl_datagram datagram;
	int64_t r;

	if (!netlinks_usable(e, t))
		return READER_DECLINES;
	if (request->positional)
		return verdict_errno(v, ESPIPE);
	if (!request->span->total)
		return verdict_return(v, 0);
	r = use_begin(e, t, request->info, &use);
	if (r >= 0)
		r = receive_datagram(&use, request->span, 0, &datagram);
	return finish_receive(e, t, r, 0, v);
}

int netlink_recvfrom(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	struct nl_datagram datagram;
	const uint32_t true_len = sizeof(struct sockaddr_nl);
	struct span span;
	uint32_t room = 0;
	int64_t r;

	span_buffer(&span, a[1], a[2]);
	r = a[4] ? guest_read(e, t, a[5], &room, sizeof(room)) : 0;
	if (r < 0)
		return answer_error((int)r, v);
	r = use_begin(e, t, info, &use);
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

	if (option(use, SOL_NETLINK, NETLINK_PKTINFO))
		put_control(control, SOL_NETLINK, NETLINK_PKTINFO, &info, sizeof(info));
	if (option(use, SOL_SOCKET, SO_PASSCRED))
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

	r = read_message(use->e, use->t, addr, &message, &span);
	if (r < 0)
		return r;
	result = receive_datagram(use, &span, flags, &datagram);
	r = result >= 0 ? write_message(use, addr, &message, &datagram) : 0;
	return r < 0 ? r : result;
}

int netlink_recvmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	int64_t r;

	r = use_begin(e, t, info, &use);
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
	_cleanup_(use_end) struct netlink_use use = { .handle = -1 };
	const uint64_t *a = t->call.args;
	uint64_t n = a[2] < MESSAGES_MAX ? a[2] : MESSAGES_MAX, addr;
	int flags = (int)a[3];
	int64_t r;

	r = use_begin(e, t, info, &use);
	if (r >= 0)
		r = set_deadline(e, t);
	while (r >= 0 && t->call.progress < n) {
		addr = a[1] + t->call.progress * sizeof(struct mmsghdr);
		r = receive_message(&use, addr, flags & ~MSG_WAITFORONE);
		if (r >= 0)
			r = write_length(e, t, addr, r);
		t->call.progress += r >= 0;
	}
	if (r >= 0 || (t->call.progress && (r != -EAGAIN || flags & MSG_WAITFORONE || wait_timed_out(t) || wait_interrupted(t))))
		return verdict_return(v, (int64_t)t->call.progress);
	if (r != -EAGAIN)
		return answer_error((int)r, v);
	r = receive_later(e, t, flags, v);
	return r >= 0 && v->kind == VERDICT_RETURN && t->call.progress ? verdict_return(v, (int64_t)t->call.progress) : (int)r;
}

int netlink_setsockopt(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct netlink_socket *s;
	uint32_t value;
	int r;

	r = netlink_socket_get(e, t, (int)a[0], info, &s);
	if (r >= 0)
		r = a[4] < sizeof(value) ? -EFAULT : guest_read(e, t, a[3], &value, sizeof(value));
	if (r < 0)
		return r == -EFAULT ? verdict_continue(v) : r;
	if ((int)a[1] == SOL_SOCKET && ((int)a[2] == SO_RCVBUF || (int)a[2] == SO_RCVBUFFORCE))
		nl_queue_set_room(&s->queue, 2ul * (value < RECEIVE_ROOM ? value : RECEIVE_ROOM));
	if ((int)a[1] == SOL_NETLINK && (int)a[2] == NETLINK_ADD_MEMBERSHIP)
		s->listens = true;
	return verdict_continue(v);
}
