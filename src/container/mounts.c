/* SPDX-License-Identifier: BSD-3-Clause */
/* The further mounts of a description, its masked and read-only paths, its sysctls. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/fsops.h"
#include "container/internal.h"

enum { MAX_OPTIONS = 64 };

static const struct {
	unsigned long flag;
	uint64_t attribute;
} attribute_map[] = {
	{ MS_RDONLY, MOUNT_ATTR_RDONLY },
	{ MS_NOSUID, MOUNT_ATTR_NOSUID },
	{ MS_NODEV, MOUNT_ATTR_NODEV },
	{ MS_NOEXEC, MOUNT_ATTR_NOEXEC },
	{ MS_NODIRATIME, MOUNT_ATTR_NODIRATIME },
	{ MS_NOATIME, MOUNT_ATTR_NOATIME },
	{ MS_STRICTATIME, MOUNT_ATTR_STRICTATIME },
	{ MS_NOSYMFOLLOW, MOUNT_ATTR_NOSYMFOLLOW },
};

/* Flags of a superblock rather than of a mount; their names are options. */
static const struct {
	unsigned long flag;
	const char *name;
} super_map[] = {
	{ MS_SYNCHRONOUS, "sync" },
	{ MS_DIRSYNC, "dirsync" },
	{ MS_LAZYTIME, "lazytime" },
};

static uint64_t attributes_of(unsigned long flags)
{
	uint64_t attributes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(attribute_map); i++)
		if (flags & attribute_map[i].flag)
			attributes |= attribute_map[i].attribute;
	return attributes;
}

/* The access-time attributes are one field: to set a value of it the field has to be cleared. */
static uint64_t attributes_to_clear(const struct container_mount *m)
{
	uint64_t clear = attributes_of(m->clear & ~(unsigned long)(MS_NOATIME | MS_STRICTATIME | MS_RELATIME));

	if ((m->flags | m->clear) & (MS_NOATIME | MS_STRICTATIME | MS_RELATIME))
		clear |= MOUNT_ATTR__ATIME;
	return clear;
}

/* Cuts "a=1,b" in place into options. */
static int split_options(char *text, struct fs_option *options, size_t room, struct error *err)
{
	char *word, *value;
	size_t n = 0;

	while ((word = strsep(&text, ","))) {
		if (!*word)
			continue;
		if (n + 1 >= room)
			return error_set(err, E2BIG, "more than %zu mount options", room - 1);
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		options[n++] = (struct fs_option){ .key = word, .value = value };
	}
	options[n] = (struct fs_option){ 0 };
	return 0;
}

static bool is_readonly_late(const struct container_mount *m);

static int create_filesystem(const struct container_mount *m, struct error *err)
{
	unsigned long flags = m->flags & ~(is_readonly_late(m) ? (unsigned long)MS_RDONLY : 0UL);
	struct fs_option options[MAX_OPTIONS + ARRAY_SIZE(super_map) + 1] = { 0 };
	_cleanup_free_ char *data = strdup(m->data ? m->data : "");
	size_t n = 0;
	int r;

	if (!data)
		return error_set(err, ENOMEM, "out of memory");
	r = split_options(data, options, MAX_OPTIONS, err);
	if (r < 0)
		return r;
	while (options[n].key)
		n++;
	for (size_t i = 0; i < ARRAY_SIZE(super_map); i++)
		if (flags & super_map[i].flag)
			options[n++] = (struct fs_option){ .key = super_map[i].name };
	return fs_create(m->type, m->source ? m->source : m->type, options, (unsigned)attributes_of(flags), err);
}

/* The file or directory for a mount to go on, of the kind that the mount's root is. */
static int make_target(int root, int mount, const char *target, struct error *err)
{
	struct stat st;

	if (fstat(mount, &st) < 0)
		return error_errno(err, errno, "cannot stat the mount for %s", target);
	return root_make(root, target, S_ISDIR(st.st_mode), err);
}

static int set_propagation(int mount, const struct container_mount *m, struct error *err)
{
	struct mount_attr attr = { .propagation = m->propagation & ~(unsigned long)MS_REC };
	unsigned flags = AT_EMPTY_PATH | (m->propagation & MS_REC ? AT_RECURSIVE : 0);

	if (!m->propagation)
		return 0;
	if (mount_setattr(mount, "", flags, &attr, sizeof(attr)) < 0)
		return error_errno(err, errno, "cannot set the propagation of %s", m->target);
	return 0;
}

static int set_bind_attributes(int mount, const struct container_mount *m, struct error *err)
{
	uint64_t set = attributes_of(m->flags), clear = attributes_to_clear(m);
	int r = 0;

	if (set || clear)
		r = fs_set_attributes(mount, set, clear, false, m->target, err);
	if (r == 0 && (m->recursive_set || m->recursive_clear))
		r = fs_set_attributes(mount, m->recursive_set, m->recursive_clear, true, m->target, err);
	return r;
}

bool mounts_is_bind(const struct container_mount *m)
{
	return (m->flags & MS_BIND) || strcmp(m->type, "bind") == 0;
}

