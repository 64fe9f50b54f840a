/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of what lies beside opened-up directories: see cow_internal.h. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/cow_internal.h"
#include "container/fsops.h"

enum {
	COPY_LIMIT = 1 << 20, /* a file beside opened-up directories is copied up to this size, else bound */
	COPY_TOTAL_LIMIT = 64 << 20, /* of all of them */
};

/* The directory in the new tree that path's namesake goes into. Returns the descriptor. */
static int open_parent(struct cow *cow, const char *path, struct error *err)
{
	const char *inner = cow_inner_path(cow, path);
	_cleanup_free_ char *directory = strndup(inner, (size_t)(strrchr(inner, '/') - inner));

	if (!directory)
		return error_set(err, ENOMEM, "out of memory");
	return root_make(cow->stage->root, directory, true, err);
}

int cow_copy_symlink(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	_cleanup_close_ int parent = -1;
	char target[PATH_MAX];
	ssize_t n;

	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return error_errno(err, errno, "cannot read the link %s", path);
	target[n] = '\0';
	parent = open_parent(cow, path, err);
	if (parent < 0)
		return parent;
	if (symlinkat(target, parent, name) < 0 && errno != EEXIST)
		return error_errno(err, errno, "cannot create the link %s", path);
	(void)copy_attributes(parent, name, st);
	return 0;
}

static bool may_copy(const struct cow *cow, const char *path, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size <= COPY_LIMIT && cow->copied + st->st_size <= COPY_TOTAL_LIMIT &&
	       !mount_table_find(&cow->stage->mounts, path);
}

int cow_copy_file(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	_cleanup_close_ int parent = -1, from = -1, to = -1;
	int r;

	if (!may_copy(cow, path, st))
		return error_set(err, EFBIG, "%s is no small file", path);
	from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (from < 0)
		return error_errno(err, errno, "cannot read %s", path);
	parent = open_parent(cow, path, err);
	if (parent < 0)
		return parent;
	to = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return error_errno(err, errno, "cannot create the copy of %s", path);
	r = copy_bytes(from, to, st->st_size);
	if (r == 0)
		r = copy_attributes(parent, name, st);
	if (r < 0) {
		(void)unlinkat(parent, name, 0);
		return error_errno(err, -r, "cannot copy %s", path);
	}
	cow->copied += st->st_size;
	return 0;
}

int cow_copy_special(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	_cleanup_close_ int parent = -1;
	int r;

	if ((!S_ISFIFO(st->st_mode) && !S_ISSOCK(st->st_mode)) || mount_table_find(&cow->stage->mounts, path))
		return -ENOTSUP;
	parent = open_parent(cow, path, err);
	if (parent < 0)
		return parent;
	if (mknodat(parent, name, (st->st_mode & S_IFMT) | 0600, 0) < 0)
		return error_errno(err, errno, "cannot create %s", path);
	r = copy_attributes(parent, name, st);
	if (r < 0) {
		(void)unlinkat(parent, name, 0);
		return error_errno(err, -r, "cannot copy %s", path);
	}
	return 0;
}

int cow_copy_host_file(struct cow *cow, const char *path, struct error *err)
{
	_cleanup_free_ char *directory = strndup(path + 1, (size_t)(strrchr(path, '/') - path));
	_cleanup_close_ int parent = -1, from = -1;
	int r;

	if (!directory)
		return error_set(err, ENOMEM, "out of memory");
	parent = open_parent(cow, path, err);
	if (parent < 0)
		return parent;
	from = openat(cow->stage->files, directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = from < 0 ? -errno : copy_entry(from, parent, strrchr(path, '/') + 1);
	if (r == -EEXIST || r == -EROFS) /* an overlay has it; or it will be covered */
		return 0;
	return r < 0 ? error_errno(err, -r, "cannot make %s", path) : 0;
}
