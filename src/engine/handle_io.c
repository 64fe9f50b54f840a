/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing. The kernel does it; what is decided here is when: a call that would block stays parked until its descriptor is
 * ready. Writes larger than what is sure to fit are done in pieces by us, so that a blocking write returns what Linux would return.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "engine/engine_internal.h"
#include "engine/fdtable.h"
#include "engine/handlers.h"
#include "engine/paths.h"
#include "engine/procfs.h"
#include "engine/wait.h"

enum {
	PIPE_SURE = 4096,     /* POLLOUT of a pipe promises PIPE_BUF */
	SOCKET_SURE = 65536,  /* POLLOUT of a stream socket promises a third of its buffer (208 KiB by default) */
	PIECE = 65536,
	IOV_LIMIT = 1024,
	READ_LIMIT = 0x7ffff000, /* what one read moves at most */
};

/* Can the kernel block on this kind? Files and directories cannot; what we do not know may. */
static bool may_block(enum fd_kind kind)
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

/* Parks the task until fd is ready for events, unless the descriptor is non-blocking; then, or when ready, the kernel runs the call. */
static int when_ready(struct engine *e, struct task *t, int fd, short events, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r == -EBADF)
		return verdict_continue(v);
	if (r < 0)
		return r;
	if (!may_block(info->kind))
		return verdict_continue(v);
	e->network_dirty |= info->kind == FD_INET;
	r = wait_fd(e, t, fd, events);
	if (r == -EBADF || r > 0)
		return verdict_continue(v);
	if (r == 0)
		r = wait_is_nonblocking(e, t);
	if (r < 0)
		return r;
	return r ? verdict_continue(v) : verdict_block(v);
}

/* Bytes of the guest that one call moves, as a list of ranges. */
struct span {
	struct iovec iov[IOV_LIMIT];
	size_t n;
	uint64_t total;
};

static int span_read(struct engine *e, struct task *t, uint64_t addr, uint64_t count, struct span *span)
{
	uint64_t total = 0;
	int r;

	if (count > IOV_LIMIT)
		return -EINVAL;
	r = guest_read(e, t, addr, span->iov, count * sizeof(struct iovec));
	if (r < 0)
		return r;
	span->n = count;
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(total, span->iov[i].iov_len, &total))
			return -EINVAL;
	span->total = total;
	return 0;
}

/* /dev/random, /dev/urandom, /dev/hwrng: the bytes come from the reader's own stream. */
static bool is_random_device(const struct fd_info *info)
{
	return info->kind == FD_CHAR && (info->rdev == makedev(1, 8) || info->rdev == makedev(1, 9) ||
					 info->rdev == makedev(10, 183));
}

static int read_random(struct engine *e, struct task *t, const struct span *span, struct verdict *v)
{
	uint64_t total = 0, done;
	int r;

	for (size_t i = 0; i < span->n; i++) {
		r = random_to_guest(e, t, (uint64_t)(uintptr_t)span->iov[i].iov_base, span->iov[i].iov_len, &done);
		total += done;
		if (r == -EFAULT)
			return total ? verdict_return(v, (int64_t)total) : verdict_errno(v, EFAULT);
		if (r < 0)
			return r;
	}
	return verdict_return(v, (int64_t)total);
}

/* Where pread64, preadv, preadv2 read. What is negative is for the kernel to refuse. */
static int64_t explicit_offset(const struct task *t)
{
	int64_t offset = (int64_t)t->call.args[3];

	return offset < 0 ? INT64_MIN : offset;
}

/* Reading by any call: devices of ours are answered, the rest waits until there is something. */
static int read_common(struct engine *e, struct task *t, bool vector, int64_t offset, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct span span = { .n = 1 };
	const struct fd_info *info;
	bool procfs;
	int r;

	r = fdtable_info(e, t, (int)a[0], &info);
	if (r < 0 && r != -EBADF)
		return r;
	if (r == -EBADF || (!is_random_device(info) && !procfs_serves(info)) || offset < PROCFS_AT_CURSOR)
		return when_ready(e, t, (int)a[0], POLLIN, v);
	procfs = procfs_serves(info);
	if (vector)
		r = span_read(e, t, a[1], a[2], &span);
	else
		span.iov[0] = (struct iovec){ (void *)(uintptr_t)a[1], a[2] < READ_LIMIT ? a[2] : READ_LIMIT };
	if (r < 0)
		return r == -EFAULT || r == -EINVAL ? verdict_continue(v) : r;
	if (procfs)
		return procfs_read_file(e, t, (int)a[0], span.iov, span.n, offset, v);
	return read_random(e, t, &span, v);
}

