/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seccomp listener: receive, reply, install a descriptor. The sizes of the structures are the kernel's, not the headers'.
 *
 * ENOENT from any request means that the call has vanished: its task was killed, or (before it was received) interrupted.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Linux 6.6, younger than some headers */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS   SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* The structures through which the kernel is spoken to, in its sizes. */
static int prepare_messages(struct notify *n)
{
	if (n->request)
		return 0;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &n->sizes) < 0)
		return -errno;
	n->response = calloc(1, max_size(n->sizes.seccomp_notif_resp, sizeof(*n->response)));
	n->request = calloc(1, max_size(n->sizes.seccomp_notif, sizeof(*n->request)));
	return n->request && n->response ? 0 : -ENOMEM;
}

static int grow(struct notify *n)
{
	struct pollfd *polls = reallocarray(n->own_polls, n->n_listeners + 1 + OWN_POLLS_BESIDE, sizeof(*polls));
	int *listeners;

	if (!polls)
		return -ENOMEM;
	n->own_polls = polls;
	listeners = reallocarray(n->listeners, n->n_listeners + 1, sizeof(*listeners));
	if (!listeners)
		return -ENOMEM;
	n->listeners = listeners;
	n->listeners[n->n_listeners++] = -1;
	return 0;
}

/* The place of one that is gone is used again. */
int listeners_add(struct notify *n, int fd)
{
	size_t i = 0;
	int r;

	r = prepare_messages(n);
	while (i < n->n_listeners && n->listeners[i] >= 0)
		i++;
	if (r == 0 && i == n->n_listeners)
		r = grow(n);
	if (r < 0)
		return r;
	n->listeners[i] = fd;
	/* a hint only: before Linux 6.6 the wake-up is an ordinary one */
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return 0;
}

void listener_close(int *listener)
{
	cleanup_close(listener);
	*listener = -1;
}

void listeners_deinit(struct notify *n)
{
	for (size_t i = 0; i < n->n_listeners; i++)
		listener_close(&n->listeners[i]);
	free(n->listeners);
	free(n->request);
	free(n->response);
	n->listeners = NULL;
	n->n_listeners = 0;
	n->request = NULL;
	n->response = NULL;
}

int listener_receive(struct notify *n, int listener, pid_t *ret_tid, struct call_cookie *ret_cookie, struct event *ret_event)
{
	struct seccomp_notif *request = n->request;
	size_t i;

	memset(request, 0, max_size(n->sizes.seccomp_notif, sizeof(*request)));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, request) < 0)
		return errno == ENOENT || errno == EINTR ? 0 : -errno;
	*ret_tid = (pid_t)request->pid;
	*ret_cookie = (struct call_cookie){ .listener = listener, .id = request->id };
	ret_event->kind = EVENT_CALL;
	ret_event->call.nr = request->data.nr;
	ret_event->call.ip = request->data.instruction_pointer;
	for (i = 0; i < 6; i++)
		ret_event->call.args[i] = request->data.args[i];
	return 1;
}

static int send_response(struct notify *n, const struct call_cookie *cookie, int64_t value, unsigned flags)
{
	struct seccomp_notif_resp *response = n->response;

	response->id = cookie->id;
	response->val = value;
	response->error = 0;
	response->flags = flags;
	if (ioctl(cookie->listener, SECCOMP_IOCTL_NOTIF_SEND, response) == 0 || errno == ENOENT)
		return 0;
	return -errno;
}

int listener_reply(struct notify *n, const struct call_cookie *cookie, int64_t value)
{
	return send_response(n, cookie, value, 0);
}

bool listener_waits(const struct call_cookie *cookie)
{
	uint64_t id = cookie->id;

	return ioctl(cookie->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int listener_continue(struct notify *n, const struct call_cookie *cookie)
{
	return send_response(n, cookie, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

int listener_install(struct notify *n, const struct call_cookie *cookie, int fd, int flags)
{
	struct seccomp_notif_addfd addfd = {
		.id = cookie->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = (uint32_t)flags,
	};
	int r;

	r = ioctl(cookie->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
	if (r >= 0 || errno == ENOENT)
		return r >= 0 ? r : 0;
	if (errno != EMFILE && errno != ENFILE && errno != ENOMEM)
		return -errno;
	return listener_reply(n, cookie, -errno); /* the guest's limits */
}
