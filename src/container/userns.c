/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User namespaces, and finding out what stands in the way of namespaces. Each probe is made in a child of its own, so that
 * the caller stays what it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/internal.h"

static const struct {
	unsigned long flag;
	const char *name, *limit; /* limit: below /proc/sys/user */
} kinds[] = {
	{ CLONE_NEWUSER, "user", "max_user_namespaces" },   { CLONE_NEWPID, "pid", "max_pid_namespaces" },
	{ CLONE_NEWNS, "mount", "max_mnt_namespaces" },	    { CLONE_NEWNET, "network", "max_net_namespaces" },
	{ CLONE_NEWUTS, "uts", "max_uts_namespaces" },	    { CLONE_NEWIPC, "ipc", "max_ipc_namespaces" },
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

static bool is_chrooted(void)
{
	char link[8];

	/* in a chroot a user namespace is refused; the root of the mount namespace is not our "/" then */
	return readlink("/proc/self/root", link, sizeof(link)) < 0 || read_knob("/proc/self/mountinfo") < 0;
}

/* Why this one was refused, in words. */
static const char *explain(size_t kind, int code, char *buf, size_t size)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/sys/user/%s", kinds[kind].limit);
	if (code == EINVAL || code == ENOSYS)
		return "this kernel was built without it";
	if (code == ENOSPC || code == EUSERS || read_knob(path) == 0) {
		(void)snprintf(buf, size, "the limit user.%s is %ld, or namespaces are nested too deeply", kinds[kind].limit,
			       read_knob(path));
		return buf;
	}
	if (kinds[kind].flag != CLONE_NEWUSER)
		return status_has("Seccomp:\t2") ? "a seccomp filter of the launcher refuses it, or CAP_SYS_ADMIN is missing" :
						   "CAP_SYS_ADMIN is missing";
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

static int write_map(const char *path, unsigned id, struct error *err)
{
	char text[32];
	int r;

	(void)snprintf(text, sizeof(text), "0 %u 1\n", id);
	r = fd_write_file(AT_FDCWD, path, text);
	return r < 0 ? error_errno(err, -r, "cannot write %s", path) : 0;
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
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

	if (uid == 0)
		return 0;
	if (unshare(CLONE_NEWUSER) < 0) {
		(void)error_errno(err, errno, "cannot create a user namespace, which is needed when not started by root");
		namespaces_explain(CLONE_NEWUSER, err);
		return err ? -err->code : -EPERM;
	}
	r = fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r < 0 && r != -ENOENT)
		return error_errno(err, -r, "cannot write /proc/self/setgroups");
	r = write_map("/proc/self/uid_map", uid, err);
	if (r == 0)
		r = write_map("/proc/self/gid_map", gid, err);
	return r < 0 ? r : check_powers(err);
}
