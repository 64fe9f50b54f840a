/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /dev: a small tmpfs with the nodes that programs count on and nothing of the host's. Where mknod is not allowed (a user
 * namespace) an empty file is made and a node bound on it: the one that the creator made for it, or the host's of that name.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "container/fsops.h"
#include "container/internal.h"

static const struct container_device nodes[] = {
	{ .path = "/dev/null", .mode = S_IFCHR | 0666, .major = 1, .minor = 3 },
	{ .path = "/dev/zero", .mode = S_IFCHR | 0666, .major = 1, .minor = 5 },
	{ .path = "/dev/full", .mode = S_IFCHR | 0666, .major = 1, .minor = 7 },
	{ .path = "/dev/random", .mode = S_IFCHR | 0666, .major = 1, .minor = 8 },
	{ .path = "/dev/urandom", .mode = S_IFCHR | 0666, .major = 1, .minor = 9 },
	{ .path = "/dev/tty", .mode = S_IFCHR | 0666, .major = 5, .minor = 0 },
};

static const struct {
	const char *target, *name;
} links[] = {
	{ "pts/ptmx", "ptmx" },		 { "/proc/self/fd", "fd" },	  { "/proc/self/fd/0", "stdin" },
	{ "/proc/self/fd/1", "stdout" }, { "/proc/self/fd/2", "stderr" },
};

/* True if what is there already is that device. */
static bool device_exists(int parent, const char *name, const struct container_device *device)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (st.st_mode & S_IFMT) == (device->mode & S_IFMT) &&
	       (S_ISFIFO(device->mode) || st.st_rdev == makedev(device->major, device->minor));
}

static int device_open_parent(int root, const char *path, const char **ret_name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char directory[512];

	if (!slash || !slash[1] || (size_t)(slash - path) >= sizeof(directory))
		return error_set(err, EINVAL, "device %s: not an absolute path", path);
	memcpy(directory, path, (size_t)(slash - path));
	directory[slash - path] = '\0';
	*ret_name = slash + 1;
	return root_make(root, directory, true, err);
}

/* The host's node of that name, which has to be that device. Its owner is the host's. */
static int device_bind(int root, const struct container_device *device, struct error *err)
{
	struct stat st;

	if (stat(device->path, &st) < 0 || (st.st_mode & S_IFMT) != (device->mode & S_IFMT) ||
	    st.st_rdev != makedev(device->major, device->minor))
		return error_set(err, EPERM, "cannot create the device %s: not allowed in this user namespace, and the host has no such one",
				 device->path);
	return root_bind(root, device->path, AT_FDCWD, device->path, false, err);
}

