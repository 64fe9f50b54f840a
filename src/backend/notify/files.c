/* SPDX-License-Identifier: BSD-3-Clause */
/* What files and directories of the guest are: stat, listing, position. */
#include "backend/notify/notify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

static struct timespec from_statx(struct statx_timestamp t)
{
	return (struct timespec){ .tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec };
}

static bool is_synthetic_type(long type)
{
	return type == PROC_SUPER_MAGIC || type == SYSFS_MAGIC || type == CGROUP_SUPER_MAGIC || type == CGROUP2_SUPER_MAGIC;
}

static uint64_t device_of(const struct statx *x)
{
	return makedev(x->stx_dev_major, x->stx_dev_minor);
}

/* Files of procfs and its kin are known by their names. */
static void key_by_name(struct notify *n, int fd, struct file_stat *stat)
{
	char name[4096];

	if (stat->synthetic && objects_name(n, 0, fd, name, sizeof(name)) == 0)
		stat->ino = objects_key(name);
}

int files_statx(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_SYNC_AS_STAT, FILES_STATX, ret) < 0 ? -errno : 0;
}

static void to_file_stat(const struct notify *n, const struct statx *x, bool synthetic, struct file_stat *ret)
{
	*ret = (struct file_stat){
		.mode = x->stx_mode,
		.nlink = x->stx_nlink,
		.uid = x->stx_uid,
		.gid = x->stx_gid,
		.blksize = x->stx_blksize,
		.dev = device_of(x),
		.ino = x->stx_ino,
		.rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
		.size = x->stx_size,
		.blocks = x->stx_blocks,
		.attributes = x->stx_attributes,
		.attributes_mask = x->stx_attributes_mask,
		.atime = from_statx(x->stx_atime),
		.mtime = from_statx(x->stx_mtime),
		.ctime = from_statx(x->stx_ctime),
		.btime = from_statx(x->stx_btime),
		.synthetic = synthetic,
	};
	owners_show(n, &ret->uid, &ret->gid);
}

static void stat_of_fd(struct notify *n, int fd, const struct statx *x, struct file_stat *ret)
{
	to_file_stat(n, x, is_synthetic_type(info_fs_type(n, fd, device_of(x))), ret);
	key_by_name(n, fd, ret);
}

/* By name alone, for entries of file systems that are known not to be synthetic. */
static int stat_of_entry(struct notify *n, pid_t tid, int dirfd, const char *name, int flags, struct file_stat *ret)
{
	struct statx x;
	long type;
	int r;

	r = paths_stat_entry(n, tid, dirfd, name, flags, &x);
	if (r <= 0)
		return r;
	type = info_fs_type(n, -1, device_of(&x));
	if (!type || is_synthetic_type(type))
		return 0;
	to_file_stat(n, &x, false, ret);
	return 1;
}

int notify_handle_path(struct guest *g, int handle, char *buf, size_t size)
{
	int r = objects_link(notify_of(g), handle, buf, size);

	if (r < 0)
		return r;
	return buf[0] == '/' ? 0 : -ENOTSUP;
}

int notify_handle_stat(struct guest *g, int handle, struct file_stat *ret)
{
	struct statx x;
	int r;

	r = files_statx(handle, &x);
	if (r == 0)
		stat_of_fd(notify_of(g), handle, &x, ret);
	return r;
}

