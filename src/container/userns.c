/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User namespaces, and finding out what stands in the way of namespaces. Each probe is made in a child of its own, so that
 * the caller stays what it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/internal.h"

static const struct {
	unsigned long flag;
	const char *name, *limit; /* limit: below /proc/sys/user */
} kinds[] = {
	{ CLONE_NEWUSER, "user", "max_user_namespaces" },	{ CLONE_NEWPID, "pid", "max_pid_namespaces" },
	{ CLONE_NEWNS, "mount", "max_mnt_namespaces" },		{ CLONE_NEWNET, "network", "max_net_namespaces" },
	{ CLONE_NEWUTS, "uts", "max_uts_namespaces" },		{ CLONE_NEWIPC, "ipc", "max_ipc_namespaces" },
	{ CLONE_NEWCGROUP, "cgroup", "max_cgroup_namespaces" },
};

bool userns_is_nested(void)
{
	_cleanup_free_ char *text = NULL;
	unsigned inside, outside, count;

	if (fd_read_file(AT_FDCWD, "/proc/self/uid_map", 1 << 20, &text, NULL) < 0)
		return false;
	return sscanf(text, "%u %u %u", &inside, &outside, &count) != 3 || inside != 0 || outside != 0 ||
	       count != 4294967295U;
}

/* errno value of making one namespace, 0 if it works. */
static int try_namespace(unsigned long flag)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(unshare((int)flag) < 0 ? errno & 0xff : 0);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

/* The number in a /proc/sys file, or -1. */
static long read_knob(const char *path)
{
	_cleanup_free_ char *text = NULL;

	return fd_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0 ? -1 : strtol(text, NULL, 10);
}

static bool status_has(const char *line)
{
	_cleanup_free_ char *text = NULL;

	return fd_read_file(AT_FDCWD, "/proc/self/status", 1 << 16, &text, NULL) == 0 && strstr(text, line);
}

/* In a chroot the kernel refuses user namespaces. There, "/" is no mount of its own, as a rule. */
static bool is_chrooted(void)
{
	struct mount_table mounts;
	bool chrooted;

	if (mount_table_read(&mounts, 0, NULL) < 0)
		return false;
	chrooted = !mount_table_find(&mounts, "/");
	mount_table_free(&mounts);
	return chrooted;
}

