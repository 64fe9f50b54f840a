/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading directories: see directory.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/files/directory.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handlers.h"
#include "engine/proc/procfs.h"

enum { CHUNK = 65536, HEADER64 = 19, HEADER = 18 };

static bool is_procfs(const struct fd_info *info)
{
	return info->kind == FD_PROC || info->kind == FD_SYS;
}

/* A directory of procfs shows what is the guest's only. */
static int arrange(struct engine *e, struct task *t, int handle, struct dir_entry *entries, size_t *n)
{
	char name[PATH_MAX] = "";
	int r;

	if (e->g->ops->handle_object) {
		r = e->g->ops->handle_object(e->g, t->id, handle, name, sizeof(name));
		if (r < 0 && r != -ENOTSUP)
			return r;
	}
	return procfs_arrange(e, name, entries, n);
}

/* The listing to go through from `position`; taken anew at the start of the directory. */
static int listing_for(struct engine *e, struct task *t, int fd, int handle, const struct fd_info *info,
		       uint64_t position, struct dir_listing **ret)
{
	struct dir_listing *listing;
	struct dir_entry *entries;
	size_t n;
	int r;

	*ret = position ? fdtable_listing(t->fds, fd) : NULL;
	if (*ret)
		return 0;
	r = e->g->ops->handle_list(e->g, handle, &entries, &n);
	if (r < 0)
		return r;
	if (is_procfs(info)) {
		r = arrange(e, t, handle, entries, &n);
		if (r < 0) {
			free(entries);
			return r;
		}
		listing = dir_listing_arranged(entries, n);
	} else {
		listing = dir_listing_new(entries, n);
	}
	if (!listing)
		return -ENOMEM;
	*ret = listing;
	return fdtable_set_listing(t->fds, fd, listing);
}

/* One record of getdents64(2) or getdents(2); its length. */
static size_t put_record(unsigned char *out, const struct dir_entry *entry, uint64_t number, uint64_t next, bool wide)
{
	size_t header = wide ? HEADER64 : HEADER, name = strlen(entry->name) + 1;
	size_t length = (header + name + (wide ? 0 : 1) + 7) / 8 * 8;
	uint16_t reclen = (uint16_t)length;

	memset(out, 0, length);
	memcpy(out, &number, 8);
	memcpy(out + 8, &next, 8);
	memcpy(out + 16, &reclen, 2);
	if (wide)
		out[18] = entry->type;
	else
		out[length - 1] = entry->type;
	memcpy(out + header, entry->name, name);
	return length;
}

static size_t record_length(const struct dir_entry *entry, bool wide)
{
	return ((wide ? HEADER64 : HEADER) + strlen(entry->name) + 1 + (wide ? 0 : 1) + 7) / 8 * 8;
}

/* Fills buf from *position on; moves it. The bytes used, or -EINVAL when not even one record fits. */
static int64_t fill(struct engine *e, const struct dir_listing *listing, uint64_t dev, bool wide, unsigned char *buf,
		    size_t size, uint64_t *position)
{
	const struct dir_entry *entry;
	struct inode *inode;
	size_t used = 0;

	while ((entry = dir_listing_at(listing, *position))) {
		if (used + record_length(entry, wide) > size)
			return used ? (int64_t)used : -EINVAL;
		inode = inode_get(&e->inodes, dev, entry->ino);
		if (!inode)
			return -ENOMEM;
		++*position;
		used += put_record(buf + used, entry, inode_number(inode), *position, wide);
	}
	return (int64_t)used;
}

static int read_directory(struct engine *e, struct task *t, int handle, bool wide, struct verdict *v)
{
	size_t size = t->call.args[2] < CHUNK ? (size_t)(uint32_t)t->call.args[2] : CHUNK;
	_cleanup_free_ unsigned char *buf = NULL;
	struct dir_listing *listing;
	const struct fd_info *info;
	int fd = (int)t->call.args[0], r;
	int64_t at, used;
	uint64_t position;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	if (!S_ISDIR(info->mode) || info->kind == FD_PATH)
		return verdict_continue(v); /* ENOTDIR, EBADF */
	at = e->g->ops->handle_seek(e->g, handle, 0, SEEK_CUR);
	if (at < 0)
		return verdict_continue(v);
	position = (uint64_t)at;
	r = listing_for(e, t, fd, handle, info, position, &listing);
	if (r < 0)
		return r == -ENOMEM ? r : verdict_errno(v, -r);
	buf = malloc(CHUNK);
	if (!buf)
		return -ENOMEM;
	used = fill(e, listing, info->dev, wide, buf, size, &position);
	if (used < 0)
		return used == -ENOMEM ? -ENOMEM : verdict_return(v, used);
	r = guest_write(e, t, t->call.args[1], buf, (size_t)used);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	(void)e->g->ops->handle_seek(e->g, handle, (int64_t)position, SEEK_SET);
	return verdict_return(v, used);
}

static int getdents(struct engine *e, struct task *t, bool wide, struct verdict *v)
{
	int handle, r;

	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	r = read_directory(e, t, handle, wide, v);
	e->g->ops->handle_release(e->g, handle);
	return r;
}

int handle_fs_getdents64(struct engine *e, struct task *t, struct verdict *v)
{
	return getdents(e, t, true, v);
}

int handle_fs_getdents(struct engine *e, struct task *t, struct verdict *v)
{
	return getdents(e, t, false, v);
}
