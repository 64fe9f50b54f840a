/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks: see hooks.h. */
#include "supervisor/oci/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"

enum { CANNOT_EXECUTE = 127 };

/* How hooks of a stage are executed. */
struct manner {
	char **surroundings; /* the environment of those that have none */
	int (*confine)(void *arg);
	void *arg;
};

static _Noreturn void execute(const struct oci_hook *hook, const struct manner *manner, int input, pid_t parent)
{
	char *only_path[] = { hook->path, NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	/* A command that is killed leaves nobody behind who would go on with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(CANNOT_EXECUTE);
	if (dup2(input, STDIN_FILENO) == STDIN_FILENO && close_range(3, ~0U, 0) == 0) {
		int r = manner->confine ? manner->confine(manner->arg) : 0;

		if (r < 0) {
			(void)dprintf(STDERR_FILENO, "hook %s: linux.seccomp: %s\n", hook->path, strerrordesc_np(-r));
			_exit(CANNOT_EXECUTE);
		}
		(void)execve(hook->path, hook->args.count ? hook->args.items : only_path,
			     hook->env_set ? hook->env.items : manner->surroundings);
	}
	(void)dprintf(STDERR_FILENO, "hook %s: %s\n", hook->path, strerrordesc_np(errno));
	_exit(CANNOT_EXECUTE);
}

/* In memory, so that a hook that does not read its input holds nobody up. */
static int make_input(const char *text)
{
	_cleanup_close_ int fd = memfd_create("state", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, text, strlen(text));
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(&fd);
}

static int timeout_ms(const struct oci_hook *hook)
{
	if (!hook->timeout_s.set)
		return -1;
	return hook->timeout_s.value > INT_MAX / 1000 ? INT_MAX : (int)hook->timeout_s.value * 1000;
}

/* True when the process has ended within the time (-1: any). */
static bool wait_for_end(int pidfd, int timeout)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	int64_t deadline = host_clock_ms() + timeout;
	int r;

	do {
		int64_t left = deadline - host_clock_ms();

		r = poll(&end, 1, timeout < 0 ? -1 : left > 0 ? (int)left : 0);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

/* The wait status of the hook; it is killed when it takes too long. */
static int await(const struct oci_hook *hook, pid_t pid, int *ret_status, struct error *err)
{
	_cleanup_close_ int pidfd = pidfd_open(pid, 0);
	bool in_time = pidfd < 0 || wait_for_end(pidfd, timeout_ms(hook));

	if (!in_time)
		process_kill_family(pid, pidfd);
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return error_errno(err, errno, "hook %s", hook->path);
	if (!in_time)
		return error_set(err, ETIMEDOUT, "hook %s ran past its timeout of %lld s", hook->path,
				 (long long)hook->timeout_s.value);
	return 0;
}

static int run_hook(const struct oci_hook *hook, const struct manner *manner, const char *text, struct error *err)
{
	_cleanup_close_ int input = make_input(text);
	pid_t parent = getpid(), pid;
	int status = 0, r;

	if (input < 0)
		return error_errno(err, -input, "hook %s", hook->path);
	pid = fork();
	if (pid < 0)
		return error_errno(err, errno, "hook %s", hook->path);
	if (pid == 0)
		execute(hook, manner, input, parent);
	r = await(hook, pid, &status, err);
	if (r < 0)
		return r;
	if (WIFSIGNALED(status))
		return error_set(err, ECANCELED, "hook %s was ended by signal %d", hook->path, WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return error_set(err, ECANCELED, "hook %s ended with status %d", hook->path, WEXITSTATUS(status));
	return 0;
}

static int run_one(const struct oci_config *cfg, enum oci_hook_stage stage, size_t i, const struct oci_state *state, struct manner manner,
		   struct error *err)
{
	bool inside = stage == OCI_HOOK_START_CONTAINER;
	char *nothing[] = { NULL };
	_cleanup_free_ char *text = NULL;
	int r;

	manner.surroundings = (inside ? cfg->process.env.items : environ) ?: nothing;

	r = oci_state_format(state, OCI_STATE_FOR_HOOK, &text);
	if (r < 0)
		return error_errno(err, -r, "state for hooks");
	r = run_hook(&cfg->hooks[stage].items[i], &manner, text, err);
	if (r < 0)
		error_prefix(err, "hooks.%s[%zu]", oci_hook_stage_name(stage), i);
	return r;
}

int hooks_run_confined(const struct oci_config *cfg, enum oci_hook_stage stage, const struct oci_state *state, int (*confine)(void *arg),
		       void *arg, struct error *err)
{
	const struct manner manner = { .confine = confine, .arg = arg };
	int r = 0;

	for (size_t i = 0; r == 0 && i < cfg->hooks[stage].count; i++)
		r = run_one(cfg, stage, i, state, manner, err);
	return r;
}

int hooks_run(const struct oci_config *cfg, enum oci_hook_stage stage, const struct oci_state *state, struct error *err)
{
	return hooks_run_confined(cfg, stage, state, NULL, NULL, err);
}

void hooks_run_all(const struct oci_config *cfg, enum oci_hook_stage stage, const struct oci_state *state)
{
	for (size_t i = 0; i < cfg->hooks[stage].count; i++) {
		struct error err = { 0 };

		if (run_one(cfg, stage, i, state, (struct manner){ 0 }, &err) < 0)
			log_warning("%s", err.text);
	}
}
