/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a path of a guest task leads to, found from outside: below the root directory of the guest's mount namespace, which
 * was opened at the start, with the task's file system credentials. Where the answer would depend on who asks (procfs: its
 * "self" is the supervisor here), or the task has left that root, -ENOTSUP says that it cannot be told.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backend/notify/identity.h"
#include "base/cleanup.h"
#include "base/path.h"

enum { PATH_SIZE = 4096 };

/*
 * What is known of a task: it changes only by calls of the guest, which pass by here (paths_note_call), and by exec. Then
 * all that is known is out of date, since threads share their root.
 */
struct path_context {
	pid_t tid;           /* 0: empty */
	uint64_t generation; /* of n->generation */
	struct identity identity;
	int cwd; /* O_PATH; -1: not opened yet */
	uint64_t cwd_generation;
};

enum { CONTEXTS = 8 };

struct path_contexts {
	struct path_context slots[CONTEXTS];
	unsigned next;
	uint64_t crossing; /* by hash of a path's first name: paths that begin so were seen to leave the mount they start on */
};

/* Where a resolution starts, and how far it may go. */
struct walk {
	int base;
	uint64_t resolve;
	int flags;
};

static int object_of(const struct notify *n, pid_t tid, const char *name, struct object_id *ret_id)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%d/%s", (int)tid, name);
	if (fstatat(n->proc_fd, path, &st, 0) < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_id = (struct object_id){ st.st_dev, st.st_ino };
	return 0;
}

int paths_init(struct notify *n, pid_t tid)
{
	int r;

	n->path_contexts = calloc(1, sizeof(*n->path_contexts));
	if (!n->path_contexts)
		return -ENOMEM;
	for (size_t i = 0; i < CONTEXTS; i++)
		n->path_contexts->slots[i].cwd = -1;
	n->root_fd = procfs_open(n, tid, "root", O_PATH | O_DIRECTORY);
	if (n->root_fd < 0)
		return n->root_fd;
	r = object_of(n, tid, "root", &n->root);
	if (r == 0)
		r = object_of(n, tid, "ns/mnt", &n->mount_namespace);
	return r < 0 ? r : owners_init(n, tid);
}

static int check_root(const struct notify *n, pid_t tid)
{
	struct object_id root, namespace;
	int r;

	r = object_of(n, tid, "root", &root);
	if (r == 0)
		r = object_of(n, tid, "ns/mnt", &namespace);
	if (r < 0)
		return r;
	if (root.dev != n->root.dev || root.ino != n->root.ino || namespace.ino != n->mount_namespace.ino)
		return -ENOTSUP;
	return 0;
}

static void clear_context(struct path_context *context)
{
	cleanup_close(&context->cwd);
	context->cwd = -1;
	context->tid = 0;
}

void paths_deinit(struct notify *n)
{
	for (size_t i = 0; n->path_contexts && i < CONTEXTS; i++)
		clear_context(&n->path_contexts->slots[i]);
	cleanup_close(&n->root_fd);
	free(n->path_contexts);
	owners_deinit(n);
	n->path_contexts = NULL;
}

void paths_forget(struct notify *n, pid_t tid)
{
	size_t i;

	for (i = 0; n->path_contexts && i < CONTEXTS; i++)
		if (n->path_contexts->slots[i].tid == tid)
			clear_context(&n->path_contexts->slots[i]);
}

