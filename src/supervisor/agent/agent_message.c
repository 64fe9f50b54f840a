/* SPDX-License-Identifier: BSD-3-Clause */
/* One message of a runtime: see agent_message.h. */
#include "supervisor/agent/agent_message.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum { MAX_TEXT = 1 << 20, MAX_FDS = 16 };

struct arrival {
	char *text;
	size_t len;
	int fds[MAX_FDS];
	size_t n_fds;
};

/* Braces outside of strings are counted; whether it is JSON is the parser's business. */
int agent_message_complete(const char *text, size_t len)
{
	bool in_string = false, escaped = false;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		if (escaped || (in_string && text[i] == '\\')) {
			escaped = !escaped;
			continue;
		}
		if (text[i] == '"')
			in_string = !in_string;
		if (in_string)
			continue;
		depth += (text[i] == '{') - (text[i] == '}');
		if (depth < 0 || (depth == 0 && text[i] != '}' && !strchr(" \t\r\n", text[i])))
			return -EINVAL;
		if (depth == 0 && text[i] == '}')
			return 1;
	}
	return 0;
}

static void take_fds(struct arrival *a, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (a->n_fds < MAX_FDS)
				a->fds[a->n_fds++] = fd;
			else
				(void)close(fd);
		}
	}
}

/* One piece: its length, 0 at the end. */
static ssize_t receive_piece(int connection, struct arrival *a)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(MAX_FDS * sizeof(int))];
	struct iovec iov = { .iov_base = a->text + a->len, .iov_len = MAX_TEXT - a->len };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t n;

	n = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	take_fds(a, &message);
	a->len += (size_t)n;
	return n;
}

/*
 * crun connects before it makes the container, and sends when that is done: mounts and hooks of whomever lie in between, and take as long
 * as they take. A runtime that gives up closes the connection.
 */
static int receive_text(int connection, int limit_ms, struct arrival *a, struct error *err)
{
	struct pollfd fd = { .fd = connection, .events = POLLIN };
	int64_t deadline = 0, left = -1;
	ssize_t n;
	int r = 0;

	while (r == 0 && a->len < MAX_TEXT) {
		if (a->len > 0)
			left = deadline - host_clock_ms();
		if ((a->len > 0 && left <= 0) || poll(&fd, 1, (int)left) == 0)
			return error_set(err, ETIMEDOUT, "the runtime's message did not come to its end in %d ms", limit_ms);
		n = receive_piece(connection, a);
		if (n == 0 && a->len == 0)
			return -ENODATA;
		if (n == 0)
			return error_set(err, EBADMSG, "the runtime's message ended too early, after %zu bytes", a->len);
		if (n < 0 && n != -EINTR)
			return error_errno(err, (int)-n, "the runtime's message");
		if (left < 0 && a->len > 0)
			deadline = host_clock_ms() + limit_ms;
		r = agent_message_complete(a->text, a->len);
	}
	return r == 1 ? 0 : error_set(err, EBADMSG, "the runtime's message is no JSON object, or too long");
}

static int use(struct arrival *a, struct agent_message *ret, struct error *err)
{
	int r, index;

	r = oci_process_state_parse(a->text, a->len, "the runtime's message", &ret->state, err);
	if (r < 0)
		return r;
	index = ret->state.seccomp_fd;
	if (index < 0 || (size_t)index >= a->n_fds)
		return error_set(err, EBADMSG, "the runtime's message has no seccomp listener with it (%zu descriptors)", a->n_fds);
	ret->listener = a->fds[index];
	a->fds[index] = -1;
	return 0;
}

int agent_message_receive(int connection, int limit_ms, struct agent_message *ret, struct error *err)
{
	struct arrival a = { .text = malloc(MAX_TEXT) };
	int r;

	*ret = AGENT_MESSAGE_NONE;
	r = a.text ? receive_text(connection, limit_ms, &a, err) : error_errno(err, ENOMEM, "the runtime's message");
	if (r == 0)
		r = use(&a, ret, err);
	for (size_t i = 0; i < a.n_fds; i++)
		cleanup_close(&a.fds[i]);
	free(a.text);
	if (r < 0)
		agent_message_clear(ret);
	return r;
}

void agent_message_clear(struct agent_message *message)
{
	cleanup_close(&message->listener);
	oci_process_state_free(&message->state);
	*message = AGENT_MESSAGE_NONE;
}
