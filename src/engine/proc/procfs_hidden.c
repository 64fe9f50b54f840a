/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of /proc that are not there: see procfs.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

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

/* ---- ways that the text of a path does not tell ---- */

/* Names by which a path may come to procfs, and there from a link to elsewhere; with anything behind them. */
static bool leads(const char *text, bool within)
{
	static const char *const ways[] = { "proc", "fd", "stdin", "stdout", "stderr" }, *const ways_within[] = { "..", "root", "cwd", "map_files" };
	char entry[NAME_MAX + 1];
	size_t n;

	for (const char *p = text + strspn(text, "/"); *p; p += n, p += strspn(p, "/")) {
		n = strcspn(p, "/");
		if (n > NAME_MAX)
			return false;
		if (!p[n + strspn(p + n, "/")])
			return false;
		memcpy(entry, p, n);
		entry[n] = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
			if (!strcmp(entry, ways[i]) && (strcmp(entry, "fd") != 0 || strchr(p + n + strspn(p + n, "/"), '/')))
				return true;
		for (size_t i = 0; within && i < ARRAY_SIZE(ways_within); i++)
			if (!strcmp(entry, ways_within[i]))
				return true;
	}
	return false;
}

/* As a directory, a root or the target of a link: there may be anything behind it. */
static bool leads_as_start(const char *text)
{
	char with_more[PATH_MAX + 8];

	(void)snprintf(with_more, sizeof(with_more), "%s/x/x", text);
	return leads(with_more, false);
}

/* A process may have begun in /proc. Asked once of each that has been begun by nobody of the guest. */
static int ask_start(struct engine *e, struct task *t)
{
	struct fd_info info;
	int r;

	if (t->process->start_known || !e->g->ops->path_info)
		return 0;
	r = e->g->ops->path_info(e->g, t->id, AT_FDCWD, ".", 0, &info);
	if (r == -ENOMEM || r == -ESRCH)
		return r;
	t->process->start_known = true;
	e->procfs_from_cwd |= r == 0 ? info.kind == FD_PROC : r == -ENOTSUP;
	return 0;
}

/* The call may make a way to procfs that later paths do not show. */
static void note_way(struct engine *e, struct task *t, const struct guest_path *path)
{
	const char *name = t->call.row->name;
	const struct fd_info *info;

	if (!strcmp(name, "chroot"))
		e->procfs_by_links |= leads_as_start(path->text) || e->procfs_from_cwd;
	if (!strcmp(name, "chdir"))
		e->procfs_from_cwd |= leads_as_start(path->text) || e->procfs_by_links;
	if (!strcmp(name, "fchdir") && fdtable_info(e, t, (int)t->call.args[0], &info) == 0)
		e->procfs_from_cwd |= info->kind == FD_PROC;
}

static int note_link(struct engine *e, struct task *t)
{
	struct guest_path target;
	int r;

	if (strcmp(t->call.row->name, "symlink") != 0 && strcmp(t->call.row->name, "symlinkat") != 0)
		return 0;
	r = path_read(e, t, AT_FDCWD, t->call.args[0], &target);
	if (r < 0)
		return r == -ENOMEM || r == -ESRCH ? r : 0;
	e->procfs_by_links |= leads_as_start(target.text);
	return 0;
}

/* What calls do with a link that is the last component. */
enum last { LAST_FOLLOW = 0, LAST_ENTRY, LAST_LINK, LAST_BY_FLAG, LAST_UNLESS_FLAG };

/* By name, because the table of calls holds the numbers. What is not here follows. */
static const struct {
	const char *name;
	uint8_t last, arg;
	unsigned flag;
} lasts[] = {
	{ "lstat", LAST_LINK, 0, 0 }, { "readlink", LAST_LINK, 0, 0 }, { "readlinkat", LAST_LINK, 0, 0 }, { "lchown", LAST_LINK, 0, 0 },
	{ "lsetxattr", LAST_LINK, 0, 0 }, { "lgetxattr", LAST_LINK, 0, 0 }, { "llistxattr", LAST_LINK, 0, 0 }, { "lremovexattr", LAST_LINK, 0, 0 },
	{ "unlink", LAST_ENTRY, 0, 0 }, { "unlinkat", LAST_ENTRY, 0, 0 }, { "rmdir", LAST_ENTRY, 0, 0 }, { "rename", LAST_ENTRY, 0, 0 },
	{ "renameat", LAST_ENTRY, 0, 0 }, { "renameat2", LAST_ENTRY, 0, 0 }, { "mkdir", LAST_ENTRY, 0, 0 }, { "mkdirat", LAST_ENTRY, 0, 0 },
	{ "mknod", LAST_ENTRY, 0, 0 }, { "mknodat", LAST_ENTRY, 0, 0 }, { "symlink", LAST_ENTRY, 0, 0 }, { "symlinkat", LAST_ENTRY, 0, 0 },
	{ "link", LAST_LINK, 0, 0 }, { "linkat", LAST_UNLESS_FLAG, 4, AT_SYMLINK_FOLLOW },
	{ "newfstatat", LAST_BY_FLAG, 3, AT_SYMLINK_NOFOLLOW },
	{ "statx", LAST_BY_FLAG, 2, AT_SYMLINK_NOFOLLOW }, { "faccessat2", LAST_BY_FLAG, 3, AT_SYMLINK_NOFOLLOW },
	{ "fchmodat2", LAST_BY_FLAG, 3, AT_SYMLINK_NOFOLLOW }, { "fchownat", LAST_BY_FLAG, 4, AT_SYMLINK_NOFOLLOW },
	{ "utimensat", LAST_BY_FLAG, 3, AT_SYMLINK_NOFOLLOW }, { "execveat", LAST_BY_FLAG, 4, AT_SYMLINK_NOFOLLOW },
	{ "setxattrat", LAST_BY_FLAG, 2, AT_SYMLINK_NOFOLLOW }, { "getxattrat", LAST_BY_FLAG, 2, AT_SYMLINK_NOFOLLOW },
	{ "listxattrat", LAST_BY_FLAG, 2, AT_SYMLINK_NOFOLLOW }, { "removexattrat", LAST_BY_FLAG, 2, AT_SYMLINK_NOFOLLOW },
	{ "inotify_add_watch", LAST_BY_FLAG, 2, IN_DONT_FOLLOW },
};