/* Why this one was refused, in words. */
static const char *explain(size_t kind, int code, char *buf, size_t size)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/sys/user/%s", kinds[kind].limit);
	if (code == EINVAL || code == ENOSYS)
		return "this kernel was built without it";
	if (code == ENOSPC || code == EUSERS || read_knob(path) == 0) {
		(void)snprintf(buf, size, "the limit user.%s is %ld, or namespaces are nested too deeply",
			       kinds[kind].limit, read_knob(path));
		return buf;
	}
	if (kinds[kind].flag != CLONE_NEWUSER)
		return status_has("Seccomp:\t2")
			       ? "a seccomp filter of the launcher refuses it, or CAP_SYS_ADMIN is missing"
			       : "CAP_SYS_ADMIN is missing";
	if (read_knob("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return "sysctl kernel.unprivileged_userns_clone is 0";
	if (read_knob("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "sysctl kernel.apparmor_restrict_unprivileged_userns is 1";
	if (status_has("Seccomp:\t2"))
		return "a seccomp filter of the launcher refuses it (a container engine's default profile does)";
	if (is_chrooted())
		return "the process is in a chroot";
	return "the kernel or a security module refuses it";
}

void namespaces_explain(unsigned long flags, struct error *err)
{
	char words[128];
	size_t used;
	int code;

	for (size_t i = 0; err && i < ARRAY_SIZE(kinds); i++) {
		if (!(flags & kinds[i].flag))
			continue;
		code = try_namespace(kinds[i].flag);
		if (!code)
			continue;
		used = strlen(err->text);
		(void)snprintf(err->text + used, sizeof(err->text) - used, "; %s namespace: %s (%s)", kinds[i].name,
			       strerrordesc_np(code), explain(i, code, words, sizeof(words)));
	}
}

/* ---- maps ---- */

enum { MAP_TEXT = 16384, MAX_WORDS = 1024 };

static int format_map(const struct container_id_map *map, size_t n, char *text, size_t size)
{
	size_t used = 0;
	int k;

	for (size_t i = 0; i < n; i++) {
		k = snprintf(text + used, size - used, "%u %u %u\n", map[i].inside, map[i].outside, map[i].count);
		if (k < 0 || (size_t)k >= size - used)
			return -E2BIG;
		used += (size_t)k;
	}
	return 0;
}

static int run_helper(char **argv)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)execvp(argv[0], argv);
		_exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NOT_FOUND)
		return -ENOENT;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

/* newuidmap PID 0 1000 1 1 100000 65536: set-user-ID programs that know /etc/subuid. Cuts up text. */
static int write_map_by_helper(const char *helper, pid_t pid, char *text)
{
	char *argv[MAX_WORDS + 3], number[16], *rest = text, *word;
	size_t n = 0;

	(void)snprintf(number, sizeof(number), "%d", pid);
	argv[n++] = (char *)helper;
	argv[n++] = number;
	while (n < MAX_WORDS + 2 && (word = strsep(&rest, " \n")))
		if (*word)
			argv[n++] = word;
	argv[n] = NULL;
	return run_helper(argv);
}

static int write_map(pid_t pid, const char *file, const char *helper, const struct container_id_map *map, size_t n,
		     struct error *err)
{
	char text[MAP_TEXT], path[64];
	int r;

	r = format_map(map, n, text, sizeof(text));
	if (r < 0)
		return error_set(err, -r, "%s has too many entries (%zu)", file, n);
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	r = fd_write_file(AT_FDCWD, path, text);
	if (r != -EPERM)
		return r < 0 ? error_errno(err, -r, "cannot write %s", path) : 0;
	r = write_map_by_helper(helper, pid, text);
	if (r == -ENOENT)
		return error_set(err, EPERM, "cannot write %s, and %s is not installed", path, helper);
	return r < 0 ? error_set(err, EPERM, "%s refuses the map; see /etc/subuid and /etc/subgid", helper) : 0;
}

/* An ordinary user may map the own group without newgidmap, to a process that gives up setgroups(2) (user_namespaces(7)). */
static int give_up_groups(pid_t pid, const struct container_id_maps *maps, struct error *err)
{
	char path[64];
	int r;

	if (geteuid() == 0 || maps->n_gids != 1 || maps->gids[0].count != 1 || maps->gids[0].outside != getegid())
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	r = fd_write_file(AT_FDCWD, path, "deny");
	return r < 0 && r != -ENOENT ? error_errno(err, -r, "cannot write %s", path) : 0;
}

int userns_write_maps(pid_t pid, const struct container_id_maps *maps, struct error *err)
{
	int r;

	r = give_up_groups(pid, maps, err);
	if (r < 0)
		return r;
	r = write_map(pid, "uid_map", "newuidmap", maps->uids, maps->n_uids, err);
	return r < 0 ? r : write_map(pid, "gid_map", "newgidmap", maps->gids, maps->n_gids, err);
}

void userns_become_root(void)
{
	/* fails where 0 is not mapped: then the process stays nobody, with all capabilities in the namespace */
	(void)setgroups(0, NULL);
	(void)setresgid(0, 0, 0);
	(void)setresuid(0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 1); /* or /proc/self would not be ours */
}

int userns_create(const struct container_id_maps *maps, struct error *err)
{
	int ready[2], fd = -1, r;
	char path[64], byte = 0;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot create a pipe");
	pid = fork();
	if (pid == 0) {
		byte = unshare(CLONE_NEWUSER) == 0;
		(void)fd_write_full(ready[1], &byte, 1);
		(void)pause();
		_exit(0);
	}
	(void)close(ready[1]);
	if (pid < 0 || fd_read_full(ready[0], &byte, 1) != 1 || !byte) {
		r = error_set(err, EPERM, "cannot create a user namespace");
	} else {
		r = userns_write_maps(pid, maps, err);
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
		fd = r < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		if (r == 0 && fd < 0)
			r = error_errno(err, errno, "cannot open %s", path);
	}
	(void)close(ready[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return r < 0 ? r : fd;
}

/* What an AppArmor restriction looks like: the namespace is there, but without the power to use it. */
static int check_powers(struct error *err)
{
	int code = try_namespace(CLONE_NEWNS);

	if (!code)
		return 0;
	(void)error_errno(err, code, "the new user namespace has no power over mounts");
	if (read_knob("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		error_prefix(err, "sysctl kernel.apparmor_restrict_unprivileged_userns is 1");
	return -code;
}

int container_enter_userns(struct error *err)
{
	const struct container_id_map uid = { .outside = geteuid(), .count = 1 };
	const struct container_id_map gid = { .outside = getegid(), .count = 1 };
	const struct container_id_maps maps = { .uids = &uid, .gids = &gid, .n_uids = 1, .n_gids = 1 };
	int r;

	if (uid.outside == 0)
		return 0;
	if (unshare(CLONE_NEWUSER) < 0) {
		(void)error_errno(err, errno,
				  "cannot create a user namespace, which is needed when not started by root");
		namespaces_explain(CLONE_NEWUSER, err);
		return err ? -err->code : -EPERM;
	}
	r = fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r < 0 && r != -ENOENT)
		return error_errno(err, -r, "cannot write /proc/self/setgroups");
	r = userns_write_maps(getpid(), &maps, err);
	return r < 0 ? r : check_powers(err);
}

int container_enter_its_users(const struct container_spec *spec, const struct container *c, struct error *err)
{
	const struct container_id_maps *maps = &spec->maps;

	if (geteuid() == 0 || (maps->n_uids < 2 && (maps->n_uids == 0 || maps->uids[0].count < 2)))
		return 0;
	return setns(c->init_pidfd, CLONE_NEWUSER) < 0 ? error_errno(err, errno, "the users of the container cannot be entered") : 0;
}
