/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process 1 of the container. It sets up everything that belongs to the container as a whole, then either becomes the guest
 * or forks it and reaps orphans for ever. It ends only by SIGKILL: from container_destroy(), or from the kernel when the
 * creator dies. Its end is the end of every process in the container.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/internal.h"

_Noreturn void child_fail(int channel, const struct error *err, int status)
{
	(void)channel_send_error(channel, err, status);
	_exit(status);
}

/* The creator may have died before the request was made: then its end of the channel is closed already. */
static int die_with_creator(int channel, struct error *err)
{
	struct pollfd end = { .fd = channel };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return error_errno(err, errno, "PR_SET_PDEATHSIG");
	if (poll(&end, 1, 0) > 0 && (end.revents & POLLHUP))
		_exit(STATUS_FAILURE);
	return 0;
}

/* By the raw call: the C library hides two signals (32, 33), but a parent can have left them ignored. */
static void reset_signals(void)
{
	static const struct {
		unsigned long handler, flags, restorer, mask; /* all zero: SIG_DFL */
	} dflt;
	sigset_t none;

	for (int sig = 1; sig <= 64; sig++)
		(void)syscall(SYS_rt_sigaction, sig, &dflt, NULL, sizeof(dflt.mask));
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Now, not at the clone: a cgroup namespace shows as its root whatever cgroup the process is in when it is made. */
static int enter_cgroup_namespace(unsigned long namespaces, struct error *err)
{
	if (!(namespaces & CLONE_NEWCGROUP) || unshare(CLONE_NEWCGROUP) == 0)
		return 0;
	(void)error_errno(err, errno, "cannot create a cgroup namespace");
	namespaces_explain(CLONE_NEWCGROUP, err);
	return -err->code;
}

static int set_names(const struct container_spec *spec, struct error *err)
{
	if (spec->hostname && sethostname(spec->hostname, strlen(spec->hostname)) < 0)
		return error_errno(err, errno, "cannot set the host name to '%s'", spec->hostname);
	if (spec->domainname && setdomainname(spec->domainname, strlen(spec->domainname)) < 0)
		return error_errno(err, errno, "cannot set the domain name to '%s'", spec->domainname);
	return 0;
}

/*
 * The creator puts us into our cgroups and writes the maps of our user namespace, neither of which we might be allowed to do
 * ourselves; until then we are nobody.
 */
static int wait_for_admission(const struct child_ends *ends, struct error *err)
{
	struct channel_message message;

	if (!ends->admitted_by_creator)
		return 0;
	if (channel_receive(ends->channel, 0, &message, NULL, NULL) != 1 || message.kind != CHANNEL_GO)
		return error_set(err, ECANCELED, "the creator of the container went away");
	if (ends->namespaces & CLONE_NEWUSER)
		userns_become_root();
	return 0;
}

static bool joins_network(const struct container_spec *spec)
{
	for (size_t i = 0; i < spec->n_joins; i++)
		if (spec->joins[i].nstype == CLONE_NEWNET)
			return true;
	return false;
}

/* User and pid namespaces have been joined before this process was made. */
static int join_namespaces(const struct container_spec *spec, struct error *err)
{
	for (size_t i = 0; i < spec->n_joins; i++) {
		const struct container_join *join = &spec->joins[i];
		_cleanup_close_ int fd = -1;

		if (join->nstype == CLONE_NEWUSER || join->nstype == CLONE_NEWPID)
			continue;
		fd = open(join->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, join->nstype) < 0)
			return error_errno(err, errno, "cannot join the namespace %s", join->path);
	}
	return 0;
}

static int write_offset(const char *clock, const struct container_time_offset *offset, struct error *err)
{
	char text[96];
	int r;

	if (!offset->set)
		return 0;
	(void)snprintf(text, sizeof(text), "%s %lld %u\n", clock, (long long)offset->seconds, offset->nanoseconds);
	r = fd_write_file(AT_FDCWD, "/proc/self/timens_offsets", text);
	return r < 0 ? error_errno(err, -r, "cannot set the offset of the %s clock", clock) : 0;
}

/* A time namespace is entered by children and by execve, never by who makes it. */
static int make_time_namespace(const struct container_spec *spec, unsigned long namespaces, struct error *err)
{
	int r;

	if (!(namespaces & CLONE_NEWTIME))
		return 0;
	if (unshare(CLONE_NEWTIME) < 0)
		return error_errno(err, errno, "cannot create a time namespace");
	r = write_offset("monotonic", &spec->monotonic_offset, err);
	return r < 0 ? r : write_offset("boottime", &spec->boottime_offset, err);
}

/*
 * What costs a control group nothing is done while the creator waits for the kernel to move us into ours, which takes it some 10 ms.
 * Files, which are paid for by whoever makes them, are made after that. In a user namespace we are nobody before.
 */
