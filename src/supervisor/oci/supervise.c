/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor of a container, and how it and its guardian are made: see supervise.h. */
#include "supervisor/oci/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/oci/control.h"
#include "supervisor/oci/guardian.h"
#include "supervisor/oci/state.h"
#include "supervisor/evidence/event_log.h"
#include "supervisor/exit_codes.h"
#include "supervisor/evidence/observed.h"

enum { GUARDIAN_DIED = SIGHUP, REQUEST_CAME = SIGIO };

#define BEING_STARTED "cannot start a container that is being started"
#define ENDED_EARLY "the container ended before its program was loaded"

/* ---- the supervisor ---- */

/* Whoever wants to join before the start is why the engine begins: it is there when he is served. */
struct joiner {
	struct control_request request;
	int connection, channel; /* -1: there is none, or none any more */
};

struct supervisor {
	const struct supervise_request *request;
	int guardian; /* socket to it */
	int starter;  /* connection of whoever asked for the start and has no answer yet, or -1 */
	int channel;  /* to process 1 until its start */
	int hook;     /* a duplicate of that while it is in its hook, for whose end the starter waits; or -1 */
	int init_pid, init_pidfd;
	bool paused;  /* before the engine is there */
	bool killed;  /* the run has been ended from outside */
	struct joiner joiner;
};

static void answer_starter(struct supervisor *s, const struct error *err, int status)
{
	if (s->starter >= 0)
		control_answer(s->starter, err, status);
	s->starter = -1;
}

static void refuse(int connection, int code, const char *why)
{
	struct error err = { 0 };

	(void)error_set(&err, code, "%s", why);
	control_answer(connection, &err, EXIT_CODE_TOOL);
}

static void serve_pausing(struct supervisor *s, bool pause, int connection)
{
	if (s->paused == pause) {
		refuse(connection, EALREADY, pause ? "container already paused" : "container not paused");
		return;
	}
	s->paused = pause;
	control_answer(connection, NULL, 0);
}

/* A signal when it has ended. */
static int hear_of_hook(const struct supervisor *s, bool hear)
{
	int flags = fcntl(s->hook, F_GETFL);

	if (flags < 0 || fcntl(s->hook, F_SETOWN, getpid()) < 0)
		return -errno;
	return fcntl(s->hook, F_SETFL, hear ? flags | O_ASYNC : flags & ~O_ASYNC) < 0 ? -errno : 0;
}

/* False: there is none. That it could not begin is found when its end is looked at. */
static bool begin_hook(struct supervisor *s)
{
	struct error later = { 0 };

	if (container_begin_start_hook(s->request->bundle->request.spec, s->channel, &later) == 0)
		return false;
	s->hook = fcntl(s->channel, F_DUPFD_CLOEXEC, 3);
	if (s->hook < 0)
		(void)pidfd_send_signal(s->init_pidfd, SIGKILL, NULL, 0);
	return true;
}

/* 0: it has ended well, or there is none; -EAGAIN: it has not ended. */
static int end_hook(struct supervisor *s, struct error *err)
{
	int r = s->hook >= 0 ? container_end_start_hook(s->hook, err) : 0;

	if (s->hook < 0 || r == -EAGAIN)
		return r;
	(void)hear_of_hook(s, false);
	cleanup_close(&s->hook);
	s->hook = -1;
	return r;
}

