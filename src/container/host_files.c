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

/* Calls fn with each directory above the file, as the host has it, from the outermost. -ENOTDIR where one is a link: another file is meant. */
static int for_parents(int layer, const char *path, int (*fn)(int layer, const char *name, const struct stat *st))
{
	char name[PATH_MAX];
	struct stat st;
	int r = 0;

	for (const char *slash = strchr(path + 1, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
		if (snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path) >= (int)sizeof(name))
			return -ENAMETOOLONG;
		if (lstat(name, &st) < 0)
			return -errno;
		r = S_ISDIR(st.st_mode) ? fn(layer, name + 1, &st) : -ENOTDIR;
	}
	return r;
}

static int make_directory(int layer, const char *name, const struct stat *st)
{
	return mkdirat(layer, name, st->st_mode & 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static bool is_beside(const struct container_file *file, const struct container_file *other)
{
	size_t len = (size_t)(strrchr(file->path, '/') - file->path);

	return other && strncmp(file->path, other->path, len + 1) == 0 && !strchr(other->path + len + 1, '/');
}

static int make_contents(int layer, const struct container_file *file)
{
	_cleanup_close_ int fd = -1;

	if (file->link)
		return symlinkat(file->link, layer, file->path + 1) < 0 ? -errno : 0;
	fd = openat(layer, file->path + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd_write_full(fd, file->text, strlen(file->text));
}

/* 1: it is made; 0: the host has no such file, or something else of the name. `made` is one that was made before, or NULL. */
static int make_file(int layer, const struct container_file *file, const struct container_file *made)
{
	struct stat st;
	int r = 0;

	if (lstat(file->path, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		return 0;
	if (!is_beside(file, made))
		r = for_parents(layer, file->path, make_directory);
	if (r < 0)
		return r == -ENOTDIR || r == -ENOENT ? 0 : r;
	r = make_contents(layer, file);
	if (file->link) /* by which no other file's mode is to be set */
		st.st_mode = S_IFLNK;
	else if (S_ISLNK(st.st_mode))
		st.st_mode = S_IFREG | 0644;
	if (r == 0)
		r = copy_attributes(layer, file->path + 1, &st);
	return r < 0 ? r : 1;
}

/* When they are filled, because of their times. What cannot be had of them is not worth more than a wrong time. */
static void finish_directories(const struct stage *stage)
{
	const struct container_spec *spec = stage->spec;
	const struct container_file *last = NULL;
	struct stat st;

	for (size_t i = 0; i < spec->n_host_files; i++)
		if (!is_beside(&spec->host_files[i], last) && host_files_have(stage, spec->host_files[i].path)) {
			last = &spec->host_files[i];
			(void)for_parents(stage->files, last->path, copy_attributes);
		}
	if (lstat("/", &st) == 0)
		(void)copy_attributes(stage->files, ".", &st);
}

int host_files_make(struct stage *stage, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	const struct container_file *made = NULL;
	char place[sizeof(stage->path) + 8];

	if (spec->n_host_files == 0 || spec->root_kind == ROOT_PATH)
		return 0;
	(void)snprintf(place, sizeof(place), "%s/files", stage->path);
	stage->files = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (stage->files < 0)
		return error_errno(err, errno, "cannot open %s", place);
	for (size_t i = 0; i < spec->n_host_files; i++) {
		int r = make_file(stage->files, &spec->host_files[i], made);

		if (r < 0)
			return error_errno(err, -r, "cannot make the container's %s", spec->host_files[i].path);
		if (r > 0)
			made = &spec->host_files[i];
	}
	finish_directories(stage);
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
