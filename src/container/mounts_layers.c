/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds that are copy-on-write: in place of the host's files they show a view of them (internal.h: mounts_take_view, mounts_take_layers). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/fsops.h"
#include "container/internal.h"

/* ---- of a view of the host's tree ---- */

static bool is_empty(int dirfd)
{
	_cleanup_close_ int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	bool empty = true;
	DIR *dir;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return true;
	(void)take_fd(&fd);
	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	(void)closedir(dir);
	return empty;
}

/* Does the tree have what the bind shows, and not the host's own file or an empty directory in its place (cow.c)? */
static bool is_view_of(int view, int bind)
{
	struct stat there, here;

	if (fstat(view, &there) < 0 || fstat(bind, &here) < 0 || (there.st_mode & S_IFMT) != (here.st_mode & S_IFMT))
		return false;
	if (there.st_dev == here.st_dev && there.st_ino == here.st_ino)
		return false;
	return S_ISREG(here.st_mode) || (S_ISDIR(here.st_mode) && (!is_empty(view) || is_empty(bind)));
}

int mounts_take_view(struct stage *stage, struct error *err)
{
	const struct container_spec *spec = stage->spec;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct container_mount *m = &spec->mounts[i];
		_cleanup_close_ int view = -1;
		int mount;

		if (stage->binds[i] < 0 || m->idmap)
			continue;
		view = root_open(stage->root, m->source, 0);
		if (view < 0 || !is_view_of(view, stage->binds[i])) {
			log_debug("%s has no copy-on-write view: it is bound as it is", m->source);
			continue;
		}
		mount = fs_clone(view, "", (m->flags & MS_REC) != 0, err);
		if (mount < 0)
			return mount;
		(void)close(stage->binds[i]);
		stage->binds[i] = mount;
	}
	return 0;
}

/* ---- layers of their own ---- */

/* Under one of its names at least, so that all of them have to show it. */
static bool is_written(const struct container_spec *spec, const char *source)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct container_mount *m = &spec->mounts[i];

		if (mounts_is_bind(m) && m->source && !strcmp(m->source, source) && !(m->flags & MS_RDONLY) && !(m->recursive_set & MOUNT_ATTR_RDONLY))
			return true;
	}
	return false;
}

/* The first mount of the same source, whose layer is that of all; *ret_shared: it is seen elsewhere as the host has it. */
static size_t find_same_source(const struct container_spec *spec, size_t i, bool *ret_shared)
{
	const char *source = spec->mounts[i].source;
	size_t first = i;

	*ret_shared = false;
	for (size_t k = 0; k < spec->n_mounts; k++) {
		const char *other = spec->mounts[k].source;

		if (!mounts_is_bind(&spec->mounts[k]) || !other)
			continue;
		if (!strcmp(source, other)) {
			first = k < first ? k : first;
			*ret_shared |= spec->mounts[k].idmap;
		} else if (path_is_under(source, other) || path_is_under(other, source)) {
			*ret_shared = true;
		}
	}
	return first;
}

static int take_layer(struct stage *stage, size_t i, bool *layered, struct error *err)
{
	const struct container_mount *m = &stage->spec->mounts[i];
	bool shared;
	size_t first = find_same_source(stage->spec, i, &shared);
	int mount = -ENOTSUP;

	if (!shared && first == i)
		mount = cow_bind(stage, m->source, stage->binds[i], err);
	else if (!shared && layered[first])
		mount = fs_clone(stage->binds[first], "", (m->flags & MS_REC) != 0, err);
	if (mount == -ENOTSUP) {
		log_debug("%s has no copy-on-write view: it is bound as it is", m->source);
		return 0;
	}
	if (mount < 0)
		return mount;
	(void)close(stage->binds[i]);
	stage->binds[i] = mount;
	layered[i] = true;
	return 0;
}

int mounts_take_layers(struct stage *stage, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	_cleanup_free_ bool *layered = calloc(spec->n_mounts + 1, sizeof(*layered));
	int r = 0;

	if (!layered)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++)
		if (stage->binds[i] >= 0 && !spec->mounts[i].idmap && is_written(spec, spec->mounts[i].source))
			r = take_layer(stage, i, layered, err);
	return r;
}
