/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy-on-write view of a tree of mounts.
 *
 * The easy case is one overlay whose lower layer is the tree's root, and, since an overlay does not carry along what is
 * mounted below its lower layer, one more overlay for each mount there. Two things make a directory unfit as a lower layer:
 *   - in a user namespace, a mount below it (the kernel does not let us uncover what a locked mount covers);
 *   - a kept upper layer (overlay_dir) below it, on the same file system.
 * Such a directory is opened up: it becomes a plain directory of the stage, and each of its entries is treated by itself.
 * What cannot be overlaid at all is bound read-only, never writable.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "container/cow_internal.h"
#include "container/fsops.h"

/* Beyond this many entries a directory is bound as a whole instead of being opened up. */
enum { OPEN_UP_LIMIT = 2048 };

static int cow_node(struct cow *cow, const char *path, struct error *err);

DEFINE_CLEANUP(dir, DIR, closedir)

/* File systems that hold no files of their own: the kernel makes them up, and the container has its own or none. */
static const char *const synthetic_types[] = {
	"autofs",   "binfmt_misc", "bpf",	 "cgroup",     "cgroup2",   "configfs", "debugfs", "devpts",
	"devtmpfs", "efivarfs",	   "fusectl",	 "hugetlbfs",  "mqueue",    "nfsd",	"nsfs",	   "proc",
	"pstore",   "resctrl",	   "rpc_pipefs", "securityfs", "selinuxfs", "sysfs",	"tracefs",
};

static bool is_synthetic(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(synthetic_types); i++)
		if (strcmp(type, synthetic_types[i]) == 0)
			return true;
	return false;
}

/* Directories that stay empty because something of the container's own is mounted there. */
static bool is_replaced(const struct cow *cow, const char *path)
{
	static const char *const own[] = { "/proc", "/sys", "/dev" };
	const struct mount_entry *mount = mount_table_find(&cow->stage->mounts, path);

	for (size_t i = 0; strcmp(cow->source, "/") == 0 && i < ARRAY_SIZE(own); i++)
		if (path_is_under(path, own[i]))
			return true;
	for (const char *const *hidden = cow->stage->spec->hidden; hidden && *hidden; hidden++)
		if (path_is_under(path, *hidden))
			return true;
	if (cow->kept[0] && path_is_under(path, cow->kept))
		return true;
	if (path_is_under(path, cow->stage->path))
		return true;
	return mount && is_synthetic(mount->type);
}

const char *cow_inner_path(const struct cow *cow, const char *path)
{
	return strcmp(cow->source, "/") == 0 ? path : path + strlen(cow->source);
}

bool cow_must_open_up(const struct cow *cow, const char *path)
{
	if (cow->kept[0] && path_is_under(cow->kept, path))
		return true;
	return cow->stage->userns && mount_table_has_below(&cow->stage->mounts, path);
}

static int attach(struct cow *cow, int mount, const char *path, bool directory, struct error *err)
{
	_cleanup_close_ int target = -1;
	char root[sizeof(cow->stage->path) + 8];
	int r;

	target = root_make(cow->stage->root, cow_inner_path(cow, path), directory, err);
	if (target < 0)
		return target;
	r = fs_attach(mount, target, path, err);
	if (r < 0 || strcmp(path, cow->source) != 0)
		return r;
	(void)snprintf(root, sizeof(root), "%s/root", cow->stage->path); /* covered: everything else goes on top */
	cleanup_close(&cow->stage->root);
	cow->stage->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cow->stage->root < 0 ? error_errno(err, errno, "cannot open %s", root) : 0;
}

/* The last resort, and the way of single files: visible, but not writable. */
static int bind_readonly(struct cow *cow, const char *path, bool directory, struct error *err)
{
	_cleanup_close_ int mount = -1;
	int r;

	mount = fs_clone(AT_FDCWD, path, true, err);
	if (mount < 0)
		return mount;
	r = fs_set_attributes(mount, MOUNT_ATTR_RDONLY, 0, true, path, err);
	return r < 0 ? r : attach(cow, mount, path, directory, err);
}

/* Everything mounted below path that is not below another such mount. */
static int mounts_below(struct cow *cow, const char *path, struct error *err)
{
	const struct mount_table *table = &cow->stage->mounts;
	const char *last = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->n; i++) {
		const char *point = table->entries[i].point;
		bool nested = false;

		if (strcmp(point, path) == 0 || !path_is_under(point, path))
			continue;
		for (size_t k = 0; !nested && k < table->n; k++)
			nested = k != i && path_is_under(table->entries[k].point, path) &&
				 strcmp(table->entries[k].point, path) != 0 &&
				 path_is_under(point, table->entries[k].point) &&
				 strcmp(table->entries[k].point, point) != 0;
		if (nested || (last && strcmp(last, point) == 0))
			continue;
		last = point;
		if (!is_replaced(cow, point))
			r = cow_node(cow, point, err);
	}
	return r;
}

