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
#include "base/fd.h"
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
		return error_set(err, EINVAL,
				 "writable path %s: the whole tree is written for real with --fs=host only", path);
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

static bool real_paths_have(const struct real_paths *paths, const char *path)
{
	for (size_t i = 0; i < paths->n; i++)
		if (strcmp(paths->items[i].path, path) == 0)
			return true;
	return false;
}

/* In directories that are written for real, or the whole tree; but not files that are asked for by name. */
static int cover_host_files(const struct stage *stage, const struct real_paths *real, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	int r = 0;

	for (size_t i = 0; r == 0 && i < spec->n_host_files; i++)
		if (!real_paths_have(real, spec->host_files[i].path))
			r = host_files_cover(stage, &spec->host_files[i], err);
	return r;
}

/* ---- stage ---- */

/* The host's /sys stays in sight where a description may bind parts of it after the stage is up. */
static const char *const stage_places[] = { "/sys", "/mnt", "/media", "/srv", "/opt", "/tmp", "/var/tmp" };
static const char *const bundle_stage_places[] = { "/mnt", "/media", "/srv", "/opt", "/tmp", "/var/tmp", "/sys" };

static bool place_is_free(const char *place, const struct container_spec *spec, const struct mount_table *mounts)
{
	struct stat st;

	if (lstat(place, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (strcmp(place, "/sys") == 0)
		return true;
	if (spec->root_path && path_is_under(spec->root_path, place))
		return false;
	return !mount_table_has_below(mounts, place) &&
	       (!spec->overlay_dir || !path_is_under(spec->overlay_dir, place));
}

static const char *find_place(const struct stage *stage)
{
	const char *const *places = stage->spec->plain_mounts ? bundle_stage_places : stage_places;

	for (size_t i = 0; i < ARRAY_SIZE(stage_places); i++)
		if (place_is_free(places[i], stage->spec, &stage->mounts))
			return places[i];
	return NULL;
}

/* What is mounted on it must not spread to the mounts it was cloned from. */
static int isolate_place(const struct stage *stage, const char *place, struct error *err)
{
	const struct mount_entry *entry = mount_table_containing(&stage->mounts, place);

	if (entry && mount(NULL, entry->point, NULL, MS_PRIVATE, NULL) < 0)
		return error_errno(err, errno, "cannot make the mount %s private", entry->point);
	return 0;
}

static int stage_mount(struct stage *stage, struct error *err)
{
	static const struct fs_option options[] = { { "mode", "0755" }, { 0 } };
	static const char *const directories[] = { "root", "upper", "work", "sys", "devices", "files" };
	_cleanup_close_ int fs = -1, target = -1;
	const char *place = find_place(stage);
	int r;

	if (!place)
		return error_set(err, ENOENT,
				 "found no directory to build the container's tree on, tried /sys to /var/tmp");
	(void)snprintf(stage->path, sizeof(stage->path), "%s", place);
	r = isolate_place(stage, place, err);
	if (r < 0)
		return r;
	fs = fs_create("tmpfs", "hermit", options, 0, err);
	if (fs < 0)
		return fs;
	target = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target < 0)
		return error_errno(err, errno, "cannot open %s", place);
	r = fs_attach(fs, target, place, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(directories); i++)
		if (mkdirat(fs, directories[i], 0755) < 0)
			r = error_errno(err, errno, "cannot create %s/%s", place, directories[i]);
	return r;
}

/* Where it can be bound from. */
static int stage_attach_devices(const struct stage *stage, struct error *err)
{
	_cleanup_close_ int target = -1;
	char path[sizeof(stage->path) + 12];

	if (stage->devices < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/devices", stage->path);
	target = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return target < 0 ? error_errno(err, errno, "cannot open %s", path) : fs_attach(stage->devices, target, path, err);
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
	cleanup_close(&stage->devices);
	cleanup_close(&stage->files);
	for (size_t i = 0; stage->binds && i < stage->spec->n_mounts; i++)
		cleanup_close(&stage->binds[i]);
	free(stage->binds);
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

static int mount_standard(struct stage *stage, struct error *err)
{
	static const struct fs_option tmp_options[] = { { "mode", "1777" }, { 0 } };
	int r;

	r = root_mount(stage->root, "/proc", "proc", "proc", NULL,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (r < 0)
		return r;
	r = sys_mount(stage, err);
	if (r < 0)
		return r;
	r = devices_populate(stage, err);
	if (r < 0 || !stage->spec->private_tmp)
		return r;
	return root_mount(stage->root, "/tmp", "tmpfs", "tmpfs", tmp_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			  err);
}

static int make_root_readonly(const struct container_spec *spec, int root, struct error *err)
{
	if (!spec->root_readonly)
		return 0;
	return fs_set_attributes(root, MOUNT_ATTR_RDONLY, 0, false, "/", err);
}

/* The old root is made a slave before it is detached, so that the detaching does not spread. */
static int detach_old_root(int old_root, struct error *err)
{
	if (fchdir(old_root) < 0 || mount(NULL, ".", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return error_errno(err, errno, "cannot part from the old root");
	if (umount2(".", MNT_DETACH) < 0)
		return error_errno(err, errno, "cannot detach the old root");
	return 0;
}

/* Where the root is an initramfs, which cannot be pivoted away: the new root covers it. */
static int move_root(struct error *err)
{
	if (mount(".", "/", NULL, MS_MOVE, NULL) < 0)
		return error_errno(err, errno, "cannot move the new root to /");
	if (chroot(".") < 0)
		return error_errno(err, errno, "chroot");
	return 0;
}

/* After this the old root and everything mounted below it is out of reach, the stage included. */
static int switch_root(const struct stage *stage, struct error *err)
{
	_cleanup_close_ int old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct container_spec *spec = stage->spec;
	int r;

	if (old_root < 0 || fchdir(stage->root) < 0)
		return error_errno(err, errno, "cannot enter the new root");
	if (stage->shared >= 0) {
		r = chroot(".") < 0 ? error_errno(err, errno, "chroot") : 0;
	} else if (spec->no_pivot) {
		r = move_root(err);
	} else {
		if (syscall(SYS_pivot_root, ".", ".") < 0)
			return error_errno(err, errno, "pivot_root");
		r = detach_old_root(old_root, err);
	}
	if (r < 0)
		return r;
	if (chdir("/") < 0)
		return error_errno(err, errno, "cannot enter the new root");
	if (spec->root_propagation && mount(NULL, "/", NULL, spec->root_propagation, NULL) < 0)
		return error_errno(err, errno, "cannot set the propagation of /");
	return 0;
}

/* A tree that brings a host's /dev along keeps it as it is. */
static bool has_dev_of_its_own(const struct container_spec *spec)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (strcmp(spec->mounts[i].target, "/dev") == 0 && (spec->mounts[i].flags & MS_BIND))
			return true;
	return false;
}

static int make_working_directory(const struct container_spec *spec, int root, struct error *err)
{
	int fd;

	if (!spec->create_cwd || !spec->cwd)
		return 0;
	fd = root_make(root, spec->cwd, true, err);
	if (fd < 0)
		return fd == -EROFS || fd == -EACCES ? 0 : fd; /* the guest will be told when it cannot enter it */
	(void)close(fd);
	return 0;
}

/*
 * A current directory below /tmp stays in sight although /tmp is made new: its copy-on-write view is kept open meanwhile, in
 * *real, as the directories that are written for real are.
 */
static int keep_current_directory(struct stage *stage, struct real_paths *real, struct error *err)
{
	struct real_path *item = &real->items[real->n];

	if (!stage->spec->cow_cwd || !stage->spec->private_tmp || !realpath(".", item->path) ||
	    !path_is_under(item->path, "/tmp") || strcmp(item->path, "/tmp") == 0)
		return 0;
	item->fd = openat(stage->root, item->path + 1, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (item->fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "current directory %s", item->path);
	real->n++;
	return 0;
}

/* The creator has something to do while there are both the new root and the old one. */
static int let_creator_act(const struct stage *stage, struct error *err)
{
	const struct channel_message request = { .kind = CHANNEL_HOOK };
	struct channel_message reply;

	if (!stage->spec->created_hook)
		return 0;
	if (channel_send(stage->channel, &request) < 0 || channel_receive(stage->channel, 0, &reply, NULL, NULL) != 1 ||
	    reply.kind != CHANNEL_GO)
		return error_set(err, ECANCELED, "the creator of the container went away");
	return 0;
}

static int root_fill(struct stage *stage, struct real_paths *real, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	int r;

	r = tree_build(stage, err);
	if (r == 0 && spec->root_kind == ROOT_HOST_COW)
		r = keep_current_directory(stage, real, err);
	if (r == 0 && spec->root_kind == ROOT_HOST_COW && spec->cow_binds)
		r = mounts_take_view(stage, err);
	if (r == 0 && spec->root_kind == ROOT_PATH && spec->root_cow && spec->cow_binds && spec->overlay_dir)
		r = mounts_take_layers(stage, err);
	if (r == 0 && !spec->plain_mounts)
		r = mount_standard(stage, err);
	if (r == 0 && spec->root_kind == ROOT_HOST_COW)
		r = real_paths_bind(real, stage->root, err);
	if (r == 0)
		r = cover_host_files(stage, real, err);
	if (r == 0)
		r = mounts_apply(stage, err);
	if (r == 0 && spec->plain_mounts && !has_dev_of_its_own(spec))
		r = devices_standard_nodes(stage, err);
	if (r == 0)
		r = make_working_directory(spec, stage->root, err);
	if (r == 0)
		r = shared_root_attach(stage, err);
	if (r == 0)
		r = let_creator_act(stage, err);
	if (r == 0 && spec->prepare_root)
		r = spec->prepare_root(spec->prepare_arg, stage->root, err);
	if (r == 0)
		r = mounts_finish(stage, err);
	if (r == 0)
		r = make_root_readonly(spec, stage->root, err);
	return r == 0 ? switch_root(stage, err) : r;
}

/*
 * Private, unless the description wants mounts of the host to come in later: then the tree stays a slave of the host's, or
 * its peer where mounts shall also go out.
 */
static int set_first_propagation(const struct container_spec *spec, struct error *err)
{
	unsigned long wanted = spec->root_propagation;

	for (size_t i = 0; i < spec->n_mounts; i++)
		wanted |= spec->mounts[i].propagation;
	if (wanted & MS_SHARED)
		return 0;
	if (mount(NULL, "/", NULL, MS_REC | (wanted & MS_SLAVE ? MS_SLAVE : MS_PRIVATE), NULL) < 0)
		return error_errno(err, errno, "cannot make the mounts private");
	return 0;
}

static int stage_prepare(struct stage *stage, const struct child_ends *ends, struct error *err)
{
	int r;

	r = mount_table_read(&stage->mounts, 0, err);
	if (r < 0)
		return r;
	mount_table_drop_covered(&stage->mounts);
	stage->host_sys = fs_clone(AT_FDCWD, "/sys", true, NULL);
	return mounts_prepare(stage, ends->idmapped, err);
}

int root_enter(const struct container_spec *spec, const struct child_ends *ends, int shared, struct error *err)
{
	_cleanup_(real_paths_free) struct real_paths real = { 0 };
	_cleanup_(stage_deinit) struct stage stage = {
		.spec = spec,
		.userns = userns_is_nested(),
		.namespaces = ends->namespaces,
		.channel = ends->channel,
		.host_sys = -1,
		.devices = ends->devices,
		.files = -1,
		.root = -1,
		.shared = shared,
	};
	int r;

	r = set_first_propagation(spec, err);
	if (r == 0)
		r = stage_prepare(&stage, ends, err);
	if (r == 0 && spec->root_kind == ROOT_HOST_COW)
		r = real_paths_collect(spec, &real, err);
	if (r == 0)
		r = stage_mount(&stage, err);
	if (r == 0)
		r = stage_attach_devices(&stage, err);
	if (r == 0)
		r = host_files_make(&stage, err);
	if (r == 0)
		r = stage_reopen_root(&stage, err);
	if (r == 0)
		r = root_fill(&stage, &real, err);
	if (r == 0)
		r = sysctls_apply(spec, err);
	return r < 0 ? r : masks_apply(spec, err);
}
