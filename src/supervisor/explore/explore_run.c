/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of an exploration, in a process of its own: see explore_run.h. */
#include "supervisor/explore/explore_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/strv.h"
#include "supervisor/exit_codes.h"
#include "supervisor/launch.h"
#include "supervisor/evidence/observed.h"

const char *const explore_kinds[] = { "schedule", "stdout", "stderr", "log.jsonl.zst", NULL };

const char *explore_path(const struct explore_place *at, uint64_t number, const char *what, char path[EXPLORE_PATH_SIZE])
{
	(void)snprintf(path, EXPLORE_PATH_SIZE, "%.3900s/run%" PRIu64 ".%s", at->dir, number, what);
	return path;
}

uint64_t explore_seed(const struct explore_place *at, uint64_t number)
{
	return run_options_seed(at->o, at->o->sched_seed) + number;
}

int explore_options(const struct explore_place *at, uint64_t number, struct run_options *ret, struct error *err)
{
	char seed[24];
	int r;

	r = run_options_copy(at->o, ret, err);
	(void)snprintf(seed, sizeof(seed), "%" PRIu64, explore_seed(at, number));
	if (r == 0)
		r = run_options_set(ret, option_find("sched-seed"), seed, err);
	if (r < 0 || !at->o->faults.count)
		return r;
	(void)snprintf(seed, sizeof(seed), "%" PRIu64, run_options_seed(at->o, at->o->fault_seed) + number);
	return run_options_set(ret, option_find("fault-seed"), seed, err);
}

static int redirect_all(const struct explore_place *at, uint64_t number, struct error *err)
{
	static const int fresh = O_WRONLY | O_CREAT | O_TRUNC;
	char out[EXPLORE_PATH_SIZE], error[EXPLORE_PATH_SIZE];
	const struct {
		const char *path;
		int flags, to;
	} streams[] = {
		{ at->input ? at->input : "/dev/null", O_RDONLY, STDIN_FILENO },
		{ explore_path(at, number, "stdout", out), fresh, STDOUT_FILENO },
		{ explore_path(at, number, "stderr", error), fresh, STDERR_FILENO },
	};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		r = fd_redirect(streams[i].path, streams[i].flags, streams[i].to);
		if (r < 0)
			return error_errno(err, -r, "%s", streams[i].path);
	}
	return 0;
}

static int open_log(const struct explore_place *at, uint64_t number, struct observed *ob, struct error *err)
{
	char path[EXPLORE_PATH_SIZE];

	if (!at->log)
		return 0;
	ob->compress = true;
	ob->log_fd = open(explore_path(at, number, "log.jsonl.zst", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return ob->log_fd < 0 ? error_errno(err, errno, "%s", path) : 0;
}

static int run_it(const struct explore_place *at, uint64_t number, struct explore_told *told, struct error *err)
{
	struct run_options o __attribute__((cleanup(run_options_clear))) = { 0 };
	_cleanup_schedule_ struct schedule schedule = { 0 };
	_cleanup_launch_ struct launch launch = { 0 };
	struct observed ob = OBSERVED_NOTHING;
	char path[EXPLORE_PATH_SIZE];
	int r;

	told->result.exit_code = EXIT_CODE_TOOL;
	r = explore_options(at, number, &o, err);
	if (r == 0)
		r = launch_init(&launch, &o, err);
	if (r == 0)
		r = open_log(at, number, &ob, err);
	if (r < 0)
		return r;
	ob.record = &schedule;
	r = observed_run(&ob, &o, &launch.request, err);
	told->result = ob.result;
	if (r < 0)
		return r;
	schedule_hash(&schedule, told->schedule);
	told->valid = true;
	return schedule_write(&schedule, explore_path(at, number, "schedule", path), &o, &ob.result, err);
}

/* The exploration may be killed: then nobody waits for this run, and its guest goes with it. */
static void die_with(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_CODE_TOOL);
}

static _Noreturn void child(const struct explore_place *at, uint64_t number, int fd)
{
	struct explore_told told = { 0 };
	struct error err = { 0 };
	int r;

	r = redirect_all(at, number, &err);
	if (r == 0)
		r = run_it(at, number, &told, &err);
	if (r < 0) {
		told.valid = false;
		(void)snprintf(told.why, sizeof(told.why), "%s", err.text);
	}
	_exit(fd_write_full(fd, &told, sizeof(told)) == 0 ? 0 : EXIT_CODE_TOOL);
}

int explore_start(const struct explore_place *at, uint64_t number, struct explore_run *ret, struct error *err)
{
	int fds[2];
	pid_t parent = getpid(), pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_errno(err, errno, "pipe");
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		die_with(parent);
		(void)close(fds[0]);
		child(at, number, fds[1]);
	}
	(void)close(fds[1]);
	if (pid < 0) {
		(void)close(fds[0]);
		return error_errno(err, errno, "fork");
	}
	*ret = (struct explore_run){ .number = number, .pid = pid, .fd = fds[0] };
	return 0;
}

/* Both at once: it may be the signal that it has ended by. */
static bool signal_comes_first(const struct explore_run *run, const struct explore_signals *signals)
{
	struct pollfd ends[] = { { .fd = run->fd, .events = POLLIN }, { .fd = signals ? signals->fd : -1, .events = POLLIN } };

	while (poll(ends, ARRAY_SIZE(ends), -1) < 0 && errno == EINTR)
		;
	return ends[1].revents != 0;
}

bool explore_await(const struct explore_run *run, const struct explore_signals *signals, struct explore_told *ret)
{
	*ret = (struct explore_told){ 0 };
	if (signal_comes_first(run, signals))
		return false;
	if (fd_read_full(run->fd, ret, sizeof(*ret)) != (ssize_t)sizeof(*ret))
		ret->valid = false;
	(void)close(run->fd);
	while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return true;
}
