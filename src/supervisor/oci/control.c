/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket of a supervised container: see control.h. */
#include "supervisor/oci/control.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "supervisor/oci/state.h"

enum { LOOK_MS = 200, STOPPED_MS = 3000 };

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

/* A call to a supervisor that may be stopped, and then says nothing. */
struct call {
	int dir_fd;
	const struct oci_runtime_state *state;
	int64_t moved_ms; /* when it was last seen that it is not stopped */
};

/* -EBUSY: no answer can be expected. */
static int check_supervisor(struct call *call, struct error *err)
{
	int64_t now = host_clock_ms();
	int pid = call->state->supervisor.pid;

	if (!process_is_stopped(pid))
		call->moved_ms = now;
	if (now - call->moved_ms <= STOPPED_MS)
		return 0;
	return error_set(err, EBUSY,
			 "container %s: its supervisor, process %d, is stopped: continue it (kill -CONT %d), or end the container (delete --force)",
			 call->state->id, pid, pid);
}

static int supervisor_is_gone(const struct call *call, struct error *err)
{
	return error_set(err, ECONNRESET, "container %s: its supervisor, process %d, has ended, and the container ends with it (delete --force clears it)",
			 call->state->id, call->state->supervisor.pid);
}

/* -EAGAIN: too many others wait there, and have done so for a moment. */
static int connect_once(int dir_fd)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval moment = { .tv_usec = LOOK_MS * 1000 };
	struct sockaddr_un address = address_in(dir_fd);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment)) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(&fd);
}

static int connect_to(struct call *call, struct error *err)
{
	int fd;

	do {
		int r = check_supervisor(call, err);

		if (r < 0)
			return r;
		fd = connect_once(call->dir_fd);
	} while (fd == -EAGAIN || fd == -EINTR);
	if (fd == -ECONNREFUSED || fd == -ENOENT)
		return supervisor_is_gone(call, err);
	return fd < 0 ? error_errno(err, -fd, "container %s: cannot reach its supervisor", call->state->id) : fd;
}

/* -EPIPE: the supervisor has not heard the request. */
static int await_answer(struct call *call, int fd, struct control_answer *ret, struct error *err)
{
	struct pollfd answer = { .fd = fd, .events = POLLIN };
	ssize_t n;
	int r;

	while (poll(&answer, 1, LOOK_MS) <= 0) {
		r = check_supervisor(call, err);
		if (r < 0)
			return r;
	}
	n = recv(fd, ret, sizeof(*ret), 0);
	if (n < 0 && errno == ECONNRESET) /* closed with the request unread */
		return -EPIPE;
	if (n != sizeof(*ret))
		return supervisor_is_gone(call, err);
	ret->text[sizeof(ret->text) - 1] = '\0';
	return ret->code ? error_set(err, ret->code, "%s", ret->text) : 0;
}

int control_call(int dir_fd, const struct oci_runtime_state *state, const struct control_request *request, int attached,
		 struct control_answer *ret_answer, struct error *err)
{
	struct call call = { .dir_fd = dir_fd, .state = state, .moved_ms = host_clock_ms() };
	_cleanup_close_ int fd = -1;
	int r;

	/*
	 * On a busy machine it can be long from one call to the next, and the supervisor hangs up on who says nothing (receive_request()). Then it
	 * has heard nothing, and is called again; when it is gone, that fails at once.
	 */
	do {
		cleanup_close(&fd);
		fd = connect_to(&call, err);
		if (fd < 0)
			return fd;
		r = send_request(fd, request, attached);
		if (r < 0 && r != -EPIPE)
			return error_errno(err, -r, "container %s: cannot ask its supervisor", state->id);
		if (r == 0)
			r = await_answer(&call, fd, ret_answer, err);
	} while (r == -EPIPE && !(err && err->code));
	return r;
}

static void take_attached(struct msghdr *message, int *ret_attached)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_attached, CMSG_DATA(c), sizeof(int));
}

static bool has_hung_up(int fd)
{
	struct pollfd peer = { .fd = fd, .events = POLLRDHUP };

	return poll(&peer, 1, 0) > 0;
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
	return n != sizeof(*ret_request) ? -EPROTO : has_hung_up(fd) ? -EPIPE : 0;
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
