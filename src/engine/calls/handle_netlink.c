/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on netlink sockets. Requests are translated and sent by us through the guest's socket; answers come from the socket's queue, so every
 * receiving call is answered by us, too: handle_netlink_receive.c.
 *
 * What only means something in the guest's own hands (another namespace by pid or descriptor) is refused, as are messages to
 * other sockets than the kernel's.
 */
#include "engine/calls/handle_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "engine/calls/handle_netlink_internal.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/netlink_socket.h"
#include "engine/net/network_rest.h"
#include "engine/span.h"
#include "netlink/request.h"

enum {
	SEND_LIMIT = 212992 - 32, /* what a socket with the default buffer sends at once */
	RECEIVE_ROOM = 212992,    /* net.core.rmem_max as it is by default */
};

void netlink_use_end(struct netlink_use *use)
{
	if (use->handle >= 0)
		use->e->g->ops->handle_release(use->e->g, use->handle);
	use->handle = -1;
}

int netlink_use_begin_at(struct engine *e, struct task *t, int fd, const struct fd_info *info, struct netlink_use *use)
{
	*use = (struct netlink_use){ .e = e, .t = t, .handle = -1 };
	use->handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	return use->handle < 0 ? use->handle : netlink_socket_get(e, t, fd, info, &use->socket);
}

int netlink_use_begin(struct engine *e, struct task *t, const struct fd_info *info, struct netlink_use *use)
{
	return netlink_use_begin_at(e, t, (int)t->call.args[0], info, use);
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

int netlink_answer_error(int r, struct verdict *v)
{
	return r == -ENOMEM || r == -ESRCH ? r : verdict_return(v, r);
}

static int take_port(struct netlink_use *use, uint32_t port, uint32_t groups)
{
	int r = netlink_socket_bind(use->e, use->t, use->socket, use->handle, port, groups);

	/* What a group has sent since it was joined is seen from now on. */
	return r < 0 ? r : netlink_socket_settle(use->e, use->socket, use->handle);
}

/* Of a call with the arguments (socket, address, its length). */
static int begin_with_address(struct engine *e, struct task *t, const struct fd_info *info, struct netlink_use *use, struct sockaddr_nl *ret_address)
{
	int r = netlink_use_begin(e, t, info, use);

	return r < 0 ? r : read_address(e, t, t->call.args[1], t->call.args[2], ret_address);
}

int netlink_bind(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	struct sockaddr_nl address;
	int r;

	r = begin_with_address(e, t, info, &use, &address);
	if (r < 0)
		return netlink_answer_error(r, v);
	if (use.socket->port) {
		use.socket->listens |= address.nl_groups != 0;
		return verdict_continue(v); /* the kernel adds groups, or refuses */
	}
	r = take_port(&use, address.nl_pid, address.nl_groups);
	return r < 0 ? netlink_answer_error(r, v) : verdict_return(v, 0);
}

/* Messages go to the kernel in any case; what is left of connect is that the socket has a port. */
int netlink_connect(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	struct sockaddr_nl address;
	int r;

	r = begin_with_address(e, t, info, &use, &address);
	if (r < 0)
		return netlink_answer_error(r, v);
	if (address.nl_pid || address.nl_groups)
		return verdict_errno(v, EPERM);
	r = take_port(&use, 0, 0);
	return r < 0 ? netlink_answer_error(r, v) : verdict_return(v, 0);
}

/* --- sending --- */

int netlink_option(const struct netlink_use *use, int level, int name)
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
static int send_real(struct netlink_use *use, const struct nl_buf *real, const struct nl_buf *refusals,
		     const struct nl_request_report *report)
{
	struct engine *e = use->e;
	ssize_t n = 0;
	int r;

	if (real->len)
		n = e->g->ops->handle_send(e->g, use->handle, real->data, real->len, NULL, 0);
	if (n < 0)
		return (int)n;
	r = nl_queue_push_own(&use->socket->queue, refusals->data, refusals->len);
	e->netlinks.unrouted = e->netlinks.unrouted || report->unroutes;
	if (r >= 0 && report->changes) {
		network_stirred(e);
		r = network_rest(e, use->t);
	}
	if (r >= 0 && report->changes)
		r = netlinks_update(e, use->t);
	e->io_dirty = e->event_dirty = true;
	return r < 0 ? r : netlink_socket_settle(e, use->socket, use->handle);
}

/* One datagram to the kernel, from the socket's port. 0 or -errno. */
static int send_bytes(struct netlink_use *use, const void *bytes, size_t len)
{
	_cleanup_(nl_buf_deinit) struct nl_buf real = { 0 }, refusals = { 0 };
	struct netlink_socket *s = use->socket;
	struct nl_request_report report;
	int r;

	r = nl_request_prepare(&use->e->netlinks.env, s->protocol, s->port, netlink_option(use, SOL_NETLINK, NETLINK_CAP_ACK), bytes, len,
			       &real, &refusals, &report);
	if (r >= 0 && report.names_task)
		r = -EPERM;
	return r < 0 ? r : send_real(use, &real, &refusals, &report);
}

/* The kernel looks at the length, gives the socket a port, and fetches the datagram then. 0 or -errno. */
static int before_datagram(struct netlink_use *use, uint64_t len)
{
	int r = len > SEND_LIMIT ? -EMSGSIZE : take_port(use, 0, 0);

	return r < 0 ? r : len ? 0 : -ENODATA;
}

/* Its length, or -errno. */
static int64_t send_datagram(struct netlink_use *use, const struct span *span)
{
	_cleanup_(nl_buf_deinit) struct nl_buf all = { 0 };
	int r;

	r = before_datagram(use, span->total);
	if (r >= 0)
		r = fetch_all(use->e, use->t, span, &all);
	if (r >= 0)
		r = send_bytes(use, all.data, all.len);
	return r < 0 ? r : (int64_t)span->total;
}

int64_t netlink_put(struct engine *e, struct task *t, int fd, const struct fd_info *info, const void *bytes, size_t len)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	int r;

	r = netlink_use_begin_at(e, t, fd, info, &use);
	if (r >= 0)
		r = before_datagram(&use, len);
	if (r >= 0)
		r = send_bytes(&use, bytes, len);
	return r < 0 ? r : (int64_t)len;
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
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	int64_t r;

	r = netlink_use_begin(e, t, info, &use);
	if (r >= 0)
		r = send_datagram(&use, span);
	return r < 0 ? netlink_answer_error((int)r, v) : verdict_return(v, r);
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
		return netlink_answer_error(r, v);
	span_buffer(&span, a[1], a[2]);
	return send_span(e, t, info, &span, v);
}

