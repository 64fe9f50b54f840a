/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest process, from its birth to its execve: everything about it is set, nothing is inherited by accident. The order is
 * dictated by what each step takes away: limits and devices while still privileged, capabilities last.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "container/console.h"
#include "container/fsops.h"
#include "container/internal.h"

/* ---- limits and scheduling ---- */

static rlim_t smaller(rlim_t a, rlim_t b)
{
	return a < b ? a : b; /* RLIM_INFINITY is the largest value */
}

/* A hard limit can only be raised with CAP_SYS_RESOURCE on the host; without it, as much as the host allows. */
static int set_default_limit(int number)
{
	struct rlimit want = *limits_default((unsigned)number), have;
	__rlimit_resource_t resource = (__rlimit_resource_t)number;

	if (setrlimit(resource, &want) == 0)
		return 0;
	if (errno != EPERM || getrlimit(resource, &have) < 0)
		return -errno;
	want.rlim_max = smaller(want.rlim_max, have.rlim_max);
	want.rlim_cur = smaller(want.rlim_cur, want.rlim_max);
	return setrlimit(resource, &want) < 0 ? -errno : 0;
}

/* A default must not lower first what could not be raised again. */
static bool is_asked_for(const struct container_spec *spec, int resource)
{
	for (size_t i = 0; i < spec->n_rlimits; i++)
		if (spec->rlimits[i].resource == resource)
			return true;
	return false;
}

static int set_limits(const struct container_spec *spec, struct error *err)
{
	int r;

	for (int i = 0; !spec->plain_rlimits && i < LIMITS_COUNT; i++) {
		if (is_asked_for(spec, i))
			continue;
		r = set_default_limit(i);
		if (r < 0)
			return error_errno(err, -r, "cannot set %s", limits_name((unsigned)i));
	}
	for (size_t i = 0; i < spec->n_rlimits; i++) {
		const struct container_rlimit *l = &spec->rlimits[i];

		if (setrlimit((__rlimit_resource_t)l->resource, &l->limit) < 0)
			return error_errno(err, errno, "cannot set %s to %llu:%llu", limits_name((unsigned)l->resource),
					   (unsigned long long)l->limit.rlim_cur,
					   (unsigned long long)l->limit.rlim_max);
	}
	return 0;
}

/* struct sched_attr of sched_setattr(2), version 1; the C library has none. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static int set_policy(const struct container_scheduler *s, struct error *err)
{
	const struct sched_param param = { 0 };
	const struct scheduling attr = {
		.size = sizeof(attr),
		.policy = (uint32_t)s->policy,
		.flags = s->flags,
		.nice = s->nice,
		.priority = (uint32_t)s->priority,
		.runtime_ns = s->runtime_ns,
		.deadline_ns = s->deadline_ns,
		.period_ns = s->period_ns,
	};

	if (s->set)
		return syscall(SYS_sched_setattr, 0, &attr, 0) < 0 ? error_errno(err, errno, "cannot set the scheduler")
								   : 0;
	/* Back to ordinary; who may not raise itself again keeps what it has, which changes no result, only the speed. */
	if (sched_getscheduler(0) != SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_OTHER, &param);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	return 0;
}

static int set_io_priority(const struct container_io_priority *p, struct error *err)
{
	enum { WHO_PROCESS = 1, CLASS_SHIFT = 13 };

	if (syscall(SYS_ioprio_set, WHO_PROCESS, 0, p->set ? p->io_class << CLASS_SHIFT | p->priority : 0) < 0 &&
	    p->set)
		return error_errno(err, errno, "cannot set the I/O priority");
	return 0;
}

