/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading. The kernel does it; what is decided here is when: a call that would block stays parked until its descriptor is ready. What the
 * kernel is not to show is read by readers of our own (readers.h). Receiving is in handle_receive.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handlers.h"
#include "engine/proc/procfs.h"
#include "engine/files/readers.h"
#include "engine/files/terminals.h"
#include "engine/net/sockets.h"
#include "engine/wait.h"

enum {
	PIECE = 65536,
	MEMORY_DEVICES = 1, /* the major number (Documentation/admin-guide/devices.txt) */
};

bool fd_may_block(enum fd_kind kind)
{
	switch (kind) {
	case FD_FILE:
	case FD_DIR:
	case FD_BLOCK:
	case FD_PROC:
	case FD_SYS:
	case FD_PATH:
	case FD_NONE:
		return false;
	case FD_PIPE:
	case FD_UNIX:
	case FD_INET:
	case FD_NETLINK:
	case FD_SOCKET:
	case FD_TTY:
	case FD_CHAR:
	case FD_EVENTFD:
	case FD_TIMERFD:
	case FD_SIGNALFD:
	case FD_EPOLL:
	case FD_INOTIFY:
	case FD_PIDFD:
	case FD_OTHER:
		return true;
	}
	return true;
}

/* Which way bytes never go: such a call is refused. */
static bool goes_nowhere(enum fd_kind kind, short events)
{
	bool for_reading = kind == FD_TIMERFD || kind == FD_SIGNALFD || kind == FD_INOTIFY;

	return kind == FD_EPOLL || kind == FD_PIDFD || (for_reading && events & POLLOUT);
}

/*
 * Opened the other way round: the kernel says so, and never waits. Nor does it for writers of memory devices (null, kmsg...), of which
 * kmsg never says that it is ready for them (kernel/printk/printk.c: devkmsg_poll).
 */
bool fd_never_waits(const struct fd_info *info, short events)
{
	int mode = info->open_flags & O_ACCMODE;

	if (goes_nowhere(info->kind, events))
		return true;
	if (info->kind == FD_CHAR && events & POLLOUT && major(info->rdev) == MEMORY_DEVICES)
		return true;
	return mode == O_ACCMODE || (events & POLLIN && mode == O_WRONLY) || (events & POLLOUT && mode == O_RDONLY);
}

int call_when_ready(struct engine *e, struct task *t, int fd, short events, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r == -EBADF)
		return verdict_continue(v);
	if (r < 0)
		return r;
	if (!fd_may_block(info->kind) || fd_never_waits(info, events))
		return verdict_continue(v);
	r = wait_fd(e, t, fd, events);
	if (r == -EBADF || r > 0)
		return verdict_continue(v);
	if (r == 0 && t->call.first && events & POLLIN && terminals_is_own(info) && terminals_stop(e, t, info, t->wait.polls[0].handle, false))
		return verdict_continue(v);
	if (r == 0)
		r = wait_is_nonblocking(e, t);
	if (r < 0)
		return r;
	return r ? verdict_continue(v) : socket_block(e, t, info, !(events & POLLOUT), v);
}

int receive_when_ready(struct engine *e, struct task *t, int fd, struct verdict *v)
{
	const struct fd_info *info;
	int error = 0, r;

	r = call_when_ready(e, t, fd, POLLIN, v);
	if (r < 0 || !t->wait.n_polls)
		return r;
	if (v->kind == VERDICT_BLOCK)
		wait_for(t, WAIT_FDS);
	r = fdtable_info(e, t, fd, &info);
	if (r < 0 || v->kind != VERDICT_CONTINUE || !socket_has_errors_only(t, info))
		return r == -EBADF ? 0 : r;
	r = wait_is_nonblocking(e, t);
	if (r)
		return r < 0 ? r : 0;
	/* An error is what the call answers; those in the queue would keep it asleep, and a look at the descriptor says nothing new. */
	r = e->g->ops->handle_option(e->g, t->wait.polls[0].handle, SOL_SOCKET, SO_ERROR, &error, sizeof(error));
	if (r < 0 || error)
		return r < 0 ? r : verdict_errno(v, error);
	r = socket_block(e, t, info, true, v);
	if (v->kind == VERDICT_BLOCK)
		wait_for(t, WAIT_EVENT);
	return r;
}

int read_procfs(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v)
{
	int64_t offset = request->positional ? (int64_t)request->position : PROCFS_AT_CURSOR;

	if (!procfs_serves(request->info) || (request->positional && offset < 0))
		return READER_DECLINES; /* negative positions are for the kernel to refuse */
	return procfs_read_file(e, t, request->fd, request->span->iov, request->span->n, offset, v);
}

