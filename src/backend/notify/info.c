/* SPDX-License-Identifier: BSD-3-Clause */
/* What a descriptor is: kind, flags, identity. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Linux 6.9, younger than some headers */
#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif

struct named_kind {
	const char *name;
	enum fd_kind kind;
};

/* Anonymous inodes tell what they are by the name of their link only. */
static const struct named_kind anonymous_kinds[] = {
	{ "anon_inode:[eventfd]", FD_EVENTFD },   { "anon_inode:[timerfd]", FD_TIMERFD },
	{ "anon_inode:[signalfd]", FD_SIGNALFD }, { "anon_inode:[eventpoll]", FD_EPOLL },
	{ "anon_inode:inotify", FD_INOTIFY },     { "anon_inode:[inotify]", FD_INOTIFY },
	{ "anon_inode:[pidfd]", FD_PIDFD },       { "pidfd:[", FD_PIDFD },
};

static enum fd_kind anonymous_kind(const struct notify *n, int fd)
{
	char path[64], name[64];
	ssize_t len;
	size_t i;

	(void)snprintf(path, sizeof(path), "self/fd/%d", fd);
	len = readlinkat(n->proc_fd, path, name, sizeof(name) - 1);
	if (len < 0)
		return FD_OTHER;
	name[len] = '\0';
	for (i = 0; i < ARRAY_SIZE(anonymous_kinds); i++)
		if (strncmp(name, anonymous_kinds[i].name, strlen(anonymous_kinds[i].name)) == 0)
			return anonymous_kinds[i].kind;
	return FD_OTHER;
}

struct magic_kind {
	unsigned long magic;
	enum fd_kind kind;
};

static const struct magic_kind magic_kinds[] = {
	{ PROC_SUPER_MAGIC, FD_PROC },   { SYSFS_MAGIC, FD_SYS },      { CGROUP2_SUPER_MAGIC, FD_SYS },
	{ CGROUP_SUPER_MAGIC, FD_SYS },  { DEBUGFS_MAGIC, FD_SYS },    { PID_FS_MAGIC, FD_PIDFD },
	{ ANON_INODE_FS_MAGIC, FD_NONE }, /* its name decides */
};

/* A device has one file system for as long as it is mounted: it is asked for once. */
long info_fs_type(struct notify *n, int fd, uint64_t dev)
{
	struct statfs fs;

	if (n->fs_generation != n->generation)
		memset(n->fs_known, 0, sizeof(n->fs_known));
	n->fs_generation = n->generation;
	for (size_t i = 0; i < FS_KNOWN; i++)
		if (n->fs_known[i].type && n->fs_known[i].dev == dev)
			return n->fs_known[i].type;
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return 0;
	n->fs_known[n->fs_next] = (struct known_fs){ .dev = dev, .type = fs.f_type };
	n->fs_next = (n->fs_next + 1) % FS_KNOWN;
	return fs.f_type;
}

/* The kind by file system, or `otherwise` for ordinary ones. */
static enum fd_kind kind_by_file_system(struct notify *n, int fd, uint64_t dev, enum fd_kind otherwise)
{
	unsigned long type = (unsigned long)info_fs_type(n, fd, dev);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(magic_kinds); i++) {
		if (type != magic_kinds[i].magic)
			continue;
		return magic_kinds[i].kind == FD_NONE ? anonymous_kind(n, fd) : magic_kinds[i].kind;
	}
	return otherwise;
}

static int socket_option(int fd, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : 0;
}

static enum fd_kind socket_kind(int fd, struct fd_info *info)
{
	info->sock_type = socket_option(fd, SO_TYPE);
	info->sock_protocol = socket_option(fd, SO_PROTOCOL);
	switch (socket_option(fd, SO_DOMAIN)) {
	case AF_UNIX:
		return FD_UNIX;
	case AF_INET:
	case AF_INET6:
		return FD_INET;
	case AF_NETLINK:
		return FD_NETLINK;
	default:
		return FD_SOCKET;
	}
}

/* Terminals by device number: asking the device itself may have effects. */
static enum fd_kind device_kind(dev_t rdev)
{
	unsigned number = major(rdev);

	return number == 4 || number == 5 || (number >= 136 && number <= 143) || number == 204 || number == 229 ? FD_TTY :
														  FD_CHAR;
}

static enum fd_kind kind_of(struct notify *n, int fd, const struct stat *st, struct fd_info *info)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return kind_by_file_system(n, fd, st->st_dev, FD_FILE);
	case S_IFDIR:
		return kind_by_file_system(n, fd, st->st_dev, FD_DIR);
	case S_IFIFO:
		return FD_PIPE;
	case S_IFSOCK:
		return socket_kind(fd, info);
	case S_IFCHR:
		return device_kind(st->st_rdev);
	case S_IFBLK:
		return FD_BLOCK;
	default:
		return kind_by_file_system(n, fd, st->st_dev, FD_OTHER);
	}
}

/* /dev/tty is whatever terminal the session has: a device number in its place. */
static dev_t terminal_behind(int fd, dev_t rdev)
{
	const dev_t controlling = makedev(5, 0);
	unsigned number;

	return rdev == controlling && ioctl(fd, TIOCGDEV, &number) == 0 ? (dev_t)makedev(number >> 8 & 0xfff, (number & 0xff) | (number >> 12 & 0xfff00)) :
									    rdev;
}

/* Files and memory devices (null, zero...) are always ready, wherever they come from. rdev: that of the terminal behind /dev/tty. */
static bool is_external(const struct notify *n, const struct stat *st, dev_t rdev)
{
	size_t i;

	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || (S_ISCHR(st->st_mode) && major(st->st_rdev) == 1))
		return false;
	for (i = 0; i < n->n_outside; i++)
		if ((n->outside[i].dev == st->st_dev && n->outside[i].ino == st->st_ino) || (rdev != st->st_rdev && n->outside_rdev[i] == rdev))
			return true;
	return false;
}

int info_of_object(struct notify *n, int fd, struct fd_info *ret_info)
{
	struct fd_info info = { 0 };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	info.open_flags = fcntl(fd, F_GETFL);
	if (info.open_flags < 0)
		return -errno;
	info.kind = kind_of(n, fd, &st, &info);
	info.rdev = S_ISCHR(st.st_mode) && !(info.open_flags & O_PATH) ? terminal_behind(fd, st.st_rdev) : st.st_rdev;
	info.external = is_external(n, &st, info.rdev);
	info.mode = st.st_mode;
	info.nlink = (uint32_t)st.st_nlink;
	if (info.kind == FD_TIMERFD || info.kind == FD_SIGNALFD)
		beacon_info(n, fd, &info);
	info.dev = st.st_dev;
	info.ino = st.st_ino;
	info.size = (uint64_t)st.st_size;
	*ret_info = info;
	return 0;
}

int info_of_fd(struct notify *n, int fd, struct fd_info *ret_info)
{
	int r;

	r = info_of_object(n, fd, ret_info);
	if (r == 0 && (ret_info->open_flags & O_PATH))
		ret_info->kind = FD_PATH;
	return r;
}
