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

enum { WALK_FDS = 16, TRIES = 100 };

/*
 * The locked file of a directory in use, and what it is called until it is locked, so that nobody finds it free before its owner has it. A directory
 * gets its own name when it has that file: who is killed before that leaves one of new_prefix, which nobody else has use for.
 */
static const char lock_name[] = ".in-use", new_lock_name[] = ".in-use.new";
static const char prefix[] = "hermit-", new_prefix[] = ".hermit-new-";

/* ---- what the dead have left ---- */

/* Takes the lock of a dead owner; it is given back when we close it. */
static int take_lock(int dir, const char *name)
{
	_cleanup_close_ int lock = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 ? take_fd(&lock) : -1;
}

static bool is_left_over(int base, const char *name)
{
	_cleanup_close_ int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int lock = -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid())
		return false;
	lock = take_lock(dir, lock_name);
	return lock >= 0;
}

/*
 * A directory that has not got its name yet. Its owner may be alive, and about to lock it: what is taken away from it here it notices, and begins
 * again (hold()).
 */
static void remove_new(int base, const char *name, const char *path)
{
	_cleanup_close_ int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int lock = -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid())
		return;
	lock = take_lock(dir, new_lock_name);
	if (lock < 0)
		lock = take_lock(dir, lock_name);
	if (lock >= 0)
		scratch_remove(path);
	else
		(void)rmdir(path);
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
		(void)snprintf(path, sizeof(path), "%.3800s/%s", base, entry->d_name);
		if (!strncmp(entry->d_name, new_prefix, strlen(new_prefix)))
			remove_new(dirfd(dir), entry->d_name, path);
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || !is_left_over(dirfd(dir), entry->d_name))
			continue;
		if (has_mounts(path))
			continue;
		log_debug("%s was left by a process that has been killed, and is removed", path);
		scratch_remove(path);
	}
	if (dir)
		(void)closedir(dir);
}

/* ---- one of ours ---- */

/*
 * The descriptor is not kept: it is closed when the process ends. -EAGAIN: somebody took the directory for one that is left over. Where nothing can
 * be locked the directory is as good, but nobody clears it up.
 */
static int hold(const char *path)
{
	char from[PATH_MAX], to[PATH_MAX];
	int fd, r = 0;

	(void)snprintf(from, sizeof(from), "%.4000s/%s", path, new_lock_name);
	(void)snprintf(to, sizeof(to), "%.4000s/%s", path, lock_name);
	fd = open(from, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && rename(from, to) == 0)
		return 0;
	if (errno == ENOENT || errno == EWOULDBLOCK)
		r = -EAGAIN;
	if (fd >= 0)
		(void)close(fd);
	(void)unlink(from);
	return r;
}

/* 0, -EAGAIN (it is gone, or its name is taken), or -errno with a message. */
static int make_one(const char *base, char *path, size_t size, const char *name, struct error *err)
{
	char made[PATH_MAX];
	int r;

	(void)snprintf(made, sizeof(made), "%.3900s/%sXXXXXX", base, new_prefix);
	(void)snprintf(path, size, "%s/%s%s-XXXXXX", base, prefix, name);
	if (!mkdtemp(made))
		return error_errno(err, errno, "%s", path);
	(void)snprintf(path, size, "%s/%s%s-%s", base, prefix, name, made + strlen(made) - strlen("XXXXXX"));
	r = hold(made);
	if (r == 0 && rename(made, path) < 0)
		r = errno == ENOENT || errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR || errno == EPERM ? -EAGAIN : -errno;
	if (r < 0)
		scratch_remove(made);
	return r == 0 || r == -EAGAIN ? r : error_errno(err, -r, "%s", path);
}

int scratch_make_in(const char *base, char *path, size_t size, const char *name, struct error *err)
{
	int r;

	if (strlen(base) + strlen(prefix) + strlen(name) + sizeof("/-XXXXXX") > size)
		return error_errno(err, ENAMETOOLONG, "TMPDIR");
	remove_left_overs(base);
	for (int i = 0; i < TRIES; i++) {
		r = make_one(base, path, size, name, err);
		if (r != -EAGAIN)
			return r;
	}
	return error_errno(err, EEXIST, "%s", path);
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
	return r < 0 ? error_errno(err, -r, "keeping standard input in %s", path) : 0;
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
