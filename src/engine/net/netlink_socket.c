/* SPDX-License-Identifier: BSD-3-Clause */
/* Netlink sockets of the guest: see netlink_socket.h. */
#include "engine/net/netlink_socket.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "netlink/buffer.h"

enum { LARGEST_DATAGRAM = 1 << 17 };

/* Inodes of sockets in the guest's numbers, which are those of stat(2) and of the links in /proc/PID/fd. */
static uint64_t translate_inode(void *user, enum nl_direction direction, uint64_t ino)
{
	struct engine *e = user;
	struct inode *inode;

	if (!ino)
		return 0;
	if (direction == NL_TO_REAL)
		return inode_find_number(&e->inodes, e->g->identities.socket_dev, ino);
	inode = inode_get(&e->inodes, e->g->identities.socket_dev, ino);
	return inode ? inode_number(inode) : 0;
}

static void socket_free(struct netlink_socket *s)
{
	nl_queue_deinit(&s->queue);
	free(s);
}

static void netlinks_init(struct engine *e)
{
	struct netlinks *all = &e->netlinks;

	nl_map_init(&all->map);
	nl_ports_init(&all->ports);
	all->identity = (struct nl_identity){ .user = e, .inode = translate_inode };
	all->env = (struct nl_env){ .map = &all->map, .identity = &all->identity, .counters = &e->stats.netlink };
	all->ready = true;
}

void netlinks_deinit(struct netlinks *netlinks)
{
	struct netlink_socket *s, *tmp;

	if (!netlinks->ready)
		return;
	LL_FOREACH_SAFE(netlinks->sockets, s, tmp)
		socket_free(s);
	netlinks->sockets = NULL;
	nl_ports_deinit(&netlinks->ports);
	nl_map_deinit(&netlinks->map);
	netlinks->ready = false;
}

/* Reads off the notifications of one socket, if it is still where it was used last. */
static int settle_listener(struct engine *e, struct netlink_socket *s)
{
	struct fd_info info;
	int handle, r;

	handle = e->g->ops->fd_borrow(e->g, s->task, s->fd);
	if (handle < 0)
		return handle == -ESRCH || handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_info(e->g, handle, &info);
	if (r >= 0 && info.kind == FD_NETLINK && info.ino == s->ino)
		r = netlink_socket_settle(e, s, handle);
	e->g->ops->handle_release(e->g, handle);
	return r;
}

static int settle_listeners(struct engine *e)
{
	struct netlink_socket *s;
	int r = 0;

	LL_FOREACH(e->netlinks.sockets, s) {
		if (r >= 0 && s->listens)
			r = settle_listener(e, s);
	}
	return r;
}

int netlinks_update(struct engine *e, struct task *t)
{
	static const struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = { .header = { sizeof(request), RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 } };
	_cleanup_free_ void *dump = NULL;
	size_t len;
	int r;

	if (!e->netlinks.ready)
		netlinks_init(e);
	if (!e->g->ops->network_ask || e->netlinks.closed)
		return 0;
	r = e->g->ops->network_ask(e->g, t->id, NETLINK_ROUTE, &request, sizeof(request), &dump, &len);
	if (r == -EPERM || r == -EACCES) {
		e->netlinks.closed = true;
		engine_report_uncontrolled(e, "network namespace", "cannot be entered");
		return 0;
	}
	if (r >= 0)
		r = nl_map_learn(&e->netlinks.map, dump, len);
	if (r >= 0)
		r = settle_listeners(e);
	return r < 0 ? r : nl_map_fill(&e->netlinks.map, dump, len);
}

bool netlinks_usable(struct engine *e, struct task *t)
{
	if (!e->netlinks.ready && netlinks_update(e, t) < 0)
		return false;
	return e->g->ops->network_ask && !e->netlinks.closed;
}

static struct netlink_socket *socket_find(struct engine *e, uint64_t ino)
{
	struct netlink_socket *s;

