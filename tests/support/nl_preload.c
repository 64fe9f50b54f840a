/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library to preload into programs that speak netlink: puts netlink/ between them and the kernel, as the supervisor
 * does, without a supervisor. So it is tried whether ip, ss, tc and busybox take what is rewritten, and the kernel what
 * is translated.
 *
 * A stand-in for tests: one thread, descriptors below 256, no fork.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/protocols.h"
#include "netlink/queue.h"
#include "netlink/request.h"

enum { MAX_FD = 256, VIRTUAL_TGID = 7, BUFFER_SIZE = 1 << 17 };

struct netlink_socket {
	bool used;
	bool cap_ack;
	bool bound;
	uint32_t port;
	struct nl_queue queue;
};

static struct netlink_socket sockets[MAX_FD];
static struct nl_map map;
static struct nl_ports ports;
static struct nl_counters counters;
static struct nl_env env = { .map = &map, .ports = &ports, .counters = &counters };

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static struct netlink_socket *find(int fd)
{
	return fd >= 0 && fd < MAX_FD && sockets[fd].used ? &sockets[fd] : NULL;
}

/* What the supervisor does before a guest starts and after a change. */
static void fill_map(void)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = { .header = { sizeof(request), RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 } };
	static _Alignas(8) char buffer[BUFFER_SIZE];
	_cleanup_(nl_buf_deinit) struct nl_buf dump = { 0 };
	int fd = REAL(socket)(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n = REAL(send)(fd, &request, sizeof(request), 0);

	while (n > 0 && (n = REAL(recv)(fd, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0)
		nl_buf_put(&dump, buffer, (size_t)n);
	if (nl_map_fill(&map, dump.data, dump.len) < 0)
		abort();
	(void)REAL(close)(fd);
}

/* Everything that the kernel has for the socket goes into its queue. */
static void drain(int fd, struct netlink_socket *s)
{
	static _Alignas(8) char buffer[BUFFER_SIZE];
	struct sockaddr_nl from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = REAL(recvfrom)(fd, buffer, sizeof(buffer), MSG_DONTWAIT, (struct sockaddr *)&from, &len)) > 0) {
		if (nl_queue_push_raw(&s->queue, buffer, (size_t)n, (uint32_t)__builtin_ffs((int)from.nl_groups)) < 0)
			abort();
		len = sizeof(from);
	}
	if (nl_queue_settle(&s->queue) < 0)
		abort();
}

int socket(int domain, int type, int protocol)
{
	const struct nl_protocol *row = nl_protocol_get(protocol);
	int fd;

	if (domain == AF_NETLINK && !row->modelled) {
		errno = row->refusal;
		return -1;
	}
	fd = REAL(socket)(domain, type, protocol);
	if (domain != AF_NETLINK || fd < 0 || fd >= MAX_FD)
		return fd;
	if (!map.next_index)
		nl_map_init(&map);
	fill_map();
	sockets[fd] = (struct netlink_socket){ .used = true };
	nl_queue_init(&sockets[fd].queue, &env, protocol);
	return fd;
}

int close(int fd)
{
	struct netlink_socket *s = find(fd);

	if (s) {
		nl_ports_release(&ports, s->queue.protocol, s->port);
		nl_queue_deinit(&s->queue);
		s->used = false;
	}
	return REAL(close)(fd);
}

/* The kernel chooses its port, we ours. */
static void take_port(int fd, struct netlink_socket *s)
{
	struct sockaddr_nl self;
	socklen_t len = sizeof(self);

	if (s->bound)
		return;
	if (nl_ports_autobind(&ports, s->queue.protocol, VIRTUAL_TGID, &s->port) < 0)
		abort();
	(void)REAL(getsockname)(fd, (struct sockaddr *)&self, &len);
	nl_ports_set_real(&ports, s->queue.protocol, s->port, self.nl_pid);
	s->bound = true;
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	struct netlink_socket *s = find(fd);
	int r = REAL(bind)(fd, address, len);

	if (s && r == 0)
		take_port(fd, s);
	return r;
}

