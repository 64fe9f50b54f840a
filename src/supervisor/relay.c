/* SPDX-License-Identifier: BSD-3-Clause */
/* Between two terminals: see relay.h. */
#include "supervisor/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/console.h"

enum { INPUT, OUTPUT, ALIVE, RESIZE, N_POLLS, END_OF_INPUT = 4 /* Ctrl-D */ };

/* Bytes on their way in one direction. */
struct flow {
	char bytes[4096];
	size_t at, n;
	bool ended; /* nothing more will come in */
};

struct relaying {
	int master, alive_fd, resize_fd;
	bool terminal; /* standard input is one */
	struct termios saved;
	struct flow in, out;
	bool orphan; /* the supervisor has let go */
};

static size_t waiting(const struct flow *flow)
{
	return flow->n - flow->at;
}

/* Takes in what is there. */
static void fill(struct flow *flow, int fd)
{
	ssize_t n = read(fd, flow->bytes, sizeof(flow->bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	flow->at = 0;
	flow->n = n > 0 ? (size_t)n : 0;
	flow->ended = n <= 0;
}

/* Hands out what can be. A reader that is gone takes everything. */
static void drain(struct flow *flow, int fd)
{
	ssize_t n = write(fd, flow->bytes + flow->at, waiting(flow));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	flow->at = n < 0 ? flow->n : flow->at + (size_t)n;
}

static void prepare_polls(const struct relaying *r, struct pollfd polls[N_POLLS])
{
	bool idle_in = !r->in.ended && !waiting(&r->in), idle_out = !waiting(&r->out);

	polls[INPUT] = (struct pollfd){ .fd = idle_in && !r->orphan ? STDIN_FILENO : -1, .events = POLLIN };
	polls[OUTPUT] = (struct pollfd){ .fd = r->master, .events = (short)((idle_out ? POLLIN : 0) | (waiting(&r->in) ? POLLOUT : 0)) };
	polls[ALIVE] = (struct pollfd){ .fd = r->orphan ? -1 : r->alive_fd, .events = POLLIN };
	polls[RESIZE] = (struct pollfd){ .fd = r->resize_fd, .events = POLLIN };
}

static void on_input(struct relaying *r)
{
	fill(&r->in, STDIN_FILENO);
	if (!r->in.ended)
		return;
	r->in.bytes[0] = END_OF_INPUT;
	r->in.at = 0;
	r->in.n = 1;
}

static void on_resize(struct relaying *r)
{
	struct signalfd_siginfo info;

	if (read(r->resize_fd, &info, sizeof(info)) > 0)
		(void)console_copy_size(STDIN_FILENO, r->master);
}

/* One round. False when all is done. */
static bool relay_once(struct relaying *r)
{
	struct pollfd polls[N_POLLS];
	int ready;

	prepare_polls(r, polls);
	ready = poll(polls, N_POLLS, r->orphan ? 0 : -1);
	if (ready < 0)
		return errno == EINTR;
	if (ready == 0)
		return false; /* an orphan that has nothing left to move */
	if (polls[ALIVE].revents)
		r->orphan = true;
	if (polls[RESIZE].revents)
		on_resize(r);
	if (polls[INPUT].revents)
		on_input(r);
	if (polls[OUTPUT].revents & POLLOUT)
		drain(&r->in, r->master);
	if (polls[OUTPUT].revents & (POLLIN | POLLHUP | POLLERR)) {
		fill(&r->out, r->master);
		/* Standard output blocks: that is what holds a guest back that writes faster than the reader reads. */
		while (waiting(&r->out))
			drain(&r->out, STDOUT_FILENO);
	}
	return !r->out.ended;
}

static int watch_size(void)
{
	sigset_t set;

	(void)sigfillset(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGWINCH);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void close_others(const struct relaying *r, int done_fd)
{
	for (int fd = 2; fd < 1024; fd++)
		if (fd != r->master && fd != r->alive_fd && fd != done_fd)
			(void)close(fd);
}

/* The relay's whole life. done_fd closes with it. */
__attribute__((noreturn)) static void relay_main(int master, int alive_fd, int done_fd)
{
	struct relaying r = { .master = master, .alive_fd = alive_fd };

	close_others(&r, done_fd);
	r.resize_fd = watch_size();
	r.terminal = isatty(STDIN_FILENO) && console_make_raw(STDIN_FILENO, &r.saved, NULL) == 0;
	(void)fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
	while (relay_once(&r))
		;
	if (r.terminal)
		console_restore(STDIN_FILENO, &r.saved);
	_exit(0);
}

/* A child of a child that has ended is nobody's that waits. */
static int fork_away(int master, int alive_fd, int done_fd)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (child == 0) {
		pid_t relay = fork();

		if (relay == 0)
			relay_main(master, alive_fd, done_fd);
		_exit(relay < 0 ? errno : 0);
	}
	if (waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

int relay_start(struct relay *relay, int master, struct error *err)
{
	int alive[2], done[2], r;

	/* Here and not in the relay, so that the guest never sees another size. */
	(void)console_copy_size(STDIN_FILENO, master);
	if (pipe2(alive, O_CLOEXEC) < 0)
		return error_errno(err, errno, "pipe for the terminal");
	if (pipe2(done, O_CLOEXEC) < 0) {
		r = errno;
		(void)close(alive[0]);
		(void)close(alive[1]);
		return error_errno(err, r, "pipe for the terminal");
	}
	r = fork_away(master, alive[0], done[1]);
	(void)close(alive[0]);
	(void)close(done[1]);
	*relay = (struct relay){ .running = r == 0, .alive_fd = alive[1], .done_fd = done[0] };
	if (r == 0)
		return 0;
	(void)close(alive[1]);
	(void)close(done[0]);
	return error_errno(err, -r, "cannot start the terminal's relay");
}

void relay_finish(struct relay *relay)
{
	char byte;

	if (!relay->running)
		return;
	(void)close(relay->alive_fd);
	(void)fd_read_full(relay->done_fd, &byte, 1);
	(void)close(relay->done_fd);
	relay->running = false;
}
