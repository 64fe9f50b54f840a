/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of the guest, borrowed: a handle is a descriptor of ours for the same open file description. Everything that
 * sets a flag on it would set it for the guest too, so "do not block" is asked for by call, and by O_NONBLOCK only where there is no other way
 * (write_terminal).
 */
#include "backend/notify/notify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Linux 6.9: a pidfd of one thread, which may have a descriptor table of its own */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

void handles_init(struct notify *n)
{
	size_t i;

	for (i = 0; i < PIDFD_CACHE_SIZE; i++)
		n->pidfds.slots[i].fd = -1;
}

void handles_deinit(struct notify *n)
{
	size_t i;

	for (i = 0; i < PIDFD_CACHE_SIZE; i++)
		cleanup_close(&n->pidfds.slots[i].fd);
	handles_init(n);
}

void handles_forget(struct notify *n, pid_t tid)
{
	size_t i;

	for (i = 0; i < PIDFD_CACHE_SIZE; i++) {
		if (n->pidfds.slots[i].fd < 0 || n->pidfds.slots[i].tid != tid)
			continue;
		(void)close(n->pidfds.slots[i].fd);
		n->pidfds.slots[i].fd = -1;
	}
}

static int open_pidfd(pid_t tid)
{
	int fd;

	fd = pidfd_open(tid, PIDFD_THREAD);
	if (fd < 0 && errno == EINVAL)
		fd = pidfd_open(tid, 0);
	return fd < 0 ? -errno : fd;
}

/* The pidfd stays the cache's. */
int handles_pidfd(struct notify *n, pid_t tid)
{
	struct pidfd_cache *cache = &n->pidfds;
	size_t i;
	int fd;

	for (i = 0; i < PIDFD_CACHE_SIZE; i++)
		if (cache->slots[i].fd >= 0 && cache->slots[i].tid == tid)
			return cache->slots[i].fd;
	fd = open_pidfd(tid);
	if (fd < 0)
		return fd;
	i = cache->next;
	cache->next = (cache->next + 1) % PIDFD_CACHE_SIZE;
	cleanup_close(&cache->slots[i].fd);
	cache->slots[i].fd = fd;
	cache->slots[i].tid = tid;
	return fd;
}

int handles_borrow(struct notify *n, pid_t tid, int fd)
{
	int pidfd, borrowed;

	if (fd < 0)
		return -EBADF;
	pidfd = handles_pidfd(n, tid);
	if (pidfd < 0)
		return pidfd;
	borrowed = pidfd_getfd(pidfd, fd, 0);
	return borrowed < 0 ? -errno : borrowed;
}

int notify_fd_borrow(struct guest *g, int task, int fd)
{
	const struct notify_task *t = notify_find(g, task);

	return t ? handles_borrow(notify_of(g), t->tid, fd) : -ESRCH;
}

