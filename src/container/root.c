/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The container's tree. A tmpfs (the stage) is mounted on an existing directory, inside our private mount namespace only; the
 * tree is put together at STAGE/root, then becomes the root, and the old root with all its mounts is detached.
 *
 * The stage prefers /sys as its place: nothing of the host's /sys is needed in the tree but a copy of that mount, which is
 * taken before.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "container/fsops.h"
#include "container/internal.h"

/* A host directory or file that is written for real; opened before anything is mounted over it. */
struct real_path {
	char path[PATH_MAX];
	int fd;
};

struct real_paths {
	struct real_path *items;
	size_t n;
};

static void real_paths_free(struct real_paths *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		cleanup_close(&paths->items[i].fd);
	free(paths->items);
}

/* /proc, /sys and /dev of the container are its own. The tree below /dev/shm is data and may be asked for. */
static bool is_own_path(const char *path)
{
	if (path_is_under(path, "/dev/shm") && strcmp(path, "/dev/shm") != 0)
		return false;
	return path_is_under(path, "/proc") || path_is_under(path, "/sys") || path_is_under(path, "/dev");
}

static int real_paths_add(struct real_paths *paths, const char *path, struct error *err)
{
	struct real_path *item = &paths->items[paths->n];

	if (!realpath(path, item->path))
		return error_errno(err, errno, "writable path %s", path);
	if (strcmp(item->path, "/") == 0)
		return error_set(err, EINVAL, "writable path %s: the whole tree is written for real with --fs=host only",
				 path);
	if (is_own_path(item->path))
		return 0;
	item->fd = open(item->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (item->fd < 0)
		return error_errno(err, errno, "writable path %s", path);
	paths->n++;
	return 0;
}

/* The current directory, unless it has no name any more, is "/" (too much to write for real), or is not ours to open. */
static bool current_directory_is_real(const struct container_spec *spec)
{
	char cwd[PATH_MAX], resolved[PATH_MAX];

	if (spec->cow_cwd || !getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
		return false;
	return realpath(".", resolved) && strcmp(resolved, "/") != 0;
}

static int real_paths_collect(const struct container_spec *spec, struct real_paths *ret, struct error *err)
{
	int r = 0;

	ret->items = calloc(spec->n_writable + 1, sizeof(*ret->items));
	if (!ret->items)
		return error_set(err, ENOMEM, "out of memory");
	if (current_directory_is_real(spec))
		r = real_paths_add(ret, ".", err);
	for (size_t i = 0; r == 0 && i < spec->n_writable; i++)
		r = real_paths_add(ret, spec->writable[i], err);
	return r;
}

static int compare_real_paths(const void *a, const void *b)
{
	return strcmp(((const struct real_path *)a)->path, ((const struct real_path *)b)->path);
}

/* Outer ones first, so that an inner one is not covered. */
static int real_paths_bind(struct real_paths *paths, int root, struct error *err)
{
	int r;

	qsort(paths->items, paths->n, sizeof(*paths->items), compare_real_paths);
	for (size_t i = 0; i < paths->n; i++) {
		r = root_bind(root, paths->items[i].path, paths->items[i].fd, "", true, err);
		if (r < 0) {
			error_prefix(err, "writable path %s", paths->items[i].path);
			return r;
		}
	}
	return 0;
}

/* ---- stage ---- */

static const char *const stage_places[] = { "/sys", "/mnt", "/media", "/srv", "/opt", "/tmp", "/var/tmp" };

static bool place_is_free(const char *place, const struct container_spec *spec, const struct mount_table *mounts)
{
	struct stat st;

	if (lstat(place, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (strcmp(place, "/sys") == 0)
		return true;
	if (spec->root_path && path_is_under(spec->root_path, place))
		return false;
	return !mount_table_has_below(mounts, place) && (!spec->overlay_dir || !path_is_under(spec->overlay_dir, place));
}

static int stage_mount(struct stage *stage, struct error *err)
{
	static const struct fs_option options[] = { { "mode", "0755" }, { 0 } };
	static const char *const directories[] = { "root", "upper", "work" };
	_cleanup_close_ int mount = -1, target = -1;
	const char *place = NULL;
	int r;

	for (size_t i = 0; !place && i < ARRAY_SIZE(stage_places); i++)
		if (place_is_free(stage_places[i], stage->spec, &stage->mounts))
			place = stage_places[i];
	if (!place)
		return error_set(err, ENOENT, "found no directory to build the container's tree on, tried /sys to /var/tmp");
	(void)snprintf(stage->path, sizeof(stage->path), "%s", place);
	mount = fs_create("tmpfs", "hermit", options, 0, err);
	if (mount < 0)
		return mount;
	target = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target < 0)
		return error_errno(err, errno, "cannot open %s", place);
	r = fs_attach(mount, target, place, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(directories); i++)
		if (mkdirat(mount, directories[i], 0755) < 0)
			r = error_errno(err, errno, "cannot create %s/%s", place, directories[i]);
	return r;
}

/* (Re)opens STAGE/root, which shows the topmost mount there. */
static int stage_reopen_root(struct stage *stage, struct error *err)
{
	char path[sizeof(stage->path) + 8];

	(void)snprintf(path, sizeof(path), "%s/root", stage->path);
	cleanup_close(&stage->root);
	stage->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return stage->root < 0 ? error_errno(err, errno, "cannot open %s", path) : 0;
}

static void stage_deinit(struct stage *stage)
{
	cleanup_close(&stage->root);
	cleanup_close(&stage->host_sys);
	mount_table_free(&stage->mounts);
}

/* ---- the tree itself ---- */

static int bind_tree(struct stage *stage, const char *source, struct error *err)
{
	_cleanup_close_ int mount = -1;
	int r;

	mount = fs_clone(AT_FDCWD, source, true, err);
	if (mount < 0)
		return mount;
	r = fs_attach(mount, stage->root, "the new root", err);
	return r < 0 ? r : stage_reopen_root(stage, err);
}

static int tree_build(struct stage *stage, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	int r = 0;

	switch (spec->root_kind) {
	case ROOT_HOST_COW:
		r = cow_build(stage, "/", err);
		return r < 0 ? r : stage_reopen_root(stage, err);
	case ROOT_HOST_DIRECT:
		return bind_tree(stage, "/", err);
	case ROOT_PATH:
		if (!spec->root_cow)
			return bind_tree(stage, spec->root_path, err);
		r = cow_build(stage, spec->root_path, err);
		return r < 0 ? r : stage_reopen_root(stage, err);
	}
	return error_set(err, EINVAL, "unknown kind of root %d", (int)spec->root_kind);
}

/*
 * A fresh sysfs shows the container's own network devices. Where the kernel refuses one (a sysfs that is partly covered, as
 * inside another container) the host's is bound. Read-only either way.
 */
static int mount_sys(struct stage *stage, struct error *err)
{
	static const unsigned attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	_cleanup_close_ int target = -1;
	int r;

	r = root_mount(stage->root, "/sys", "sysfs", "sysfs", NULL, attributes, err);
	if (r == 0 || stage->host_sys < 0)
		return r;
	log_debug("%s; using the host's /sys", err ? err->text : "sysfs refused");
	target = root_make(stage->root, "/sys", true, err);
	if (target < 0)
		return target;
	r = fs_set_attributes(stage->host_sys, MOUNT_ATTR_RDONLY, 0, true, "/sys", err);
	return r < 0 ? r : fs_attach(stage->host_sys, target, "/sys", err);
}

static int mount_standard(struct stage *stage, struct error *err)
{
	static const struct fs_option tmp_options[] = { { "mode", "1777" }, { 0 } };
	int r;

	r = root_mount(stage->root, "/proc", "proc", "proc", NULL,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (r < 0)
		return r;
	r = mount_sys(stage, err);
	if (r < 0)
		return r;
	r = devices_populate(stage->spec, stage->root, err);
	if (r < 0 || !stage->spec->private_tmp)
		return r;
	return root_mount(stage->root, "/tmp", "tmpfs", "tmpfs", tmp_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
}

static int make_root_readonly(const struct container_spec *spec, int root, struct error *err)
{
	if (!spec->root_readonly)
		return 0;
	return fs_set_attributes(root, MOUNT_ATTR_RDONLY, 0, false, "/", err);
}

/* After this the old root and everything mounted below it is out of reach, the stage included. */
static int switch_root(int root, struct error *err)
{
	if (fchdir(root) < 0)
		return error_errno(err, errno, "cannot enter the new root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return error_errno(err, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return error_errno(err, errno, "cannot detach the old root");
	if (chdir("/") < 0)
		return error_errno(err, errno, "cannot enter the new root");
	return 0;
}

static int root_fill(struct stage *stage, struct real_paths *real, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	int r;

	r = tree_build(stage, err);
	if (r == 0 && !spec->plain_mounts)
		r = mount_standard(stage, err);
	if (r == 0 && spec->root_kind == ROOT_HOST_COW)
		r = real_paths_bind(real, stage->root, err);
	if (r == 0)
		r = mounts_apply(stage, err);
	if (r == 0 && spec->plain_mounts)
		r = devices_standard_nodes(spec, stage->root, err);
	if (r == 0 && spec->prepare_root)
		r = spec->prepare_root(spec->prepare_arg, stage->root, err);
	if (r == 0)
		r = make_root_readonly(spec, stage->root, err);
	return r == 0 ? switch_root(stage->root, err) : r;
}

int root_enter(const struct container_spec *spec, struct error *err)
{
	_cleanup_(real_paths_free) struct real_paths real = { 0 };
	_cleanup_(stage_deinit) struct stage stage = {
		.spec = spec,
		.userns = userns_is_nested(),
		.host_sys = -1,
		.root = -1,
	};
	int r;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_errno(err, errno, "cannot make the mounts private");
	r = mount_table_read(&stage.mounts, err);
	if (r < 0)
		return r;
	mount_table_drop_covered(&stage.mounts);
	if (spec->root_kind == ROOT_HOST_COW)
		r = real_paths_collect(spec, &real, err);
	if (r < 0)
		return r;
	stage.host_sys = fs_clone(AT_FDCWD, "/sys", true, NULL);
	r = stage_mount(&stage, err);
	if (r == 0)
		r = stage_reopen_root(&stage, err);
	if (r == 0)
		r = root_fill(&stage, &real, err);
	if (r == 0)
		r = sysctls_apply(spec, err);
	return r < 0 ? r : masks_apply(spec, err);
}
