/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding a program as a shell does, in a directory made for the test. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/internal.h"

static char top[] = "/tmp/hermit-lookup.XXXXXX";

static void make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);

	cr_assert(fd >= 0 && fchmod(fd, mode) == 0);
	(void)close(fd);
}

/* one/tool cannot be executed, two/tool can; dir is a directory in one. */
static void set_up(void)
{
	cr_assert(mkdtemp(top) && chdir(top) == 0);
	cr_assert(mkdir("one", 0755) == 0 && mkdir("two", 0755) == 0 && mkdir("one/dir", 0755) == 0);
	make_file("one/tool", 0644);
	make_file("two/tool", 0755);
	make_file("one/plain", 0644);
	make_file("here", 0755);
}

static void tear_down(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	cr_assert_eq(system(command), 0);
}

Test(container_lookup, as_a_shell_does, .init = set_up, .fini = tear_down)
{
	static const struct {
		char what[40];
		const char *name, *path;
		int status; /* 0: found */
		const char *found;
	} rows[] = {
		{ "one that cannot run is passed over", "tool", "PATH=one:two", 0, "two/tool" },
		{ "found but not executable", "plain", "PATH=two:one", 126, NULL },
		{ "a directory is no program", "dir", "PATH=one", 126, NULL },
		{ "nowhere", "nothing", "PATH=one:two", 127, NULL },
		{ "empty name", "", "PATH=one:two", 127, NULL },
		{ "empty element in front", "here", "PATH=:one", 0, "./here" },
		{ "empty element in the middle", "here", "PATH=one::two", 0, "./here" },
		{ "empty element at the end", "here", "PATH=one:", 0, "./here" },
		{ "not in the current directory", "here", "PATH=one", 127, NULL },
		{ "a path is taken as it is", "two/tool", "PATH=", 0, "two/tool" },
		{ "a path that is missing", "two/nothing", "PATH=two", 127, NULL },
		{ "a path below a file", "two/tool/x", "PATH=two", 127, NULL },
		{ "a path that cannot run", "./one/tool", "PATH=two", 126, NULL },
		{ "another variable that ends in PATH", "tool", "XPATH=two", 127, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *envp[] = { (char *)rows[i].path, NULL };
		_cleanup_free_ char *found = NULL;
		struct error err = { 0 };
		int status = 0, r;

		r = program_lookup(rows[i].name, envp, &found, &status, &err);
		cr_expect_eq(status, rows[i].status, "%s: status %d (%s)", rows[i].what, status, err.text);
		cr_expect_eq(r == 0, rows[i].status == 0, "%s", rows[i].what);
		if (rows[i].found)
			cr_expect_str_eq(found ? found : "", rows[i].found, "%s", rows[i].what);
	}
}