static bool is_cgroup(const struct container_mount *m)
{
	return strcmp(m->type, "cgroup") == 0 || strcmp(m->type, "cgroup2") == 0;
}

static int clone_bind(const struct container_mount *m, struct error *err)
{
	int mount;

	if (!m->source)
		return error_set(err, EINVAL, "mount on %s: a bind needs a source", m->target);
	mount = fs_clone(AT_FDCWD, m->source, (m->flags & MS_REC) != 0, err);
	if (mount < 0)
		error_prefix(err, "mount on %s", m->target);
	return mount;
}

/* n times -1. */
static int *new_descriptors(size_t n)
{
	int *fds = malloc((n + 1) * sizeof(*fds));

	for (size_t i = 0; fds && i < n; i++)
		fds[i] = -1;
	return fds;
}

int mounts_prepare(struct stage *stage, const int *idmapped, struct error *err)
{
	const struct container_spec *spec = stage->spec;

	stage->binds = new_descriptors(spec->n_mounts);
	if (!stage->binds)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct container_mount *m = &spec->mounts[i];

		if (idmapped && idmapped[i] >= 0)
			stage->binds[i] = idmapped[i];
		else if (mounts_is_bind(m))
			stage->binds[i] = clone_bind(m, err);
		if (mounts_is_bind(m) && stage->binds[i] < 0 && !m->optional)
			return stage->binds[i];
	}
	return 0;
}

static int map_owners(int mount, const struct container_spec *spec, const struct container_mount *m, struct error *err)
{
	const struct container_id_maps *maps = m->maps.n_uids ? &m->maps : &spec->maps;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	_cleanup_close_ int userns = -1;

	userns = userns_create(maps, err);
	if (userns < 0)
		return userns;
	attr.userns_fd = (uint64_t)userns;
	if (mount_setattr(mount, "", AT_EMPTY_PATH | (m->idmap_recursive ? AT_RECURSIVE : 0), &attr, sizeof(attr)) < 0)
		return error_errno(err, errno, "mount on %s: cannot map owners", m->target);
	return 0;
}

int mounts_prepare_idmapped(const struct container_spec *spec, int **ret, struct error *err)
{
	int *mounts = NULL, r = 0;

	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		if (!spec->mounts[i].idmap && !spec->mounts[i].by_creator)
			continue;
		if (!mounts && !(mounts = new_descriptors(spec->n_mounts)))
			return error_set(err, ENOMEM, "out of memory");
		*ret = mounts;
		mounts[i] = clone_bind(&spec->mounts[i], err);
		r = mounts[i] < 0 ? mounts[i] : spec->mounts[i].idmap ? map_owners(mounts[i], spec, &spec->mounts[i], err) : 0;
	}
	return r;
}

/* A detached mount that is complete but for its place. */
static int create_mount(struct stage *stage, size_t i, struct error *err)
{
	const struct container_mount *m = &stage->spec->mounts[i];
	bool bind = mounts_is_bind(m);
	int mount, r = 0;

	mount = bind ? take_fd(&stage->binds[i]) : create_filesystem(m, err);
	if (bind && mount < 0)
		return error_errno(err, ENOENT, "cannot bind %s", m->source);
	if (mount < 0 && strcmp(m->type, "sysfs") == 0 && stage->host_sys >= 0) {
		mount = take_fd(
			&stage->host_sys); /* not ours to make, as in a user namespace with the host's network */
		bind = true;
	}
	if (mount < 0)
		return mount;
	if (bind || m->recursive_set || m->recursive_clear)
		r = set_bind_attributes(mount, m, err);
	if (r < 0)
		cleanup_close(&mount);
	return r < 0 ? r : mount;
}

static int fill_from(int mount, int target, const struct container_mount *m, struct error *err)
{
	_cleanup_close_ int from = -1;
	int r;

	if (!m->copy_up)
		return 0;
	from = openat(target, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = from < 0 ? -errno : copy_tree(from, mount);
	return r < 0 ? error_errno(err, -r, "cannot copy the contents of %s", m->target) : 0;
}

/*
 * A target on which the mount goes is looked up in the tree as it is now; a symbolic link as last component is followed inside
 * the root. After a mount on "/" the root has to be opened anew, which no configuration needs: it is refused.
 */
static int mount_one(struct stage *stage, size_t i, struct error *err)
{
	const struct container_mount *m = &stage->spec->mounts[i];
	_cleanup_close_ int mount = -1, target = -1;
	int r;

	if (m->target[strspn(m->target, "/.")] == '\0')
		return error_set(err, EINVAL, "cannot mount on the root itself");
	if (is_cgroup(m))
		return cgroup_mount(stage, m, attributes_of(m->flags), err);
	mount = create_mount(stage, i, err);
	if (mount < 0)
		return mount;
	target = make_target(stage->root, mount, m->target, err);
	if (target < 0)
		return target;
	r = fill_from(mount, target, m, err);
	if (r == 0)
		r = fs_attach(mount, target, m->target, err);
	return r < 0 ? r : set_propagation(mount, m, err);
}

/* Others go below a tmpfs, which is filled before it is made read-only. */
static bool is_readonly_late(const struct container_mount *m)
{
	return m->type && !strcmp(m->type, "tmpfs") && !mounts_is_bind(m) && m->flags & MS_RDONLY;
}

static bool is_covered_later(const struct container_spec *spec, size_t i)
{
	for (size_t k = i + 1; k < spec->n_mounts; k++)
		if (!strcmp(spec->mounts[k].target, spec->mounts[i].target))
			return true;
	return false;
}

int mounts_finish(struct stage *stage, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	_cleanup_close_ int console = -1;
	int r = 0;

	/* a place for the terminal, which is not there yet; who has no /dev to write to is told when it is */
	if (spec->terminal && !spec->keep_console)
		console = root_make(stage->root, "/dev/console", false, NULL);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		const struct container_mount *m = &spec->mounts[i];
		_cleanup_close_ int fd = -1;

		if (!is_readonly_late(m) || is_covered_later(spec, i))
			continue;
		fd = root_open(stage->root, m->target, O_DIRECTORY);
		r = fd < 0 ? error_errno(err, -fd, "cannot open %s", m->target) :
			     fs_set_attributes(fd, MOUNT_ATTR_RDONLY, 0, false, m->target, err);
	}
	return r;
}