static int make_plain_directory(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	_cleanup_close_ int fd = -1;
	char self[64];
	int r;

	fd = root_make(cow->stage->root, cow_inner_path(cow, path), true, err);
	if (fd < 0)
		return fd;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (chown(self, st->st_uid, st->st_gid) < 0 && errno != EINVAL && errno != EPERM)
		return error_errno(err, errno, "cannot set the owner of %s", path);
	r = chmod(self, st->st_mode & 07777);
	return r < 0 ? error_errno(err, errno, "cannot set the mode of %s", path) : 0;
}

/* A mount that is read-only anyway needs no upper layer. */
static bool is_readonly_mount(const struct cow *cow, const char *path)
{
	const struct mount_entry *entry = mount_table_find(&cow->stage->mounts, path);

	return entry && strcmp(path, cow->source) != 0 && options_have(entry->options, "ro");
}

/* What cannot be overlaid. A directory for temporary files is shown empty rather than read-only. */
static int do_without_overlay(struct cow *cow, const char *path, const struct stat *st, const struct error *reason,
			      struct error *err)
{
	if (strcmp(path, cow->source) == 0)
		return error_set(err, reason->code, "no copy-on-write view of %s: %s", path, reason->text);
	if ((st->st_mode & 01777) == 01777) {
		log_debug("%s is shown empty: %s", path, reason->text);
		return make_plain_directory(cow, path, st, err);
	}
	log_debug("%s is shown read-only: %s", path, reason->text);
	return bind_readonly(cow, path, true, err);
}

static int overlay_directory(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	_cleanup_close_ int mount = -1;
	struct error reason = { 0 };
	int r;

	if (is_readonly_mount(cow, path))
		mount = fs_clone(AT_FDCWD, path, false, &reason);
	else
		mount = cow_create_overlay(cow, path, st, &reason);
	if (mount < 0)
		return do_without_overlay(cow, path, st, &reason, err);
	r = attach(cow, mount, path, true, err);
	return r < 0 ? r : mounts_below(cow, path, err);
}

/* What is not a directory: copied, else shown read-only, else left out. */
static int show_file(struct cow *cow, const char *path, const struct stat *st)
{
	struct error reason = { 0 };

	if (cow_copy_file(cow, path, st, &reason) == 0 || cow_copy_special(cow, path, st, &reason) == 0)
		return 0;
	if (bind_readonly(cow, path, false, &reason) < 0)
		log_debug("%s is left out: %s", path, reason.text);
	return 0;
}

static int is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* In the order of names, so that the order of mounts is not the order in which files were made. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int open_up_entry(struct cow *cow, const char *path, const char *name, struct error *err)
{
	char child[PATH_MAX];
	int n;

	n = snprintf(child, sizeof(child), "%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
	if (n < 0 || (size_t)n >= sizeof(child))
		return error_set(err, ENAMETOOLONG, "%s/%s", path, name);
	return cow_node(cow, child, err);
}

/* Frees the entries, and uses them as long as r is 0. */
static int open_up_entries(struct cow *cow, const char *path, struct dirent **entries, int n, int r, struct error *err)
{
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = open_up_entry(cow, path, entries[i]->d_name, err);
		free(entries[i]);
	}
	return r;
}

static int open_up(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	_cleanup_free_ struct dirent **entries = NULL;
	_cleanup_close_ int fd = -1;
	int n, r;

	n = scandir(path, &entries, is_entry, by_name);
	if (n < 0 || n > OPEN_UP_LIMIT) {
		log_debug("%s is shown read-only: %s", path, n < 0 ? strerrordesc_np(errno) : "too many entries");
		for (int i = 0; i < n; i++)
			free(entries[i]);
		return bind_readonly(cow, path, true, err);
	}
	r = make_plain_directory(cow, path, st, err);
	r = open_up_entries(cow, path, entries, n, r, err);
	if (r < 0)
		return r;
	fd = root_open(cow->stage->root, cow_inner_path(cow, path)[1] ? cow_inner_path(cow, path) : ".", O_DIRECTORY);
	if (fd >= 0)
		(void)utimensat(fd, "", times, AT_EMPTY_PATH);
	return 0;
}

/* A path that vanished or may not be looked at is left out: natively the guest could not use it either. */
static bool is_out_of_reach(int code)
{
	return code == ENOENT || code == EACCES || code == EPERM || code == ESTALE || code == ENOTCONN;
}

/* /srv, /media and their like: an overlay would show nothing, and what is written goes to the stage either way. */
static bool is_empty_directory(const struct cow *cow, const char *path)
{
	_cleanup_(cleanup_dir) DIR *dir = cow->kept[0] ? NULL : opendir(path);
	const struct dirent *entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		if (is_entry(entry))
			return false;
	return true;
}

static int show_directory(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	if (cow_must_open_up(cow, path))
		return open_up(cow, path, st, err);
	if (strcmp(path, cow->source) != 0 && !mount_table_find(&cow->stage->mounts, path) &&
	    is_empty_directory(cow, path))
		return make_plain_directory(cow, path, st, err);
	return overlay_directory(cow, path, st, err);
}

