/* SPDX-License-Identifier: BSD-3-Clause */
/* The container's /sys: see container.h, sys_files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/fsops.h"
#include "container/internal.h"

enum { SYS_ATTRIBUTES = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };

/* The tree is fresh and nobody else's: its names lead nowhere else. */
static int make_directory(int tree, const char *path)
{
	char name[PATH_MAX];
	char *slash = name;

	if (snprintf(name, sizeof(name), "%s", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	while ((slash = strchr(slash, '/'))) {
		*slash = '\0';
		if (mkdirat(tree, name, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash++ = '/';
	}
	return mkdirat(tree, name, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* The file itself; -ENOENT when its directory is missing. */
static int make_leaf(int tree, const struct container_file *file)
{
	_cleanup_close_ int fd = -1;

	if (file->link)
		return symlinkat(file->link, tree, file->path) < 0 ? -errno : 0;
	fd = openat(tree, file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
	return fd < 0 ? -errno : fd_write_full(fd, file->text, strlen(file->text));
}

static int make_file(int tree, const struct container_file *file, struct error *err)
{
	char parent[PATH_MAX];
	int r;

	if (!file->text && !file->link) {
		r = make_directory(tree, file->path);
		return r < 0 ? error_errno(err, -r, "/sys/%s", file->path) : 0;
	}
	r = make_leaf(tree, file);
	if (r == -ENOENT && strrchr(file->path, '/')) {
		(void)snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(file->path, '/') - file->path), file->path);
		r = make_directory(tree, parent);
		r = r < 0 ? r : make_leaf(tree, file);
	}
	return r < 0 ? error_errno(err, -r, "/sys/%s", file->path) : 0;
}

static int attach_outside(int mount, const char *place, struct error *err)
{
	_cleanup_close_ int target = -1;

	target = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return target < 0 ? error_errno(err, errno, "cannot open %s", place) : fs_attach(mount, target, place, err);
}

/*
 * Network devices come and go, so that their directories are the kernel's, of a sysfs which stays outside of the tree. Where the kernel
 * refuses one, the devices of sys_files are seen, which are there from the start.
 */
static int mount_net_devices(struct stage *stage, int sys, struct error *err)
{
	static const char *const directories[] = { "class/net", "devices/virtual/net" };
	_cleanup_close_ int whole = -1;
	char outside[sizeof(stage->path) + 8];
	int r = 0;

	(void)snprintf(outside, sizeof(outside), "%s/sys", stage->path);
	whole = fs_create("sysfs", "sysfs", NULL, SYS_ATTRIBUTES, err);
	if (whole < 0) {
		log_debug("%s; /sys has the network devices of the start", err ? err->text : "sysfs refused");
		return 0;
	}
	r = attach_outside(whole, outside, err); /* older kernels take copies of what has a place alone */
	for (size_t i = 0; i < ARRAY_SIZE(directories) && r == 0; i++) {
		_cleanup_close_ int part = -1, target = -1;

		part = fs_clone(whole, directories[i], false, err);
		if (part < 0)
			return part;
		target = root_open(sys, directories[i], O_DIRECTORY);
		r = target < 0 ? error_errno(err, -target, "/sys/%s", directories[i]) : fs_attach(part, target, directories[i], err);
	}
	return r;
}

static int mount_made_sys(struct stage *stage, struct error *err)
{
	static const struct fs_option options[] = { { "mode", "0555" }, { 0 } };
	_cleanup_close_ int tree = -1, target = -1;
	int r = 0;

	tree = fs_create("tmpfs", "sysfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (tree < 0)
		return tree;
	for (size_t i = 0; i < stage->spec->n_sys_files && r == 0; i++)
		r = make_file(tree, &stage->spec->sys_files[i], err);
	if (r == 0)
		r = fs_set_attributes(tree, MOUNT_ATTR_RDONLY, 0, false, "/sys", err);
	if (r < 0)
		return r;
	target = root_make(stage->root, "/sys", true, err);
	r = target < 0 ? target : fs_attach(tree, target, "/sys", err);
	return r < 0 ? r : mount_net_devices(stage, tree, err);
}

/*
 * A fresh sysfs shows the container's own network devices. Where the kernel refuses one (a sysfs that is partly covered, as
 * inside another container) the host's is bound. Read-only either way.
 */
int sys_mount(struct stage *stage, struct error *err)
{
	_cleanup_close_ int target = -1;
	int r;

	if (stage->spec->sys_files)
		return mount_made_sys(stage, err);
	r = root_mount(stage->root, "/sys", "sysfs", "sysfs", NULL, SYS_ATTRIBUTES, err);
	if (r == 0 || stage->host_sys < 0)
		return r;
	log_debug("%s; using the host's /sys", err ? err->text : "sysfs refused");
	target = root_make(stage->root, "/sys", true, err);
	if (target < 0)
		return target;
	r = fs_set_attributes(stage->host_sys, MOUNT_ATTR_RDONLY, 0, true, "/sys", err);
	return r < 0 ? r : fs_attach(stage->host_sys, target, "/sys", err);
}