int notify_path_stat(struct guest *g, int task, int dirfd, const char *path, int flags, struct file_stat *ret)
{
	const struct notify_task *t = notify_find(g, task);
	struct notify *n = notify_of(g);
	_cleanup_close_ int fd = -1;
	struct statx x;
	int r;

	if (!t)
		return -ESRCH;
	if (!path[0] && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	r = stat_of_entry(n, t->tid, dirfd, path, flags, ret);
	if (r)
		return r < 0 ? r : 0;
	if (path[0]) {
		fd = paths_open(n, t->tid, dirfd, path, flags & AT_SYMLINK_NOFOLLOW, &x);
	} else if (dirfd == AT_FDCWD) {
		fd = paths_open(n, t->tid, dirfd, ".", 0, &x);
	} else {
		fd = handles_borrow(n, t->tid, dirfd);
		r = fd < 0 ? fd : files_statx(fd, &x);
	}
	if (fd < 0 || r < 0)
		return fd < 0 ? fd : r;
	stat_of_fd(n, fd, &x, ret);
	return 0;
}

/* Names and entries grow in two blocks; they are joined at the end. */
struct listing {
	struct dir_entry *entries;
	size_t n, room;
	char *names;
	size_t used, size;
};

static int grow(void **block, size_t *room, size_t need, size_t item)
{
	size_t n = *room ? *room : 64;
	void *grown;

	while (n < need)
		n *= 2;
	if (n == *room)
		return 0;
	grown = realloc(*block, n * item);
	if (!grown)
		return -ENOMEM;
	*block = grown;
	*room = n;
	return 0;
}

static int add(struct listing *list, const struct dirent *entry)
{
	size_t length = strlen(entry->d_name) + 1;
	int r;

	r = grow((void **)&list->names, &list->size, list->used + length, 1);
	if (r == 0)
		r = grow((void **)&list->entries, &list->room, list->n + 1, sizeof(*list->entries));
	if (r < 0)
		return r;
	memcpy(list->names + list->used, entry->d_name, length);
	/* the name's place in the block; made a pointer when the block does not move any more */
	list->entries[list->n++] = (struct dir_entry){ .name = (const char *)(uintptr_t)list->used,
						       .ino = entry->d_ino,
						       .type = entry->d_type };
	list->used += length;
	return 0;
}

static int join(const struct listing *list, struct dir_entry **ret_entries, size_t *ret_n)
{
	struct dir_entry *joined;
	char *names;

	joined = malloc(list->n * sizeof(*joined) + list->used + 1);
	if (!joined)
		return -ENOMEM;
	names = (char *)(joined + list->n);
	if (list->n) {
		memcpy(names, list->names, list->used);
		memcpy(joined, list->entries, list->n * sizeof(*joined));
	}
	for (size_t i = 0; i < list->n; i++)
		joined[i].name = names + (uintptr_t)joined[i].name;
	*ret_entries = joined;
	*ret_n = list->n;
	return 0;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* As key_by_name(), for the entries of a directory. */
static void key_entries_by_name(struct notify *n, int fd, struct dir_entry *entries, size_t count)
{
	char directory[4096], name[4096 + 256];

	struct stat st;

	if (fstat(fd, &st) < 0 || !is_synthetic_type(info_fs_type(n, fd, st.st_dev)) || objects_name(n, 0, fd, directory, sizeof(directory)) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(entries[i].name, "."))
			(void)snprintf(name, sizeof(name), "%s", directory);
		else if (!strcmp(entries[i].name, ".."))
			(void)snprintf(name, sizeof(name), "%.*s", (int)(strrchr(directory, '/') - directory), directory);
		else
			(void)snprintf(name, sizeof(name), "%s/%s", directory, entries[i].name);
		entries[i].ino = objects_key(name);
	}
}

int notify_handle_list(struct guest *g, int handle, struct dir_entry **ret_entries, size_t *ret_n)
{
	_cleanup_(close_dir) DIR *dir = NULL;
	struct listing list = { 0 };
	const struct dirent *entry;
	char none[512];
	int fd, r = 0;

	/* An open file of our own: the guest's position stays where it is. */
	fd = openat(handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	for (errno = 0; r == 0 && (entry = readdir(dir)); errno = 0)
		r = add(&list, entry);
	if (r == 0 && errno)
		r = -errno;
	else if (r == 0 && !list.n && getdents64(dirfd(dir), none, sizeof(none)) < 0)
		r = -errno; /* it has been removed, which readdir(3) takes for an end; others may be without "." as well */
	if (r == 0)
		r = join(&list, ret_entries, ret_n);
	if (r == 0)
		key_entries_by_name(notify_of(g), handle, *ret_entries, *ret_n);
	free(list.names);
	free(list.entries);
	return r;
}

int64_t notify_handle_seek(struct guest *g, int handle, int64_t offset, int whence)
{
	off_t at;

	at = lseek(handle, offset, whence);
	return at < 0 ? -errno : at;
}
