/* SPDX-License-Identifier: BSD-3-Clause */
/* readlink(2): links of procfs to open files and namespaces name inode numbers; those are ours. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/paths.h"
#include "engine/proc/procfs.h"

/* Links elsewhere cannot name an inode. */
static bool may_lead_to_procfs(const struct guest_path *path)
{
	return path->text[0] != '/' || strstr(path->text, "/proc") || strstr(path->text, "/fd/");
}

/* Process 1 may be the supervisor's, which is none of the guest's business. */
static bool is_foreign_init(struct engine *e, const struct guest_path *path)
{
	return !e->init_is_guest && !strncmp(path->text, "/proc/1/", 8) && strncmp(path->text, "/proc/1/ns/", 11) != 0;
}

static int link_done(struct engine *e, struct task *t, uint64_t addr, uint64_t size, struct verdict *v)
{
	char target[PATH_MAX];
	int64_t n = t->call.result;
	int r;

	v->kind = VERDICT_GO;
	if (n <= 0 || (uint64_t)n >= sizeof(target))
		return 0;
	r = guest_read(e, t, addr, target, (size_t)n);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	target[n] = '\0';
	r = procfs_link(e, target, sizeof(target));
	if (r <= 0)
		return r;
	v->value = (int64_t)(strlen(target) < size ? strlen(target) : size);
	v->set_result = true;
	r = guest_write(e, t, addr, target, (size_t)v->value);
	return r == -EFAULT ? 0 : r;
}

static int link_of(struct engine *e, struct task *t, int dirfd, const uint64_t *a, struct verdict *v)
{
	struct guest_path path;
	int r;

	if (t->call.done)
		return link_done(e, t, a[1], (uint32_t)a[2], v);
	r = path_read(e, t, dirfd, a[0], &path);
	if (r < 0)
		return r == -EFAULT || r == -ENAMETOOLONG ? verdict_continue(v) : r;
	if (is_foreign_init(e, &path))
		return verdict_errno(v, EACCES);
	return may_lead_to_procfs(&path) ? verdict_hook(v) : verdict_continue(v);
}

int handle_fs_readlink(struct engine *e, struct task *t, struct verdict *v)
{
	if (t->call.row->nargs == 3)
		return link_of(e, t, AT_FDCWD, t->call.args, v);
	return link_of(e, t, (int)t->call.args[0], t->call.args + 1, v);
}