void paths_note_call(struct notify *n, int nr)
{
	static const int calls[] = {
		SYS_setuid,     SYS_setgid,    SYS_setreuid, SYS_setregid,   SYS_setresuid, SYS_setresgid, SYS_setgroups,
		SYS_setfsuid,   SYS_setfsgid,  SYS_capset,   SYS_chroot,     SYS_unshare,   SYS_setns,     SYS_pivot_root,
		SYS_mount,      SYS_umount2,   SYS_prctl,    SYS_move_mount, SYS_open_tree, SYS_fsmount,   SYS_mount_setattr,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		n->generation += calls[i] == nr;
	n->cwd_generation += nr == SYS_chdir || nr == SYS_fchdir;
}

/* The context, known or found out. Valid until the next one is asked for. */
static int get_context(struct notify *n, pid_t tid, struct path_context **ret_context)
{
	struct path_contexts *contexts = n->path_contexts;
	struct path_context *context;
	size_t i;
	int r;

	for (i = 0; i < CONTEXTS; i++) {
		context = &contexts->slots[i];
		*ret_context = context;
		if (context->tid == tid && context->generation == n->generation)
			return 0;
	}
	context = &contexts->slots[contexts->next];
	contexts->next = (contexts->next + 1) % CONTEXTS;
	clear_context(context);
	r = check_root(n, tid);
	if (r == 0)
		r = identity_read(n, tid, &context->identity);
	if (r < 0)
		return r;
	context->tid = tid;
	context->generation = n->generation;
	*ret_context = context;
	return 0;
}

static int open_at(const struct walk *walk, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = walk->resolve };
	long fd;

	fd = syscall(SYS_openat2, walk->base, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

bool paths_on_procfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* True when the part of the path up to `len` is on procfs, or is a symbolic link that leads nowhere we can follow. */
static bool prefix_is_doubtful(const struct notify *n, const struct walk *walk, const char *path, size_t len, bool *ret_end)
{
	_cleanup_close_ int fd = -1;
	char prefix[PATH_SIZE], target[2];

	*ret_end = true;
	if (len >= sizeof(prefix))
		return true; /* no path at all: nobody may ask for it */
	memcpy(prefix, path, len);
	prefix[len] = '\0';
	fd = open_at(walk, prefix, 0);
	*ret_end = fd < 0;
	if (fd >= 0)
		return paths_on_procfs(fd);
	fd = open_at(walk, prefix, O_NOFOLLOW);
	return fd >= 0 && readlinkat(fd, "", target, sizeof(target)) > 0;
}

/* Whether a resolution that failed could have gone otherwise for the task itself: only by way of procfs. */
static bool failure_is_doubtful(const struct notify *n, const struct walk *walk, const char *path)
{
	size_t len = 0, total = strlen(path);
	bool end = false;

	while (len < total && !end) {
		len += strspn(path + len, "/");
		len += strcspn(path + len, "/");
		if (len > 0 && prefix_is_doubtful(n, walk, path, len, &end))
			return true;
	}
	return false;
}

static uint64_t first_name_bit(const char *path)
{
	uint32_t hash = 0;

	for (path += strspn(path, "/"); *path && *path != '/'; path++)
		hash = hash * 31 + (unsigned char)*path;
	return 1ull << (hash * 2654435769u >> 26);
}

/*
 * As open_at(), on one mount: then procfs, where an answer may depend on who asks, has no part in it. -EXDEV: the path leaves it; that
 * is remembered, to try in vain less often.
 */
static int open_within_mount(const struct notify *n, const struct walk *walk, const char *path)
{
	const struct walk within = { .base = walk->base, .resolve = walk->resolve | RESOLVE_NO_XDEV };
	uint64_t bit = first_name_bit(path);
	int fd;

	if (n->path_contexts->crossing & bit)
		return -EXDEV;
	fd = open_at(&within, path, walk->flags);
	if (fd == -EXDEV)
		n->path_contexts->crossing |= bit;
	return fd;
}

/* An O_PATH descriptor of what the path leads to, or -errno. Failures are meant for paths that do not start on procfs. */
static int look_up(struct notify *n, const struct walk *walk, const char *path, struct statx *ret_stat)
{
	bool within;
	int r;

	_cleanup_close_ int fd = -1;

	fd = open_within_mount(n, walk, path);
	within = fd != -EXDEV;
	if (!within)
		fd = open_at(walk, path, walk->flags);
	if (fd == -EXDEV && walk->resolve == RESOLVE_BENEATH)
		return -EXDEV;
	if (fd == -EXDEV || fd == -EAGAIN)
		return -ENOTSUP; /* a link of procfs to an open file; a rename at the same time */
	if (fd < 0)
		return !within && failure_is_doubtful(n, walk, path) ? -ENOTSUP : fd;
	r = files_statx(fd, ret_stat);
	if (r < 0)
		return r;
	return info_fs_type(n, fd, makedev(ret_stat->stx_dev_major, ret_stat->stx_dev_minor)) == PROC_SUPER_MAGIC ? -ENOTSUP :
														       take_fd(&fd);
}

/*
 * On procfs only names that mean the same whoever asks are followed: no links at all. 0 or above: found; -ENOTSUP: cannot be told.
 */
static int look_up_on_procfs(const struct notify *n, const struct identity *identity, int base, uint64_t resolve,
			     const char *path, int flags, struct statx *ret_stat)
{
	_cleanup_(disguise_take_off) struct disguise disguise = { 0 };
	struct walk walk = { .base = base, .resolve = resolve | RESOLVE_NO_SYMLINKS };
	_cleanup_close_ int fd = -1;

	if (disguise_put_on(n, &disguise, identity) < 0)
		return -ENOTSUP;
	fd = open_at(&walk, path, flags);
	return fd >= 0 && paths_on_procfs(fd) && files_statx(fd, ret_stat) == 0 ? take_fd(&fd) : -ENOTSUP;
}

/* "/proc/self/x" as the task means it: "/proc/2/x". False when the path is not on procfs at its usual place. */
static bool name_for_others(const struct notify *n, pid_t tid, const char *path, char *buf, size_t size)
{
	static const char place[] = "proc/";
	struct proc_ids ids;
	const char *below;
	int len;

	path = path_behind_root(path);
	if (strcmp(path, "proc") == 0) {
		(void)snprintf(buf, size, "/proc");
		return true;
	}
	if (strncmp(path, place, sizeof(place) - 1) != 0 || procfs_ids(n, tid, n->pid_depth, &ids) < 0)
		return false;
	path += sizeof(place) - 1;
	below = path + strcspn(path, "/");
	if (!*below)
		len = snprintf(buf, size, "/proc/%s", path);
	else if (strncmp(path, "self", (size_t)(below - path)) == 0 && below - path == 4)
		len = snprintf(buf, size, "/proc/%d%s", ids.vpid, below);
	else if (strncmp(path, "thread-self", (size_t)(below - path)) == 0 && below - path == 11)
		len = snprintf(buf, size, "/proc/%d/task/%d%s", ids.vpid, ids.vtid, below);
	else if (strncmp(path, "net", (size_t)(below - path)) == 0 && below - path == 3)
		len = snprintf(buf, size, "/proc/%d/net%s", ids.vpid, below);
	else
		len = snprintf(buf, size, "/proc/%s", path);
	return len > 0 && (size_t)len < size;
}

/* The name of the start of a relative path, as seen from the root, and the path behind it. */
static int name_from_root(const struct notify *n, pid_t tid, int dirfd, const char *path, char *name, size_t size)
{
	char link[64];
	ssize_t len;

	if (dirfd == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "%d/cwd", (int)tid);
	else
		(void)snprintf(link, sizeof(link), "%d/fd/%d", (int)tid, dirfd);
	len = readlinkat(n->proc_fd, link, name, size);
	if (len <= 0 || (size_t)len == size || name[0] != '/')
		return -ENOTSUP;
	name[len] = '\0';
	if (strstr(name, " (deleted)") || strlen(path) >= size - (size_t)len - 1)
		return -ENOTSUP; /* longer than a path may be, which the two of them are not */
	(void)snprintf(name + len, size - (size_t)len, "/%s", path);
	return 0;
}

/* Goes by the task's identity meanwhile. */
static int look_up_as(struct notify *n, const struct identity *identity, const struct walk *walk, const char *path,
		      struct statx *ret_stat)
{
	_cleanup_(disguise_take_off) struct disguise disguise = { 0 };
	int r;

	r = disguise_put_on(n, &disguise, identity);
	return r < 0 ? r : look_up(n, walk, path, ret_stat);
}

/* The current directory; the descriptor stays the context's. */
static int current_directory(struct notify *n, struct path_context *context)
{
	if (context->cwd >= 0 && context->cwd_generation == n->cwd_generation)
		return context->cwd;
	cleanup_close(&context->cwd);
	context->cwd = procfs_open(n, context->tid, "cwd", O_PATH | O_DIRECTORY);
	context->cwd_generation = n->cwd_generation;
	return context->cwd;
}

static int open_relative(struct notify *n, const struct path_context *context, int start, int dirfd, const char *path,
			 const struct walk *from_root, struct statx *ret_stat)
{
	const struct walk walk = { .base = start, .resolve = RESOLVE_BENEATH, .flags = from_root->flags };
	char name[PATH_SIZE];
	int fd, r;

	fd = look_up_as(n, &context->identity, &walk, path, ret_stat);
	if (fd >= 0)
		return fd;
	if (paths_on_procfs(start))
		return look_up_on_procfs(n, &context->identity, start, RESOLVE_BENEATH, path, walk.flags, ret_stat);
	if (fd != -EXDEV)
		return fd;
	/* it leaves the directory it starts from: by the name of that one, then */
	r = name_from_root(n, context->tid, dirfd, path, name, sizeof(name));
	return r < 0 ? r : look_up_as(n, &context->identity, from_root, name, ret_stat);
}

/* A name in a directory, which is no link: one call does. */
static bool is_entry(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int paths_stat_entry(struct notify *n, pid_t tid, int dirfd, const char *name, int flags, struct statx *ret)
{
	_cleanup_(disguise_take_off) struct disguise disguise = { 0 };
	struct path_context *context;
	_cleanup_close_ int borrowed = -1;
	int start;

	if (n->root_fd < 0 || !is_entry(name) || get_context(n, tid, &context) < 0)
		return 0;
	start = dirfd == AT_FDCWD ? current_directory(n, context) : (borrowed = handles_borrow(n, tid, dirfd));
	if (start < 0 || disguise_put_on(n, &disguise, &context->identity) < 0)
		return 0;
	if (statx(start, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC_AS_STAT, FILES_STATX, ret) < 0)
		return errno == ENOENT && !paths_on_procfs(start) ? -ENOENT : 0;
	return (flags & AT_SYMLINK_NOFOLLOW) || !S_ISLNK(ret->stx_mode);
}

static int open_path(struct notify *n, struct path_context *context, int dirfd, const char *path, int flags,
		     struct statx *ret_stat)
{
	struct walk walk = {
		.base = n->root_fd,
		.resolve = RESOLVE_IN_ROOT,
		.flags = flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0,
	};
	_cleanup_close_ int borrowed = -1;
	char name[PATH_SIZE * 2];
	int start, r;

	if (path[0] == '/') {
		r = name_for_others(n, context->tid, path, name, sizeof(name)) ?
			    look_up_on_procfs(n, &context->identity, walk.base, walk.resolve, name, walk.flags, ret_stat) :
			    -ENOTSUP;
		return r == -ENOTSUP ? look_up_as(n, &context->identity, &walk, path, ret_stat) : r;
	}
	start = dirfd == AT_FDCWD ? current_directory(n, context) : (borrowed = handles_borrow(n, context->tid, dirfd));
	return start < 0 ? start : open_relative(n, context, start, dirfd, path, &walk, ret_stat);
}

int paths_open(struct notify *n, pid_t tid, int dirfd, const char *path, int flags, struct statx *ret_stat)
{
	struct path_context *context;
	struct statx unused;
	int r;

	if (n->root_fd < 0)
		return -ENOTSUP;
	r = get_context(n, tid, &context);
	return r < 0 ? r : open_path(n, context, dirfd, path, flags, ret_stat ? ret_stat : &unused);
}

int notify_path_info(struct guest *g, int task, int dirfd, const char *path, int flags, struct fd_info *ret_info)
{
	const struct notify_task *t = notify_find(g, task);
	_cleanup_close_ int fd = -1;

	if (!t)
		return -ESRCH;
	fd = paths_open(notify_of(g), t->tid, dirfd, path, flags, NULL);
	return fd < 0 ? fd : info_of_object(notify_of(g), fd, ret_info);
}
