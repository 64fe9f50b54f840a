/* SPDX-License-Identifier: BSD-3-Clause */
/* The creator's line to the container: see internal.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "container/internal.h"

int channel_open(int ret_ends[2])
{
	int ends[2], one = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0) {
		int code = errno;

		cleanup_close(&ends[0]);
		cleanup_close(&ends[1]);
		return -code;
	}
	memcpy(ret_ends, ends, sizeof(ends));
	return 0;
}

int channel_send(int fd, const struct channel_message *message)
{
	ssize_t n;

	do {
		n = send(fd, message, sizeof(*message), MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int channel_send_error(int fd, const struct error *err, int status)
{
	struct channel_message message = { .kind = CHANNEL_ERROR, .code = err->code, .status = status };

	(void)snprintf(message.text, sizeof(message.text), "%s", err->text);
	return channel_send(fd, &message);
}

int channel_send_fd(int fd, enum channel_kind kind, int attached)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct channel_message message = { .kind = kind };
	struct iovec iov = { .iov_base = &message, .iov_len = sizeof(message) };
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &attached, sizeof(int));
	return sendmsg(fd, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void read_control(struct msghdr *header, pid_t *ret_pid, int *ret_fd)
{
	struct ucred sender;
	int fd;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof(sender))) {
			memcpy(&sender, CMSG_DATA(c), sizeof(sender));
			if (ret_pid)
				*ret_pid = sender.pid;
		} else if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd))) {
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
			if (ret_fd)
				*ret_fd = fd;
			else
				cleanup_close(&fd);
		}
	}
}

int channel_receive(int fd, int flags, struct channel_message *ret, pid_t *ret_pid, int *ret_fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof(*ret) };
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	if (ret_pid)
		*ret_pid = 0;
	if (ret_fd)
		*ret_fd = -1;
	do {
		n = recvmsg(fd, &header, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 0;
	if (n < 0)
		return -errno;
	read_control(&header, ret_pid, ret_fd);
	if (n != sizeof(*ret))
		return -EPROTO;
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 1;
}
