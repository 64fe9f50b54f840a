/* SPDX-License-Identifier: BSD-3-Clause */
/* Mounts by descriptor, paths inside a root: see fsops.h. */
#include "container/fsops.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { MAX_LINKS = 40 /* as the kernel follows */ };

/* The context of fsopen() keeps messages such as "e overlay: failed to clone lowerpath"; takes the last one. */
static void read_kernel_message(int context, char *buf, size_t size)
{
	ssize_t n;

	buf[0] = '\0';
	for (;;) {
		char line[512];

		n = read(context, line, sizeof(line) - 1);
		if (n <= 2)
			return;
		line[n] = '\0';
		line[strcspn(line, "\n")] = '\0';
		(void)snprintf(buf, size, " (kernel: %s)", line + 2);
	}
}

static int fs_error(int code, int context, const char *type, const char *what, struct error *err)
{
	char message[560];

	read_kernel_message(context, message, sizeof(message));
	return error_errno(err, code, "mount of type %s: %s%s", type, what, message);
}

int fs_create(const char *type, const char *source, const struct fs_option *options, unsigned attributes,
	      struct error *err)
{
	_cleanup_close_ int context = -1;
	int mount;

	context = fsopen(type, FSOPEN_CLOEXEC);
	if (context < 0)
		return error_errno(err, errno, "mount of type %s: fsopen", type);
	if (source && fsconfig(context, FSCONFIG_SET_STRING, "source", source, 0) < 0)
		return fs_error(errno, context, type, "source", err);
	for (const struct fs_option *o = options; o && o->key; o++)
		if (fsconfig(context, o->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, o->key, o->value, 0) < 0)
			return fs_error(errno, context, type, o->key, err);
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fs_error(errno, context, type, "create", err);
	mount = fsmount(context, FSMOUNT_CLOEXEC, attributes);
	if (mount < 0)
		return fs_error(errno, context, type, "mount", err);
	return mount;
}

int fs_clone(int dirfd, const char *path, bool recursive, struct error *err)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);
	int fd;

	fd = open_tree(dirfd, path, flags);
	if (fd < 0)
		return error_errno(err, errno, "cannot bind %s", *path ? path : "a directory");
	return fd;
}

int fs_attach(int mount, int target, const char *where, struct error *err)
{
	if (move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_errno(err, errno, "cannot mount on %s", where);
	return 0;
}

int fs_set_attributes(int fd, uint64_t set, uint64_t clear, bool recursive, const char *where, struct error *err)
{
	struct mount_attr attr = { .attr_set = set, .attr_clr = clear };

	if (mount_setattr(fd, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr, sizeof(attr)) < 0)
		return error_errno(err, errno, "cannot change the attributes of the mount on %s", where);
	return 0;
}

int root_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_PATH | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd, tries = 64;

	do { /* EAGAIN: something was renamed somewhere meanwhile */
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	} while (fd < 0 && errno == EAGAIN && tries-- > 0);
	return fd < 0 ? -errno : fd;
}

/* Creates `name` in parent; an existing one is as good. */
static int make_component(int parent, const char *name, bool directory)
{
	_cleanup_close_ int fd = -1;

	if (directory)
		return mkdirat(parent, name, 0755) < 0 && errno != EEXIST ? -errno : 0;
	fd = openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 && errno != EEXIST ? -errno : 0;
}

static int make_path(int root, const char *path, bool directory, unsigned links);

/*
 * A link that leads to what is missing, as images have for /etc/resolv.conf: what it leads to is made, below the root like everything else.
 * 0: `name` is no link.
 */
static int make_behind_link(int root, int parent, const char *prefix, const char *name, bool directory, unsigned links)
{
	_cleanup_free_ char *path = NULL;
	char target[PATH_MAX];
	ssize_t n = readlinkat(parent, name, target, sizeof(target) - 1);

	if (n < 0)
		return 0;
	target[n] = '\0';
	if (links == 0)
		return -ELOOP;
	if (asprintf(&path, "%.*s%s", target[0] == '/' ? 0 : (int)(name - prefix), prefix, target) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return make_path(root, path, directory, links - 1);
}

/* Opens prefix in root; if it is missing, creates its last component in parent first. */
static int open_or_make(int root, int parent, const char *prefix, bool directory, unsigned links)
{
	const char *name = strrchr(prefix, '/') ? strrchr(prefix, '/') + 1 : prefix;
	int fd, r;

	fd = root_open(root, prefix, 0);
	if (fd != -ENOENT)
		return fd;
	r = make_behind_link(root, parent, prefix, name, directory, links);
	if (r == 0)
		r = make_component(parent, name, directory);
	if (r != 0)
		return r;
	return root_open(root, prefix, 0);
}

static int make_path(int root, const char *path, bool directory, unsigned links)
{
	_cleanup_free_ char *prefix = NULL;
	_cleanup_close_ int parent = -1;
	char *slash;
	int fd;

	path += strspn(path, "/");
	prefix = strdup(*path ? path : ".");
	parent = root_open(root, ".", O_DIRECTORY);
	if (!prefix || parent < 0)
		return prefix ? parent : -ENOMEM;
	for (slash = prefix;; *slash++ = '/') {
		slash = strchr(slash, '/');
		if (!slash)
			break;
		*slash = '\0';
		fd = open_or_make(root, parent, prefix, true, links);
		if (fd < 0)
			return fd;
		(void)close(parent);
		parent = fd;
	}
	return open_or_make(root, parent, prefix, directory, links);
}

int root_make(int root, const char *path, bool directory, struct error *err)
{
	int fd = make_path(root, path, directory, MAX_LINKS);

	return fd < 0 ? error_errno(err, -fd, "cannot create /%s in the container", path + strspn(path, "/")) : fd;
}

int root_mount(int root, const char *path, const char *type, const char *source, const struct fs_option *options,
	       unsigned attributes, struct error *err)
{
	_cleanup_close_ int mount = -1, target = -1;

	target = root_make(root, path, true, err);
	if (target < 0)
		return target;
	mount = fs_create(type, source ? source : type, options, attributes, err);
	if (mount < 0) {
		error_prefix(err, "%s", path);
		return mount;
	}
	return fs_attach(mount, target, path, err);
}

int root_bind(int root, const char *path, int dirfd, const char *source, bool recursive, struct error *err)
{
	_cleanup_close_ int mount = -1, target = -1;
	struct stat st;

	mount = fs_clone(dirfd, source, recursive, err);
	if (mount < 0)
		return mount;
	if (fstat(mount, &st) < 0)
		return error_errno(err, errno, "cannot stat %s", source);
	target = root_make(root, path, S_ISDIR(st.st_mode), err);
	if (target < 0)
		return target;
	return fs_attach(mount, target, path, err);
}
