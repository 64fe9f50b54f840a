/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket of a supervised container: see control.h. */
#include "supervisor/oci/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

static struct sockaddr_un address_in(int dir_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/control", dir_fd);
	return address;
}

int control_listen(int dir_fd, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = address_in(dir_fd);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, CONTROL_BACKLOG) < 0)
		return error_errno(err, errno, "cannot make the container's control socket");
	return take_fd(&fd);
}

static int send_request(int fd, const struct control_request *request, int attached)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct control_request copy = *request;
	struct iovec iov = { .iov_base = &copy, .iov_len = sizeof(copy) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *header;

	if (attached >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &attached, sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int connect_and_send(int dir_fd, const struct control_request *request, int attached)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = address_in(dir_fd);
	int r;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	r = send_request(fd, request, attached);
	return r < 0 ? r : take_fd(&fd);
}

int control_call(int dir_fd, const struct control_request *request, int attached, struct control_answer *ret_answer,
		 struct error *err)
{
	_cleanup_close_ int fd = -1;
	ssize_t n;

	/*
	 * On a busy machine it can be long from one call to the next, and the supervisor hangs up on who says nothing (receive_request()). Then it
	 * has heard nothing, and is called again; when it is gone, that fails at once.
	 */
	do {
		fd = connect_and_send(dir_fd, request, attached);
	} while (fd == -EPIPE);
	if (fd < 0)
		return error_errno(err, -fd, "cannot reach the container's supervisor");
	do {
		n = recv(fd, ret_answer, sizeof(*ret_answer), 0);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*ret_answer))
		return error_set(err, ECONNRESET, "the container's supervisor ended");
	ret_answer->text[sizeof(ret_answer->text) - 1] = '\0';
	return ret_answer->code ? error_set(err, ret_answer->code, "%s", ret_answer->text) : 0;
}

static void take_attached(struct msghdr *message, int *ret_attached)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_attached, CMSG_DATA(c), sizeof(int));
}

/* A caller that says nothing does not hold the container up for long. */
static int receive_request(int fd, struct control_request *ret_request, int *ret_attached)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	const struct timeval patience = { .tv_sec = 1 };
	struct iovec iov = { .iov_base = ret_request, .iov_len = sizeof(*ret_request) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t n;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	take_attached(&message, ret_attached);
	return n == sizeof(*ret_request) ? 0 : -EPROTO;
}

int control_accept(int listener, struct control_request *ret_request, int *ret_connection, int *ret_attached)
{
	int fd;

	for (;;) {
		*ret_attached = -1;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (receive_request(fd, ret_request, ret_attached) == 0)
			break;
		cleanup_close(ret_attached);
		(void)close(fd);
	}
	*ret_connection = fd;
	return 1;
}

void control_answer(int connection, const struct error *err, int status)
{
	struct control_answer answer = { 0 };

	if (err && err->code) {
		answer.code = err->code;
		answer.status = status;
		(void)snprintf(answer.text, sizeof(answer.text), "%s", err->text);
	}
	(void)send(connection, &answer, sizeof(answer), MSG_NOSIGNAL);
	(void)close(connection);
}
