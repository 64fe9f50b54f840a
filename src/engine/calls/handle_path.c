/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that change the file tree or a file's attributes. The kernel does it; when it has succeeded, the objects that changed are given
 * their virtual times, and new objects their numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <utime.h>

#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handlers.h"
#include "engine/files/paths.h"
#include "engine/policy/flags.h"
#include "engine/proc/procfs.h"

enum effect { EFFECT_STATUS = 0, EFFECT_RIGHTS, EFFECT_DATA, EFFECT_CREATE, EFFECT_REMOVE, EFFECT_RENAME, EFFECT_LINK };

/* By name, because the table of calls holds the numbers. What is not listed changes the status only. */
static const struct {
	const char *name;
	enum effect effect;
	bool nofollow;
} effects[] = {
	{ "truncate", EFFECT_DATA, false },	{ "ftruncate", EFFECT_DATA, false }, { "fallocate", EFFECT_DATA, false },
	{ "mkdir", EFFECT_CREATE, true },	{ "mkdirat", EFFECT_CREATE, true },  { "mknod", EFFECT_CREATE, true },
	{ "mknodat", EFFECT_CREATE, true },	{ "symlink", EFFECT_CREATE, true },  { "symlinkat", EFFECT_CREATE, true },
	{ "unlink", EFFECT_REMOVE, true },	{ "unlinkat", EFFECT_REMOVE, true }, { "rmdir", EFFECT_REMOVE, true },
	{ "rename", EFFECT_RENAME, true },	{ "renameat", EFFECT_RENAME, true }, { "renameat2", EFFECT_RENAME, true },
	{ "link", EFFECT_LINK, true },		{ "linkat", EFFECT_LINK, true },     { "lchown", EFFECT_RIGHTS, true },
	{ "chmod", EFFECT_RIGHTS, false },	{ "fchmod", EFFECT_RIGHTS, false },  { "fchmodat", EFFECT_RIGHTS, false },
	{ "fchmodat2", EFFECT_RIGHTS, false },	{ "chown", EFFECT_RIGHTS, false },   { "fchown", EFFECT_RIGHTS, false },
	{ "fchownat", EFFECT_RIGHTS, false },
	{ "lsetxattr", EFFECT_STATUS, true },	{ "lremovexattr", EFFECT_STATUS, true },
};

static enum effect effect_of(const struct task *t, bool *ret_nofollow)
{
	*ret_nofollow = false;
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		if (strcmp(effects[i].name, t->call.row->name))
			continue;
		*ret_nofollow = effects[i].nofollow;
		return effects[i].effect;
	}
	return EFFECT_STATUS;
}

/* The nth path argument of the call (0, 1), by the kinds of the policy row. 1: it has none; or -errno. */
static int path_argument(struct engine *e, struct task *t, int n, struct guest_path *ret)
{
	const struct policy_row *row = t->call.row;
	int dirfd = AT_FDCWD;

	for (int i = 0; i < row->nargs; i++) {
		if (row->args[i].kind == ARG_DIRFD)
			dirfd = (int)t->call.args[i];
		if (row->args[i].kind != ARG_PATH)
			continue;
		if (n-- == 0)
			return path_read(e, t, dirfd, t->call.args[i], ret);
		dirfd = AT_FDCWD;
	}
	return 1;
}

/* How the call finds what it changes: flags for path_stat(). */
static int lookup_flags(const struct task *t, bool nofollow)
{
	const struct policy_row *row = t->call.row;
	uint64_t given = 0;

	for (int i = 0; i < row->nargs; i++)
		if (row->args[i].kind == ARG_FLAGS && row->args[i].len == FLAG_SET_AT)
			given = t->call.args[i];
	nofollow = nofollow ? !(given & AT_SYMLINK_FOLLOW) : given & AT_SYMLINK_NOFOLLOW;
	return (nofollow ? AT_SYMLINK_NOFOLLOW : 0) | (int)(given & AT_EMPTY_PATH);
}

/* Modes and owners on procfs are the host's, for all of its containers: only power over that may change them, which nobody has here. 1, 0, -errno. */
static int are_rights_of_host(struct engine *e, struct task *t, const struct guest_path *path, int flags)
{
	struct fd_info info;
	int r;

	if (!e->g->ops->path_info)
		return 0;
	r = e->g->ops->path_info(e->g, t->id, path->dirfd, path->text, flags, &info);
	if (r == -ENOTSUP) /* by way of procfs's own links, to anywhere */
		return procfs_is_common(e, t, path, flags);
	return r == 0 ? info.kind == FD_PROC : r == -ENOMEM ? r : 0;
}

/* Notes what the call is about to change, while its old name still leads to it. */
static int mutation_prepare(struct engine *e, struct task *t, struct verdict *v)
{
	struct guest_path path;
	struct file_stat stat;
	enum effect effect;
	bool nofollow;
	int r, flags;

	effect = effect_of(t, &nofollow);
	flags = lookup_flags(t, nofollow);
	r = path_argument(e, t, 0, &path);
	if (r < 0)
		return r == -EFAULT || r == -ENAMETOOLONG ? verdict_continue(v) : r;
	if (effect == EFFECT_RIGHTS) {
		r = are_rights_of_host(e, t, &path, flags);
		if (r)
			return r < 0 ? r : verdict_errno(v, EPERM);
	}
	r = path_stat(e, t, &path, flags, &stat);
	if (r == -ENOMEM)
		return r;
	if (r == 0) {
		t->call.scratch[0] = 1;
		t->call.scratch[1] = stat.dev;
		t->call.scratch[2] = stat.ino;
	}
	return verdict_hook(v);
}

