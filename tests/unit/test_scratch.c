/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories for a while, and what is left of those whose owner was killed. */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/scratch.h"

enum { PATH_SIZE = 256 };

static char base[] = "/tmp/test-scratch-XXXXXX";

static void make_base(void)
{
	cr_assert(mkdtemp(base));
}

static void remove_base(void)
{
	scratch_remove(base);
}

TestSuite(scratch, .init = make_base, .fini = remove_base);

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* One that another process makes, with a file below, and keeps until it is told to end (or for ever, when told to keep). */
static pid_t make_elsewhere(char path[PATH_SIZE], bool keep, int *ret_hold)
{
	int said[2], hold[2];
	pid_t pid;

	cr_assert(pipe(said) == 0 && pipe(hold) == 0);
	pid = fork();
	if (pid == 0) {
		char byte, file[PATH_SIZE + 16];

		(void)close(hold[1]);
		if (scratch_make_in(base, path, PATH_SIZE, "test", NULL) < 0)
			_exit(1);
		(void)snprintf(file, sizeof(file), "%s/sub", path);
		(void)mkdir(file, 0);
		if (keep)
			scratch_keep(path);
		if (write(said[1], path, PATH_SIZE) != PATH_SIZE || read(hold[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	(void)close(hold[0]);
	cr_assert_eq(read(said[0], path, PATH_SIZE), PATH_SIZE);
	(void)close(said[0]);
	(void)close(said[1]);
	*ret_hold = hold[1];
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(scratch, what_the_dead_have_left_is_removed)
{
	char left[PATH_SIZE], mine[PATH_SIZE];
	int hold;

	end(make_elsewhere(left, false, &hold));
	cr_assert(is_there(left));
	cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "other", NULL), 0);
	cr_assert_not(is_there(left));
	cr_assert(is_there(mine));
}

Test(scratch, what_the_living_use_stays)
{
	char used[PATH_SIZE], mine[PATH_SIZE], second[PATH_SIZE];
	int hold;
	pid_t pid = make_elsewhere(used, false, &hold);

	cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "test", NULL), 0);
	cr_assert_eq(scratch_make_in(base, second, sizeof(second), "test", NULL), 0);
	cr_assert(is_there(used) && is_there(mine) && is_there(second));
	end(pid);
}

Test(scratch, what_is_kept_stays)
{
	char kept[PATH_SIZE], mine[PATH_SIZE];
	int hold;

	end(make_elsewhere(kept, true, &hold));
	cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "test", NULL), 0);
	cr_assert(is_there(kept));
}

Test(scratch, directories_of_others_stay)
{
	char path[PATH_SIZE], mine[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/hermit-test-theirs", base);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "test", NULL), 0);
	cr_assert(is_there(path));
}

Test(scratch, an_impossible_place_is_an_error)
{
	struct error err = { 0 };
	char path[PATH_SIZE], tight[20];

	cr_assert_lt(scratch_make_in("/no/such/place", path, sizeof(path), "test", &err), 0);
	cr_assert_lt(scratch_make_in(base, tight, sizeof(tight), "test", &err), 0);
}