/* On the way to it, or below it. */
static bool is_along(const char *path, const char *goal)
{
	return path_is_under(path, goal) || path_is_under(goal, path);
}

/*
 * Below /tmp that is made new or is another directory, all but what stays in sight or is bound from there: it may be as large as it likes,
 * and would have to be looked through where something else is mounted or kept in it.
 */
static bool is_covered(const struct cow *cow, const char *path)
{
	const struct container_spec *spec = cow->stage->spec;
	bool own_tmp = spec->private_tmp;
	char cwd[PATH_MAX];

	for (size_t i = 0; !own_tmp && i < spec->n_mounts; i++)
		own_tmp = spec->mounts[i].target && !strcmp(spec->mounts[i].target, "/tmp");
	if (!own_tmp || strcmp(cow->source, "/") != 0 || !path_is_under(path, "/tmp"))
		return false;
	if (!realpath(".", cwd) || is_along(path, cwd))
		return false;
	for (size_t i = 0; spec->cow_binds && i < spec->n_mounts; i++)
		if (spec->mounts[i].source && is_along(path, spec->mounts[i].source))
			return false;
	return true;
}

static int cow_node(struct cow *cow, const char *path, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return is_out_of_reach(errno) ? 0 : error_errno(err, errno, "cannot look at %s", path);
	if (is_covered(cow, path) && strcmp(path, "/tmp") != 0)
		return 0;
	if (host_files_have(cow->stage, path))
		return cow_copy_host_file(cow, path, err);
	if ((is_replaced(cow, path) || is_covered(cow, path)) && S_ISDIR(st.st_mode))
		return make_plain_directory(cow, path, &st, err);
	if (S_ISLNK(st.st_mode))
		return cow_copy_symlink(cow, path, &st, err);
	if (S_ISDIR(st.st_mode))
		return show_directory(cow, path, &st, err);
	return show_file(cow, path, &st);
}

/* The root of an opened-up tree is the stage's own directory, which has to be a mount to become the root. */
static int make_root_mount(struct cow *cow, struct error *err)
{
	_cleanup_close_ int mount = -1;

	mount = fs_clone(cow->stage->root, "", false, err);
	return mount < 0 ? mount : attach(cow, mount, cow->source, true, err);
}

static int use_kept_layers(struct cow *cow, const char *dir, struct error *err)
{
	static const char *const names[] = { COW_UPPER, COW_WORK };
	char path[PATH_MAX];

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return error_errno(err, errno, "cannot create %s", dir);
	if (!realpath(dir, cow->kept))
		return error_errno(err, errno, "%s", dir);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", cow->kept, names[i]) >= (int)sizeof(path))
			return error_set(err, ENAMETOOLONG, "%s", dir);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return error_errno(err, errno, "cannot create %s", path);
	}
	memcpy(cow->layers, cow->kept, sizeof(cow->layers));
	return 0;
}

int cow_build(struct stage *stage, const char *source, struct error *err)
{
	struct cow cow = { .stage = stage, .source = source };
	struct stat st;
	int r;

	(void)snprintf(cow.layers, sizeof(cow.layers), "%s", stage->path);
	if (stage->spec->overlay_dir) {
		r = use_kept_layers(&cow, stage->spec->overlay_dir, err);
		if (r < 0)
			return r;
	}
	if (lstat(source, &st) < 0)
		return error_errno(err, errno, "root %s", source);
	if (!S_ISDIR(st.st_mode))
		return error_errno(err, ENOTDIR, "root %s", source);
	if (cow_must_open_up(&cow, source)) {
		r = make_root_mount(&cow, err);
		return r < 0 ? r : open_up(&cow, source, &st, err);
	}
	return overlay_directory(&cow, source, &st, err);
}

/* A bind shows the source itself or something else at its place (the stage, say)? */
static bool is_at(const char *path, int bind, struct stat *ret)
{
	struct stat here;

	return fstat(bind, ret) == 0 && stat(path, &here) == 0 && here.st_dev == ret->st_dev && here.st_ino == ret->st_ino;
}

static bool may_cover(const struct cow *cow, const char *path)
{
	const struct mount_table *table = &cow->stage->mounts;
	const struct mount_entry *entry = mount_table_containing(table, path);

	if ((entry && is_synthetic(entry->type)) || mount_table_has_below(table, path))
		return false;
	return !is_along(path, cow->kept) && !is_along(path, cow->stage->spec->root_path);
}

int cow_bind(struct stage *stage, const char *source, int bind, struct error *err)
{
	struct cow cow = { .stage = stage };
	char path[PATH_MAX];
	struct stat st;
	int r;

	if (!realpath(source, path) || !is_at(path, bind, &st))
		return -ENOTSUP;
	r = use_kept_layers(&cow, stage->spec->overlay_dir, err);
	if (r < 0)
		return r;
	cow.source = path;
	if (!may_cover(&cow, path))
		return -ENOTSUP;
	if (S_ISDIR(st.st_mode))
		return cow_create_overlay(&cow, path, &st, err);
	return S_ISREG(st.st_mode) ? cow_create_copy(&cow, path, &st, err) : -ENOTSUP;
}
