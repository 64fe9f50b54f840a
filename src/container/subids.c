/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user namespace with the numbers that an ordinary user has besides its own (subuid(5), subgid(5)). newuidmap(1) has to be run outside of it, while
 * we are inside: by a child that was made before.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"
#include "container/internal.h"

enum { LINE_MOST = 512, COMMAND_LINE_MOST = 16 << 20 };

/* "NAME:FIRST:COUNT", or the number for the name; the first line that is the user's. */
static bool find_range(const char *file, uid_t uid, const char *name, struct container_id_map *ret)
{
	_cleanup_fclose_ FILE *lines = fopen(file, "re");
	char line[LINE_MOST], number[16];
	uint64_t first, count;

	(void)snprintf(number, sizeof(number), "%u", (unsigned)uid);
	while (lines && fgets(line, sizeof(line), lines)) {
		char *rest = line, *who = strsep(&rest, ":"), *from = strsep(&rest, ":"), *many = strsep(&rest, ":\n");

		if (!many || (strcmp(who, number) != 0 && (!name || strcmp(who, name) != 0)))
			continue;
		if (parse_u64(from, &first) < 0 || parse_u64(many, &count) < 0 || first == 0 || count == 0 || count > UINT32_MAX - 1 ||
		    first > UINT32_MAX - count)
			continue;
		*ret = (struct container_id_map){ .inside = 1, .outside = (uint32_t)first, .count = (uint32_t)count };
		return true;
	}
	return false;
}

static bool is_installed(const char *program)
{
	_cleanup_free_ char *path = NULL;
	struct error unread = { 0 };
	int status;

	return program_lookup(program, environ, &path, &status, &unread) == 0;
}

static _Noreturn void write_maps_of(pid_t parent, const struct container_id_maps *maps, int go, int said)
{
	struct error err = { 0 };
	char byte;

	if (fd_read_full(go, &byte, 1) == 1 && userns_write_maps(parent, maps, &err) < 0)
		(void)fd_write_full(said, err.text, strlen(err.text));
	_exit(err.code != 0);
}

static int await_maps(pid_t child, int said, struct error *err)
{
	char text[sizeof(err->text)];
	ssize_t n = read(said, text, sizeof(text) - 1);
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	text[n > 0 ? n : 0] = '\0';
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return error_set(err, EPERM, "%s", n > 0 ? text : "cannot write the maps of the user namespace");
}

static int enter_with(const struct container_id_maps *maps, struct error *err)
{
	_cleanup_close_ int go_read = -1, go_write = -1, said_read = -1, said_write = -1;
	int go[2], said[2], r = 0;
	pid_t child, self = getpid();

	if (pipe2(go, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot create a pipe");
	go_read = go[0];
	go_write = go[1];
	if (pipe2(said, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot create a pipe");
	said_read = said[0];
	said_write = said[1];
	child = fork();
	if (child < 0)
		return error_errno(err, errno, "fork");
	if (child == 0) {
		cleanup_close(&go_write);
		write_maps_of(self, maps, go_read, said_write);
	}
	cleanup_close(&said_write);
	said_write = -1;
	if (unshare(CLONE_NEWUSER) == 0)
		r = fd_write_full(go_write, "", 1);
	else
		r = -errno;
	cleanup_close(&go_write);
	go_write = -1;
	if (r < 0) {
		(void)await_maps(child, said_read, err);
		(void)error_errno(err, -r, "cannot create a user namespace, which is needed when not started by root");
		namespaces_explain(CLONE_NEWUSER, err);
		return r;
	}
	r = await_maps(child, said_read, err);
	if (r == 0)
		userns_become_root();
	return r;
}

/* More than one number of both kinds? */
static bool has_many(void)
{
	static const char *const files[] = { "/proc/self/uid_map", "/proc/self/gid_map" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_fclose_ FILE *lines = fopen(files[i], "re");
		unsigned long count, all = 0;

		while (lines && fscanf(lines, "%*u %*u %lu", &count) == 1)
			all += count;
		if (all < 2)
			return false;
	}
	return true;
}

/*
 * The memory of a program belongs to the namespace that it was executed in, and so does what a child of it is until its own execve: one with
 * another user could not be traced. So the namespace gets this program anew.
 */
static int execute_again(struct error *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char **argv = NULL;
	size_t size, n = 0;
	int r;

	r = fd_read_file(AT_FDCWD, "/proc/self/cmdline", COMMAND_LINE_MOST, &text, &size);
	if (r < 0)
		return error_errno(err, -r, "/proc/self/cmdline");
	argv = calloc(size + 1, sizeof(*argv));
	if (!argv)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < size; i += strlen(text + i) + 1)
		argv[n++] = text + i;
	(void)execv("/proc/self/exe", argv);
	return error_errno(err, errno, "cannot execute this program in its user namespace");
}

int container_enter_userns_of_many(enum container_users *ret, struct error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user ? user->pw_name : NULL;
	struct container_id_map uids[2] = { { .outside = geteuid(), .count = 1 } }, gids[2] = { { .outside = getegid(), .count = 1 } };
	const struct container_id_maps maps = { .uids = uids, .gids = gids, .n_uids = 2, .n_gids = 2 };
	int r;

	*ret = !userns_is_nested() ? CONTAINER_USERS_ALL : has_many() ? CONTAINER_USERS_MANY : CONTAINER_USERS_ONE;
	if (geteuid() == 0)
		return 0;
	*ret = CONTAINER_USERS_ONE;
	if (!find_range("/etc/subuid", geteuid(), name, &uids[1]) || !find_range("/etc/subgid", geteuid(), name, &gids[1]) ||
	    !is_installed("newuidmap") || !is_installed("newgidmap"))
		return container_enter_userns(err);
	r = enter_with(&maps, err);
	return r == 0 ? execute_again(err) : r;
}