int getsockname(int fd, struct sockaddr *address, socklen_t *len)
{
	struct netlink_socket *s = find(fd);
	int r = REAL(getsockname)(fd, address, len);

	if (s && r == 0)
		((struct sockaddr_nl *)(void *)address)->nl_pid = s->port;
	return r;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct netlink_socket *s = find(fd);

	if (s && level == SOL_NETLINK && name == NETLINK_CAP_ACK)
		s->cap_ack = *(const int *)value;
	return REAL(setsockopt)(fd, level, name, value, len);
}

static ssize_t send_netlink(int fd, struct netlink_socket *s, const void *bytes, size_t len, int flags)
{
	_cleanup_(nl_buf_deinit) struct nl_buf real = { 0 }, answers = { 0 };
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nl_request_report report;

	if (nl_request_prepare(&env, s->queue.protocol, s->port, s->cap_ack, bytes, len, &real, &answers, &report) < 0)
		abort();
	if (real.len &&
	    REAL(sendto)(fd, real.data, real.len, flags, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -1;
	take_port(fd, s);
	if (nl_queue_push_own(&s->queue, answers.data, answers.len) < 0)
		abort();
	if (report.changes)
		fill_map();
	drain(fd, s);
	return (ssize_t)len;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	_cleanup_(nl_buf_deinit) struct nl_buf all = { 0 };
	struct netlink_socket *s = find(fd);

	if (!s)
		return REAL(sendmsg)(fd, msg, flags);
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		nl_buf_put(&all, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
	return send_netlink(fd, s, all.data, all.len, flags);
}

ssize_t sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	struct netlink_socket *s = find(fd);

	return s ? send_netlink(fd, s, bytes, len, flags) : REAL(sendto)(fd, bytes, len, flags, to, to_len);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	return sendto(fd, bytes, len, flags, NULL, 0);
}

static void scatter(const struct msghdr *msg, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < msg->msg_iovlen && len; i++) {
		size_t n = len < msg->msg_iov[i].iov_len ? len : msg->msg_iov[i].iov_len;

		memcpy(msg->msg_iov[i].iov_base, bytes, n);
		bytes += n;
		len -= n;
	}
}

static ssize_t receive_netlink(int fd, struct netlink_socket *s, struct msghdr *msg, int flags)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	struct nl_datagram datagram;
	size_t size = 0;
	int r;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		size += msg->msg_iov[i].iov_len;
	drain(fd, s);
	while ((r = nl_queue_next(&s->queue, size, flags, &datagram)) != NL_QUEUE_DATAGRAM) {
		if (r == NL_QUEUE_OVERRUN || (flags & MSG_DONTWAIT)) {
			errno = r == NL_QUEUE_OVERRUN ? ENOBUFS : EAGAIN;
			return -1;
		}
		if (poll(&readable, 1, -1) < 0)
			return -1;
		drain(fd, s);
	}
	scatter(msg, datagram.bytes, datagram.len);
	from.nl_groups = nl_group_mask(datagram.group);
	if (msg->msg_name && msg->msg_namelen >= sizeof(from))
		memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = sizeof(from);
	msg->msg_controllen = 0;
	msg->msg_flags = datagram.truncated ? MSG_TRUNC : 0;
	return (ssize_t)datagram.result;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct netlink_socket *s = find(fd);

	return s ? receive_netlink(fd, s, msg, flags) : REAL(recvmsg)(fd, msg, flags);
}

ssize_t recvfrom(int fd, void *bytes, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	struct netlink_socket *s = find(fd);
	struct iovec iov = { .iov_base = bytes, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_name = from, .msg_namelen = from_len ? *from_len : 0
	};
	ssize_t n;

	if (!s)
		return REAL(recvfrom)(fd, bytes, len, flags, from, from_len);
	n = receive_netlink(fd, s, &msg, flags);
	if (from_len)
		*from_len = msg.msg_namelen;
	return n;
}

ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
	return recvfrom(fd, bytes, len, flags, NULL, NULL);
}