/* The mount point of device_bind(), which a run before has left in a root file system that stays. */
static bool is_mount_point(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

static int device_make(int root, const struct container_device *device, struct error *err)
{
	_cleanup_close_ int parent = -1;
	const char *name = NULL;

	parent = device_open_parent(root, device->path, &name, err);
	if (parent < 0)
		return parent;
	if (device_exists(parent, name, device))
		return 0;
	if (mknodat(parent, name, device->mode, makedev(device->major, device->minor)) < 0) {
		if (errno != EPERM && !(errno == EEXIST && is_mount_point(parent, name)))
			return error_errno(err, errno, "cannot create the device %s", device->path);
		return device_bind(root, device, err);
	}
	/* the umask has taken bits away */
	if (fchmodat(parent, name, device->mode & 07777, 0) < 0 ||
	    fchownat(parent, name, device->uid, device->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, errno, "cannot set the mode and owner of %s", device->path);
	return 0;
}

static int links_make(int root, struct error *err)
{
	_cleanup_close_ int dev = -1;

	dev = root_make(root, "/dev", true, err);
	if (dev < 0)
		return dev;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (symlinkat(links[i].target, dev, links[i].name) < 0 && errno != EEXIST)
			return error_errno(err, errno, "cannot create the link /dev/%s", links[i].name);
	return 0;
}

/* What an id of the container is outside; one that is not mapped belongs to nobody there, so it is the creator's. */
static uint32_t id_outside(const struct container_id_map *maps, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (id >= maps[i].inside && id - maps[i].inside < maps[i].count)
			return maps[i].outside + (id - maps[i].inside);
	return 0;
}

int devices_prepare(const struct container_spec *spec, int *ret, struct error *err)
{
	static const struct fs_option options[] = { { "mode", "0755" }, { 0 } };
	_cleanup_close_ int fs = -1;

	*ret = -1;
	if (!spec->n_devices || !(spec->namespaces & CLONE_NEWUSER))
		return 0;
	fs = fs_create("tmpfs", "hermit", options, MOUNT_ATTR_NOEXEC, NULL);
	if (fs < 0)
		return 0;
	for (size_t i = 0; i < spec->n_devices; i++) {
		const struct container_device *d = &spec->devices[i];
		char name[24];

		(void)snprintf(name, sizeof(name), "%zu", i);
		if (mknodat(fs, name, d->mode, makedev(d->major, d->minor)) < 0)
			return errno == EPERM ? 0 : error_errno(err, errno, "cannot create the device %s", d->path);
		if (fchownat(fs, name, id_outside(spec->maps.uids, spec->maps.n_uids, d->uid),
			     id_outside(spec->maps.gids, spec->maps.n_gids, d->gid), AT_SYMLINK_NOFOLLOW) < 0 ||
		    fchmodat(fs, name, d->mode & 07777, 0) < 0)
			return error_errno(err, errno, "cannot set the mode and owner of %s", d->path);
	}
	*ret = take_fd(&fs);
	return 0;
}

static int device_take(const struct stage *stage, size_t i, struct error *err)
{
	const struct container_device *device = &stage->spec->devices[i];
	char name[24];

	if (stage->devices < 0)
		return device_make(stage->root, device, err);
	(void)snprintf(name, sizeof(name), "%zu", i);
	return root_bind(stage->root, device->path, stage->devices, name, false, err);
}

int devices_standard_nodes(const struct stage *stage, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(nodes); i++)
		r = device_make(stage->root, &nodes[i], err);
	for (size_t i = 0; r == 0 && i < stage->spec->n_devices; i++)
		r = device_take(stage, i, err);
	return r < 0 ? r : links_make(stage->root, err);
}

/* gid 5 is the group tty by convention; in a user namespace it may not be mapped. */
static int mount_pts(int root, struct error *err)
{
	static const struct fs_option with_group[] = {
		{ "newinstance", NULL }, { "ptmxmode", "0666" }, { "mode", "0620" }, { "gid", "5" }, { 0 },
	};
	static const struct fs_option without_group[] = {
		{ "newinstance", NULL },
		{ "ptmxmode", "0666" },
		{ "mode", "0620" },
		{ 0 },
	};
	int r;

	r = root_mount(root, "/dev/pts", "devpts", "devpts", with_group, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	if (r == -EINVAL)
		r = root_mount(root, "/dev/pts", "devpts", "devpts", without_group,
			       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	return r;
}

int devices_populate(const struct stage *stage, struct error *err)
{
	static const struct fs_option dev_options[] = { { "mode", "0755" }, { 0 } };
	static const struct fs_option shm_options[] = { { "mode", "1777" }, { 0 } };
	struct error reason = { 0 };
	int root = stage->root, r;

	r = root_mount(root, "/dev", "tmpfs", "tmpfs", dev_options, MOUNT_ATTR_NOSUID, err);
	if (r == 0)
		r = devices_standard_nodes(stage, err);
	if (r == 0)
		r = mount_pts(root, err);
	if (r == 0)
		r = root_mount(root, "/dev/shm", "tmpfs", "tmpfs", shm_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			       err);
	if (r < 0)
		return r;
	r = root_mount(root, "/dev/mqueue", "mqueue", "mqueue", NULL,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &reason);
	if (r < 0) /* a kernel without CONFIG_POSIX_MQUEUE */
		log_debug("%s", reason.text);
	return 0;
}