/* A request before the start. True when the engine is to begin: it is the start, or a process joins. */
static bool serve_created(struct supervisor *s, const struct control_request *request, int connection, int attached)
{
	bool start = request->verb == CONTROL_START;
	struct error err = { 0 };

	if (start && s->starter >= 0) {
		refuse(connection, EBUSY, BEING_STARTED);
		return false;
	}
	if (s->paused && (start || request->verb == CONTROL_JOIN)) {
		cleanup_close(&attached);
		refuse(connection, EBUSY, start ? "cannot start a container in the paused state" : "cannot exec in a paused container");
		return false;
	}
	if (request->verb == CONTROL_JOIN && attached >= 0 && !s->request->untrapped) {
		s->joiner = (struct joiner){ *request, connection, attached };
		return true;
	}
	cleanup_close(&attached);
	switch ((enum control_verb)request->verb) {
	case CONTROL_START:
		s->starter = connection;
		return !begin_hook(s);
	case CONTROL_SIGNAL:
		if (request->number && pidfd_send_signal(s->init_pidfd, request->number, NULL, 0) < 0)
			(void)error_errno(&err, errno, "signal %d", request->number);
		control_answer(connection, &err, EXIT_CODE_TOOL);
		return false;
	case CONTROL_PAUSE:
	case CONTROL_RESUME:
		serve_pausing(s, request->verb == CONTROL_PAUSE, connection);
		return false;
	case CONTROL_JOIN:
		break;
	}
	refuse(connection, EINVAL, "a channel is missing");
	return false;
}

/*
 * 0: the start was asked for and the hook has ended, or a process joins before that. -ESRCH: container or guardian are gone, or the creator is, in the
 * middle of it: then nobody may know of us, for it is the creator that writes our number down. What is wrong with the hook, with a message.
 */
static int wait_for_start(struct supervisor *s, struct error *err)
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
			(void)end_hook(s, err); /* perhaps it says why */
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
			r = end_hook(s, err);
			if (r != -EAGAIN)
				return r;
		}
		while (control_accept(s->request->control_fd, &request, &connection, &attached) > 0)
			if (serve_created(s, &request, connection, attached))
				return 0;
	}
}

static int on_listener(void *arg, int listener)
{
	struct supervisor *s = arg;

	return guardian_give(s->guardian, listener);
}

static void on_executed(void *arg)
{
	struct supervisor *s = arg;

	state_mark_started(s->request->dir_fd);
	answer_starter(s, NULL, 0);
}

static int serve_paused(struct supervisor *s, struct run *run, struct error *err);

static void serve_join(struct run *run, struct joiner joiner)
{
	struct error err = { 0 };
	int status = EXIT_CODE_TOOL;

	(void)run_join(run, joiner.request.number, joiner.channel, joiner.request.preserved, &status, &err);
	control_answer(joiner.connection, &err, status);
}

/* Until the program is loaded whoever asks waits; when that fails, the run ends, and with it his waiting. */
static int serve_start(struct supervisor *s, struct run *run, bool paused, int connection, struct error *err)
{
	int r;

	if (!run_is_waiting(run) || s->starter >= 0) {
		refuse(connection, EINVAL, s->starter >= 0 ? BEING_STARTED : "cannot start an already running container");
		return 0;
	}
	if (paused) {
		refuse(connection, EBUSY, "cannot start a container in the paused state");
		return 0;
	}
	s->starter = connection;
	if (!begin_hook(s))
		return run_start(run, err);
	r = hear_of_hook(s, true);
	return r < 0 ? error_errno(err, -r, "channel to the container") : 0;
}

/* Those who have joined go on while the hook runs. */
static int start_after_hook(struct supervisor *s, struct run *run, struct error *err)
{
	int r;

	if (s->hook < 0)
		return 0;
	r = end_hook(s, err);
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
			refuse(connection, EINVAL, "a channel is missing");
			return 0;
		}
		serve_join(run, (struct joiner){ *request, connection, attached });
		return 0;
	case CONTROL_PAUSE:
		if (paused) {
			refuse(connection, EALREADY, "container already paused");
			return 0;
		}
		control_answer(connection, NULL, 0);
		return serve_paused(s, run, err);
	case CONTROL_RESUME:
		*ret_resumed = paused;
		if (paused)
			control_answer(connection, NULL, 0);
		else
			refuse(connection, EALREADY, "container not paused");
		return 0;
	case CONTROL_START:
		return serve_start(s, run, paused, connection, err);
	}
	refuse(connection, EINVAL, "unknown request");
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

static int on_signal(void *arg, struct run *run, int signo, struct error *err)
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
		serve_join(run, s->joiner);
		s->joiner.connection = -1;
	}
	r = serve_all(s, run, false, &resumed, err);
	return r == 0 ? start_after_hook(s, run, err) : r;
}

