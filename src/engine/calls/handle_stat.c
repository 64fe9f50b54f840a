/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stat family. The stat is taken from outside and written to the guest as it is to be seen; where the outside cannot resolve the path as the
 * task would, the kernel fills the guest's buffer and it is rewritten there. Errors are the kernel's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/paths.h"

/* struct stat of the x86-64 kernel (asm/stat.h), written out: libc's may differ one day. */
struct kernel_stat {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rdev;
	int64_t size, blksize, blocks;
	struct timespec atime, mtime, ctime;
	int64_t unused[3];
};
_Static_assert(sizeof(struct kernel_stat) == 144, "struct stat of x86-64");

static struct kernel_stat to_kernel_stat(const struct file_stat *s)
{
	return (struct kernel_stat){
		.dev = s->dev,
		.ino = s->ino,
		.nlink = s->nlink,
		.mode = s->mode,
		.uid = s->uid,
		.gid = s->gid,
		.rdev = s->rdev,
		.size = (int64_t)s->size,
		.blksize = s->blksize,
		.blocks = (int64_t)s->blocks,
		.atime = s->atime,
		.mtime = s->mtime,
		.ctime = s->ctime,
	};
}

static struct file_stat from_kernel_stat(const struct kernel_stat *k)
{
	return (struct file_stat){
		.dev = k->dev,
		.ino = k->ino,
		.nlink = (uint32_t)k->nlink,
		.mode = k->mode,
		.uid = k->uid,
		.gid = k->gid,
		.rdev = k->rdev,
		.size = (uint64_t)k->size,
		.atime = k->atime,
		.mtime = k->mtime,
		.ctime = k->ctime,
	};
}

static struct statx_timestamp to_statx_time(struct timespec t)
{
	return (struct statx_timestamp){ .tv_sec = t.tv_sec, .tv_nsec = (uint32_t)t.tv_nsec };
}

static struct timespec from_statx_time(struct statx_timestamp t)
{
	return (struct timespec){ .tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec };
}

static struct statx to_statx(const struct file_stat *s)
{
	return (struct statx){
		.stx_mask = STATX_BASIC_STATS | STATX_BTIME,
		.stx_blksize = s->blksize,
		.stx_nlink = s->nlink,
		.stx_uid = s->uid,
		.stx_gid = s->gid,
		.stx_mode = (uint16_t)s->mode,
		.stx_ino = s->ino,
		.stx_size = s->size,
		.stx_blocks = s->blocks,
		.stx_atime = to_statx_time(s->atime),
		.stx_btime = to_statx_time(s->btime),
		.stx_ctime = to_statx_time(s->ctime),
		.stx_mtime = to_statx_time(s->mtime),
		.stx_rdev_major = major(s->rdev),
		.stx_rdev_minor = minor(s->rdev),
		.stx_dev_major = major(s->dev),
		.stx_dev_minor = minor(s->dev),
	};
}

static struct file_stat from_statx(const struct statx *x)
{
	return (struct file_stat){
		.mode = x->stx_mode,
		.nlink = x->stx_nlink,
		.uid = x->stx_uid,
		.gid = x->stx_gid,
		.dev = makedev(x->stx_dev_major, x->stx_dev_minor),
		.ino = x->stx_ino,
		.rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
		.size = x->stx_size,
		.atime = from_statx_time(x->stx_atime),
		.btime = from_statx_time(x->stx_btime),
		.ctime = from_statx_time(x->stx_ctime),
		.mtime = from_statx_time(x->stx_mtime),
	};
}

static int present(struct engine *e, struct file_stat *stat)
{
	struct inode *inode;

	inode = inode_get(&e->inodes, stat->dev, stat->ino);
	if (!inode)
		return -ENOMEM;
	inode_present(&e->inodes, inode, stat);
	return 0;
}

static int write_stat(struct engine *e, struct task *t, uint64_t addr, struct file_stat *stat, bool extended)
{
	struct kernel_stat plain;
	struct statx x;
	int r;

	r = present(e, stat);
	if (r < 0)
		return r;
	if (extended) {
		x = to_statx(stat);
		return guest_write(e, t, addr, &x, sizeof(x));
	}
	plain = to_kernel_stat(stat);
	return guest_write(e, t, addr, &plain, sizeof(plain));
}

/* The call has run in the kernel: rewrite what it wrote. */
static int stat_done(struct engine *e, struct task *t, uint64_t addr, bool extended, struct verdict *v)
{
	struct kernel_stat plain;
	struct file_stat stat;
	struct statx x;
	int r;

	v->kind = VERDICT_GO;
	if (t->call.result != 0)
		return 0;
	r = extended ? guest_read(e, t, addr, &x, sizeof(x)) : guest_read(e, t, addr, &plain, sizeof(plain));
	if (r >= 0) {
		stat = extended ? from_statx(&x) : from_kernel_stat(&plain);
		stat.synthetic = stat.dev == e->g->identities.proc_dev;
		r = write_stat(e, t, addr, &stat, extended);
	}
	return r == -EFAULT ? 0 : r;
}

