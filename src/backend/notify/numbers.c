/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process ids in an adopted container. A runtime in Go has had threads there, their number is chance, and each has taken an id. So the namespace is
 * told which one it has given last. Only a process in the namespace can tell it.
 */
#include "backend/notify/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Above what threads of runtimes have, which are there until the execve is under way. */
#define LAST_ID "99"

static int await(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static int tell(const struct notify *n)
{
	int fd = openat(n->proc_fd, "sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, LAST_ID, sizeof(LAST_ID) - 1) == sizeof(LAST_ID) - 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* setns(2) is for children. */
static int enter_and_tell(const struct notify *n, pid_t tgid)
{
	int fd = pidfd_open(tgid, 0);
	pid_t pid;

	if (fd < 0 || setns(fd, CLONE_NEWPID) < 0)
		return EXIT_FAILURE;
	pid = fork();
	if (pid == 0)
		_exit(tell(n));
	return pid < 0 ? EXIT_FAILURE : await(pid);
}

int adopt_fix_numbers(struct notify *n, pid_t tid)
{
	struct proc_ids ids;
	pid_t pid;
	int r;

	r = procfs_ids(n, tid, 0, &ids);
	if (r < 0 || ids.vpid != 1)
		return r < 0 ? r : 0;
	pid = fork();
	if (pid == 0)
		_exit(enter_and_tell(n, ids.tgid));
	r = pid < 0 ? -errno : await(pid);
	return r < 0 ? r : r == EXIT_SUCCESS;
}
