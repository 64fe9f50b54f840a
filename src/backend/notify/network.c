/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets of the guest that the engine speaks through, and a socket of our own in the guest's network namespace. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { ANSWER_PIECE = 65536 };

ssize_t notify_handle_send(struct guest *g, int handle, const void *buf, size_t len, const void *to, socklen_t to_len)
{
	ssize_t n;

	n = sendto(handle, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL, to, to_len);
	return n < 0 ? -errno : n;
}

ssize_t notify_handle_write_urgent(struct guest *g, int handle, const void *buf, size_t len)
{
	ssize_t n;

	n = send(handle, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_OOB);
	return n < 0 ? -errno : n;
}

ssize_t notify_handle_receive(struct guest *g, int handle, void *buf, size_t len, void *ret_from, socklen_t from_len)
{
	ssize_t n;

	n = recvfrom(handle, buf, len, MSG_DONTWAIT, ret_from, &from_len);
	return n < 0 ? -errno : n;
}

int notify_handle_option(struct guest *g, int handle, int level, int name, void *ret_value, socklen_t len)
{
	return getsockopt(handle, level, name, ret_value, &len) < 0 ? -errno : 0;
}

int notify_handle_set_option(struct guest *g, int handle, int level, int name, const void *value, socklen_t len)
{
	return setsockopt(handle, level, name, value, len) < 0 ? -errno : 0;
}

static int make_socket(void *protocol)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, *(int *)protocol);

	return fd < 0 ? -errno : fd;
}

/* A socket in the network namespace of the task. */
static int socket_there(struct guest *g, int task, int protocol)
{
	const struct notify *n = notify_of(g);
	const struct notify_task *t = notify_find(g, task);
	_cleanup_close_ int there = -1;
	char name[32];

	if (!t)
		return -ESRCH;
	(void)snprintf(name, sizeof(name), "%d/ns/net", t->tid);
	there = openat(n->proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (there < 0)
		return errno == ENOENT ? -ESRCH : -errno; /* who has been killed has no namespaces any more */
	return elsewhere(there, make_socket, &protocol);
}

/* Everything that comes at once: netlink answers while the request is sent, and goes on while it is read. */
static int receive_all(int fd, char **ret_answer, size_t *ret_len)
{
	_cleanup_free_ char *answer = NULL;
	size_t len = 0;
	char *grown;
	ssize_t n;

	for (;;) {
		grown = realloc(answer, len + ANSWER_PIECE);
		if (!grown)
			return -ENOMEM;
		answer = grown;
		n = recv(fd, answer + len, ANSWER_PIECE, MSG_DONTWAIT);
		if (n < 0)
			break;
		len += (size_t)n;
	}
	if (errno != EAGAIN)
		return -errno;
	*ret_answer = take_ptr(answer);
	*ret_len = len;
	return 0;
}

int notify_network_ask(struct guest *g, int task, int protocol, const void *request, size_t len, void **ret_answer,
		       size_t *ret_len)
{
	_cleanup_close_ int fd = socket_there(g, task, protocol);
	char *answer = NULL;
	int r;

	if (fd < 0)
		return fd;
	if (send(fd, request, len, 0) < 0)
		return -errno;
	r = receive_all(fd, &answer, ret_len);
	if (r == 0)
		*ret_answer = answer;
	return r;
}

int notify_network_listen(struct guest *g, int task, int protocol, uint32_t groups)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
	_cleanup_close_ int fd = socket_there(g, task, protocol);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(&fd);
}