static int choose_cpus(const struct container_spec *spec, struct error *err)
{
	cpu_set_t cpus;

	if (spec->set_affinity)
		return sched_setaffinity(0, sizeof(spec->affinity), &spec->affinity) < 0 ?
			       error_errno(err, errno, "cannot use the CPUs of execCPUAffinity.final") :
			       0;
	if (!spec->pin_cpu)
		return 0;
	if (spec->cpu >= CPU_SETSIZE)
		return error_set(err, EINVAL, "no CPU %u", spec->cpu);
	CPU_ZERO(&cpus);
	CPU_SET(spec->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		return error_errno(err, errno, "cannot use CPU %u", spec->cpu);
	return 0;
}

static int set_scheduling(const struct container_spec *spec, struct error *err)
{
	int r;

	(void)prctl(PR_SET_TIMERSLACK, 50000UL);
	r = choose_cpus(spec, err);
	if (r == 0)
		r = set_io_priority(&spec->io_priority, err);
	return r == 0 ? set_policy(&spec->scheduler, err) : r;
}

/* The caller's does not go on to the guest. Who may not lower it keeps it: it decides who is killed only. */
static int set_oom_score(const struct container_spec *spec, struct error *err)
{
	char text[16];
	int r;

	(void)snprintf(text, sizeof(text), "%d", spec->set_oom_score_adj ? spec->oom_score_adj : 0);
	r = fd_write_file(AT_FDCWD, "/proc/self/oom_score_adj", text);
	if (r < 0 && spec->set_oom_score_adj)
		return error_errno(err, -r, "cannot set oom_score_adj to %d", spec->oom_score_adj);
	return 0;
}

/* ---- descriptors and session ---- */

static int show_as_console(int slave, struct error *err)
{
	_cleanup_close_ int mount = fs_clone(slave, "", false, err), target = -1;

	target = mount < 0 ? -1 : open("/dev/console", O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (target < 0)
		return error_errno(err, mount < 0 ? err->code : errno, "cannot create /dev/console");
	return fs_attach(mount, target, "/dev/console", err);
}

/* A terminal of the container's own: the master goes to the creator, the slave takes the place of all three. */
static int open_terminal(const struct container_spec *spec, int channel, int fds[3], struct error *err)
{
	_cleanup_close_ int master = -1, slave = -1;
	int r;

	r = console_open(&master, &slave, err);
	if (r < 0)
		return r;
	if (spec->set_user && fchown(slave, spec->uid, (gid_t)-1) < 0)
		return error_errno(err, errno, "cannot give the terminal to user %u", spec->uid);
	if (spec->terminal_rows || spec->terminal_columns)
		(void)console_set_size(master, spec->terminal_rows, spec->terminal_columns);
	if (!spec->keep_console)
		r = show_as_console(slave, err);
	if (r == 0)
		r = channel_send_fd(channel, CHANNEL_CONSOLE, master);
	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++) {
		fds[i] = fd_duplicate(slave);
		if (fds[i] < 0)
			return error_errno(err, -fds[i], "cannot duplicate the terminal");
	}
	return 0;
}

static bool is_null_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/*
 * Copies of the three above everything that has a fixed place. The caller's /dev/null is replaced by the container's own: what a guest does to
 * the descriptor (fchmod, say) must not be done to the host's device node.
 */
static int collect_stdio(const struct container_spec *spec, int fds[3], struct error *err)
{
	for (int i = 0; i < 3; i++) {
		int fd = spec->stdio[i];
		_cleanup_close_ int null = -1;

		if (fd < 0 || is_null_device(fd))
			null = open("/dev/null", (fd < 0 ? O_RDWR : fcntl(fd, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
		fds[i] = fcntl(null >= 0 ? null : fd, F_DUPFD_CLOEXEC, (int)(CONTAINER_FREE_FD + spec->preserve_fds));
		if (fds[i] < 0)
			return error_errno(err, errno, "standard descriptor %d (%d of the caller)", i, fd);
	}
	return 0;
}

/*
 * 0, 1, 2 as given; 3.. the preserved ones; then the channel, close-on-exec; nothing else. *channel becomes its new number.
 */
static int set_descriptors(const struct container_spec *spec, int *channel, struct error *err)
{
	int place = (int)(CONTAINER_FREE_FD - 1 + spec->preserve_fds), fds[3], moved, r;

	moved = fcntl(*channel, F_DUPFD_CLOEXEC, place + 1);
	if (moved < 0)
		return error_errno(err, errno, "cannot move a descriptor to %d or above", place + 1);
	*channel = moved;
	r = spec->terminal ? open_terminal(spec, *channel, fds, err) : collect_stdio(spec, fds, err);
	for (int i = 0; r == 0 && i < 3; i++)
		if (fds[i] != i && dup2(fds[i], i) < 0)
			r = error_errno(err, errno, "standard descriptor %d", i);
	for (int fd = 3; r == 0 && fd < place; fd++)
		if (fcntl(fd, F_SETFD, 0) < 0 && errno != EBADF)
			r = error_errno(err, errno, "descriptor %d, which should be preserved", fd);
	if (r < 0)
		return r;
	if (dup3(moved, place, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot move a descriptor to %d", place);
	*channel = place;
	if (close_range((unsigned)place + 1, ~0U, 0) < 0)
		return error_errno(err, errno, "close_range");
	return 0;
}

static int set_session(const struct container_spec *spec, struct error *err)
{
	if (spec->session == SESSION_KEEP && !spec->terminal)
		return setpgid(0, 0) < 0 ? error_errno(err, errno, "setpgid") : 0;
	if (setsid() < 0)
		return error_errno(err, errno, "setsid");
	if ((spec->session == SESSION_TTY || spec->terminal) && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
		return error_errno(err, errno, "cannot make stdin the controlling terminal");
	return 0;
}

/* ---- user and directory ---- */

/* A directory that is not below our root would be a way out of it. */
static int check_directory(const char *path, struct error *err)
{
	char real[PATH_MAX];

	if (!getcwd(real, sizeof(real)))
		return error_errno(err, errno, "working directory %s", path);
	if (real[0] != '/')
		return error_set(err, EPERM, "working directory %s is outside of the container's root", path);
	return 0;
}

/* The caller's own directory may not exist in the guest's tree (below /proc, deleted): then it is "/". */
static int change_directory(const struct container_spec *spec, const char *default_cwd, struct error *err)
{
	const char *path = spec->cwd ? spec->cwd : default_cwd;

	if (chdir(path) == 0)
		return check_directory(path, err);
	if (!spec->cwd && (errno == ENOENT || errno == ENOTDIR))
		return chdir("/") < 0 ? error_errno(err, errno, "working directory /") : 0;
	return error_errno(err, errno, "working directory %s", path);
}

static int set_label(const struct container_spec *spec, struct error *err)
{
	int r;

	if (!spec->lsm_exec)
		return 0;
	r = fd_write_file(AT_FDCWD, "/proc/self/attr/exec", spec->lsm_exec);
	return r < 0 ? error_errno(err, -r, "%s: write /proc/self/attr/exec: '%s'", spec->lsm_failure, spec->lsm_exec) : 0;
}

static int set_groups_and_user(const struct container_spec *spec, struct error *err)
{
	/* To the kernel this is "unchanged": the process would stay root. */
	if (spec->uid == (uid_t)-1 || spec->gid == (gid_t)-1)
		return error_set(err, EINVAL, "cannot become user %u, group %u: %u is the number of nobody", spec->uid, spec->gid, (uid_t)-1);
	/* A user namespace with one mapped group forbids setgroups; there is nothing to clear then that could be cleared. */
	if (!spec->keep_groups && setgroups(spec->n_groups, spec->groups) < 0 &&
	    (errno != EPERM || spec->n_groups > 0))
		return error_errno(err, errno, "cannot set %zu additional groups", spec->n_groups);
	if (setresgid(spec->gid, spec->gid, spec->gid) < 0)
		return error_errno(err, errno, "cannot become group %u", spec->gid);
	if (setresuid(spec->uid, spec->uid, spec->uid) < 0)
		return error_errno(err, errno, "cannot become user %u", spec->uid);
	return 0;
}

static int set_credentials(const struct container_spec *spec, struct error *err)
{
	bool keep_admin = spec->install_filter && !spec->no_new_privs;
	int r;

	r = caps_drop_bounding(&spec->caps, err);
	if (r < 0)
		return r;
	if (prctl(PR_SET_KEEPCAPS, spec->caps.set || keep_admin) < 0)
		return error_errno(err, errno, "PR_SET_KEEPCAPS");
	if (spec->set_user)
		r = set_groups_and_user(spec, err);
	if (r == 0)
		r = caps_apply(&spec->caps, keep_admin, err);
	if (r < 0)
		return r;
	(void)prctl(PR_SET_KEEPCAPS, 0);
	if (spec->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, errno, "PR_SET_NO_NEW_PRIVS");
	/* changing credentials has cleared it */
	if (!spec->own_init && !spec->outlive && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return error_errno(err, errno, "PR_SET_PDEATHSIG");
	/* so has it this; until execve the memory is the creator's program's, which nobody else in the container can get at: calls of guests are ours */
	if (spec->traceable && prctl(PR_SET_DUMPABLE, 1) < 0)
		return error_errno(err, errno, "PR_SET_DUMPABLE");
	if (spec->shielded && prctl(PR_SET_DUMPABLE, 0) < 0)
		return error_errno(err, errno, "PR_SET_DUMPABLE");
	return 0;
}

static int set_user_and_directory(const struct container_spec *spec, const char *default_cwd, struct error *err)
{
	struct error first = { 0 };
	bool entered;
	int r;

	entered = change_directory(spec, default_cwd, &first) == 0; /* one that only root may enter */
	r = set_credentials(spec, err);
	if (r < 0 || entered)
		return r;
	return change_directory(spec, default_cwd, err); /* one that only the user may enter */
}

/* ---- the end ---- */

static void run_start_hook(const struct container_spec *spec, int channel)
{
	const struct channel_message done = { .kind = CHANNEL_READY };
	struct error err = { 0 };

	if (spec->start_hook && spec->start_hook(spec->start_arg, &err) < 0)
		child_fail(channel, &err, STATUS_FAILURE);
	(void)channel_send(channel, &done);
}

static int wait_for_go_ahead(const struct container_spec *spec, int channel)
{
	struct channel_message message;

	while (channel_receive(channel, 0, &message, NULL, NULL) == 1) {
		if (message.kind == CHANNEL_GO)
			return 0;
		if (message.kind == CHANNEL_HOOK)
			run_start_hook(spec, channel);
	}
	return -ECANCELED;
}

static _Noreturn void execute(const struct container_spec *spec, int channel, const char *program, char **envp)
{
	struct error err = { 0 };
	int r = 0;

	if (spec->install_filter)
		r = spec->install_filter(spec->filter_arg);
	if (r < 0) {
		(void)error_errno(&err, -r, "cannot install the system call filter");
		child_fail(channel, &err, STATUS_FAILURE);
	}
	(void)syscall(SYS_execve, program, spec->argv, envp);
	r = errno;
	(void)syscall(SYS_exit_group, (r == ENOENT || r == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE) | r << CONTAINER_ERRNO_SHIFT);
	__builtin_unreachable();
}

static int set_everything(const struct container_spec *spec, int *channel, const char *default_cwd, struct error *err)
{
	unsigned long persona = spec->personality | (spec->randomize ? 0UL : (unsigned long)ADDR_NO_RANDOMIZE);
	int r;

	r = set_oom_score(spec, err);
	if (r == 0)
		r = set_limits(spec, err);
	if (r == 0)
		r = set_scheduling(spec, err);
	if (r == 0)
		r = set_descriptors(spec, channel, err);
	if (r == 0)
		r = set_session(spec, err);
	if (r == 0)
		r = set_label(spec, err);
	if (r == 0 && personality(persona) < 0)
		r = error_errno(err, errno, "personality 0x%lx%s", persona,
				errno == EINVAL ? "" : " (a seccomp filter of the launcher refuses it)");
	(void)umask(spec->set_umask ? spec->umask : 022);
	return r == 0 ? set_user_and_directory(spec, default_cwd, err) : r;
}

static size_t count_strings(char **strings)
{
	size_t n = 0;

	while (strings && strings[n])
		n++;
	return n;
}

/* The home directory of the guest's user, by the guest's own list of users. */
static void find_home(uid_t uid, char *buf, size_t size)
{
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd *user;

	(void)snprintf(buf, size, "HOME=/");
	while (users && (user = fgetpwent(users)))
		if (user->pw_uid == uid) {
			(void)snprintf(buf, size, "HOME=%s", user->pw_dir[0] ? user->pw_dir : "/");
			break;
		}
	if (users)
		(void)fclose(users);
}

/* The guest's environment; HOME added where it is wanted. `home` is where that string lives. NULL: out of memory. */
static char **make_environment(const struct container_spec *spec, char *home, size_t size)
{
	size_t n = count_strings(spec->envp);
	char **envp = calloc(n + 2, sizeof(*envp));
	bool has_home = false;

	for (size_t i = 0; envp && i < n; i++) {
		envp[i] = spec->envp[i];
		has_home = has_home || strncmp(envp[i], "HOME=", 5) == 0;
	}
	if (envp && spec->default_home && !has_home) {
		find_home(spec->set_user ? spec->uid : 0, home, size);
		envp[n] = home;
	}
	return envp;
}

_Noreturn void guest_main(const struct container_spec *spec, int channel, const char *default_cwd)
{
	const struct channel_message ready = { .kind = CHANNEL_READY };
	int r, status = STATUS_FAILURE;
	char *program = NULL, **envp = NULL;
	char home[PATH_MAX + 8];
	struct error err = { 0 };

	r = set_everything(spec, &channel, default_cwd, &err);
	if (r == 0) {
		envp = make_environment(spec, home, sizeof(home));
		r = envp ? program_lookup(spec->argv[0], envp, &program, &status, &err)
			 : error_set(&err, ENOMEM, "out of memory");
	}
	if (r < 0)
		child_fail(channel, &err, status);
	if (channel_send(channel, &ready) < 0 || wait_for_go_ahead(spec, channel) < 0)
		_exit(STATUS_FAILURE);
	execute(spec, channel, program, envp);
}
