/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories for a while, and what is left of those whose owner was killed. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
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

/* A directory with that mode, and a file and a directory in it. */
static void make_sub(const char *dir, const char *name, mode_t mode)
{
	char path[PATH_SIZE], below[PATH_SIZE + 16];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	cr_assert_eq(mkdir(path, 0700), 0);
	(void)snprintf(below, sizeof(below), "%s/file", path);
	file = fopen(below, "w");
	cr_assert(file && fclose(file) == 0);
	(void)snprintf(below, sizeof(below), "%s/dir", path);
	cr_assert_eq(mkdir(below, 0500), 0);
	cr_assert_eq(chmod(path, mode), 0);
}

/* Modes keep nobody out who is root: the removing is an ordinary user's. */
static void remove_as_user(const char *dir)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(1);
		scratch_remove(dir);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
}

static void give_to_user(const char *dir, const char *name)
{
	static const char *const below[] = { "", "/file", "/dir" };
	char path[PATH_SIZE];

	for (size_t i = 0; geteuid() == 0 && i < sizeof(below) / sizeof(*below); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s%s", dir, name, below[i]);
		cr_assert_eq(chown(path, 65534, (gid_t)-1), 0);
	}
}

Test(scratch, modes_keep_nothing)
{
	static const mode_t modes[] = { 0, 0400, 0500, 0600 };
	char dir[PATH_SIZE], name[16];

	cr_assert_eq(chmod(base, 0777), 0);
	(void)snprintf(dir, sizeof(dir), "%s/all", base);
	cr_assert_eq(mkdir(dir, 0700), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		make_sub(dir, name, modes[i]);
		give_to_user(dir, name);
	}
	if (geteuid() == 0)
		cr_assert_eq(chown(dir, 65534, (gid_t)-1), 0);
	remove_as_user(dir);
	cr_assert_not(is_there(dir));
}

Test(scratch, what_is_not_ours_to_remove_stays)
{
	char dir[PATH_SIZE];

	if (geteuid() != 0)
		cr_skip_test("needs root, to have a directory of another user");
	cr_assert_eq(chmod(base, 0777), 0);
	(void)snprintf(dir, sizeof(dir), "%s/all", base);
	cr_assert_eq(mkdir(dir, 0700), 0);
	make_sub(dir, "theirs", 0700);
	make_sub(dir, "ours", 0);
	give_to_user(dir, "ours");
	cr_assert_eq(chown(dir, 65534, (gid_t)-1), 0);
	remove_as_user(dir);
	(void)snprintf(dir, sizeof(dir), "%s/all/ours", base);
	cr_assert_not(is_there(dir));
	(void)snprintf(dir, sizeof(dir), "%s/all/theirs/file", base);
	cr_assert(is_there(dir));
}

Test(scratch, what_is_mounted_there_stays)
{
	char left[PATH_SIZE], mine[PATH_SIZE], mounted[PATH_SIZE + 16], precious[PATH_SIZE], file[PATH_SIZE + 16];
	int hold;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		cr_skip_test("needs to mount");
	end(make_elsewhere(left, false, &hold));
	make_sub(base, "precious", 0700);
	(void)snprintf(precious, sizeof(precious), "%s/precious", base);
	(void)snprintf(file, sizeof(file), "%s/file", precious);
	(void)snprintf(mounted, sizeof(mounted), "%s/sub", left);
	cr_assert_eq(mount(precious, mounted, NULL, MS_BIND, NULL), 0);
	cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "other", NULL), 0);
	cr_assert(is_there(file));
	cr_assert_eq(umount(mounted), 0);
	cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "other", NULL), 0);
	cr_assert_not(is_there(left));
	cr_assert(is_there(file));
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

/* A directory as one is before it has its name, with a file in it where that is wanted. Returns the file. */
static int make_new(const char *name, const char *in, char path[PATH_SIZE])
{
	char file[PATH_SIZE + 16];
	int fd;

	(void)snprintf(path, PATH_SIZE, "%s/.hermit-new-%s", base, name);
	cr_assert_eq(mkdir(path, 0700), 0);
	if (!in)
		return -1;
	(void)snprintf(file, sizeof(file), "%s/%s", path, in);
	fd = open(file, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	return fd;
}

/* Killed between the steps of making it. */
Test(scratch, what_was_not_finished_is_removed)
{
	char empty[PATH_SIZE], unlocked[PATH_SIZE], unnamed[PATH_SIZE], filled[PATH_SIZE], mine[PATH_SIZE];

	(void)make_new("000000", NULL, empty);
	(void)close(make_new("000001", ".in-use.new", unlocked));
	(void)close(make_new("000002", ".in-use", unnamed));
	(void)close(make_new("000003", "precious", filled));
	cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "test", NULL), 0);
	cr_assert_not(is_there(empty));
	cr_assert_not(is_there(unlocked));
	cr_assert_not(is_there(unnamed));
	cr_assert(is_there(filled));
}

Test(scratch, what_somebody_is_about_to_finish_stays)
{
	static const char *const names[] = { ".in-use.new", ".in-use" };
	char path[PATH_SIZE], mine[PATH_SIZE];
	int fds[2];

	for (int i = 0; i < 2; i++) {
		fds[i] = make_new(names[i], names[i], path);
		cr_assert_eq(flock(fds[i], LOCK_EX), 0);
		cr_assert_eq(scratch_make_in(base, mine, sizeof(mine), "test", NULL), 0);
		cr_assert(is_there(path));
	}
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* Each makes directories and looks for what the others have left, so that they find each other's unfinished ones: all are made, and stay. */
Test(scratch, many_at_once, .timeout = 120)
{
	enum { MAKERS = 4, DIRECTORIES = 150 };
	char path[PATH_SIZE], file[PATH_SIZE + 16];
	int status, failed = 0;

	for (int i = 0; i < MAKERS; i++) {
		if (fork() != 0)
			continue;
		for (int k = 0; k < DIRECTORIES; k++) {
			if (scratch_make_in(base, path, sizeof(path), "many", NULL) < 0)
				_exit(1);
			(void)snprintf(file, sizeof(file), "%s/.in-use", path);
			if (!is_there(file))
				_exit(2);
			scratch_remove(path);
		}
		_exit(0);
	}
	for (int i = 0; i < MAKERS; i++) {
		cr_assert_gt(wait(&status), 0);
		failed |= status;
	}
	cr_assert_eq(failed, 0, "status %x", failed);
	cr_assert_eq(rmdir(base), 0, "something is left");
	cr_assert_eq(mkdir(base, 0700), 0);
}

Test(scratch, an_impossible_place_is_an_error)
{
	struct error err = { 0 };
	char path[PATH_SIZE], tight[20];

	cr_assert_lt(scratch_make_in("/no/such/place", path, sizeof(path), "test", &err), 0);
	cr_assert_lt(scratch_make_in(base, tight, sizeof(tight), "test", &err), 0);
}