	LL_SEARCH_SCALAR(e->netlinks.sockets, s, ino, ino);
	return s;
}

int netlink_socket_get(struct engine *e, struct task *t, int fd, const struct fd_info *info, struct netlink_socket **ret_socket)
{
	struct netlink_socket *s;
	int r;

	s = socket_find(e, info->ino);
	if (s) {
		s->task = t->id;
		s->fd = fd;
		*ret_socket = s;
		return 0;
	}
	r = netlinks_update(e, t);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->ino = info->ino;
	s->task = t->id;
	s->fd = fd;
	s->protocol = info->sock_protocol;
	nl_queue_init(&s->queue, &e->netlinks.env, s->protocol);
	LL_PREPEND(e->netlinks.sockets, s);
	*ret_socket = s;
	return 0;
}

/* The kernel gave the port away: whoever had it is gone. */
static void forget_owner(struct engine *e, int protocol, uint32_t port)
{
	struct netlink_socket *s, *tmp;

	LL_FOREACH_SAFE(e->netlinks.sockets, s, tmp) {
		if (s->protocol != protocol || s->port != port)
			continue;
		LL_DELETE(e->netlinks.sockets, s);
		socket_free(s);
	}
	nl_ports_release(&e->netlinks.ports, protocol, port);
}

/* Asks the kernel for one port. 0 or what bind(2) says. */
static int try_port(struct engine *e, struct netlink_socket *s, int handle, uint32_t port, uint32_t groups)
{
	struct sockaddr_storage address = { 0 };
	struct sockaddr_nl *nl = (struct sockaddr_nl *)&address;
	int r;

	*nl = (struct sockaddr_nl){ .nl_family = AF_NETLINK, .nl_pid = port, .nl_groups = groups };
	r = e->g->ops->handle_bind(e->g, handle, &address, sizeof(*nl));
	if (r == 0) {
		forget_owner(e, s->protocol, port);
		s->port = port;
		s->listens |= groups != 0;
	}
	/* Taken, so that the sequence of numbers goes past it. */
	if (r == 0 || r == -EADDRINUSE)
		(void)nl_ports_bind(&e->netlinks.ports, s->protocol, port);
	return r;
}

int netlink_socket_bind(struct engine *e, struct task *t, struct netlink_socket *s, int handle, uint32_t port, uint32_t groups)
{
	uint32_t id = (uint32_t)t->process->vpid;
	int r;

	if (s->port)
		return 0;
	r = try_port(e, s, handle, port ? port : id, groups);
	while (!port && r == -EADDRINUSE) {
		r = nl_ports_autobind(&e->netlinks.ports, s->protocol, id, &id);
		if (r == 0)
			r = try_port(e, s, handle, id, groups);
		id = (uint32_t)t->process->vpid;
	}
	return r;
}

static int compare_inodes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Where a message of SOCK_DIAG has the socket's inode, behind the header. 0: nowhere. */
static size_t inode_place(uint8_t family)
{
	switch (family) {
	case AF_INET:
	case AF_INET6:
		return 68;
	case AF_NETLINK:
		return 16;
	case AF_UNIX:
	case AF_PACKET:
		return 4;
	default:
		return 0;
	}
}

/*
 * The kernel lists sockets in the order of hash tables with secret keys. Those that were never seen are given their numbers in the order of
 * their inodes, which is that of their making.
 */
