/* SPDX-License-Identifier: BSD-3-Clause */
/* Guests' paths opened anew: the two ends of FIFOs, asked of the kernel through open files of ours that never block; what is in a file. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The link of an O_PATH descriptor (to be closed) of what the path, or by AT_EMPTY_PATH the task's descriptor, leads to. */
static int find(struct guest *g, int task, int dirfd, const char *path, int flags, char *link, size_t size)
{
	const struct notify_task *t = notify_find(g, task);
	struct notify *n = notify_of(g);
	int fd;

	if (!t)
		return -ESRCH;
	if (!path[0] && flags & AT_EMPTY_PATH)
		fd = handles_borrow(n, t->tid, dirfd);
	else
		fd = paths_open(n, t->tid, dirfd, path, flags & AT_SYMLINK_NOFOLLOW, NULL);
	(void)snprintf(link, size, "self/fd/%d", fd);
	return fd;
}

/* Opens anew what the path leads to. */
static int reopen(struct guest *g, int task, int dirfd, const char *path, int path_flags, int flags)
{
	_cleanup_close_ int fd = -1;
	char link[64];
	int r;

	fd = find(g, task, dirfd, path, path_flags, link, sizeof(link));
	if (fd < 0)
		return fd;
	r = openat(notify_of(g)->proc_fd, link, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return r < 0 ? -errno : r;
}

/* Who writes is refused while nobody reads: it does both for the moment of opening. */
int notify_fifo_enter(struct guest *g, int task, int dirfd, const char *path, int flags)
{
	int mode = (flags & O_ACCMODE) == O_RDONLY ? O_RDONLY : O_WRONLY, end;
	_cleanup_close_ int both = -1;

	end = reopen(g, task, dirfd, path, 0, mode);
	if (end != -ENXIO)
		return end;
	both = reopen(g, task, dirfd, path, 0, O_RDWR);
	return both < 0 ? both : reopen(g, task, dirfd, path, 0, mode);
}

/* Nothing is taken out: somebody else may be about to write. An empty FIFO says end of file when nobody writes, else "try again". */
static int somebody_writes(int fd)
{
	_cleanup_close_ int reader = -1, writer = -1;
	ssize_t there;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	reader = ends[0];
	writer = ends[1];
	there = tee(fd, writer, 1, SPLICE_F_NONBLOCK);
	return there > 0 || (there < 0 && errno == EAGAIN);
}

/* Who writes is told of an error while nobody reads; who reads of the end when all those who have written are gone. */
int notify_fifo_met(struct guest *g, int handle)
{
	struct pollfd p = { .fd = handle, .events = POLLIN };
	int flags = fcntl(handle, F_GETFL);

	(void)g;
	if (flags < 0 || poll(&p, 1, 0) < 0)
		return -errno;
	if ((flags & O_ACCMODE) == O_WRONLY)
		return !(p.revents & POLLERR);
	return p.revents & (POLLIN | POLLHUP) ? 1 : somebody_writes(handle);
}

/* In the FIFO's inode: whatever name it is opened by. */
int notify_fifo_watch(struct guest *g, int handle)
{
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char link[64];

	(void)g;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	if (watch < 0 || inotify_add_watch(watch, link, IN_OPEN) < 0)
		return -errno;
	return take_fd(&watch);
}

struct other_end {
	struct stat fifo;
	int mode; /* O_ACCMODE of whom it is not */
};

static int is_other_end(struct notify *n, pid_t tid, const char *fd, void *arg)
{
	_cleanup_close_ int borrowed = -1;
	const struct other_end *sought = arg;
	char name[64];
	struct stat st;
	int flags;

	(void)snprintf(name, sizeof(name), "%d/fd/%.20s", (int)tid, fd);
	if (fstatat(n->proc_fd, name, &st, 0) < 0 || st.st_dev != sought->fifo.st_dev || st.st_ino != sought->fifo.st_ino)
		return 0;
	borrowed = handles_borrow(n, tid, atoi(fd));
	flags = borrowed < 0 ? -1 : fcntl(borrowed, F_GETFL);
	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != sought->mode;
}

int notify_fifo_is_foreign(struct guest *g, int handle)
{
	struct other_end sought = { .mode = fcntl(handle, F_GETFL) & O_ACCMODE };
	int r;

	if (fstat(handle, &sought.fifo) < 0)
		return -errno;
	r = handles_each(notify_of(g), is_other_end, &sought);
	return r < 0 ? r : r == 0;
}

int notify_fifo_hold(struct guest *g, int task, int dirfd, const char *path)
{
	return reopen(g, task, dirfd, path, 0, O_RDWR);
}

ssize_t notify_path_bytes(struct guest *g, int task, int dirfd, const char *path, int flags, uint64_t offset, void *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	struct stat stat;
	ssize_t got;

	fd = reopen(g, task, dirfd, path, flags, O_RDONLY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EACCES;
	got = pread(fd, buf, size, (off_t)offset);
	return got < 0 ? -errno : got;
}

/*
 * In a user namespace of our own we may read whatever has an owner and a group in it. What cannot be read has none: the memory of who runs it then
 * belongs to the namespace above, where we have no power (would_dump() of the kernel's fs/exec.c).
 */
int notify_path_hides(struct guest *g, int task, int dirfd, const char *path, int flags)
{
	const struct notify *n = notify_of(g);
	_cleanup_close_ int fd = -1;
	struct stat stat;
	char link[64];

	fd = find(g, task, dirfd, path, flags, link, sizeof(link));
	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) < 0)
		return -errno;
	return S_ISREG(stat.st_mode) && faccessat(n->proc_fd, link, R_OK, AT_EACCESS) < 0 && faccessat(n->proc_fd, link, X_OK, AT_EACCESS) == 0;
}