static int visit_task(struct notify *n, pid_t tid, handles_visit *visit, void *arg)
{
	const struct dirent *entry;
	char name[32];
	DIR *dir;
	int fd, r = 0;

	(void)snprintf(name, sizeof(name), "%d/fd", tid);
	fd = openat(n->proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = visit(n, tid, entry->d_name, arg);
	(void)closedir(dir);
	return r;
}

int handles_each(struct notify *n, handles_visit *visit, void *arg)
{
	struct notify_task *t, *tmp;
	int r = 0;

	HASH_ITER(hh_number, n->tasks.by_number, t, tmp) {
		if (r == 0)
			r = visit_task(n, t->tid, visit, arg);
	}
	return r;
}

struct sought {
	uint64_t dev, ino;
	int handle;
};

static int borrow_sought(struct notify *n, pid_t tid, const char *fd, void *arg)
{
	struct sought *sought = arg;
	struct stat st;
	char name[64];

	(void)snprintf(name, sizeof(name), "%d/fd/%.20s", tid, fd);
	if (fstatat(n->proc_fd, name, &st, 0) < 0 || st.st_dev != sought->dev || st.st_ino != sought->ino)
		return 0;
	sought->handle = handles_borrow(n, tid, atoi(fd));
	return sought->handle >= 0;
}

int notify_fd_find(struct guest *g, uint64_t dev, uint64_t ino)
{
	struct sought sought = { dev, ino, -EBADF };
	int r;

	r = handles_each(notify_of(g), borrow_sought, &sought);
	return r < 0 ? r : sought.handle;
}

void notify_handle_release(struct guest *g, int handle)
{
	(void)close(handle);
}

int notify_handle_info(struct guest *g, int handle, struct fd_info *ret_info)
{
	return info_of_fd(notify_of(g), handle, ret_info);
}

int notify_handle_flags(struct guest *g, int handle)
{
	int flags = fcntl(handle, F_GETFL);

	(void)g;
	return flags < 0 ? -errno : flags;
}

int notify_pidfd_target(struct guest *g, int task, int fd)
{
	_cleanup_close_ int handle = -1;
	struct notify *n = notify_of(g);
	char name[64], text[1024];
	const char *pids;
	int pid = 0, r;

	handle = notify_fd_borrow(g, task, fd);
	if (handle < 0)
		return handle;
	(void)snprintf(name, sizeof(name), "fdinfo/%d", handle);
	r = procfs_read(n, n->self, name, text, sizeof(text));
	if (r < 0)
		return r;
	pids = procfs_field(text, "NSpid");
	if (!pids)
		return procfs_field(text, "Pid") ? -ESRCH : -EBADF; /* dead and reaped; no pidfd */
	(void)procfs_column(pids, n->pid_depth, &pid);
	return pid > 0 ? pid : -ESRCH;
}

void handles_note_outside(struct notify *n, pid_t tid, const int *fds)
{
	struct stat st;
	int fd;

	for (; fds && *fds >= 0 && n->n_outside < OUTSIDE_MAX; fds++) {
		_cleanup_close_ int borrowed = -1;

		fd = *fds;
		borrowed = handles_borrow(n, tid, fd);
		if (borrowed < 0 || fstat(borrowed, &st) < 0)
			continue; /* not open in the guest */
		n->terminal = n->terminal || isatty(borrowed);
		n->outside_rdev[n->n_outside] = st.st_rdev;
		n->outside[n->n_outside++] = (struct object_id){ st.st_dev, st.st_ino };
	}
}

static void to_pollfds(const struct handle_poll *polls, size_t n, struct pollfd *fds)
{
	size_t i;

	for (i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .fd = polls[i].handle, .events = polls[i].events };
}

static void from_pollfds(struct handle_poll *polls, size_t n, const struct pollfd *fds)
{
	size_t i;

	for (i = 0; i < n; i++)
		polls[i].revents = fds[i].revents;
}

static int count_ready(const struct pollfd *fds, size_t n_fds)
{
	int ready = 0;

	for (size_t i = 0; i < n_fds; i++)
		ready += fds[i].revents != 0;
	return ready;
}

/*
 * Waits for input from outside, for a host signal, or for a call of a task that runs without having the turn. What the signal
 * descriptor has is taken at once: SIGCHLD may turn out to be nothing that the engine has to know. Behind the n_fds there is room
 * for notify_own_polls() more. One look may have found several things (a death and a request), of which the engine takes one at a
 * time: while one is left nobody waits.
 */
static int poll_outside(struct notify *n, struct pollfd *fds, size_t n_fds, int timeout_ms)
{
	int ready, r, slice;

	if (n->queue.n > 0) {
		ready = poll(fds, n_fds, 0);
		return ready < 0 ? -errno : ready > 0 ? ready : -EINTR;
	}
	for (;;) {
		size_t n_own = notify_own_polls(n, fds + n_fds);

		r = notify_reap_late(n);
		if (r < 0 || n->queue.n > 0)
			return r < 0 ? r : -EINTR;
		slice = n->terminal && (timeout_ms < 0 || timeout_ms > IDLE_LOOK_MS) ? IDLE_LOOK_MS : timeout_ms;
		ready = poll(fds, n_fds + n_own, slice);
		if (ready < 0)
			return errno == EINTR ? 0 : -errno;
		if (ready == 0 && slice == timeout_ms)
			return 0;
		timeout_ms -= ready == 0 && timeout_ms > 0 ? slice : 0;
		r = ready == 0 ? notify_look_for_signals(n) : notify_take(n, fds + n_fds);
		if (r < 0)
			return r;
		ready = count_ready(fds, n_fds);
		if (ready > 0)
			return ready;
		if (n->queue.n > 0)
			return -EINTR;
	}
}

int notify_handles_poll(struct guest *g, struct handle_poll *polls, size_t n_polls, int timeout_ms)
{
	struct pollfd few[32], *fds = few;
	_cleanup_free_ struct pollfd *many = NULL;
	int r;

	if (n_polls + notify_of(g)->n_listeners + OWN_POLLS_BESIDE > ARRAY_SIZE(few)) {
		many = calloc(n_polls + notify_of(g)->n_listeners + OWN_POLLS_BESIDE, sizeof(*many));
		if (!many)
			return -ENOMEM;
		fds = many;
	}
	to_pollfds(polls, n_polls, fds);
	if (timeout_ms == 0) {
		r = poll(fds, n_polls, 0);
		r = r < 0 ? -errno : r;
	} else {
		r = poll_outside(notify_of(g), fds, n_polls, timeout_ms);
	}
	if (r >= 0)
		from_pollfds(polls, n_polls, fds);
	return r;
}

int notify_handle_await(struct guest *g, int handle, short events, int timeout_ms)
{
	struct pollfd p = { .fd = handle, .events = events };
	int r;

	do
		r = poll(&p, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static int ready_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	r = poll(&p, 1, 0);
	if (r < 0)
		return -errno;
	return r > 0 ? 0 : -EAGAIN;
}

/* True when a plain read or write after a positive poll cannot wait for a third party. */
static bool plain_is_safe(int fd, int error)
{
	struct stat st;

	if (error == EOPNOTSUPP)
		return true; /* a device without non-blocking calls: the poll is all there is to go by */
	return error == EAGAIN && fstat(fd, &st) == 0 && S_ISREG(st.st_mode); /* not in the page cache */
}

/* signalfds give the signals of whoever asks: of the supervisor here. */
static bool is_signalfd(struct notify *n, int fd)
{
	struct fd_info info;

	return info_of_fd(n, fd, &info) == 0 && info.kind == FD_SIGNALFD;
}

ssize_t notify_handle_read(struct guest *g, int handle, void *buf, size_t len)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	ssize_t n;
	int r;

	r = ready_for(handle, POLLIN);
	if (r < 0)
		return r;
	n = recv(handle, buf, len, MSG_DONTWAIT);
	if (n >= 0 || errno != ENOTSOCK)
		return n < 0 ? -errno : n;
	if (is_signalfd(notify_of(g), handle))
		return -EOPNOTSUPP;
	n = preadv2(handle, &iov, 1, -1, RWF_NOWAIT);
	if (n < 0 && plain_is_safe(handle, errno))
		n = read(handle, buf, len);
	return n < 0 ? -errno : n;
}

/*
 * A terminal takes what fits and waits for the rest, unless the open file is not to wait. That is the guest's, too: it gets back the mode that it
 * had before anybody of the guest goes on.
 */
static ssize_t write_terminal(int fd, const void *buf, size_t len)
{
	int flags = fcntl(fd, F_GETFL);
	ssize_t n;

	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	n = write(fd, buf, len);
	n = n < 0 ? -errno : n;
	if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags) < 0 && n <= 0)
		return -errno; /* what has gone, has gone */
	return n;
}