int mounts_apply(struct stage *stage, struct error *err)
{
	const struct container_spec *spec = stage->spec;
	int r;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		r = mount_one(stage, i, err);
		if (r < 0 && !spec->mounts[i].optional) {
			error_prefix(err, "mount of %s on %s", spec->mounts[i].source ?: spec->mounts[i].type,
				     spec->mounts[i].target);
			return r;
		}
	}
	return 0;
}

/* ---- masked and read-only paths, inside the finished root ---- */

/*
 * Opens what is to be covered; -ENOENT and its like mean that there is nothing to hide. A link is followed, within the root: what it leads to
 * is covered, under all of its names, and the link with it.
 */
static int open_for_cover(const char *path, struct error *err)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = root < 0 ? -errno : root_open(root, path, 0);

	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES)
		return error_errno(err, -fd, "cannot open %s", path);
	return fd < 0 ? -ENOENT : fd;
}

/* The null device, which an image or whoever shares its /dev may have replaced by something to be read. */
static int clone_null(struct error *err)
{
	_cleanup_close_ int null = open("/dev/null", O_PATH | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (null < 0 || fstat(null, &st) < 0)
		return error_errno(err, errno, "/dev/null");
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return error_set(err, EINVAL, "/dev/null is not the null device");
	return fs_clone(null, "", false, err);
}

static int mask_path(const char *path, struct error *err)
{
	static const struct fs_option options[] = { { "size", "0" }, { "mode", "0555" }, { 0 } };
	_cleanup_close_ int target = -1, mount = -1;
	struct stat st;

	target = open_for_cover(path, err);
	if (target < 0)
		return target == -ENOENT ? 0 : target;
	if (fstat(target, &st) < 0)
		return error_errno(err, errno, "cannot stat %s", path);
	if (S_ISDIR(st.st_mode))
		mount = fs_create("tmpfs", "tmpfs", options, MOUNT_ATTR_RDONLY, err);
	else
		mount = clone_null(err);
	if (mount < 0) {
		error_prefix(err, "cannot mask %s", path);
		return mount;
	}
	return fs_attach(mount, target, path, err);
}

static int make_path_readonly(const char *path, struct error *err)
{
	_cleanup_close_ int target = -1, mount = -1;
	int r;

	target = open_for_cover(path, err);
	if (target < 0)
		return target == -ENOENT ? 0 : target;
	mount = fs_clone(target, "", true, err);
	if (mount < 0) {
		error_prefix(err, "cannot make %s read-only", path);
		return mount;
	}
	r = fs_set_attributes(mount, MOUNT_ATTR_RDONLY, 0, true, path, err);
	return r < 0 ? r : fs_attach(mount, target, path, err);
}

int masks_apply(const struct container_spec *spec, struct error *err)
{
	int r = 0;

	for (char **p = spec->readonly_paths; r == 0 && p && *p; p++)
		r = make_path_readonly(*p, err);
	for (char **p = spec->masked_paths; r == 0 && p && *p; p++)
		r = mask_path(*p, err);
	return r;
}

int sysctls_apply(const struct container_spec *spec, struct error *err)
{
	char path[512];
	int r;

	for (size_t i = 0; i < spec->n_sysctls; i++) {
		const struct container_sysctl *s = &spec->sysctls[i];
		int n = snprintf(path, sizeof(path), "/proc/sys/%s", s->name);

		if (n < 0 || (size_t)n >= sizeof(path))
			return error_set(err, ENAMETOOLONG, "sysctl %s", s->name);
		for (char *p = path; !strchr(s->name, '/') && *p; p++)
			if (*p == '.')
				*p = '/';
		r = fd_write_file(AT_FDCWD, path, s->value);
		if (r < 0)
			return error_errno(err, -r, "cannot set sysctl %s to '%s'", s->name, s->value);
	}
	return 0;
}