int netlink_read_message(struct engine *e, struct task *t, uint64_t addr, struct msghdr *ret, struct span *ret_span)
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

	r = netlink_read_message(use->e, use->t, addr, &message, &span);
	if (r >= 0)
		r = check_destination(use->e, use->t, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen);
	return r < 0 ? r : send_datagram(use, &span);
}

int netlink_sendmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	int64_t r;

	r = netlink_use_begin(e, t, info, &use);
	if (r >= 0)
		r = send_message(&use, t->call.args[1]);
	return r < 0 ? netlink_answer_error((int)r, v) : verdict_return(v, r);
}

int netlink_write_length(struct engine *e, struct task *t, uint64_t addr, int64_t length)
{
	uint32_t len = (uint32_t)length;

	return guest_write(e, t, addr + offsetof(struct mmsghdr, msg_len), &len, sizeof(len));
}

int netlink_sendmmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	_cleanup_(netlink_use_end) struct netlink_use use = { .handle = -1 };
	uint64_t n = t->call.args[2] < UIO_MAXIOV ? t->call.args[2] : UIO_MAXIOV, done = 0, addr = t->call.args[1];
	int64_t r;

	r = netlink_use_begin(e, t, info, &use);
	for (; r >= 0 && done < n; done += r >= 0, addr += sizeof(struct mmsghdr)) {
		r = send_message(&use, addr);
		if (r >= 0)
			r = netlink_write_length(e, t, addr, r);
	}
	if (r < 0 && !done)
		return netlink_answer_error((int)r, v);
	return verdict_return(v, (int64_t)done);
}

/* --- options --- */

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
