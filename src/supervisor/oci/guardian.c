/* SPDX-License-Identifier: BSD-3-Clause */
/* The guardian of a container: see guardian.h. */
#include "supervisor/oci/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/oci/state.h"

enum { LOOK_MS = 200 };

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void guardian_keep_only(int *fds, size_t n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), from = 3;

	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			(void)close(fd);
	qsort(fds, n, sizeof(*fds), compare_fds);
	for (size_t i = 0; i < n; i++) {
		if (fds[i] < from)
			continue;
		if (fds[i] > from)
			(void)close_range((unsigned)from, (unsigned)fds[i] - 1, 0);
		from = fds[i] + 1;
	}
	(void)close_range((unsigned)from, ~0U, 0);
}

struct guardian {
	struct pollfd *polls; /* the supervisor's socket, then listeners */
	size_t n;
	int init_pidfd;
};

static int receive_fd(int socket, int *ret_fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	ssize_t n;

	*ret_fd = -1;
	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	return 1;
}

int guardian_give(int socket, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char byte = 'l';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int guardian_await_room(int socket, pid_t guardian)
{
	struct pollfd room = { .fd = socket, .events = POLLOUT };

	while (poll(&room, 1, LOOK_MS) <= 0)
		if (process_is_stopped(guardian))
			return -EBUSY;
	return 0;
}

/*
 * Holds one more descriptor: a listener, of which only the end is of interest, which poll always tells (POLLHUP); or the supervisor's socket, from
 * which each listener is taken as it comes: a socket takes a few dozen messages that nobody reads, and then nobody can join any more.
 * Out of memory: it is let go, which is no worse than without a guardian.
 */
static void hold(struct guardian *g, int fd, short events)
{
	struct pollfd *grown = reallocarray(g->polls, g->n + 1, sizeof(*grown));

	if (!grown) {
		(void)close(fd);
		return;
	}
	g->polls = grown;
	g->polls[g->n++] = (struct pollfd){ .fd = fd, .events = events };
}

/* Nobody is left below a listener that hung up. */
static void drop_finished(struct guardian *g)
{
	size_t kept = 1;

	for (size_t i = 1; i < g->n; i++) {
		if (g->polls[i].revents & (POLLHUP | POLLERR))
			(void)close(g->polls[i].fd);
		else
			g->polls[kept++] = g->polls[i];
	}
	g->n = kept;
}

/* Until the supervisor lets go of its socket, which it does by ending. */
static void guard(struct guardian *g)
{
	int listener, r = 1;

	while (r > 0) {
		if (poll(g->polls, g->n, -1) < 0)
			continue;
		if (g->polls[0].revents) {
			r = receive_fd(g->polls[0].fd, &listener);
			if (r > 0 && listener >= 0)
				hold(g, listener, 0);
			continue;
		}
		drop_finished(g);
	}
}

static bool ended_well(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void guardian_kill_container(int init_pidfd)
{
	struct pollfd end = { .fd = init_pidfd, .events = POLLIN };

	(void)pidfd_send_signal(init_pidfd, SIGKILL, NULL, 0);
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
}

_Noreturn void guardian_main(int socket, int init_pidfd, pid_t supervisor)
{
	struct guardian g = { .init_pidfd = init_pidfd };
	int keep[] = { socket, init_pidfd };

	guardian_keep_only(keep, ARRAY_SIZE(keep));
	(void)prctl(PR_SET_NAME, "hermit-guardian");
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGCHLD)
			(void)signal(sig, SIG_IGN);
	hold(&g, socket, POLLIN);
	if (g.n == 1)
		guard(&g);
	if (!ended_well(supervisor))
		guardian_kill_container(init_pidfd);
	_exit(0);
}
