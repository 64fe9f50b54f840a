/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories for a while: see scratch.h. */
#include "supervisor/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"

enum { WALK_FDS = 16 };

/* The locked file of a directory in use. It gets this name when it is locked, so that nobody finds it free before its owner has it. */
static const char lock_name[] = ".in-use", new_lock_name[] = ".in-use.new";

/* ---- what the dead have left ---- */

static bool is_left_over(int base, const char *name)
{
	_cleanup_close_ int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int lock = -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid())
		return false;
	lock = openat(dir, lock_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
}

static int is_mount_point(const char *path, const struct stat *st, int type, struct FTW *where)
{
	struct statx now;

	return (type == FTW_D || type == FTW_DNR) && where->level > 0 && statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &now) == 0 &&
	       now.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* What somebody has mounted there meanwhile is not ours to empty. */
static bool has_mounts(const char *path)
{
	return nftw(path, is_mount_point, WALK_FDS, FTW_PHYS) > 0;
}

/* Two who look at once may both remove, which does no harm: the dead do not come back, and names are not used twice. */
static void remove_left_overs(const char *base)
{
	char path[PATH_MAX];
	DIR *dir = opendir(base);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "hermit-", strlen("hermit-")) != 0 || !is_left_over(dirfd(dir), entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "%.3800s/%s", base, entry->d_name);
		if (has_mounts(path))
			continue;
		log_debug("%s was left by a process that has been killed, and is removed", path);
		scratch_remove(path);
	}
	if (dir)
		(void)closedir(dir);
}

/* ---- one of ours ---- */

/* The descriptor is not kept: it is closed when the process ends. Where nothing can be locked the directory is as good, but nobody clears it up. */
static void hold(const char *path)
{
	char from[PATH_MAX], to[PATH_MAX];
	int fd;

	(void)snprintf(from, sizeof(from), "%.4000s/%s", path, new_lock_name);
	(void)snprintf(to, sizeof(to), "%.4000s/%s", path, lock_name);
	fd = open(from, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && rename(from, to) == 0)
		return;
	if (fd >= 0)
		(void)close(fd);
	(void)unlink(from);
}

int scratch_make_in(const char *base, char *path, size_t size, const char *name, struct error *err)
{
	int n = snprintf(path, size, "%s/hermit-%s-XXXXXX", base, name);

	if (n < 0 || (size_t)n >= size)
		return error_errno(err, ENAMETOOLONG, "TMPDIR");
	remove_left_overs(base);
	if (!mkdtemp(path))
		return error_errno(err, errno, "%s", path);
	hold(path);
	return 0;
}

int scratch_make(char *path, size_t size, const char *name, struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	return scratch_make_in(tmp && *tmp == '/' ? tmp : "/tmp", path, size, name, err);
}

void scratch_keep(const char *path)
{
	char lock[PATH_MAX];

	(void)snprintf(lock, sizeof(lock), "%.4000s/%s", path, lock_name);
	(void)unlink(lock);
}

int scratch_capture_stdin(const char *path, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (isatty(STDIN_FILENO) || !fd_is_readable(STDIN_FILENO))
		return 0;
	r = fd_copy(STDIN_FILENO, fd);
	return r < 0 ? error_errno(err, -r, "capturing standard input") : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where);

/* Lets us into a directory, if that is ours to do and has not been done. */
static bool open_up(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & S_IRWXU) != S_IRWXU && chmod(path, S_IRWXU) == 0;
}

/* What is removed comes before its directory, whose mode may keep it from that. */
static bool open_up_parent(const char *path, const struct FTW *where)
{
	char parent[PATH_MAX];

	if (where->level == 0 || where->base < 1)
		return false;
	(void)snprintf(parent, sizeof(parent), "%.*s", where->base - 1, path);
	return open_up(parent);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	if (type == FTW_DNR && open_up(path))
		return nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
	if (remove(path) == 0 || errno == ENOENT)
		return 0;
	if (errno == EACCES && open_up_parent(path, where))
		return nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
	log_debug("cannot remove %s: %m", path);
	return 0;
}

void scratch_remove(const char *path)
{
	(void)nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}
