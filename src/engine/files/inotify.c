/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What inotify(7) descriptors read. Events and their order are the kernel's, made in turn; cookies, which tie the halves of a rename together,
 * come from a counter of the whole host, and are given out anew in order of sight.
 */
#include "engine/files/inotify.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/readers.h"

enum { READ_MAX = 65536 };

static uint32_t cookie_of(struct inotify_cookies *cookies, uint32_t host)
{
	unsigned n = cookies->given < INOTIFY_COOKIES ? cookies->given : INOTIFY_COOKIES;

	/* The newest first: the other half of a rename is near. */
	for (unsigned i = 1; i <= n; i++)
		if (cookies->host[(cookies->given - i) % INOTIFY_COOKIES] == host)
			return cookies->given - i + 1;
	cookies->host[cookies->given % INOTIFY_COOKIES] = host;
	return ++cookies->given;
}

static void rename_cookies(struct inotify_cookies *cookies, unsigned char *data, size_t size)
{
	struct inotify_event event;

	for (size_t at = 0; at + sizeof(event) <= size; at += sizeof(event) + event.len) {
		memcpy(&event, data + at, sizeof(event));
		if (event.cookie)
			event.cookie = cookie_of(cookies, event.cookie);
		memcpy(data + at, &event, sizeof(event));
	}
}

int read_inotify(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v)
{
	size_t size = request->span->total < READ_MAX ? request->span->total : READ_MAX;
	_cleanup_free_ unsigned char *data = NULL;
	ssize_t n;
	int handle, r;

	if (request->positional)
		return READER_DECLINES; /* has no positions: the kernel says so */
	r = call_when_ready(e, t, request->fd, POLLIN, v);
	if (r < 0 || v->kind != VERDICT_CONTINUE)
		return r;
	data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	handle = e->g->ops->fd_borrow(e->g, t->id, request->fd);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	n = e->g->ops->handle_read(e->g, handle, data, size);
	e->g->ops->handle_release(e->g, handle);
	if (n < 0)
		return verdict_return(v, n);
	rename_cookies(&e->inotify_cookies, data, (size_t)n);
	return reader_answer(e, t, request, data, (size_t)n, v);
}
