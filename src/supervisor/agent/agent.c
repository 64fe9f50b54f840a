/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent: see agent.h. */
#include "supervisor/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "supervisor/agent/agent_child.h"
#include "supervisor/exit_codes.h"

enum { BACKLOG = 128, HANDED_OVER = 3, PATH_SIZE = 4096, METRICS_MS = 1000 };

struct agent {
	const struct agent_request *request;
	int listener, signals;
	sigset_t old_mask;
	struct agent_counts *counts;
	pid_t *children;
	size_t n_children;
	bool ending;
};

/* ---- beginning ---- */

/* A socket that nobody listens on any more is in the way. */
static int remove_stale(const char *path, const struct sockaddr_un *address, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return error_set(err, EADDRINUSE, "--listen: somebody listens at %s already", path);
	if (errno == ECONNREFUSED && unlink(path) < 0)
		return error_errno(err, errno, "--listen: %s", path);
	return 0;
}

static int make_socket(struct agent *a, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = a->request->socket;
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, ENAMETOOLONG, "--listen: '%s' is too long for a socket", path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	r = remove_stale(path, &address, err);
	if (r < 0)
		return r;
	a->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0177);
	r = a->listener < 0 || bind(a->listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(a->listener, BACKLOG) < 0
		    ? -errno
		    : 0;
	(void)umask(mask);
	return r < 0 ? error_errno(err, -r, "--listen: %s", path) : 0;
}

/* The socket of a systemd unit. */
static int take_socket(struct agent *a, struct error *err)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

	if (!pid || !n || strtol(pid, NULL, 10) != getpid() || strcmp(n, "1") != 0)
		return error_set(err, EINVAL, "--listen is missing, and no socket was handed over");
	a->listener = HANDED_OVER;
	if (fcntl(a->listener, F_SETFD, FD_CLOEXEC) < 0 || fcntl(a->listener, F_SETFL, O_NONBLOCK) < 0)
		return error_errno(err, errno, "the socket that was handed over");
	return 0;
}

static int prepare(struct agent *a, struct error *err)
{
	sigset_t set;

	if (mkdir(a->request->directory, 0700) < 0 && errno != EEXIST)
		return error_errno(err, errno, "--directory: %s", a->request->directory);
	a->counts = mmap(NULL, sizeof(*a->counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->counts == MAP_FAILED) {
		a->counts = NULL;
		return error_errno(err, errno, "agent");
	}
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, &a->old_mask);
	a->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a->signals < 0)
		return error_errno(err, errno, "agent");
	return a->request->socket ? make_socket(a, err) : take_socket(a, err);
}

/* ---- metrics ---- */

static void put_metric(FILE *f, const char *name, const char *type, const char *help, uint64_t value)
{
	(void)fprintf(f, "# HELP hermit_agent_%s %s\n# TYPE hermit_agent_%s %s\nhermit_agent_%s %" PRIu64 "\n", name, help, name, type, name,
		      value);
}

static void write_metrics(const struct agent *a)
{
	const struct agent_counts *c = a->counts;
	char path[PATH_SIZE], temporary[PATH_SIZE + 8];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%.4000s/metrics.prom", a->request->directory);
	(void)snprintf(temporary, sizeof(temporary), "%s.new", path);
	f = fopen(temporary, "we");
	if (!f) {
		log_error("%s: %m", temporary);
		return;
	}
	put_metric(f, "connections_total", "counter", "Listeners that runtimes have sent.", c->accepted);
	put_metric(f, "running", "gauge", "Containers that are supervised now.", a->n_children);
	put_metric(f, "ended_total", "counter", "Containers that have ended.", c->ended);
	put_metric(f, "failed_total", "counter", "Containers that were killed because the agent could not go on.", c->failed);
	put_metric(f, "deadlocks_total", "counter", "Containers in which nobody could ever go on.", c->deadlocks);
	put_metric(f, "refused_total", "counter", "Strict containers that wanted something that is not modelled.", c->refused);
	put_metric(f, "uncontrolled_total", "counter", "Happenings that were not under control.", c->uncontrolled);
	put_metric(f, "turns_total", "counter", "Turns of ended containers.", c->turns);
	put_metric(f, "virtual_nanoseconds_total", "counter", "Virtual time of ended containers.", c->virtual_ns);
	if (fclose(f) != 0 || rename(temporary, path) < 0)
		log_error("%s: %m", path);
}

/* ---- children ---- */

/* It ends with the agent, however that ends: it tells the engine, and kills its container. */
static _Noreturn void be_child(struct agent *a, int connection, pid_t agent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != agent)
		_exit(EXIT_CODE_TOOL);
	(void)close(a->listener);
	(void)close(a->signals);
	(void)sigprocmask(SIG_SETMASK, &a->old_mask, NULL);
	_exit(agent_child(connection, a->request->directory, a->counts));
}

static void serve(struct agent *a, int connection)
{
	pid_t *more = reallocarray(a->children, a->n_children + 1, sizeof(*more));
	pid_t agent = getpid(), pid;

	if (!more) {
		log_error("no memory for one more container: it is refused");
		return;
	}
	a->children = more;
	pid = fork();
	if (pid == 0)
		be_child(a, connection, agent);
	if (pid < 0) {
		log_error("cannot fork for one more container (%m): it is refused");
		return;
	}
	a->children[a->n_children++] = pid;
}

static void accept_all(struct agent *a)
{
	int connection;

	while ((connection = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve(a, connection);
		(void)close(connection);
	}
}

static void reap_all(struct agent *a)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < a->n_children; i++)
			if (a->children[i] == pid)
				a->children[i] = a->children[--a->n_children];
		/* one that is told to end before its runtime has said a word has no container */
		if (WIFSIGNALED(status) && !(a->ending && WTERMSIG(status) == SIGTERM)) {
			a->counts->ended++;
			a->counts->failed++;
			log_error("the supervisor %d of a container was killed by signal %d, and the container with it", (int)pid,
				  WTERMSIG(status));
		}
	}
}

static void take_signals(struct agent *a)
{
	struct signalfd_siginfo info;

	while (read(a->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			reap_all(a);
			continue;
		}
		a->ending = true;
		for (size_t i = 0; i < a->n_children; i++)
			(void)kill(a->children[i], SIGTERM);
	}
}

/* Until it was told to end and all have ended. */
static int loop(struct agent *a, struct error *err)
{
	struct pollfd fds[2] = {
		{ .fd = a->listener, .events = POLLIN },
		{ .fd = a->signals, .events = POLLIN },
	};

	while (!a->ending || a->n_children) {
		write_metrics(a);
		fds[0].fd = a->ending ? -1 : a->listener;
		/* what children count is looked for while there are some */
		if (poll(fds, 2, a->n_children ? METRICS_MS : -1) < 0 && errno != EINTR)
			return error_errno(err, errno, "agent");
		if (fds[1].revents)
			take_signals(a);
		if (!a->ending && fds[0].revents)
			accept_all(a);
	}
	write_metrics(a);
	return 0;
}

int agent_main(const struct agent_request *request)
{
	struct agent a = { .request = request, .listener = -1, .signals = -1 };
	struct error err = { 0 };
	int r;

	r = prepare(&a, &err);
	if (r == 0)
		r = loop(&a, &err);
	if (r < 0)
		log_error("%s", err.text);
	if (r == 0 && request->socket)
		(void)unlink(request->socket);
	cleanup_close(&a.listener);
	cleanup_close(&a.signals);
	free(a.children);
	return r < 0 ? EXIT_CODE_TOOL : 0;
}