int handle_io_read(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, false, PROCFS_AT_CURSOR, v);
}

int handle_io_pread(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, false, explicit_offset(t), v);
}

int handle_io_readv(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, true, PROCFS_AT_CURSOR, v);
}

int handle_io_preadv(struct engine *e, struct task *t, struct verdict *v)
{
	return read_common(e, t, true, explicit_offset(t), v);
}

int handle_io_preadv2(struct engine *e, struct task *t, struct verdict *v)
{
	int64_t offset = (int64_t)t->call.args[3]; /* -1: at the cursor */

	return read_common(e, t, true, offset == -1 ? PROCFS_AT_CURSOR : explicit_offset(t), v);
}

int handle_io_accept(struct engine *e, struct task *t, struct verdict *v)
{
	return when_ready(e, t, (int)t->call.args[0], POLLIN, v);
}

int handle_io_accept4(struct engine *e, struct task *t, struct verdict *v)
{
	return when_ready(e, t, (int)t->call.args[0], POLLIN, v);
}

static int receive(struct engine *e, struct task *t, int flags, struct verdict *v)
{
	if (flags & MSG_DONTWAIT)
		return verdict_continue(v);
	return when_ready(e, t, (int)t->call.args[0], flags & MSG_ERRQUEUE ? POLLERR : POLLIN, v);
}

int handle_io_recvfrom(struct engine *e, struct task *t, struct verdict *v)
{
	return receive(e, t, (int)t->call.args[3], v);
}

int handle_io_recvmsg(struct engine *e, struct task *t, struct verdict *v)
{
	return receive(e, t, (int)t->call.args[2], v);
}

/* Up to size bytes from position `at` of the span that lie in one piece; their count in *ret_n. */
static int span_fetch(struct engine *e, struct task *t, const struct span *span, uint64_t at, void *buf, size_t size,
		      size_t *ret_n)
{
	size_t n;

	for (size_t i = 0; i < span->n; i++) {
		if (at >= span->iov[i].iov_len) {
			at -= span->iov[i].iov_len;
			continue;
		}
		n = span->iov[i].iov_len - at < size ? span->iov[i].iov_len - at : size;
		*ret_n = n;
		return guest_read(e, t, (uint64_t)(uintptr_t)span->iov[i].iov_base + at, buf, n);
	}
	*ret_n = 0;
	return 0;
}

/* The reader is gone: SIGPIPE for the thread, and what was written until then, or EPIPE. */
static int broken_pipe(struct engine *e, struct task *t, bool no_signal, struct verdict *v)
{
	siginfo_t info = { .si_signo = SIGPIPE, .si_code = SI_KERNEL };
	int r;

	if (!t->call.progress && !no_signal)
		return verdict_continue(v); /* the kernel finds the same, and raises the signal */
	if (!no_signal) {
		r = e->g->ops->signal_send(e->g, t->id, true, &info);
		if (r < 0)
			return r;
	}
	return verdict_return(v, t->call.progress ? (int64_t)t->call.progress : -EPIPE);
}

/* Writes the span piece by piece, as far as it goes now. */
static int write_pieces(struct engine *e, struct task *t, const struct span *span, bool no_signal, struct verdict *v)
{
	unsigned char buf[PIECE];
	ssize_t written;
	size_t n;
	int r;

	while (t->call.progress < span->total) {
		r = span_fetch(e, t, span, t->call.progress, buf, sizeof(buf), &n);
		if (r == -EFAULT)
			return t->call.progress ? verdict_return(v, (int64_t)t->call.progress) : verdict_errno(v, EFAULT);
		if (r < 0)
			return r;
		written = e->g->ops->handle_write(e->g, t->wait.polls[0].handle, buf, n);
		if (written == -EPIPE)
			return broken_pipe(e, t, no_signal, v);
		if (written == -EAGAIN) {
			if (wait_interrupted(t) && t->call.progress)
				return verdict_return(v, (int64_t)t->call.progress);
			return verdict_block(v);
		}
		if (written < 0)
			return verdict_return(v, t->call.progress ? (int64_t)t->call.progress : written);
		t->call.progress += (uint64_t)written;
		e->io_dirty = true;
	}
	return verdict_return(v, (int64_t)t->call.progress);
}

