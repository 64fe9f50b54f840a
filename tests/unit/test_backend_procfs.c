/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of /proc that are longer than one read gives, and a backend that fails at the start. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/notify/notify.h"
#include "base/cleanup.h"

enum { RECORDS = 5000 };

struct seen {
	int n, stop_at;
	bool wrong;
};

static bool take(char *record, void *arg)
{
	struct seen *seen = arg;

	seen->wrong = seen->wrong || atoi(record) != seen->n;
	return ++seen->n == seen->stop_at;
}

static int many_records(char end)
{
	int fd = memfd_create("records", 0);

	for (int i = 0; i < RECORDS; i++)
		cr_assert(dprintf(fd, "%d%*s%c", i, i % 50, "", end) > 0);
	return fd;
}

Test(backend_procfs, each_record)
{
	_cleanup_close_ int fd = many_records('\n');
	struct seen seen = { 0 };

	cr_assert_eq(procfs_each(fd, '\n', take, &seen), 0);
	cr_assert_eq(seen.n, RECORDS);
	cr_assert_not(seen.wrong);
}

Test(backend_procfs, until_enough)
{
	_cleanup_close_ int fd = many_records('x');
	struct seen seen = { .stop_at = 4000 };

	cr_assert_eq(procfs_each(fd, 'x', take, &seen), 1);
	cr_assert_eq(seen.n, 4000);
	cr_assert_not(seen.wrong);
}

Test(backend_procfs, no_record_ends)
{
	_cleanup_close_ int fd = many_records(' ');
	struct seen seen = { 0 };

	cr_assert_eq(procfs_each(fd, '\n', take, &seen), -EPROTO);
	cr_assert_eq(seen.n, 0);
	cr_assert_eq(procfs_each(-1, '\n', take, &seen), -EBADF);
}

/* The kernel's own file of many records. */
Test(backend_procfs, a_file_of_many_pages)
{
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY);
	struct seen seen = { 0 };

	if (fd < 0)
		return;
	cr_assert_eq(procfs_each(fd, '\n', take, &seen), 0);
	cr_assert(seen.n == 0 || seen.n > 1000, "%d", seen.n);
}

Test(backend_procfs, status_of_many_groups)
{
	struct notify n = { .proc_fd = open("/proc", O_PATH | O_DIRECTORY) };
	static gid_t groups[4000];
	char text[4096];
	const char *field;

	for (int i = 0; i < 4000; i++)
		groups[i] = 1000000u + (gid_t)i;
	cr_assert_eq(procfs_status(&n, getpid(), text, sizeof(text)), 0);
	cr_assert_not_null(field = procfs_field(text, "Groups"));
	cr_assert_neq(strncmp(field, "\tmany\n", 6), 0);
	if (setgroups(4000, groups) < 0)
		return; /* only root may */
	cr_assert_eq(procfs_status(&n, getpid(), text, sizeof(text)), 0);
	cr_assert_not_null(field = procfs_field(text, "Groups"));
	cr_assert_eq(strncmp(field, "\tmany\n", 6), 0, "%.20s", field);
	cr_assert_not_null(procfs_field(text, "NSpid"));
	cr_assert_not_null(procfs_field(text, "SigPnd"));
	cr_assert_not_null(field = procfs_field(text, "CapEff"));
	cr_assert_eq(field[0], '\t');
	(void)close(n.proc_fd);
}

/* What it had not opened yet it does not close. */
Test(backend_procfs, failed_attach_closes_nothing_else)
{
	const struct backend_options options = { 0 };
	struct guest *g = NULL;
	struct error err = { 0 };
	pid_t child = fork();

	if (!child)
		_exit(0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert(fcntl(0, F_GETFD) >= 0 || open("/dev/null", O_RDONLY) == 0);
	cr_assert(backend_attach(&options, child, &g, &err) < 0);
	cr_assert(fcntl(0, F_GETFD) >= 0);
}
