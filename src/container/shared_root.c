/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A container without a mount namespace of its own: it is in its creator's, or in one that it joins. Its tree is made in a copy of
 * that namespace as any other is, mounted as a whole on its root directory in the shared one, and entered by chroot(2): the root
 * of others who live there stays what it is (pivot_root(2) would change theirs too). One unmount takes it all away.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/fsops.h"
#include "container/internal.h"

static const char *joined_namespace(const struct container_spec *spec)
{
	for (size_t i = 0; i < spec->n_joins; i++)
		if (spec->joins[i].nstype == CLONE_NEWNS)
			return spec->joins[i].path;
	return NULL;
}

int shared_root_open(const struct container_spec *spec, unsigned long namespaces, int *ret, struct error *err)
{
	const char *path = joined_namespace(spec) ?: "/proc/self/ns/mnt";

	*ret = -1;
	if (namespaces & CLONE_NEWNS)
		return 0;
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? error_errno(err, errno, "cannot open the mount namespace %s", path) : 0;
}

int shared_root_leave(int shared, struct error *err)
{
	if (shared < 0 || unshare(CLONE_NEWNS) == 0)
		return 0;
	return error_errno(err, errno, "cannot make a copy of the mount namespace");
}

int shared_root_attach(struct stage *stage, struct error *err)
{
	const char *path = stage->spec->root_path;
	_cleanup_close_ int tree = -1, target = -1;
	int r;

	if (stage->shared < 0)
		return 0;
	tree = fs_clone(stage->root, "", true, err);
	if (tree < 0)
		return tree;
	if (setns(stage->shared, CLONE_NEWNS) < 0)
		return error_errno(err, errno, "linux.namespaces: no right to mount in a mount namespace that is not the container's own");
	target = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target < 0)
		return error_errno(err, errno, "cannot open %s", path);
	r = fs_attach(tree, target, path, err);
	if (r < 0)
		return r;
	cleanup_close(&stage->root);
	stage->root = tree;
	tree = -1;
	return 0;
}

/* ---- outside ---- */

/* In the namespace that the calling process is in. The mount that a look-up of the path ends in, as mountinfo numbers it; or -errno. */
static int mount_of(const char *path)
{
	struct statx stx;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) < 0)
		return -errno;
	return stx.stx_mask & STATX_MNT_ID ? (int)stx.stx_mnt_id : -EOPNOTSUPP;
}

/* Only what lies directly on the mount that was there before: what others have mounted over it goes with it, at the latest. */
static int unmount_above(const char *path, int below)
{
	_cleanup_(mount_table_free) struct mount_table table = { 0 };
	struct error unread = { 0 };
	int top = mount_of(path), r;

	if (top < 0 || top == below)
		return top == -ENOENT || top == below ? 0 : top;
	r = mount_table_read(&table, 0, &unread);
	for (size_t i = 0; r == 0 && i < table.n; i++) {
		const struct mount_entry *entry = &table.entries[i];

		if (entry->id != top || strcmp(entry->point, path) != 0)
			continue;
		if (entry->parent != below)
			return -EBUSY;
		return umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
	}
	return r;
}

struct errand {
	const char *path;
	int below; /* 0: is asked for */
};

static int run_errand(const struct errand *e)
{
	return e->below ? unmount_above(e->path, e->below) : mount_of(e->path);
}

/* In another namespace by a process that is made for it. */
static int run_errand_in(const char *namespace, const struct errand *e)
{
	_cleanup_close_ int from = -1, to = -1, fd = -1;
	int ends[2], result = -EIO;
	pid_t pid;

	if (!namespace)
		return run_errand(e);
	fd = open(namespace, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		result = setns(fd, CLONE_NEWNS) < 0 ? -errno : run_errand(e);
		_exit(fd_write_full(to, &result, sizeof(result)) < 0);
	}
	cleanup_close(&to);
	to = -1;
	if (fd_read_full(from, &result, sizeof(result)) != sizeof(result))
		result = -EIO;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return result;
}

int container_shared_root_find(const struct container_spec *spec, struct container_shared_root *ret, struct error *err)
{
	const char *namespace = joined_namespace(spec);
	struct errand errand = { .path = spec->root_path };
	int below;

	*ret = (struct container_shared_root){ 0 };
	if (container_has_own_mounts(spec))
		return 0;
	if (spec->root_kind != ROOT_PATH)
		return error_set(err, EINVAL, "a container that shares a mount namespace needs a root directory");
	below = run_errand_in(namespace, &errand);
	if (below < 0)
		return error_errno(err, -below, "cannot look at %s in the mount namespace %s", spec->root_path, namespace ?: "of the caller");
	ret->root = strdup(spec->root_path);
	ret->mount_namespace = namespace ? strdup(namespace) : NULL;
	ret->below = below;
	return ret->root && (!namespace || ret->mount_namespace) ? 0 : error_set(err, ENOMEM, "out of memory");
}

int container_shared_root_end(const struct container_shared_root *shared, struct error *err)
{
	const struct errand errand = { .path = shared->root, .below = shared->below };
	int r;

	if (!shared->root || shared->below <= 0)
		return 0;
	r = run_errand_in(shared->mount_namespace, &errand);
	if (r == -ENOENT)
		return 0; /* the namespace went, or the directory */
	return r < 0 ? error_errno(err, -r, "cannot unmount %s, where the container's mounts are", shared->root) : 0;
}

void container_shared_root_clear(struct container_shared_root *shared)
{
	free(shared->root);
	free(shared->mount_namespace);
	*shared = (struct container_shared_root){ 0 };
}