static int number_sockets(struct engine *e, const struct nl_buf *raw)
{
	_cleanup_free_ uint32_t *inodes = calloc(raw->len / sizeof(struct nlmsghdr) + 1, sizeof(*inodes));
	struct nlmsghdr header;
	size_t n = 0, place;

	if (!inodes)
		return -ENOMEM;
	for (size_t at = 0; at + sizeof(header) < raw->len; at += NLMSG_ALIGN(header.nlmsg_len)) {
		memcpy(&header, raw->data + at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > raw->len - at)
			break;
		place = header.nlmsg_type == SOCK_DIAG_BY_FAMILY ? inode_place(raw->data[at + sizeof(header)]) : 0;
		if (place && sizeof(header) + place + sizeof(*inodes) <= header.nlmsg_len)
			memcpy(&inodes[n++], raw->data + at + sizeof(header) + place, sizeof(*inodes));
	}
	qsort(inodes, n, sizeof(*inodes), compare_inodes);
	for (size_t i = 0; i < n; i++)
		(void)translate_inode(e, NL_TO_VIRTUAL, inodes[i]);
	return 0;
}

/* A datagram as it was read: they are kept in one run of bytes until all are there. */
struct raw_datagram {
	size_t at, len;
	uint32_t group;
};

struct raw_list {
	struct nl_buf bytes;
	struct raw_datagram *list;
	size_t n;
};

static int raw_add(struct raw_list *raw, const void *bytes, size_t len, uint32_t groups)
{
	struct raw_datagram *grown = reallocarray(raw->list, raw->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	raw->list = grown;
	grown[raw->n++] = (struct raw_datagram){ raw->bytes.len, len, (uint32_t)__builtin_ffs((int)groups) };
	(void)nl_buf_put(&raw->bytes, bytes, len);
	return nl_buf_align(&raw->bytes);
}

static void raw_deinit(struct raw_list *raw)
{
	nl_buf_deinit(&raw->bytes);
	free(raw->list);
}

/* Everything that the kernel has, the token taken away. */
static int read_off(struct engine *e, struct netlink_socket *s, int handle, struct raw_list *raw)
{
	_cleanup_free_ unsigned char *buf = malloc(LARGEST_DATAGRAM);
	struct sockaddr_nl from;
	ssize_t n;
	int r = 0;

	if (!buf)
		return -ENOMEM;
	while (r >= 0) {
		from = (struct sockaddr_nl){ 0 };
		n = e->g->ops->handle_receive(e->g, handle, buf, LARGEST_DATAGRAM, &from, sizeof(from));
		if (n == -EAGAIN)
			return 0;
		if (n == -ENOBUFS)
			s->queue.overrun = true;
		else if (n < 0)
			return (int)n;
		else if (from.nl_pid)
			s->token = false;
		else
			r = raw_add(raw, buf, (size_t)n, from.nl_groups);
	}
	return r;
}

/* The token: one byte from the socket to itself. */
static void put_token(struct engine *e, struct netlink_socket *s, int handle)
{
	const struct sockaddr_nl self = { .nl_family = AF_NETLINK, .nl_pid = s->port };
	ssize_t n;

	n = e->g->ops->handle_send(e->g, handle, "", 1, &self, sizeof(self));
	s->token = n == 1;
	if (n < 0)
		engine_report_uncontrolled(e, "readiness", "netlink socket");
	e->io_dirty = true;
}

int netlink_socket_settle(struct engine *e, struct netlink_socket *s, int handle)
{
	_cleanup_(raw_deinit) struct raw_list raw = { 0 };
	int r;

	r = read_off(e, s, handle, &raw);
	if (r >= 0 && s->protocol == NETLINK_SOCK_DIAG)
		r = number_sockets(e, &raw.bytes);
	for (size_t i = 0; r >= 0 && i < raw.n; i++)
		r = nl_queue_push_raw(&s->queue, raw.bytes.data + raw.list[i].at, raw.list[i].len, raw.list[i].group);
	if (r >= 0)
		r = nl_queue_settle(&s->queue);
	if (r >= 0 && nl_queue_is_ready(&s->queue) && !s->token && s->port)
		put_token(e, s, handle);
	return r < 0 ? r : 0;
}

int netlink_settle_inode(struct engine *e, uint64_t ino, int handle)
{
	struct netlink_socket *s = socket_find(e, ino);

	return s ? netlink_socket_settle(e, s, handle) : 0;
}
