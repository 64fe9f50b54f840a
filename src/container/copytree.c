/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies a directory's contents into another, for a tmpfs that starts as what it covers. Links are copied, not followed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/internal.h"

enum { DEPTH_LIMIT = 64 };

DEFINE_CLEANUP(dir, DIR, closedir)

static int copy_directory(int from, int to, unsigned depth);

int copy_attributes(int dirfd, const char *name, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (fchownat(dirfd, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != EINVAL && errno != EPERM)
		return -errno;
	if (!S_ISLNK(st->st_mode) && fchmodat(dirfd, name, st->st_mode & 07777, 0) < 0)
		return -errno;
	return utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

int copy_bytes(int from, int to, off_t size)
{
	ssize_t n;

	while (size > 0) {
		n = sendfile(to, from, NULL, (size_t)size);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		size -= n;
	}
	return 0;
}

static int copy_regular(int from_dir, int to_dir, const char *name, const struct stat *st)
{
	_cleanup_close_ int from = -1, to = -1;

	from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return -errno;
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return to < 0 ? -errno : copy_bytes(from, to, st->st_size);
}

static int copy_link(int from_dir, int to_dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n;

	n = readlinkat(from_dir, name, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, to_dir, name) < 0 ? -errno : 0;
}

static int copy_subdirectory(int from_dir, int to_dir, const char *name, unsigned depth)
{
	_cleanup_close_ int from = -1, to = -1;

	if (mkdirat(to_dir, name, 0700) < 0)
		return -errno;
	from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return from < 0 || to < 0 ? -errno : copy_directory(from, to, depth + 1);
}

static int copy_any(int from, int to, const char *name, unsigned depth)
{
	struct stat st;
	int r;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		r = copy_subdirectory(from, to, name, depth);
	else if (S_ISREG(st.st_mode))
		r = copy_regular(from, to, name, &st);
	else if (S_ISLNK(st.st_mode))
		r = copy_link(from, to, name);
	else
		r = mknodat(to, name, st.st_mode, st.st_rdev) < 0 ? -errno : 0;
	return r < 0 ? r : copy_attributes(to, name, &st);
}

static int copy_directory(int from, int to, unsigned depth)
{
	_cleanup_(cleanup_dir) DIR *dir = NULL;
	struct dirent *entry;
	int fd, r = 0;

	if (depth > DEPTH_LIMIT)
		return -ELOOP;
	fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = copy_any(from, to, entry->d_name, depth);
	return r;
}

int copy_entry(int from, int to, const char *name)
{
	return copy_any(from, to, name, 0);
}

int copy_tree(int from, int to)
{
	return copy_directory(from, to, 0);
}