static int mutation_done(struct engine *e, struct task *t)
{
	struct guest_path path, second;
	enum effect effect;
	bool nofollow, known = t->call.scratch[0];
	uint64_t dev = t->call.scratch[1], ino = t->call.scratch[2];
	int r;

	effect = effect_of(t, &nofollow);
	r = path_argument(e, t, 0, &path);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	if (effect == EFFECT_CREATE)
		return path_created(e, t, &path);
	r = !known ? 0 : effect == EFFECT_DATA ? file_changed(e, dev, ino) : file_status_changed(e, dev, ino);
	if (r >= 0 && (effect == EFFECT_REMOVE || effect == EFFECT_RENAME))
		r = path_parent_changed(e, t, &path);
	if (r < 0 || (effect != EFFECT_RENAME && effect != EFFECT_LINK))
		return r;
	r = path_argument(e, t, 1, &second);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	return path_parent_changed(e, t, &second);
}

int handle_fs_path_mutation(struct engine *e, struct task *t, struct verdict *v)
{
	if (!t->call.done)
		return mutation_prepare(e, t, v);
	v->kind = VERDICT_GO;
	return t->call.result == 0 ? mutation_done(e, t) : 0;
}

/* By descriptor: what it is does not change, so no second look is needed. */
int handle_fs_fd_mutation(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	enum effect effect;
	bool nofollow;
	int r;

	effect = effect_of(t, &nofollow);
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	if (effect == EFFECT_RIGHTS && info->kind == FD_PROC)
		return verdict_errno(v, EPERM);
	r = effect == EFFECT_DATA ? file_changed(e, info->dev, info->ino)
						   : file_status_changed(e, info->dev, info->ino);
	return r < 0 ? r : verdict_continue(v);
}

/* A pair of times as utimensat(2) has them, given to an object. */
static int apply_times(struct engine *e, uint64_t dev, uint64_t ino, const struct timespec times[2])
{
	static const unsigned which[2] = { INODE_ATIME, INODE_MTIME };
	struct inode *inode;

	inode = inode_get(&e->inodes, dev, ino);
	if (!inode)
		return -ENOMEM;
	for (int i = 0; i < 2; i++)
		if (times[i].tv_nsec != UTIME_OMIT)
			inode_set_times(inode, which[i], times[i].tv_nsec == UTIME_NOW ? file_now(e) : times[i]);
	inode_set_times(inode, INODE_CTIME, file_now(e));
	return 0;
}

static int utime_common(struct engine *e, struct task *t, int dirfd, uint64_t path_addr, int flags,
			const struct timespec times[2], struct verdict *v)
{
	struct guest_path path = { .dirfd = dirfd };
	struct file_stat stat;
	int r;

	if (!t->call.done)
		return verdict_hook(v);
	v->kind = VERDICT_GO;
	if (t->call.result != 0)
		return 0;
	r = path_addr ? path_read(e, t, dirfd, path_addr, &path) : 0;
	if (r >= 0)
		r = path_stat(e, t, &path, path_addr ? flags : flags | AT_EMPTY_PATH, &stat);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return apply_times(e, stat.dev, stat.ino, times);
}

/* Reads n bytes of times; a null pointer means now. */
static int times_argument(struct engine *e, struct task *t, uint64_t addr, void *buf, size_t n, struct timespec times[2])
{
	times[0] = times[1] = (struct timespec){ .tv_nsec = UTIME_NOW };
	return addr ? guest_read(e, t, addr, buf, n) : 1;
}

int handle_fs_utimensat(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct timespec times[2], given[2];
	int r;

	r = times_argument(e, t, a[2], given, sizeof(given), times);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (r == 0)
		memcpy(times, given, sizeof(times));
	return utime_common(e, t, (int)a[0], a[1], (int)a[3], times, v);
}

static int utimes_common(struct engine *e, struct task *t, int dirfd, uint64_t path, uint64_t addr, struct verdict *v)
{
	struct timespec times[2];
	struct timeval given[2];
	int r;

	r = times_argument(e, t, addr, given, sizeof(given), times);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	for (int i = 0; r == 0 && i < 2; i++)
		times[i] = (struct timespec){ given[i].tv_sec, given[i].tv_usec * 1000 };
	return utime_common(e, t, dirfd, path, 0, times, v);
}

int handle_fs_utimes(struct engine *e, struct task *t, struct verdict *v)
{
	return utimes_common(e, t, AT_FDCWD, t->call.args[0], t->call.args[1], v);
}

int handle_fs_futimesat(struct engine *e, struct task *t, struct verdict *v)
{
	return utimes_common(e, t, (int)t->call.args[0], t->call.args[1], t->call.args[2], v);
}

int handle_fs_utime(struct engine *e, struct task *t, struct verdict *v)
{
	struct timespec times[2];
	struct utimbuf given;
	int r;

	r = times_argument(e, t, t->call.args[1], &given, sizeof(given), times);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (r == 0) {
		times[0] = (struct timespec){ .tv_sec = given.actime };
		times[1] = (struct timespec){ .tv_sec = given.modtime };
	}
	return utime_common(e, t, AT_FDCWD, t->call.args[0], 0, times, v);
}
