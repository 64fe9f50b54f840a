/* SPDX-License-Identifier: BSD-3-Clause */
/* Guests' paths opened anew: the two ends of FIFOs, asked of the kernel through open files of ours that never block; what is in a file. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
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

int notify_fifo_has_partner(struct guest *g, int task, int dirfd, const char *path, int flags)
{
	bool reader = (flags & O_ACCMODE) == O_RDONLY;
	_cleanup_close_ int fd = -1;
	int waiting = 0;
	char byte;

	fd = reopen(g, task, dirfd, path, 0, reader ? O_RDONLY : O_WRONLY);
	if (fd == -ENXIO)
		return 0; /* nobody reads */
	if (fd < 0 || !reader)
		return fd < 0 ? fd : 1;
	/* Data that is there was written by somebody. An empty FIFO says end of file when nobody writes, else "try again". */
	if (ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0)
		return 1;
	return read(fd, &byte, 1) < 0 && errno == EAGAIN;
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