static bool fits_surely(enum fd_kind kind, int sock_type, uint64_t total)
{
	if (kind == FD_PIPE)
		return total <= PIPE_SURE;
	if ((kind == FD_UNIX || kind == FD_INET) && sock_type == SOCK_STREAM)
		return total <= SOCKET_SURE;
	return true; /* message kinds go whole or not at all; terminals and others take what comes */
}

static int write_span(struct engine *e, struct task *t, int fd, const struct span *span, int msg_flags,
		      struct verdict *v)
{
	const struct fd_info *info;
	bool sure;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r == -EBADF)
		return verdict_continue(v);
	if (r < 0)
		return r;
	if (info->kind == FD_FILE) {
		r = span->total ? file_changed(e, info->dev, info->ino) : 0;
		return r < 0 ? r : verdict_continue(v);
	}
	if (!may_block(info->kind) || msg_flags & MSG_DONTWAIT)
		return verdict_continue(v);
	e->network_dirty |= info->kind == FD_INET;
	sure = fits_surely(info->kind, info->sock_type, span->total);
	if (t->call.progress)
		return write_pieces(e, t, span, msg_flags & MSG_NOSIGNAL, v);
	r = wait_fd(e, t, fd, POLLOUT);
	if (r == -EBADF || (r > 0 && sure))
		return verdict_continue(v);
	if (r < 0)
		return r;
	if (r == 0 || !sure) {
		int nonblocking = wait_is_nonblocking(e, t);

		if (nonblocking < 0)
			return nonblocking;
		if (nonblocking)
			return verdict_continue(v);
	}
	return r ? write_pieces(e, t, span, msg_flags & MSG_NOSIGNAL, v) : verdict_block(v);
}

static int write_buffer(struct engine *e, struct task *t, int msg_flags, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct span span = { .n = 1, .total = a[2] };

	span.iov[0] = (struct iovec){ (void *)(uintptr_t)a[1], a[2] };
	return write_span(e, t, (int)a[0], &span, msg_flags, v);
}

int handle_io_write(struct engine *e, struct task *t, struct verdict *v)
{
	return write_buffer(e, t, 0, v);
}

int handle_io_writev(struct engine *e, struct task *t, struct verdict *v)
{
	struct span span = { 0 };
	int r;

	r = span_read(e, t, t->call.args[1], t->call.args[2], &span);
	if (r == -EFAULT || r == -EINVAL)
		return verdict_continue(v); /* the kernel says what is wrong */
	return r < 0 ? r : write_span(e, t, (int)t->call.args[0], &span, 0, v);
}

/* The positional forms work on files only, which never block. */
int handle_io_pwrite(struct engine *e, struct task *t, struct verdict *v)
{
	return write_buffer(e, t, 0, v);
}

int handle_io_pwritev(struct engine *e, struct task *t, struct verdict *v)
{
	return handle_io_writev(e, t, v);
}

int handle_io_pwritev2(struct engine *e, struct task *t, struct verdict *v)
{
	return handle_io_writev(e, t, v);
}

int handle_io_sendto(struct engine *e, struct task *t, struct verdict *v)
{
	int r = t->call.first && t->call.args[4] ? socket_give_port(e, t, (int)t->call.args[0]) : 0;

	if (r < 0)
		return r;
	return write_buffer(e, t, (int)t->call.args[3], v);
}

int handle_io_sendmsg(struct engine *e, struct task *t, struct verdict *v)
{
	struct span span = { 0 };
	struct msghdr message;
	int r;

	r = guest_read(e, t, t->call.args[1], &message, sizeof(message));
	if (r >= 0)
		r = span_read(e, t, (uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen, &span);
	if (r == -EFAULT || r == -EINVAL)
		return verdict_continue(v);
	if (r >= 0 && t->call.first && message.msg_name)
		r = socket_give_port(e, t, (int)t->call.args[0]);
	if (r < 0)
		return r;
	if (message.msg_controllen) /* descriptors and credentials go with the first byte: not ours to send */
		return when_ready(e, t, (int)t->call.args[0], POLLOUT, v);
	return write_span(e, t, (int)t->call.args[0], &span, (int)t->call.args[2], v);
}
