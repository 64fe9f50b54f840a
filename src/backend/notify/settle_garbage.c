/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Has the kernel collected sockets that only messages refer to (engine/net/passed.h)? One collector for the whole host takes all that is
 * garbage when it begins, and gives the files to a list that is closed a tick later, in batches. So we make garbage of our own, a pipe's last
 * end in the queue of a socket that holds itself, and see when that is gone. Older garbage was taken together with that at the latest; its
 * files may have come into the batch behind (second round), and there behind ours (third).
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	ROUNDS = 3,
	NUDGE_MS = 100, /* a round takes some milliseconds */
	NUDGES = 100,
};

static int send_descriptors(int from, const int fds[2])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(2 * sizeof(int)) } };
	struct iovec iov = { .iov_base = control.bytes, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes) };

	memcpy(CMSG_DATA(&control.header), fds, 2 * sizeof(int));
	return sendmsg(from, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Garbage with a pipe's end to write into; the other end is the caller's. */
static int make_garbage(int *ret_end)
{
	_cleanup_close_ int reader = -1, writer = -1, receiver = -1, sender = -1;
	int pipe[2], pair[2], r;

	if (pipe2(pipe, O_CLOEXEC) < 0)
		return -errno;
	reader = pipe[0];
	writer = pipe[1];
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	receiver = pair[0];
	sender = pair[1];
	r = send_descriptors(sender, (const int[]){ receiver, writer });
	if (r == 0)
		*ret_end = take_fd(&reader);
	return r;
}

/* Any socket of the family that is closed sets the collector going; what became garbage while it was about to end waits for that. */
static void nudge(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		(void)close(fd);
}

static int one_round(void)
{
	_cleanup_close_ int end = -1;
	struct pollfd hangup = { 0 };
	int r;

	r = make_garbage(&end);
	if (r < 0)
		return r;
	hangup.fd = end;
	for (int i = 0; i < NUDGES && poll(&hangup, 1, NUDGE_MS) <= 0; i++)
		nudge();
	return hangup.revents ? 0 : -ETIMEDOUT;
}

int notify_handle_passed(struct guest *g, int handle)
{
	struct notify *n = notify_of(g);
	char name[64], text[1024];
	const char *field;

	(void)snprintf(name, sizeof(name), "fdinfo/%d", handle);
	if (procfs_read(n, n->self, name, text, sizeof(text)) < 0)
		return -1;
	field = procfs_field(text, "scm_fds");
	return field ? atoi(field) : -1;
}

int notify_settle_garbage(struct guest *g)
{
	int r = 0;

	for (int i = 0; i < ROUNDS && r == 0; i++)
		r = one_round();
	return r;
}
