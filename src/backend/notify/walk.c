/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A path that may lead to procfs by links or by where it starts, gone by component by component as the task's own calls would go (path_resolution(7)):
 * from its root or its current directory, with its rights; "self" is the task. procfs's links to open files and directories are followed as links.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/notify/identity.h"
#include "base/cleanup.h"

enum { PATH_SIZE = 4096, LINKS_MAX = 40 };

struct steps {
	struct notify *n;
	pid_t tid;
	struct identity identity;
	int root, at;         /* O_PATH */
	char rest[PATH_SIZE]; /* of the path, behind `at` */
	bool nofollow;        /* the last component, unless a slash follows */
	unsigned links;
	hidden_fn *hidden;
	void *arg;
};

static void steps_deinit(struct steps *s)
{
	cleanup_close(&s->root);
	cleanup_close(&s->at);
}

/* openat() with the task's rights. */
static int open_step(struct steps *s, const char *name, int flags)
{
	_cleanup_(disguise_take_off) struct disguise disguise = { 0 };
	int fd;

	if (disguise_put_on(s->n, &disguise, &s->identity) < 0)
		return -EACCES;
	fd = openat(s->at, name, O_PATH | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

static void go_to(struct steps *s, int fd)
{
	cleanup_close(&s->at);
	s->at = fd;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Puts a link's target before the rest of the path. */
static int follow_text(struct steps *s, const char *target)
{
	char rest[PATH_SIZE];
	int fd;

	if (snprintf(rest, sizeof(rest), "%s%s", target, s->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(s->rest, rest, strlen(rest) + 1);
	if (target[0] != '/')
		return 0;
	fd = fcntl(s->root, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	go_to(s, fd);
	return 0;
}

/* directory: "" when that is not on procfs. Links in it are texts at the top only, and two of these depend on who asks. */
static int follow(struct steps *s, int link, const char *directory, const char *name)
{
	bool self = !strcmp(name, "self"), thread_self = !strcmp(name, "thread-self");
	char target[PATH_SIZE];
	struct proc_ids ids;
	ssize_t len;
	int r;

	if (++s->links > LINKS_MAX)
		return -ELOOP;
	if (directory[0] && strcmp(directory, "/proc") != 0) {
		r = open_step(s, name, 0);
		if (r < 0)
			return r;
		go_to(s, r);
		return 0;
	}
	if (directory[0] && (self || thread_self)) {
		r = procfs_ids(s->n, s->tid, s->n->pid_depth, &ids);
		if (r < 0)
			return r;
		(void)snprintf(target, sizeof(target), self ? "%d" : "%d/task/%d", ids.vpid, ids.vtid);
		return follow_text(s, target);
	}
	len = readlinkat(link, "", target, sizeof(target) - 1);
	if (len <= 0)
		return -ENOENT;
	target[len] = '\0';
	return follow_text(s, target);
}

/* Takes the next component off the rest. False: there is none. */
static bool next_name(struct steps *s, char name[NAME_MAX + 1])
{
	const char *p = s->rest + strspn(s->rest, "/");
	size_t n = strcspn(p, "/");

	if (!n || n > NAME_MAX)
		return false;
	memcpy(name, p, n);
	name[n] = '\0';
	memmove(s->rest, p + n, strlen(p + n) + 1);
	return true;
}

/* One component further. 1: it is hidden; 0; -errno: it leads nowhere, or the task may not go there: the kernel says so. */
static int take_step(struct steps *s, const char *name)
{
	_cleanup_close_ int next = -1;
	char directory[PATH_SIZE] = "";
	struct stat st;

	if (!strcmp(name, "..") && is_same(s->at, s->root))
		return 0;
	if (paths_on_procfs(s->at) && objects_name(s->n, s->tid, s->at, directory, sizeof(directory)) < 0)
		return -ENOTSUP;
	if (directory[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && s->hidden(s->arg, directory, name))
		return 1;
	next = open_step(s, name, O_NOFOLLOW);
	if (next < 0)
		return next;
	if (fstat(next, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode)) {
		go_to(s, take_fd(&next));
		return 0;
	}
	return s->nofollow && !s->rest[0] ? -ENOENT : follow(s, next, directory, name);
}

/* Most paths stay on the mount that they start on. That takes one call. */
static bool stays(const struct steps *s)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int fd = -1;

	/* An absolute link would lead to the supervisor's own root */
	how.resolve |= s->rest[0] == '/' || is_same(s->at, s->root) ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
	if (paths_on_procfs(s->at))
		return false;
	fd = (int)syscall(SYS_openat2, s->at, s->rest, &how, sizeof(how));
	return fd >= 0;
}

static int start(struct steps *s, int dirfd, const char *path)
{
	if (snprintf(s->rest, sizeof(s->rest), "%s", path) >= (int)sizeof(s->rest))
		return -ENAMETOOLONG;
	s->root = procfs_open(s->n, s->tid, "root", O_PATH | O_DIRECTORY);
	if (s->root < 0)
		return s->root;
	if (path[0] == '/')
		s->at = fcntl(s->root, F_DUPFD_CLOEXEC, 0);
	else if (dirfd == AT_FDCWD)
		s->at = procfs_open(s->n, s->tid, "cwd", O_PATH | O_DIRECTORY);
	else
		s->at = handles_borrow(s->n, s->tid, dirfd);
	return s->at < 0 ? s->at : 0;
}

int notify_path_hidden(struct guest *g, int task, int dirfd, const char *path, int flags, hidden_fn *hidden, void *arg)
{
	_cleanup_(steps_deinit) struct steps s = { .root = -1, .at = -1, .hidden = hidden, .arg = arg };
	const struct notify_task *t = notify_find(g, task);
	char name[NAME_MAX + 1];
	int r;

	if (!t)
		return -ESRCH;
	s.n = notify_of(g);
	s.tid = t->tid;
	s.nofollow = flags & AT_SYMLINK_NOFOLLOW;
	r = start(&s, dirfd, path);
	if (r < 0 || stays(&s))
		return r == -ENOMEM ? r : 0;
	r = identity_read(s.n, s.tid, &s.identity);
	while (r == 0 && next_name(&s, name))
		r = take_step(&s, name);
	return r == 1 || r == -ENOMEM ? r : 0;
}
