/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lseek(2). Where a file has holes is the file system's choice: here no file has any, as file systems say that do not know (the least that the
 * manual page allows). Directories have the positions of their snapshots (directory.h), which have no end to count from. Files of
 * procfs that nobody may read have one position only (procfs.h).
 */
#include <errno.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handlers.h"
#include "engine/proc/procfs.h"

static int seek_data(struct engine *e, struct task *t, bool hole, struct verdict *v)
{
	int64_t offset = (int64_t)t->call.args[1], at;
	struct file_stat stat;
	int handle, r;

	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	r = e->g->ops->handle_stat(e->g, handle, &stat);
	if (r < 0) {
		e->g->ops->handle_release(e->g, handle);
		return r;
	}
	at = -ENXIO;
	if (offset >= 0 && (uint64_t)offset < stat.size)
		at = e->g->ops->handle_seek(e->g, handle, hole ? (int64_t)stat.size : offset, SEEK_SET);
	e->g->ops->handle_release(e->g, handle);
	return verdict_return(v, at);
}

int handle_io_lseek(struct engine *e, struct task *t, struct verdict *v)
{
	int whence = (int)t->call.args[2], r;
	bool holes = whence == SEEK_DATA || whence == SEEK_HOLE;
	const struct fd_info *info;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	if (whence == SEEK_SET || whence == SEEK_CUR)
		return procfs_serves(info) ? procfs_seek_file(e, t, (int)t->call.args[0], (int64_t)t->call.args[1], v) :
					     verdict_continue(v);
	if (!holes && whence != SEEK_END)
		return verdict_continue(v);
	if (info->kind == FD_DIR)
		return verdict_errno(v, EINVAL);
	return holes && info->kind == FD_FILE ? seek_data(e, t, whence == SEEK_HOLE, v) : verdict_continue(v);
}