static reader_fn *const readers[] = {
	[FD_CHAR] = read_random_device,
	[FD_NETLINK] = netlink_read,
	[FD_TIMERFD] = read_timerfd,
	[FD_SIGNALFD] = read_signalfd,
	[FD_INOTIFY] = read_inotify,
	[FD_PROC] = read_procfs,
	[FD_SYS] = read_procfs,
};

int reader_answer(struct engine *e, struct task *t, const struct read_request *request, const void *data, size_t size,
		  struct verdict *v)
{
	size_t done;
	int r;

	r = span_store(e, t, request->span, 0, data, size, &done);
	if (r < 0 && r != -EFAULT)
		return r;
	return r == -EFAULT && !done ? verdict_errno(v, EFAULT) : verdict_return(v, (int64_t)done);
}

/* Reading by any call: descriptors of ours are answered, the rest waits until there is something. */
static int read_common(struct engine *e, struct task *t, bool vector, bool positional, bool nowait, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct read_request request = { .fd = (int)a[0], .nowait = nowait, .positional = positional, .position = a[3] };
	struct span span;
	int r;

	r = fdtable_info(e, t, request.fd, &request.info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	if ((size_t)request.info->kind >= ARRAY_SIZE(readers) || !readers[request.info->kind])
		return positional ? verdict_continue(v) : receive_when_ready(e, t, request.fd, v); /* what can wait has no positions */
	if (vector) {
		r = span_vector(e, t, a[1], a[2], &span);
		if (r < 0)
			return r == -EFAULT || r == -EINVAL ? verdict_continue(v) : r; /* the kernel says what is wrong */
	} else {
		span_buffer(&span, a[1], a[2]);
	}
	request.span = &span;
	r = readers[request.info->kind](e, t, &request, v);
	if (r == READER_DECLINES && nowait)
		return verdict_continue(v);
	return r == READER_DECLINES ? call_when_ready(e, t, request.fd, POLLIN, v) : r;
}

int handle_io_read(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, false, false, false, v);
}

int handle_io_readv(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, true, false, false, v);
}

int handle_io_pread(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, false, true, false, v);
}

int handle_io_preadv(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, true, true, false, v);
}

/* Moves bytes of a file from `position` into the span; all that there are. A count, or -errno. */
static int64_t copy_file(struct engine *e, struct task *t, int handle, int64_t position, const struct span *span)
{
	unsigned char buf[PIECE];
	uint64_t done = 0;
	size_t stored;
	ssize_t n = 1;
	int r = 0;

	while (r == 0 && n > 0 && done < span->total) {
		n = e->g->ops->handle_read_at(e->g, handle, buf, span->total - done < PIECE ? span->total - done : PIECE,
					      position + (int64_t)done);
		if (n > 0) {
			r = span_store(e, t, span, done, buf, (size_t)n, &stored);
			done += stored;
		}
	}
	return done ? (int64_t)done : r < 0 ? r : n < 0 ? n : 0;
}

/* What is in the host's cache does not show: all of the file counts as being there. */
static int read_cached(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	bool own = a[3] == UINT64_MAX;
	struct span span;
	int64_t at, n;
	int handle, r;

	r = span_vector(e, t, a[1], a[2], &span);
	if (r == -EFAULT || r == -EINVAL || (!own && (int64_t)a[3] < 0))
		return verdict_continue(v); /* the kernel says what is wrong */
	if (r < 0)
		return r;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)a[0]);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	at = own ? e->g->ops->handle_seek(e->g, handle, 0, SEEK_CUR) : (int64_t)a[3];
	n = at < 0 ? at : copy_file(e, t, handle, at, &span);
	if (own && n > 0)
		(void)e->g->ops->handle_seek(e->g, handle, at + n, SEEK_SET);
	e->g->ops->handle_release(e->g, handle);
	return n < 0 && n != -EFAULT && n != -EIO && n != -EBADF ? (int)n : verdict_return(v, n);
}

/* Position -1 means the file's own (preadv2(2)). */
int handle_io_preadv2(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	uint32_t flags = (uint32_t)a[5];
	const struct fd_info *info;
	int r;

	if (flags & RWF_NOWAIT) {
		r = fdtable_info(e, t, (int)a[0], &info);
		if (r < 0)
			return r == -EBADF ? verdict_errno(v, EBADF) : r;
		if (info->kind == FD_FILE && !(flags & ~(uint32_t)(RWF_NOWAIT | RWF_HIPRI)) &&
		    (info->open_flags & O_ACCMODE) != O_WRONLY)
			return read_cached(e, t, v);
		if (info->kind == FD_SIGNALFD && !t->call.done)
			return verdict_hook(v); /* never waits */
		if ((size_t)info->kind >= ARRAY_SIZE(readers) || !readers[info->kind])
			return verdict_continue(v); /* never waits */
	}
	return read_common(e, t, true, t->call.args[3] != UINT64_MAX, flags & RWF_NOWAIT, v);
}
