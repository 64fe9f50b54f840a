/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor of a container while its engine runs: requests, pauses, the start of one that others have joined before. */
#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/guardian.h"
#include "supervisor/oci/state.h"
#include "supervisor/oci/supervise_internal.h"

int supervisor_on_listener(void *arg, int listener)
{
	struct supervisor *s = arg;

	return guardian_give(s->guardian, listener);
}

void supervisor_on_executed(void *arg)
{
	struct supervisor *s = arg;

	state_mark_started(s->request->dir_fd);
	supervisor_answer_starter(s, NULL, 0);
}

static int serve_paused(struct supervisor *s, struct run *run, struct error *err);

/* Nobody is let in whose listener the guardian could not be given: he would run on without a supervisor. */
static bool refuse_unguarded(const struct supervisor *s, const struct joiner *joiner)
{
	pid_t guardian = getppid();
	struct error err = { 0 };

	if (guardian_await_room(s->guardian, guardian) == 0)
		return false;
	(void)error_set(&err, EBUSY, "cannot exec in a container whose guardian, process %d, is stopped: continue it (kill -CONT %d), or end the container (delete --force)",
			(int)guardian, (int)guardian);
	(void)close(joiner->channel);
	control_answer(joiner->connection, &err, EXIT_CODE_TOOL);
	return true;
}

static void serve_join(const struct supervisor *s, struct run *run, struct joiner joiner)
{
	struct error err = { 0 };
	int status = EXIT_CODE_TOOL;

	if (refuse_unguarded(s, &joiner))
		return;
	(void)run_join(run, joiner.request.number, joiner.channel, joiner.request.preserved, &status, &err);
	control_answer(joiner.connection, &err, status);
}

/* Until the program is loaded whoever asks waits; when that fails, the run ends, and with it his waiting. */
static int serve_start(struct supervisor *s, struct run *run, bool paused, int connection, struct error *err)
{
	int r;

	if (s->ended) {
		supervisor_refuse(connection, ESRCH, HAS_STOPPED);
		return 0;
	}
	if (!run_is_waiting(run) || s->starter >= 0) {
		supervisor_refuse(connection, EINVAL, s->starter >= 0 ? BEING_STARTED : "cannot start an already running container");
		return 0;
	}
	if (paused) {
		supervisor_refuse(connection, EBUSY, "cannot start a container in the paused state");
		return 0;
	}
	s->starter = connection;
	if (!supervisor_begin_hook(s))
		return run_start(run, err);
	r = supervisor_hear_of_hook(s, true);
	return r < 0 ? error_errno(err, -r, "channel to the container") : 0;
}

/* Those who have joined go on while the hook runs. */
static int start_after_hook(struct supervisor *s, struct run *run, struct error *err)
{
	int r;

	if (s->hook < 0)
		return 0;
	r = supervisor_end_hook(s, err);
	return r == -EAGAIN ? 0 : r < 0 ? r : run_start(run, err);
}

/* One request while the container runs. As run_host.signal. */
static int serve(struct supervisor *s, struct run *run, bool paused, const struct control_request *request, int connection,
		 int attached, bool *ret_resumed, struct error *err)
{
	int r = 0;

	switch ((enum control_verb)request->verb) {
	case CONTROL_SIGNAL:
		r = run_send_signal(run, request->all ? 0 : request->number, err);
		control_answer(connection, r < 0 ? err : NULL, EXIT_CODE_TOOL);
		return r;
	case CONTROL_JOIN:
		if (attached < 0) {
			supervisor_refuse(connection, EINVAL, "a channel is missing");
			return 0;
		}
		serve_join(s, run, (struct joiner){ *request, connection, attached });
		return 0;
	case CONTROL_PAUSE:
		if (paused) {
			supervisor_refuse(connection, EALREADY, "container already paused");
			return 0;
		}
		control_answer(connection, NULL, 0);
		return serve_paused(s, run, err);
	case CONTROL_RESUME:
		*ret_resumed = paused;
		if (paused)
			control_answer(connection, NULL, 0);
		else
			supervisor_refuse(connection, EALREADY, "container not paused");
		return 0;
	case CONTROL_START:
		return serve_start(s, run, paused, connection, err);
	case CONTROL_END:
		if (!run_is_waiting(run) || s->starter >= 0)
			supervisor_refuse(connection, EALREADY, "the container runs");
		else
			supervisor_end_unstarted(s, connection);
		return 0;
	}
	supervisor_refuse(connection, EINVAL, "unknown request");
	return 0;
}

static int serve_all(struct supervisor *s, struct run *run, bool paused, bool *ret_resumed, struct error *err)
{
	struct control_request request;
	int connection, attached, r = 0;

	while (r == 0 && !*ret_resumed && control_accept(s->request->control_fd, &request, &connection, &attached) > 0) {
		if (request.verb != CONTROL_JOIN)
			cleanup_close(&attached);
		r = serve(s, run, paused, &request, connection, attached, ret_resumed, err);
	}
	return r;
}

static int watch_deaths(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* When process 1 has been killed, it waits for the others to be reaped, which is done when the run goes on. */
static bool is_over(const struct supervisor *s, int deaths)
{
	struct signalfd_siginfo info;

	return read(deaths, &info, sizeof(info)) > 0 && process_is_ending(s->init_pid);
}

/* Whoever wants to go on waits for us: nobody does, and no time passes, until the container is resumed or dead. */
static int serve_paused(struct supervisor *s, struct run *run, struct error *err)
{
	_cleanup_close_ int deaths = watch_deaths();
	struct pollfd polls[] = {
		{ .fd = s->request->control_fd, .events = POLLIN },
		{ .fd = s->init_pidfd, .events = POLLIN },
		{ .fd = s->guardian, .events = POLLIN },
		{ .fd = deaths, .events = POLLIN },
	};
	uint64_t since = host_clock_ns();
	bool resumed = false;
	int r = 0;

	while (r == 0 && !resumed) {
		if (poll(polls, ARRAY_SIZE(polls), -1) < 0)
			continue;
		if (polls[2].revents)
			return 1;
		if (polls[1].revents || (polls[3].revents && is_over(s, deaths)))
			break;
		r = serve_all(s, run, true, &resumed, err);
	}
	(void)kill(getpid(), SIGCHLD); /* those that were looked at here */
	run_was_paused(run, host_clock_ns() - since);
	/* Requests that came behind the one that resumed have had their signal. */
	resumed = false;
	return r == 0 ? serve_all(s, run, false, &resumed, err) : r;
}

int supervisor_on_signal(void *arg, struct run *run, int signo, struct error *err)
{
	struct supervisor *s = arg;
	bool resumed = false;
	int r;

	if (signo == GUARDIAN_DIED || signo == SIGTERM) {
		log_error("ended from outside, by signal %d", signo);
		s->killed = true;
		return 1;
	}
	if (signo != REQUEST_CAME)
		return 0;
	if (s->joiner.connection >= 0) {
		serve_join(s, run, s->joiner);
		s->joiner.connection = -1;
	}
	r = serve_all(s, run, false, &resumed, err);
	return r == 0 ? start_after_hook(s, run, err) : r;
}
