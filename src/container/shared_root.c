/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A container without a mount namespace of its own: it is in its creator's, or in one that it joins. Its tree is made in a copy of
 * that namespace as any other is, mounted as a whole on its root directory in the shared one, and entered by chroot(2): the root
 * of others who live there stays what it is (pivot_root(2) would change theirs too). One unmount takes it all away.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
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

static int mount_id(const struct statx *stx)
{
	return stx->stx_mask & STATX_MNT_ID ? (int)stx->stx_mnt_id : -EOPNOTSUPP;
}

/* In the namespace that the calling process is in. The mount that a look-up of the path ends in, as mountinfo numbers it; or -errno. */
static int mount_of(const char *path)
{
	struct statx stx;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) < 0)
		return -errno;
	return mount_id(&stx);
}

void container_shared_root_note(struct container_shared_root *shared, pid_t guest)
{
	char path[32];
	struct statx stx;

	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)guest);
	if (shared->root && statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) == 0 && mount_id(&stx) > 0)
		shared->mount = mount_id(&stx);
}

/* By its number, or as what lies directly on the mount that was there before: what others have mounted over it is not. */
static bool is_ours(const struct container_shared_root *shared, const struct mount_entry *entry)
{
	for (size_t i = 0; i < shared->n_handed; i++)
		if (shared->handed[i] == entry->id)
			return true;
	return shared->mount ? entry->id == shared->mount : shared->below > 0 && entry->parent == shared->below;
}

static const struct mount_entry *entry_at(const struct mount_table *table, const char *path, int id)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->entries[i].id == id && strcmp(table->entries[i].point, path) == 0)
			return &table->entries[i];
	return NULL;
}

/* What somebody else has mounted on one of ours; 0: nothing. */
static int lies_above(const struct mount_table *table, const struct container_shared_root *shared)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct mount_entry *entry = &table->entries[i], *under = entry_at(table, shared->root, entry->parent);

		if (under && strcmp(entry->point, shared->root) == 0 && is_ours(shared, under) && !is_ours(shared, entry))
			return entry->id;
	}
	return 0;
}

struct outcome {
	int result, above;
};

/* From the top on, as far as it is ours. */
static struct outcome unmount_ours(const struct container_shared_root *shared)
{
	struct error unread = { 0 };

	for (;;) {
		_cleanup_(mount_table_free) struct mount_table table = { 0 };
		int top = mount_of(shared->root), r = top < 0 ? top : mount_table_read(&table, 0, &unread);
		const struct mount_entry *entry = r < 0 ? NULL : entry_at(&table, shared->root, top);

		if (r < 0)
			return (struct outcome){ .result = r };
		if (!entry || !is_ours(shared, entry)) {
			int above = lies_above(&table, shared);

			return (struct outcome){ .result = above ? -EBUSY : 0, .above = above };
		}
		if (umount2(shared->root, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			return (struct outcome){ .result = -errno };
	}
}

struct errand {
	const char *path; /* what is mounted there is asked for */
	const struct container_shared_root *unmount; /* not NULL: this instead */
};

static struct outcome run_errand(const struct errand *e)
{
	return e->unmount ? unmount_ours(e->unmount) : (struct outcome){ .result = mount_of(e->path) };
}

/* In another namespace by a process that is made for it. */
static struct outcome run_errand_in(const char *namespace, const struct errand *e)
{
	_cleanup_close_ int from = -1, to = -1, fd = -1;
	struct outcome outcome = { .result = -EIO };
	int ends[2];
	pid_t pid;

	if (!namespace)
		return run_errand(e);
	fd = open(namespace, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return (struct outcome){ .result = -errno };
	from = ends[0];
	to = ends[1];
	pid = fork();
	if (pid < 0)
		return (struct outcome){ .result = -errno };
	if (pid == 0) {
		if (setns(fd, CLONE_NEWNS) < 0)
			outcome.result = -errno;
		else
			outcome = run_errand(e);
		_exit(fd_write_full(to, &outcome, sizeof(outcome)) < 0);
	}
	cleanup_close(&to);
	to = -1;
	if (fd_read_full(from, &outcome, sizeof(outcome)) != sizeof(outcome))
		outcome = (struct outcome){ .result = -EIO };
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return outcome;
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
	below = run_errand_in(namespace, &errand).result;
	if (below < 0)
		return error_errno(err, -below, "cannot look at %s in the mount namespace %s", spec->root_path, namespace ?: "of the caller");
	ret->root = strdup(spec->root_path);
	ret->mount_namespace = namespace ? strdup(namespace) : NULL;
	ret->below = below;
	return ret->root && (!namespace || ret->mount_namespace) ? 0 : error_set(err, ENOMEM, "out of memory");
}

int container_shared_root_end(const struct container_shared_root *shared, int *ret_above, struct error *err)
{
	const struct errand errand = { .unmount = shared };
	struct outcome outcome;

	if (ret_above)
		*ret_above = 0;
	if (!shared->root || (shared->below <= 0 && shared->n_handed == 0))
		return 0;
	outcome = run_errand_in(shared->mount_namespace, &errand);
	if (ret_above)
		*ret_above = outcome.above;
	if (outcome.result == -ENOENT)
		return 0; /* the namespace went, or the directory */
	return outcome.result < 0 ? error_errno(err, -outcome.result, "cannot unmount %s, where the container's mounts are", shared->root) : 0;
}

void container_shared_root_clear(struct container_shared_root *shared)
{
	free(shared->root);
	free(shared->mount_namespace);
	*shared = (struct container_shared_root){ 0 };
}
