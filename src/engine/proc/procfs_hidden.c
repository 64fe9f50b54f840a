/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of /proc that are not there: see procfs.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/files/paths.h"
#include "engine/proc/procfs.h"
#include "engine/verdict.h"

/* Puts an entry's name behind the directory's: of links that everybody has, where they lead. False: no room, or nothing to go by. */
static bool enter(const struct task *t, char *directory, size_t size, const char *entry)
{
	size_t len = strlen(directory);
	char own[64];

	if (!strcmp(directory, "/proc") && !strcmp(entry, "self")) {
		(void)snprintf(own, sizeof(own), "%d", t->process->vpid);
		entry = own;
	} else if (!strcmp(directory, "/proc") && !strcmp(entry, "thread-self")) {
		(void)snprintf(own, sizeof(own), "%d/task/%d", t->process->vpid, t->vtid);
		entry = own;
	}
	return snprintf(directory + len, size - len, "/%s", entry) < (int)(size - len);
}

/* Goes up from a directory that surely is no link to somewhere else. False: not known where that leads. */
static bool leave(char *directory)
{
	static const char *const links[] = { "cwd", "root", "exe", "net", "mounts" }, *const of_links[] = { "/fd", "/ns", "/map_files" };
	char *last = strrchr(directory, '/');

	if (!last || last == directory) /* out of /proc */
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (!strcmp(last + 1, links[i]))
			return false;
	*last = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(of_links); i++) {
		const char *parent = strrchr(directory, '/');

		if (parent && !strcmp(parent, of_links[i]))
			return false;
	}
	return true;
}

/* Processes and threads come and go, and the kernel knows which there are. */
static bool is_number(const char *entry)
{
	uint64_t number;

	return piece_number(piece_of(entry), 10, &number);
}

size_t procfs_hidden(struct engine *e, const struct task *t, const char *directory, const char *path)
{
	char at[PATH_MAX], entry[NAME_MAX + 1];
	const char *p = path;
	size_t n;

	if (snprintf(at, sizeof(at), "%s", directory) >= (int)sizeof(at))
		return 0;
	for (;; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (!n || n > NAME_MAX)
			return 0;
		memcpy(entry, p, n);
		entry[n] = '\0';
		if (!strcmp(entry, "."))
			continue;
		if (!strcmp(entry, "..") && !leave(at))
			return 0;
		if (!strcmp(entry, ".."))
			continue;
		if (!is_number(entry) && !procfs_lists(e, at, entry))
			return (size_t)(p - path) + n;
		if (!enter(t, at, sizeof(at), entry))
			return 0;
	}
}

/* Where the path starts, if that is in procfs: the directory's name, and the rest of the path. */
static bool starts_in_procfs(struct engine *e, struct task *t, const struct guest_path *path, char directory[PATH_MAX], const char **ret_rest)
{
	static const char proc[] = "/proc";
	const char *name = path_behind_root(path->text);
	const struct fd_info *info;
	int handle, r;

	*ret_rest = path->text;
	if (path->text[0] == '/') {
		if (strncmp(name, "proc/", sizeof(proc) - 1) != 0)
			return false;
		memcpy(directory, proc, sizeof(proc));
		*ret_rest = name + sizeof(proc) - 1;
		return true;
	}
	if (path->dirfd == AT_FDCWD || fdtable_info(e, t, path->dirfd, &info) < 0 || info->kind != FD_PROC || !e->g->ops->handle_object)
		return false;
	handle = e->g->ops->fd_borrow(e->g, t->id, path->dirfd);
	if (handle < 0)
		return false;
	r = e->g->ops->handle_object(e->g, t->id, handle, directory, PATH_MAX);
	e->g->ops->handle_release(e->g, handle);
	return r >= 0;
}

/* Does the name that is not listed lead to something in procfs? Beside it anything may be mounted, or another root may be the task's. 1, 0, -errno. */
static int hides(struct engine *e, struct task *t, struct guest_path *path)
{
	char directory[PATH_MAX];
	struct fd_info info;
	const char *rest;
	size_t n;
	int r;

	if (!starts_in_procfs(e, t, path, directory, &rest))
		return 0;
	n = procfs_hidden(e, t, directory, rest);
	if (!n)
		return 0;
	path->text[(size_t)(rest - path->text) + n] = '\0';
	r = e->g->ops->path_info ? e->g->ops->path_info(e->g, t->id, path->dirfd, path->text, AT_SYMLINK_NOFOLLOW, &info) : -ENOENT;
	if (r == -ENOTSUP && path->text[0] != '/') /* by way of procfs's own links: it depends on who asks. The directory is surely procfs's */
		return 1;
	return r == 0 ? info.kind == FD_PROC : r == -ENOMEM || r == -ESRCH ? r : 0;
}

int procfs_hide(struct engine *e, struct task *t, struct verdict *v)
{
	const struct policy_row *row = t->call.row;
	struct guest_path path;
	int dirfd = AT_FDCWD, r = 0;

	for (int i = 0; i < row->nargs && r == 0; i++) {
		if (row->args[i].kind == ARG_DIRFD)
			dirfd = (int)t->call.args[i];
		if (row->args[i].kind != ARG_PATH)
			continue;
		r = path_read(e, t, dirfd, t->call.args[i], &path);
		if (r < 0)
			return r == -ENOMEM || r == -ESRCH ? r : 0; /* the kernel says what is wrong */
		r = hides(e, t, &path);
		dirfd = AT_FDCWD;
	}
	if (r == 1)
		(void)verdict_errno(v, ENOENT);
	return r;
}
