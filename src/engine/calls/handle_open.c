/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening files. The kernel opens; files that this creates or empties are noted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/fifo.h"
#include "engine/files/paths.h"

static int open_done(struct engine *e, struct task *t, int dirfd, uint64_t path_addr, int flags, struct verdict *v)
{
	struct guest_path path;
	struct file_stat stat;
	int handle, r;

	v->kind = VERDICT_GO;
	if (t->call.result < 0)
		return 0;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.result);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_stat(e->g, handle, &stat);
	e->g->ops->handle_release(e->g, handle);
	if (r < 0)
		return r;
	if (!inode_created(&e->inodes, stat.dev, stat.ino, file_now(e)))
		return -ENOMEM;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return 0;
	r = path_read(e, t, dirfd, path_addr, &path);
	return r < 0 ? 0 : path_parent_changed(e, t, &path);
}

static int open_path(struct engine *e, struct task *t, int dirfd, uint64_t path_addr, int flags, struct verdict *v)
{
	struct guest_path path;
	struct file_stat stat;
	int r;

	if (t->call.done)
		return open_done(e, t, dirfd, path_addr, flags, v);
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return verdict_hook(v);
	r = path_read(e, t, dirfd, path_addr, &path);
	if (r < 0)
		return r == -EFAULT || r == -ENAMETOOLONG ? verdict_continue(v) : r;
	r = path_stat(e, t, &path, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, &stat);
	if (r == -ENOENT && flags & O_CREAT)
		return verdict_hook(v);
	if (r == -ENOMEM)
		return r;
	if (r == 0 && S_ISFIFO(stat.mode))
		return fifo_open(e, t, &path, &stat, flags, v);
	if (r == 0 && flags & O_TRUNC && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_EXCL)) {
		r = file_changed(e, stat.dev, stat.ino);
		if (r < 0)
			return r;
	}
	return verdict_continue(v);
}

int handle_fs_open(struct engine *e, struct task *t, struct verdict *v)
{
	return open_path(e, t, AT_FDCWD, t->call.args[0], (int)t->call.args[1], v);
}

int handle_fs_creat(struct engine *e, struct task *t, struct verdict *v)
{
	return open_path(e, t, AT_FDCWD, t->call.args[0], O_CREAT | O_WRONLY | O_TRUNC, v);
}

int handle_fs_openat(struct engine *e, struct task *t, struct verdict *v)
{
	return open_path(e, t, (int)t->call.args[0], t->call.args[1], (int)t->call.args[2], v);
}

int handle_fs_openat2(struct engine *e, struct task *t, struct verdict *v)
{
	struct open_how how;
	int r;

	r = guest_read(e, t, t->call.args[2], &how, sizeof(how));
	if (r < 0)
		return r == -EFAULT ? verdict_continue(v) : r;
	return open_path(e, t, (int)t->call.args[0], t->call.args[1], (int)how.flags, v);
}
