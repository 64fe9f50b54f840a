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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/oci/control.h"
#include "supervisor/oci/guardian.h"
#include "supervisor/oci/state.h"
#include "supervisor/oci/supervise_internal.h"
#include "supervisor/evidence/event_log.h"
#include "supervisor/exit_codes.h"
#include "supervisor/evidence/observed.h"

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
		.signal = supervisor_on_signal,
		.listener_made = supervisor_on_listener,
		.executed = supervisor_on_executed,
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
		r = supervisor_hear_of_hook(s, true); /* what has happened by now is looked at with the first requests */
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
		(void)supervisor_end_hook(s, &err);
	if (!err.code && s->starter >= 0)
		(void)error_set(&err, ECANCELED, ENDED_EARLY);
	supervisor_answer_starter(s, &err, ob.result.exit_code);
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
	if (err.code)
		state_mark_ended(s->request->dir_fd);
	supervisor_answer_starter(s, &err, c->failure_status);
}

/* What has begun: the container's program, or one that has joined before it. */
static void begin(struct supervisor *s)
{
	if (s->request->untrapped)
		run_untrapped(s);
	else
		run_trapped(s);
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
	r = request->untrapped ? 0 : container_enter_its_users(request->bundle->request.spec, request->container, &err);
	if (r < 0)
		log_error("%s", err.text);
	if (r < 0 || prctl(PR_SET_PDEATHSIG, GUARDIAN_DIED) < 0 || getppid() != parent)
		_exit(1);
	guardian_keep_only(keep, ARRAY_SIZE(keep));
	if (supervisor_wait_for_start(&s, &err) < 0) {
		if (err.code)
			state_mark_ended(request->dir_fd); /* a hook has failed */
		else
			(void)error_set(&err, ECANCELED, ENDED_EARLY);
		supervisor_answer_starter(&s, &err, EXIT_CODE_TOOL);
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
