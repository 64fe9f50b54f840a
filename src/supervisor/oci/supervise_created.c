/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor of a container that was created and not started: requests, and the hook of the start. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/state.h"
#include "supervisor/oci/supervise_internal.h"

void supervisor_answer_starter(struct supervisor *s, const struct error *err, int status)
{
	if (s->starter >= 0)
		control_answer(s->starter, err, status);
	s->starter = -1;
}

void supervisor_refuse(int connection, int code, const char *why)
{
	struct error err = { 0 };

	(void)error_set(&err, code, "%s", why);
	control_answer(connection, &err, EXIT_CODE_TOOL);
}

void supervisor_end_unstarted(struct supervisor *s, int connection)
{
	s->ended = true;
	(void)pidfd_send_signal(s->init_pidfd, SIGKILL, NULL, 0);
	control_answer(connection, NULL, 0);
}

static void serve_pausing(struct supervisor *s, bool pause, int connection)
{
	if (s->paused == pause) {
		supervisor_refuse(connection, EALREADY, pause ? "container already paused" : "container not paused");
		return;
	}
	s->paused = pause;
	control_answer(connection, NULL, 0);
}

int supervisor_hear_of_hook(const struct supervisor *s, bool hear)
{
	int flags = fcntl(s->hook, F_GETFL);

	if (flags < 0 || fcntl(s->hook, F_SETOWN, getpid()) < 0)
		return -errno;
	return fcntl(s->hook, F_SETFL, hear ? flags | O_ASYNC : flags & ~O_ASYNC) < 0 ? -errno : 0;
}

bool supervisor_begin_hook(struct supervisor *s)
{
	struct error later = { 0 };

	if (container_begin_start_hook(s->request->bundle->request.spec, s->channel, &later) == 0)
		return false;
	s->hook = fcntl(s->channel, F_DUPFD_CLOEXEC, 3);
	if (s->hook < 0)
		(void)pidfd_send_signal(s->init_pidfd, SIGKILL, NULL, 0);
	return true;
}

int supervisor_end_hook(struct supervisor *s, struct error *err)
{
	int r = s->hook >= 0 ? container_end_start_hook(s->hook, err) : 0;

	if (s->hook < 0 || r == -EAGAIN)
		return r;
	(void)supervisor_hear_of_hook(s, false);
	cleanup_close(&s->hook);
	s->hook = -1;
	return r;
}

/* A request before the start. True when the engine is to begin: it is the start, or a process joins. */
static bool serve_created(struct supervisor *s, const struct control_request *request, int connection, int attached)
{
	bool start = request->verb == CONTROL_START;
	struct error err = { 0 };

	if (start && (s->ended || s->starter >= 0)) {
		supervisor_refuse(connection, s->ended ? ESRCH : EBUSY, s->ended ? HAS_STOPPED : BEING_STARTED);
		return false;
	}
	if (s->paused && (start || request->verb == CONTROL_JOIN)) {
		cleanup_close(&attached);
		supervisor_refuse(connection, EBUSY, start ? "cannot start a container in the paused state" : "cannot exec in a paused container");
		return false;
	}
	if (request->verb == CONTROL_JOIN && attached >= 0 && !s->request->untrapped && !s->ended) {
		s->joiner = (struct joiner){ *request, connection, attached };
		return true;
	}
	cleanup_close(&attached);
	switch ((enum control_verb)request->verb) {
	case CONTROL_START:
		s->starter = connection;
		return !supervisor_begin_hook(s);
	case CONTROL_SIGNAL:
		if (request->number && pidfd_send_signal(s->init_pidfd, request->number, NULL, 0) < 0)
			(void)error_errno(&err, errno, "signal %d", request->number);
		control_answer(connection, &err, EXIT_CODE_TOOL);
		return false;
	case CONTROL_PAUSE:
	case CONTROL_RESUME:
		serve_pausing(s, request->verb == CONTROL_PAUSE, connection);
		return false;
	case CONTROL_END:
		if (s->starter >= 0)
			supervisor_refuse(connection, EALREADY, BEING_STARTED);
		else
			supervisor_end_unstarted(s, connection);
		return false;
	case CONTROL_JOIN:
		break;
	}
	supervisor_refuse(connection, s->ended ? ESRCH : EINVAL, s->ended ? "cannot exec in a stopped container" : "a channel is missing");
	return false;
}

int supervisor_wait_for_start(struct supervisor *s, struct error *err)
{
	struct pollfd polls[] = {
		{ .fd = s->request->control_fd, .events = POLLIN },
		{ .fd = s->init_pidfd, .events = POLLIN },
		{ .fd = s->guardian, .events = POLLIN },
		{ .fd = s->request->creator_fd, .events = POLLIN },
		{ .events = POLLIN },
	};
	struct control_request request;
	int connection, attached, r;
	char byte;

	for (;;) {
		polls[4].fd = s->paused ? -1 : s->hook;
		if (poll(polls, ARRAY_SIZE(polls), -1) < 0)
			continue;
		if (polls[1].revents || polls[2].revents) {
			(void)supervisor_end_hook(s, err); /* perhaps it says why */
			if (!polls[2].revents)
				state_mark_ended(s->request->dir_fd);
			return -ESRCH;
		}
		if (polls[3].revents) {
			if (read(polls[3].fd, &byte, 1) != 1)
				return -ESRCH;
			polls[3].fd = -1;
		}
		if (polls[4].revents) {
			r = supervisor_end_hook(s, err);
			if (r != -EAGAIN)
				return r;
		}
		while (control_accept(s->request->control_fd, &request, &connection, &attached) > 0)
			if (serve_created(s, &request, connection, attached))
				return 0;
	}
}