/* From now on a request at the socket is a signal to us. Those that came before are made up for. */
static int announce_requests(int control_fd)
{
	if (fcntl(control_fd, F_SETOWN, getpid()) < 0 || fcntl(control_fd, F_SETFL, O_NONBLOCK | O_ASYNC) < 0)
		return -errno;
	return kill(getpid(), REQUEST_CAME) < 0 ? -errno : 0;
}

static void block_requests(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, REQUEST_CAME);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* What a run ended by that is not the status of process 1, for `run`. */
static void write_exit(const struct supervisor *s, int status)
{
	char text[16];
	int fd = openat(s->request->dir_fd, SUPERVISE_EXIT_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	(void)snprintf(text, sizeof(text), "%d\n", status);
	(void)fd_write_full(fd, text, strlen(text));
	(void)close(fd);
}

static int open_event_log(const struct run_options *o, struct observed *ob, struct error *err)
{
	if (!o->log_events)
		return 0;
	ob->log_fd = open(o->log_events, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ob->compress = event_log_is_compressed(o->log_events);
	return ob->log_fd < 0 ? error_errno(err, errno, "--log-events: %s", o->log_events) : 0;
}

/* In place of container_destroy(), so that it is known: somebody else's may lie there when the container is deleted. */
static void end_shared_root(const struct supervisor *s, struct container_shared_root *shared)
{
	struct error err = { 0 };

	if (!shared->root)
		return;
	if (container_shared_root_end(shared, NULL, &err) == 0)
		state_mark_unmounted(s->request->dir_fd);
	else
		log_debug("%s", err.text);
	container_shared_root_clear(shared);
}

/* The whole life of a trapped container. */
static void run_trapped(struct supervisor *s)
{
	static const int signals[] = { REQUEST_CAME, GUARDIAN_DIED, SIGTERM, 0 };
	struct run_request *request = &s->request->bundle->request;
	const struct run_host host = {
		.container = s->request->container,
		.signals = signals,
		.signal = on_signal,
		.listener_made = on_listener,
		.executed = on_executed,
		.first_waits = s->starter < 0 || s->hook >= 0,
		.arg = s,
	};
	struct container_shared_root shared = s->request->container->shared;
	struct observed ob = OBSERVED_NOTHING;
	struct error err = { 0 };
	int r;

	s->request->container->shared = (struct container_shared_root){ 0 };
	request->host = &host;
	request->engine.open_ended = true;
	block_requests();
	r = announce_requests(s->request->control_fd);
	if (r == 0 && s->hook >= 0)
		r = hear_of_hook(s, true); /* what has happened by now is looked at with the first requests */
	if (r < 0)
		(void)error_errno(&err, -r, "control socket");
	else
		r = open_event_log(s->request->options, &ob, &err);
	ob.result.exit_code = EXIT_CODE_TOOL;
	if (r == 0)
		r = observed_run(&ob, s->request->options, request, &err);
	if (r < 0)
		log_error("%s", err.text);
	if (r < 0 || ob.result.end != RUN_EXITED)
		write_exit(s, ob.result.exit_code);
	if (r == 0 && s->hook >= 0)
		(void)end_hook(s, &err);
	if (!err.code && s->starter >= 0)
		(void)error_set(&err, ECANCELED, ENDED_EARLY);
	answer_starter(s, &err, ob.result.exit_code);
	if (s->joiner.connection >= 0)
		control_answer(s->joiner.connection, &err, ob.result.exit_code);
	if (!s->killed)
		state_mark_ended(s->request->dir_fd);
	container_destroy(s->request->container);
	end_shared_root(s, &shared);
}

/* No answer is the program's: the channel closes with the exec. */
static void await_exec(struct container *c)
{
	struct pollfd polls[] = {
		{ .fd = c->channel, .events = POLLIN },
		{ .fd = c->init_pidfd, .events = POLLIN },
	};

	while (poll(polls, ARRAY_SIZE(polls), -1) < 0 && errno == EINTR)
		;
}

static void run_untrapped(struct supervisor *s)
{
	struct container *c = s->request->container;
	struct error err = { 0 };

	if (container_release(c, &err) == 0) {
		await_exec(c);
		if (container_exec_error(c, &err) == 0)
			state_mark_started(s->request->dir_fd);
	}
	answer_starter(s, &err, c->failure_status);
}

/* What has begun: the container's program, or one that has joined before it. */
static void begin(struct supervisor *s)
{
	if (s->request->untrapped)
		run_untrapped(s);
	else
		run_trapped(s);
}

/*
 * Of an ordinary user: what belongs to other users of the container, their files in /proc among it, is in reach of who is in its user namespace, and
 * root there, only.
 */
static int enter_users(const struct supervise_request *request)
{
	const struct container_id_maps *maps = &request->bundle->request.spec->maps;

	if (geteuid() == 0 || request->untrapped || (maps->n_uids < 2 && (maps->n_uids == 0 || maps->uids[0].count < 2)))
		return 0;
	return setns(request->container->init_pidfd, CLONE_NEWUSER) < 0 ? -errno : 0;
}

static _Noreturn void supervisor_main(const struct supervise_request *request, int guardian, pid_t parent)
{
	struct error err = { 0 };
	struct supervisor s = { .request = request, .guardian = guardian, .starter = -1, .hook = -1, .channel = request->container->channel, .init_pid = request->container->init_pid,
				.init_pidfd = request->container->init_pidfd,
				.joiner = { .connection = -1 } };
	int keep[] = { guardian, request->dir_fd, request->control_fd, request->creator_fd, request->log_fd, request->container->channel,
		       request->container->init_pidfd, request->container->guest_pidfd };
	int r;

	(void)prctl(PR_SET_NAME, "hermit-sup");
	r = enter_users(request);
	if (r < 0)
		log_error("the users of the container cannot be entered: %s", strerrordesc_np(-r));
	if (r < 0 || prctl(PR_SET_PDEATHSIG, GUARDIAN_DIED) < 0 || getppid() != parent)
		_exit(1);
	guardian_keep_only(keep, ARRAY_SIZE(keep));
	if (wait_for_start(&s, &err) < 0) {
		if (!err.code)
			(void)error_set(&err, ECANCELED, ENDED_EARLY);
		answer_starter(&s, &err, EXIT_CODE_TOOL);
		guardian_kill_container(s.init_pidfd);
		_exit(0);
	}
	begin(&s);
	_exit(0);
}

/* ---- making them ---- */

/* What the caller's shell or engine had set up is not ours. */
static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void guardian_begin(const struct supervise_request *request, int report_fd)
{
	struct supervise_pids pids = { .guardian = getpid() };
	int ends[2];

	(void)setsid();
	(void)umask(077);
	reset_signals();
	if (chdir("/") < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		_exit(1);
	pids.supervisor = fork();
	if (pids.supervisor == 0) {
		(void)close(ends[0]);
		supervisor_main(request, ends[1], pids.guardian);
	}
	if (pids.supervisor < 0 || fd_write_full(report_fd, &pids, sizeof(pids)) < 0)
		_exit(1);
	(void)close(ends[1]);
	guardian_main(ends[0], request->container->init_pidfd, pids.supervisor);
}

int supervise_spawn(const struct supervise_request *request, struct supervise_pids *ret, struct error *err)
{
	_cleanup_close_ int from = -1, to = -1;
	int ends[2], status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot make the container's supervisor");
	from = ends[0];
	to = ends[1];
	child = fork();
	if (child < 0)
		return error_errno(err, errno, "cannot make the container's supervisor");
	if (child == 0) {
		pid_t guardian = fork();

		if (guardian == 0)
			guardian_begin(request, to);
		_exit(guardian < 0);
	}
	cleanup_close(&to);
	to = -1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (fd_read_full(from, ret, sizeof(*ret)) != sizeof(*ret))
		return error_set(err, ECHILD, "the container's supervisor could not be made");
	return 0;
}
