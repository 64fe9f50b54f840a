/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths of guests and changes of files: see paths.h. */
#include "engine/files/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "engine/engine_internal.h"

int path_read(struct engine *e, struct task *t, int dirfd, uint64_t addr, struct guest_path *ret)
{
	ssize_t n;

	ret->dirfd = dirfd;
	if (e->path_memo.valid && e->path_memo.task == t->id && e->path_memo.addr == addr) {
		memcpy(ret->text, e->path_memo.text, e->path_memo.size);
		return 0;
	}
	ret->text[0] = '\0';
	n = e->g->ops->read_string(e->g, t->id, addr, ret->text, sizeof(ret->text));
	if (n < 0)
		return (int)n;
	e->path_memo.valid = e->considers;
	e->path_memo.task = t->id;
	e->path_memo.addr = addr;
	e->path_memo.size = strlen(ret->text) + 1;
	memcpy(e->path_memo.text, ret->text, e->path_memo.size);
	return 0;
}

int path_stat(struct engine *e, struct task *t, const struct guest_path *path, int flags, struct file_stat *ret)
{
	return e->g->ops->path_stat(e->g, t->id, path->dirfd, path->text, flags, ret);
}

struct timespec file_now(struct engine *e)
{
	uint64_t ns = 0;

	(void)clock_value(&e->clock, CLOCK_REALTIME, &ns);
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
}

static int set_times(struct engine *e, uint64_t dev, uint64_t ino, unsigned which)
{
	struct inode *inode;

	inode = inode_get(&e->inodes, dev, ino);
	if (!inode)
		return -ENOMEM;
	inode_set_times(inode, which, file_now(e));
	return 0;
}

int file_changed(struct engine *e, uint64_t dev, uint64_t ino)
{
	return set_times(e, dev, ino, INODE_MTIME | INODE_CTIME);
}

int file_status_changed(struct engine *e, uint64_t dev, uint64_t ino)
{
	return set_times(e, dev, ino, INODE_CTIME);
}

/* The path without its last component: "." when it has only one. */
static void parent_of(const struct guest_path *path, struct guest_path *ret)
{
	size_t n = strlen(path->text);

	ret->dirfd = path->dirfd;
	while (n > 1 && path->text[n - 1] == '/')
		n--;
	while (n > 0 && path->text[n - 1] != '/')
		n--;
	while (n > 1 && path->text[n - 1] == '/')
		n--;
	if (n == 0) {
		memcpy(ret->text, ".", 2);
		return;
	}
	memcpy(ret->text, path->text, n);
	ret->text[n] = '\0';
}

int path_parent_changed(struct engine *e, struct task *t, const struct guest_path *path)
{
	struct guest_path parent;
	struct file_stat stat;
	int r;

	parent_of(path, &parent);
	r = path_stat(e, t, &parent, 0, &stat);
	return r < 0 ? (r == -ENOMEM ? r : 0) : file_changed(e, stat.dev, stat.ino);
}

int path_created(struct engine *e, struct task *t, const struct guest_path *path)
{
	struct file_stat stat;
	int r;

	r = path_stat(e, t, path, AT_SYMLINK_NOFOLLOW, &stat);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (!inode_created(&e->inodes, stat.dev, stat.ino, file_now(e)))
		return -ENOMEM;
	return path_parent_changed(e, t, path);
}
