/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of the host's tree with other contents (container.h: host_files). They lie in a directory of the stage with the same paths and the host's
 * owners, modes and times, which is one more lower layer of the overlays above it: what the guest does to them it does to its own layer, which
 * has nothing of them before. Where the tree shows the host's own file they are mounted on that.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/fsops.h"
#include "container/internal.h"

/* The directories above the file, in the layer, as the host has them. -ENOTDIR where one of them is a link: another file is meant. */
static int make_parents(int layer, const char *path)
{
	char name[PATH_MAX];
	struct stat st;
	int r = 0;

	for (const char *slash = strchr(path + 1, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
		if (snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path) >= (int)sizeof(name))
			return -ENAMETOOLONG;
		if (lstat(name, &st) < 0)
			return -errno;
		if (!S_ISDIR(st.st_mode))
			return -ENOTDIR;
		if (mkdirat(layer, name + 1, 0700) < 0 && errno != EEXIST)
			return -errno;
		r = copy_attributes(layer, name + 1, &st);
	}
	return r;
}

static int make_contents(int layer, const struct container_file *file)
{
	_cleanup_close_ int fd = -1;

	if (file->link)
		return symlinkat(file->link, layer, file->path + 1) < 0 ? -errno : 0;
	fd = openat(layer, file->path + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd_write_full(fd, file->text, strlen(file->text));
}

/* Nothing where the host has no such file, or something else of the name. */
static int make_file(int layer, const struct container_file *file)
{
	struct stat st;
	int r;

	if (lstat(file->path, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		return 0;
	r = make_parents(layer, file->path);
	if (r < 0)
		return r == -ENOTDIR || r == -ENOENT ? 0 : r;
	r = make_contents(layer, file);
	if (file->link) /* by which no other file's mode is to be set */
		st.st_mode = S_IFLNK;
	else if (S_ISLNK(st.st_mode))
		st.st_mode = S_IFREG | 0644;
	if (r == 0)
		r = copy_attributes(layer, file->path + 1, &st);
	return r < 0 ? r : make_parents(layer, file->path); /* once more: their times */
}

int host_files_make(struct stage *stage, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	char place[sizeof(stage->path) + 8];
	struct stat st;
	int r = 0;

	if (spec->n_host_files == 0 || spec->root_kind == ROOT_PATH)
		return 0;
	(void)snprintf(place, sizeof(place), "%s/files", stage->path);
	stage->files = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (stage->files < 0)
		return error_errno(err, errno, "cannot open %s", place);
	for (size_t i = 0; r == 0 && i < spec->n_host_files; i++) {
		r = make_file(stage->files, &spec->host_files[i]);
		if (r < 0)
			return error_errno(err, -r, "cannot make the container's %s", spec->host_files[i].path);
	}
	if (lstat("/", &st) == 0)
		(void)copy_attributes(stage->files, ".", &st);
	return 0;
}

static bool has(const struct stage *stage, const char *path, struct stat *ret)
{
	return stage->files >= 0 && fstatat(stage->files, path[1] ? path + 1 : ".", ret, AT_SYMLINK_NOFOLLOW) == 0;
}

bool host_files_have(const struct stage *stage, const char *path)
{
	struct stat st;

	return has(stage, path, &st) && !S_ISDIR(st.st_mode);
}

bool host_files_have_below(const struct stage *stage, const char *path)
{
	struct stat st;

	return has(stage, path, &st) && S_ISDIR(st.st_mode);
}

/* A mount cannot be a link: what it leads to is seen in its place. */
static int clone_file(const struct stage *stage, const struct container_file *file, struct error *err)
{
	_cleanup_close_ int source = file->link ? root_open(stage->root, file->link, 0) : openat(stage->files, file->path + 1, O_PATH | O_CLOEXEC);

	return source < 0 ? -ENOENT : fs_clone(source, "", false, err);
}

int host_files_cover(const struct stage *stage, const struct container_file *file, struct error *err)
{
	_cleanup_close_ int target = -1, mount = -1;
	struct stat here, there;

	if (!host_files_have(stage, file->path) || lstat(file->path, &here) < 0 || !S_ISREG(here.st_mode))
		return 0;
	target = root_open(stage->root, file->path, O_NOFOLLOW);
	if (target < 0 || fstat(target, &there) < 0 || there.st_dev != here.st_dev || there.st_ino != here.st_ino)
		return 0;
	mount = clone_file(stage, file, err);
	if (mount < 0)
		return mount == -ENOENT ? 0 : mount;
	return fs_attach(mount, target, file->path, err);
}
