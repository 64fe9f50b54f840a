/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc says of any process: see process.h. */
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* A number in /proc/PID/stat, counted as in proc_pid_stat(5), from 4 on: the name before them may hold anything. */
static int read_field(int pid, int wanted, unsigned long *ret)
{
	_cleanup_free_ char *text = NULL;
	char path[32], *p;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	r = fd_read_file(AT_FDCWD, path, 4096, &text, NULL);
	if (r < 0)
		return r;
	p = strrchr(text, ')');
	for (int field = 2; p && field < wanted; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -EPROTO;
	*ret = strtoul(p + 1, NULL, 10);
	return 0;
}

/* The kernel's flag, field 9 */
bool process_is_ending(int pid)
{
	enum { EXITING = 0x4 };
	unsigned long flags;
	int r = read_field(pid, 9, &flags);

	return r < 0 ? r == -ENOENT || r == -ESRCH : flags & EXITING;
}

/* ---- families ---- */

struct family {
	struct member {
		int pid, pidfd;
	} *members;
	size_t n;
};

static void cleanup_family(struct family *f)
{
	for (size_t i = 0; i < f->n; i++)
		(void)close(f->members[i].pidfd);
	free(f->members);
}

static bool has_parent_in(const struct family *f, int pid)
{
	unsigned long parent;

	if (read_field(pid, 4, &parent) < 0)
		return false;
	for (size_t i = 0; i < f->n; i++)
		if ((unsigned long)f->members[i].pid == parent)
			return true;
	return false;
}

static bool is_in(const struct family *f, int pid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->members[i].pid == pid)
			return true;
	return false;
}

/* Stopped, it makes nobody any more, and keeps its dead children: their numbers are nobody else's. Takes the descriptor. */
static bool take_in(struct family *f, int pid, int pidfd)
{
	struct member *grown = reallocarray(f->members, f->n + 1, sizeof(*grown));

	if (!grown) {
		(void)close(pidfd);
		return false;
	}
	f->members = grown;
	f->members[f->n++] = (struct member){ pid, pidfd };
	(void)pidfd_send_signal(pidfd, SIGSTOP, NULL, 0);
	return true;
}

/* Its parent is looked at again when there is a descriptor: it is the one that was found, and no later one with its number. */
static bool take_in_child(struct family *f, int pid)
{
	int pidfd;

	if (pid <= 0 || is_in(f, pid) || !has_parent_in(f, pid))
		return false;
	pidfd = pidfd_open(pid, 0);
	if (pidfd >= 0 && has_parent_in(f, pid))
		return take_in(f, pid, pidfd);
	cleanup_close(&pidfd);
	return false;
}

/* False: nobody is missing. */
static bool take_in_children(struct family *f)
{
	DIR *list = opendir("/proc");
	struct dirent *entry;
	bool grown = false;

	if (!list)
		return false;
	while ((entry = readdir(list)))
		grown |= take_in_child(f, atoi(entry->d_name));
	(void)closedir(list);
	return grown;
}

/* Inside a pid namespace whose /proc is not mounted yet the numbers there are others'. */
static bool proc_is_ours(void)
{
	char link[16] = "";

	return readlink("/proc/self", link, sizeof(link) - 1) > 0 && atoi(link) == getpid();
}

void process_kill_family(int pid, int pidfd)
{
	__attribute__((cleanup(cleanup_family))) struct family family = { 0 };
	int copy = proc_is_ours() ? fcntl(pidfd, F_DUPFD_CLOEXEC, 3) : -1;

	if (copy >= 0 && take_in(&family, pid, copy))
		while (take_in_children(&family))
			;
	for (size_t i = 0; i < family.n; i++)
		(void)pidfd_send_signal(family.members[i].pidfd, SIGKILL, NULL, 0);
	(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
}
