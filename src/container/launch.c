/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making the first process, in new namespaces, in joined ones, or inside a container that runs.
 *
 * Joining some namespaces cannot be undone, and what is new must be made inside of them. A helper process does the joining:
 * it makes the first process as its sibling (CLONE_PARENT), so that this one is the creator's child all the same, tells its
 * number over the channel, and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/internal.h"

/* fork() into new namespaces. The cgroup and time namespaces come later, see init.c. */
static pid_t clone_into(unsigned long flags, bool sibling)
{
	struct clone_args args = {
		.flags = flags & ~(unsigned long)(CLONE_NEWCGROUP | CLONE_NEWTIME),
		.exit_signal = sibling ? 0 : SIGCHLD,
	};

	long pid;

	if (sibling)
		args.flags |= CLONE_PARENT;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	/* launchers' filters answer so because they cannot look at its arguments */
	if (pid < 0 && errno == ENOSYS)
		pid = syscall(SYS_clone, (unsigned long)(args.flags | args.exit_signal), NULL, NULL, NULL, 0UL);
	return (pid_t)pid;
}

static const char *join_path(const struct container_spec *spec, int nstype)
{
	for (size_t i = 0; i < spec->n_joins; i++)
		if (spec->joins[i].nstype == nstype)
			return spec->joins[i].path;
	return NULL;
}

static int enter(const char *path, int nstype, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, nstype) < 0)
		return error_errno(err, errno, "cannot join the namespace %s", path);
	return 0;
}

/* The end of every helper: its sibling is there, or err says why not. */
static _Noreturn void finish_helper(int channel, pid_t sibling)
{
	struct channel_message message = { .kind = CHANNEL_CHILD, .code = sibling };
	struct error err = { 0 };

	if (sibling < 0) {
		(void)error_errno(&err, errno, "cannot create a process inside the namespaces joined");
		child_fail(channel, &err, STATUS_FAILURE);
	}
	(void)channel_send(channel, &message);
	_exit(0);
}

static _Noreturn void launch_in_user_namespace(const struct container_spec *spec, const struct child_ends *ends)
{
	const char *pid_path = join_path(spec, CLONE_NEWPID);
	struct error err = { 0 };
	pid_t pid;

	if (enter(join_path(spec, CLONE_NEWUSER), CLONE_NEWUSER, &err) < 0)
		child_fail(ends->channel, &err, STATUS_FAILURE);
	userns_become_root();
	if (pid_path && enter(pid_path, CLONE_NEWPID, &err) < 0)
		child_fail(ends->channel, &err, STATUS_FAILURE);
	pid = clone_into(ends->namespaces, true);
	if (pid == 0)
		init_main(spec, ends);
	finish_helper(ends->channel, pid);
}

/* The namespaces of the process that are not ours already: joining one's own is an error for some kinds. */
static int foreign_namespaces(pid_t process, int *ret, struct error *err)
{
	static const struct {
		const char *file;
		int flag;
	} kinds[] = {
		{ "user", CLONE_NEWUSER }, { "cgroup", CLONE_NEWCGROUP }, { "ipc", CLONE_NEWIPC },
		{ "uts", CLONE_NEWUTS },   { "net", CLONE_NEWNET },	  { "pid", CLONE_NEWPID },
		{ "time", CLONE_NEWTIME }, { "mnt", CLONE_NEWNS },
	};
	char path[64], own[64];
	struct stat theirs, ours;

	*ret = 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", process, kinds[i].file);
		(void)snprintf(own, sizeof(own), "/proc/self/ns/%s", kinds[i].file);
		if (stat(own, &ours) < 0)
			continue; /* a kind that this kernel does not have */
		if (stat(path, &theirs) < 0)
			return error_errno(err, errno, "cannot look at the namespaces of process %d", process);
		if (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev)
			*ret |= kinds[i].flag;
	}
	return 0;
}

/* All namespaces of the process and its root directory. */
static int enter_process(pid_t process, struct error *err)
{
	_cleanup_close_ int pidfd = -1, root = -1;
	char path[64];
	int flags, r;

	(void)snprintf(path, sizeof(path), "/proc/%d/root", process);
	pidfd = (int)syscall(SYS_pidfd_open, process, 0);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (pidfd < 0 || root < 0)
		return error_errno(err, errno, "cannot open process %d", process);
	r = foreign_namespaces(process, &flags, err);
	if (r < 0)
		return r;
	if (flags && setns(pidfd, flags) < 0)
		return error_errno(err, errno, "cannot join the namespaces of process %d", process);
	if (flags & CLONE_NEWUSER)
		userns_become_root();
	if (fchdir(root) < 0 || chroot(".") < 0 || chdir("/") < 0)
		return error_errno(err, errno, "cannot enter the root of process %d", process);
	return 0;
}

static _Noreturn void launch_in_container(const struct container_spec *spec, const struct child_ends *ends)
{
	struct error err = { 0 };
	pid_t pid;

	if (enter_process(ends->inside, &err) < 0)
		child_fail(ends->channel, &err, STATUS_FAILURE);
	pid = clone_into(0, true);
	if (pid == 0)
		inside_main(spec, ends);
	finish_helper(ends->channel, pid);
}

/* The child's way, with its ends of everything. */
static _Noreturn void child_main(const struct container_spec *spec, const struct child_ends *ends, int channel,
				 int reaped)
{
	(void)close(channel);
	if (reaped >= 0)
		(void)close(reaped);
	if (ends->inside)
		launch_in_container(spec, ends);
	if (join_path(spec, CLONE_NEWUSER))
		launch_in_user_namespace(spec, ends);
	init_main(spec, ends);
}

bool launch_takes_helper(const struct container_spec *spec, const struct child_ends *ends)
{
	return ends->inside || join_path(spec, CLONE_NEWUSER);
}

/* Makes the child with all signals blocked, so that no handler of ours runs in it. */
static pid_t clone_quietly(const struct container_spec *spec, const struct child_ends *ends, int channel, int reaped)
{
	bool helper = launch_takes_helper(spec, ends);
	sigset_t all, before;
	pid_t pid;
	int code;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	pid = helper ? fork() : clone_into(ends->namespaces, false);
	code = errno;
	if (pid == 0)
		child_main(spec, ends, channel, reaped);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return pid;
}

/* A pid namespace is joined by the creator for its next child, and left again. */
pid_t launch(const struct container_spec *spec, const struct child_ends *ends, int channel, int reaped,
	     struct error *err)
{
	const char *path = launch_takes_helper(spec, ends) ? NULL : join_path(spec, CLONE_NEWPID);
	_cleanup_close_ int own = -1;
	pid_t pid;
	int code;

	if (!path)
		return clone_quietly(spec, ends, channel, reaped);
	own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (own < 0 || enter(path, CLONE_NEWPID, err) < 0)
		return -1;
	pid = clone_quietly(spec, ends, channel, reaped);
	code = errno;
	(void)setns(own, CLONE_NEWPID);
	errno = code;
	return pid;
}