/* `stat` was asked of the outside with result r. */
static int stat_answer(struct engine *e, struct task *t, int r, struct file_stat *stat, uint64_t addr, bool extended,
		       struct verdict *v)
{
	if (r == -ENOTSUP)
		return verdict_hook(v);
	if (r < 0)
		return r == -ENOMEM ? r : verdict_continue(v); /* the kernel says the same */
	r = write_stat(e, t, addr, stat, extended);
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

enum { STAT_FLAGS = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE };

static int stat_path(struct engine *e, struct task *t, int dirfd, uint64_t path_addr, int flags, uint64_t addr,
		     bool extended, struct verdict *v)
{
	struct guest_path path = { .dirfd = dirfd };
	struct file_stat stat;
	int r;

	if (t->call.done)
		return stat_done(e, t, addr, extended, v);
	if (flags & ~STAT_FLAGS)
		return verdict_errno(v, EINVAL);
	r = path_addr || !(flags & AT_EMPTY_PATH) ? path_read(e, t, dirfd, path_addr, &path) : 0;
	if (r == -EFAULT || r == -ENAMETOOLONG)
		return verdict_continue(v);
	if (r < 0)
		return r;
	r = path_stat(e, t, &path, flags, &stat);
	return stat_answer(e, t, r, &stat, addr, extended, v);
}

int handle_fs_stat(struct engine *e, struct task *t, struct verdict *v)
{
	return stat_path(e, t, AT_FDCWD, t->call.args[0], 0, t->call.args[1], false, v);
}

int handle_fs_lstat(struct engine *e, struct task *t, struct verdict *v)
{
	return stat_path(e, t, AT_FDCWD, t->call.args[0], AT_SYMLINK_NOFOLLOW, t->call.args[1], false, v);
}

int handle_fs_fstat(struct engine *e, struct task *t, struct verdict *v)
{
	struct file_stat stat;
	int handle, r;

	if (t->call.done)
		return stat_done(e, t, t->call.args[1], false, v);
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	r = e->g->ops->handle_stat(e->g, handle, &stat);
	e->g->ops->handle_release(e->g, handle);
	return stat_answer(e, t, r, &stat, t->call.args[1], false, v);
}

int handle_fs_newfstatat(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;

	return stat_path(e, t, (int)a[0], a[1], (int)a[3], a[2], false, v);
}

int handle_fs_statx(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;

	if (a[3] & STATX__RESERVED || (a[2] & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE)
		return verdict_errno(v, EINVAL);
	return stat_path(e, t, (int)a[0], a[1], (int)a[2], a[4], true, v);
}

/* File systems that programs know by their type keep it; what disk the host has is its own affair. */
static int64_t shown_type(int64_t type)
{
	static const int64_t kept[] = { 0x9fa0 /* proc */, 0x62656572 /* sysfs */, 0x01021994 /* tmpfs */,
					0x1cd1 /* devpts */, 0x27e0eb /* cgroup */, 0x63677270 /* cgroup2 */,
					0x19800202 /* mqueue */, 0x50495045 /* pipefs */, 0x534f434b /* sockfs */ };
	enum { EXT4 = 0xef53 };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (kept[i] == type)
			return type;
	return EXT4;
}

static int statfs_done(struct engine *e, struct task *t, struct verdict *v)
{
	struct statfs fs;
	int r;

	v->kind = VERDICT_GO;
	if (t->call.result != 0)
		return 0;
	r = guest_read(e, t, t->call.args[1], &fs, sizeof(fs));
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	fs = (struct statfs){
		.f_type = shown_type(fs.f_type),
		.f_bsize = 4096,
		.f_frsize = 4096,
		.f_blocks = 4000000,
		.f_bfree = 2000000,
		.f_bavail = 2000000,
		.f_files = 1000000,
		.f_ffree = 500000,
		.f_namelen = 255,
		.f_flags = fs.f_flags & (1 /* ST_RDONLY */ | 0x20 /* ST_VALID */),
	};
	r = guest_write(e, t, t->call.args[1], &fs, sizeof(fs));
	return r == -EFAULT ? 0 : r;
}

int handle_fs_statfs(struct engine *e, struct task *t, struct verdict *v)
{
	return t->call.done ? statfs_done(e, t, v) : verdict_hook(v);
}

int handle_fs_fstatfs(struct engine *e, struct task *t, struct verdict *v)
{
	return t->call.done ? statfs_done(e, t, v) : verdict_hook(v);
}