static int set_up(const struct container_spec *spec, const struct child_ends *ends, struct error *err)
{
	bool early = ends->namespaces & CLONE_NEWUSER;
	_cleanup_close_ int shared = -1;
	int r = early ? wait_for_admission(ends, err) : 0;

	if (r == 0 && !spec->outlive)
		r = die_with_creator(ends->channel, err);
	if (r == 0)
		r = shared_root_open(spec, ends->namespaces, &shared, err);
	if (r == 0)
		r = join_namespaces(spec, err);
	if (r == 0)
		r = make_time_namespace(spec, ends->namespaces, err);
	if (r == 0)
		r = set_names(spec, err);
	if (r == 0 && (ends->namespaces & CLONE_NEWNET))
		r = net_loopback_up(ends->links_inherit, err);
	if (r == 0 && (ends->namespaces & CLONE_NEWNET) && spec->network_pair)
		r = net_pair_up(err);
	if (r == 0 && joins_network(spec))
		r = net_configure_joined(spec->fixed_macs, err);
	if (r == 0 && !early)
		r = wait_for_admission(ends, err);
	if (r == 0)
		r = enter_cgroup_namespace(ends->namespaces, err);
	if (r == 0)
		r = shared_root_leave(shared, err);
	if (r == 0)
		r = root_enter(spec, ends, shared, err);
	if (r == 0 && (ends->namespaces & CLONE_NEWNET))
		r = net_acknowledge_at_once(spec->network_pair, err);
	if (r == 0 && joins_network(spec))
		r = net_settle(err);
	return r;
}

/*
 * /proc/1/cmdline and environ must not show the creator's command line. The bytes are ours to change; a last byte that is
 * not NUL makes the kernel show the text up to the first NUL only.
 */
static void hide_command_line(void)
{
	unsigned long arg_start, arg_end, env_start, env_end;
	_cleanup_free_ char *text = NULL;
	const char *p;

	if (fd_read_file(AT_FDCWD, "/proc/self/stat", 4096, &text, NULL) < 0)
		return;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 48; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, " %lu %lu %lu %lu", &arg_start, &arg_end, &env_start, &env_end) != 4)
		return;
	if (arg_end - arg_start < sizeof("init") + 1 || arg_end > env_start || env_end < env_start)
		return;
	memset((void *)arg_start, 0, arg_end - arg_start);
	memcpy((void *)arg_start, "init", 4);
	*(char *)(arg_end - 1) = ' ';
	memset((void *)env_start, 0, env_end - env_start);
}

/* Keeps nothing of the creator's open, or the ends of its pipes would never be seen. Returns the pipe's new number. */
static int keep_only(int reaped_fd)
{
	int null;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			(void)close(fd);
	if (reaped_fd != 3 && dup3(reaped_fd, 3, O_CLOEXEC) < 0)
		_exit(STATUS_FAILURE);
	(void)close_range(4, ~0U, 0);
	return 3;
}

/*
 * Orphans come as hints: when nobody reads them and the pipe is full they are dropped. The guest's own record is not.
 */
static void report(int fd, pid_t pid, int status, bool is_guest)
{
	const struct container_reaped record = { .pid = pid, .status = status };
	struct pollfd end = { .fd = fd, .events = POLLOUT };

	while (write(fd, &record, sizeof(record)) < 0 && (errno == EINTR || (errno == EAGAIN && is_guest)))
		(void)poll(&end, 1, -1);
}

/* Signals that wake nobody: with no child at all, the next thing that can happen is the SIGCHLD of an adopted one. */
static _Noreturn void reap_for_ever(int reaped_fd, pid_t guest)
{
	sigset_t wanted;
	int status;
	pid_t pid;

	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &wanted, NULL);
	for (;;) {
		pid = waitpid(-1, &status, __WALL);
		if (pid > 0)
			report(reaped_fd, pid, status, pid == guest);
		else if (errno == ECHILD)
			(void)sigwaitinfo(&wanted, NULL);
	}
}

static _Noreturn void become_init(int reaped_fd, pid_t guest)
{
	(void)prctl(PR_SET_NAME, "init");
	reaped_fd = keep_only(reaped_fd);
	hide_command_line();
	reap_for_ever(reaped_fd, guest);
}

_Noreturn void init_main(const struct container_spec *spec, const struct child_ends *ends)
{
	char cwd[PATH_MAX];
	struct error err = { 0 };
	pid_t guest;
	int r;

	reset_signals();
	(void)umask(022); /* of the places where things are mounted */
	if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
		memcpy(cwd, "/", sizeof("/"));
	r = set_up(spec, ends, &err);
	if (r < 0)
		child_fail(ends->channel, &err, STATUS_FAILURE);
	if (!spec->own_init)
		guest_main(spec, ends->channel, cwd);
	if (spec->session != SESSION_KEEP)
		(void)setsid();
	guest = fork();
	if (guest < 0) {
		(void)error_errno(&err, errno, "cannot create the guest process");
		child_fail(ends->channel, &err, STATUS_FAILURE);
	}
	if (guest == 0)
		guest_main(spec, ends->channel, cwd);
	become_init(ends->reaped_fd, guest);
}

_Noreturn void inside_main(const struct container_spec *spec, const struct child_ends *ends)
{
	struct error err = { 0 };
	int r;

	reset_signals();
	r = wait_for_admission(ends, &err);
	if (r == 0 && !spec->outlive)
		r = die_with_creator(ends->channel, &err);
	if (r < 0)
		child_fail(ends->channel, &err, STATUS_FAILURE);
	guest_main(spec, ends->channel, "/");
}
