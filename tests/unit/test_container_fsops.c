/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths inside a root: links and ".." of a hostile tree do not lead out. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/fsops.h"

static char top[] = "/tmp/hermit-fsops.XXXXXX";

static void set_up(void)
{
	cr_assert(mkdtemp(top) && chdir(top) == 0);
	cr_assert(mkdir("root", 0755) == 0 && mkdir("root/etc", 0755) == 0 && mkdir("outside", 0755) == 0);
	cr_assert(symlink("/outside", "root/absolute") == 0 && symlink("../../outside", "root/relative") == 0);
	cr_assert(symlink("etc", "root/link") == 0 && symlink("/proc/self/root", "root/magic") == 0);
}

static void tear_down(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	cr_assert_eq(system(command), 0);
}

static bool is_inside(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

Test(container_fsops, nothing_is_made_outside, .init = set_up, .fini = tear_down)
{
	_cleanup_close_ int root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	static const struct {
		const char *path, *lands; /* lands: where it is, from the test's directory */
		bool directory;
	} rows[] = {
		{ "/a/b/c", "root/a/b/c", true },
		{ "/link/sub", "root/etc/sub", true },
		{ "/link/file", "root/etc/file", false },
		{ "/../../../up", "root/up", true },
		{ "//etc//double/", "root/etc/double", true },
		{ "/etc/../dotdot/x", "root/dotdot/x", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_close_ int fd = -1;
		struct error err = { 0 };
		struct stat st, there;

		fd = root_make(root, rows[i].path, rows[i].directory, &err);
		cr_assert(fd >= 0, "%s: %s", rows[i].path, err.text);
		cr_assert(fstat(fd, &st) == 0 && stat(rows[i].lands, &there) == 0, "%s", rows[i].path);
		cr_expect_eq(st.st_ino, there.st_ino, "%s", rows[i].path);
		cr_expect_eq(S_ISDIR(st.st_mode) != 0, rows[i].directory, "%s", rows[i].path);
	}
}

Test(container_fsops, links_resolve_inside, .init = set_up, .fini = tear_down)
{
	_cleanup_close_ int root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	static const struct {
		const char *path, *lands;
	} rows[] = {
		{ "/absolute/x", "root/outside/x" },
		{ "/relative/y", "root/outside/y" },
		{ "/magic/z", "root/proc/self/root/z" }, /* nothing is mounted there */
		{ "/chain", "root/outside" },
	};

	cr_assert_eq(symlink("relative", "root/chain"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = { 0 };
		_cleanup_close_ int fd = root_make(root, rows[i].path, true, &err);

		cr_expect(fd >= 0, "%s: %s", rows[i].path, err.text);
		cr_expect(is_inside(rows[i].lands), "%s", rows[i].path);
	}
	cr_expect_not(is_inside("outside/x"));
	cr_expect_not(is_inside("outside/y"));
}

Test(container_fsops, links_in_a_circle, .init = set_up, .fini = tear_down)
{
	_cleanup_close_ int root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct error err = { 0 };

	cr_assert(symlink("b", "root/a") == 0 && symlink("a", "root/b") == 0);
	cr_expect(root_make(root, "/a/x", true, &err) < 0);
	cr_expect_str_not_empty(err.text);
}