ssize_t notify_handle_write(struct guest *g, int handle, const void *buf, size_t len)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	ssize_t n;
	int r;

	r = ready_for(handle, POLLOUT);
	if (r < 0)
		return r;
	n = send(handle, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n >= 0 || errno != ENOTSOCK)
		return n < 0 ? -errno : n;
	if (isatty(handle))
		return write_terminal(handle, buf, len);
	n = pwritev2(handle, &iov, 1, -1, RWF_NOWAIT);
	if (n < 0 && plain_is_safe(handle, errno))
		n = write(handle, buf, len);
	return n < 0 ? -errno : n;
}

int notify_handle_bind(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len)
{
	return bind(handle, (const struct sockaddr *)address, len) < 0 ? -errno : 0;
}

/* The flag is the open file's, whose owners stand still. */
int notify_handle_connect(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len)
{
	const struct sockaddr nothing = { .sa_family = AF_UNSPEC };
	int flags = fcntl(handle, F_GETFL), r;

	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(handle, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	r = connect(handle, address ? (const struct sockaddr *)address : &nothing, address ? len : sizeof(nothing)) < 0 ? -errno : 0;
	if (!(flags & O_NONBLOCK))
		(void)fcntl(handle, F_SETFL, flags);
	return r;
}

int notify_handle_open_fast(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len)
{
	const int flags = MSG_FASTOPEN | MSG_DONTWAIT | MSG_NOSIGNAL;

	return sendto(handle, NULL, 0, flags, (const struct sockaddr *)address, len) < 0 ? -errno : 0;
}

int notify_handle_address(struct guest *g, int handle, struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
	*ret_len = sizeof(*ret_address);
	return getsockname(handle, (struct sockaddr *)ret_address, ret_len) < 0 ? -errno : 0;
}

int notify_outside_pending(struct guest *g)
{
	struct notify *n = notify_of(g);
	struct pollfd p = { .fd = n->signal_fd, .events = POLLIN };
	int r;

	r = poll(&p, 1, 0);
	if (r > 0)
		r = notify_take_signals(n);
	return r < 0 ? r : n->queue.n > 0;
}

ssize_t notify_handle_read_at(struct guest *g, int handle, void *buf, size_t len, int64_t position)
{
	ssize_t n;

	n = pread(handle, buf, len, position);
	return n < 0 ? -errno : n;
}