static enum last last_of_open(uint64_t flags)
{
	return flags & O_NOFOLLOW || !(~flags & (O_CREAT | O_EXCL)) ? LAST_LINK : LAST_FOLLOW;
}

static enum last last_of(struct engine *e, struct task *t)
{
	const uint64_t *a = t->call.args;
	uint64_t flags;

	if (!strcmp(t->call.row->name, "open"))
		return last_of_open(a[1]);
	if (!strcmp(t->call.row->name, "openat"))
		return last_of_open(a[2]);
	if (!strcmp(t->call.row->name, "openat2")) /* struct open_how begins with them */
		return guest_read(e, t, a[2], &flags, sizeof(flags)) == 0 ? last_of_open(flags) : LAST_FOLLOW;
	for (size_t i = 0; i < ARRAY_SIZE(lasts); i++) {
		if (strcmp(lasts[i].name, t->call.row->name) != 0)
			continue;
		if (lasts[i].last != LAST_BY_FLAG && lasts[i].last != LAST_UNLESS_FLAG)
			return lasts[i].last;
		return !(a[lasts[i].arg] & lasts[i].flag) == (lasts[i].last == LAST_UNLESS_FLAG) ? LAST_LINK : LAST_FOLLOW;
	}
	return LAST_FOLLOW;
}

static bool is_hidden(void *arg, const char *directory, const char *entry)
{
	return !is_number(entry) && !procfs_lists(arg, directory, entry);
}

/* The whole way, where the path may come by one that its text does not tell. 1, 0, -errno. */
static int goes_by_hidden(struct engine *e, struct task *t, struct guest_path *path, bool within, const char *rest)
{
	bool from_cwd = path->text[0] != '/' && path->dirfd == AT_FDCWD;
	size_t n = strlen(path->text);
	enum last last;
	int r;

	r = from_cwd ? ask_start(e, t) : 0;
	if (r < 0 || !e->g->ops->path_hidden)
		return r;
	if (!leads(rest, within) && !e->procfs_by_links && !(from_cwd && e->procfs_from_cwd))
		return 0;
	last = last_of(e, t);
	while (last == LAST_ENTRY && n > 1 && path->text[n - 1] == '/')
		path->text[--n] = '\0';
	return e->g->ops->path_hidden(e->g, t->id, path->dirfd, path->text, last == LAST_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW, is_hidden, e);
}

/* Does the name that is not listed lead to something in procfs? Beside it anything may be mounted, or another root may be the task's. 1, 0, -errno. */
static int hides(struct engine *e, struct task *t, struct guest_path *path)
{
	char directory[PATH_MAX];
	struct fd_info info;
	const char *rest;
	bool within;
	size_t n;
	int r;

	within = starts_in_procfs(e, t, path, directory, &rest);
	n = within ? procfs_hidden(e, t, directory, rest) : 0;
	if (!n)
		return goes_by_hidden(e, t, path, within, rest);
	path->text[(size_t)(rest - path->text) + n] = '\0';
	r = e->g->ops->path_info ? e->g->ops->path_info(e->g, t->id, path->dirfd, path->text, AT_SYMLINK_NOFOLLOW, &info) : -ENOENT;
	if (r == -ENOTSUP && path->text[0] != '/') /* by way of procfs's own links: it depends on who asks. The directory is surely procfs's */
		return 1;
	return r == 0 ? info.kind == FD_PROC : r == -ENOMEM || r == -ESRCH ? r : 0;
}

static bool is_common(void *arg, const char *directory, const char *entry)
{
	const char *below = directory + strlen("/proc");

	(void)arg;
	if (!below[0])
		return !is_number(entry) && strcmp(entry, "self") != 0 && strcmp(entry, "thread-self") != 0;
	return below[1] < '0' || below[1] > '9';
}

int procfs_is_common(struct engine *e, struct task *t, const struct guest_path *path, int flags)
{
	return e->g->ops->path_hidden ? e->g->ops->path_hidden(e->g, t->id, path->dirfd, path->text, flags, is_common, e) : 0;
}

int procfs_hide(struct engine *e, struct task *t, struct verdict *v)
{
	const struct policy_row *row = t->call.row;
	struct guest_path path;
	int dirfd = AT_FDCWD, r;

	path.text[0] = '\0';
	r = note_link(e, t);
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
	if (r == 0)
		note_way(e, t, &path);
	if (r == 1)
		(void)verdict_errno(v, ENOENT);
	return r;
}
