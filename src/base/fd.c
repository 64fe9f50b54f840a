/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of our own process: see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

void cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

int fd_reserve_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) /* the lowest that is free */
			return -errno;
	return 0;
}

bool fd_is_readable(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY;
}

int fd_duplicate(int fd)
{
	int r;

	r = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return r < 0 ? -errno : r;
}

ssize_t fd_read_full(int fd, void *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = read(fd, (char *)buf + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int fd_write_full(int fd, const void *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = write(fd, (const char *)buf + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int fd_copy(int from, int to)
{
	char buf[65536];
	ssize_t n;
	int r;

	do {
		n = fd_read_full(from, buf, sizeof(buf));
		r = n < 0 ? (int)n : fd_write_full(to, buf, (size_t)n);
	} while (n > 0 && r == 0);
	return r;
}

int fd_copy_file(const char *from, const char *to)
{
	_cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = -1;

	if (in < 0)
		return -errno;
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return out < 0 ? -errno : fd_copy(in, out);
}

int fd_redirect(const char *path, int flags, int to)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd == to) /* it was closed */
		return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
	if (fd < 0 || dup2(fd, to) < 0) {
		cleanup_close(&fd);
		return -errno;
	}
	(void)close(fd);
	return 0;
}

int fd_read_file(int dirfd, const char *path, size_t limit, char **ret_text, size_t *ret_len)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	size_t size = 0, room = 0;
	ssize_t n;
	char *grown;

	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		if (size + 1 >= room) {
			room = room ? room * 2 : 4096;
			grown = realloc(text, room);
			if (!grown)
				return -ENOMEM;
			text = grown;
		}
		n = read(fd, text + size, room - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > limit)
			return -EFBIG;
	}
	text[size] = '\0';
	*ret_text = take_ptr(text);
	if (ret_len)
		*ret_len = size;
	return 0;
}

int fd_write_file(int dirfd, const char *path, const char *text)
{
	_cleanup_close_ int fd = -1;

	fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fd_write_full(fd, text, strlen(text));
}

const char *fd_name(int fd, char name[FD_NAME_SIZE])
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, FD_NAME_SIZE - 1);
	if (n < 0)
		(void)snprintf(name, FD_NAME_SIZE, "descriptor %d", fd);
	else
		name[n] = '\0';
	return name;
}

bool fd_is_plain_file(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

int fd_check_writable(const char *path)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];
	struct stat st;

	if (!*path)
		return -ENOENT;
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? -errno : 0;
	}
	if (errno != ENOENT)
		return -errno;
	if (snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".") >= PATH_MAX)
		return -ENAMETOOLONG;
	return faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* It can only be asked for by setting it; nobody else makes files meanwhile. */
static mode_t current_umask(void)
{
	mode_t mask = umask(077);

	(void)umask(mask);
	return mask;
}

int fd_replace_file(const char *path, const char *text)
{
	_cleanup_free_ char *target = realpath(path, NULL), *temporary = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (!fd_is_plain_file(path))
		return fd_write_file(AT_FDCWD, path, text);
	if (asprintf(&temporary, "%s.XXXXXX", target ?: path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, text, strlen(text));
	if (r == 0 && (fchmod(fd, 0666 & ~current_umask()) < 0 || rename(temporary, target ?: path) < 0))
		r = -errno;
	if (r < 0)
		(void)unlink(temporary);
	return r;
}
