/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many of something. scale KIND N...: N of the kind, then "done KIND N", then a line of standard input is waited for.
 *	live       N threads that live at once
 *	threads    N threads, one after the other
 *	processes  N processes, one after the other
 *	open       N descriptors that come and go, of all kinds
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void *nothing(void *arg)
{
	return arg;
}

static void *meets(void *arg)
{
	(void)pthread_barrier_wait(&barrier);
	usleep((useconds_t)(size_t)arg % 7 * 1000);
	(void)pthread_barrier_wait(&barrier);
	return NULL;
}

static void live(int n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	pthread_attr_t attr;

	must(threads != NULL && pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, 65536) == 0, "attributes");
	must(pthread_barrier_init(&barrier, NULL, (unsigned)n) == 0, "barrier");
	for (int i = 0; i < n; i++)
		must(pthread_create(&threads[i], &attr, meets, (void *)(size_t)i) == 0, "pthread_create");
	for (int i = 0; i < n; i++)
		must(pthread_join(threads[i], NULL) == 0, "pthread_join");
	free(threads);
}

static void threads(int n)
{
	pthread_t thread;

	for (int i = 0; i < n; i++)
		must(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
}

static void processes(int n)
{
	int status;
	pid_t pid;

	for (int i = 0; i < n; i++) {
		pid = fork();
		must(pid >= 0, "fork");
		if (pid == 0)
			_exit(i % 256);
		must(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == i % 256, "waitpid");
	}
}

static void open_and_close(int n)
{
	int fds[8];
	char byte;

	for (int i = 0; i < n; i++) {
		must(pipe(fds) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fds + 2) == 0, "pairs");
		fds[4] = eventfd(1, 0);
		fds[5] = timerfd_create(CLOCK_MONOTONIC, 0);
		fds[6] = epoll_create1(0);
		fds[7] = socket(AF_INET, SOCK_STREAM, 0);
		must(write(fds[1], "x", 1) == 1 && read(fds[0], &byte, 1) == 1, "pipe");
		must(write(fds[2], "x", 1) == 1 && read(fds[3], &byte, 1) == 1, "socket");
		must(epoll_ctl(fds[6], EPOLL_CTL_ADD, fds[4], &(struct epoll_event){ .events = EPOLLIN }) == 0, "epoll_ctl");
		must(epoll_wait(fds[6], &(struct epoll_event){ 0 }, 1, -1) == 1, "epoll_wait");
		for (int k = 0; k < 8; k++)
			must(close(fds[k]) == 0, "close");
	}
}

static const struct {
	const char *name;
	void (*make)(int n);
} kinds[] = { { "live", live }, { "threads", threads }, { "processes", processes }, { "open", open_and_close } };

int main(int argc, char **argv)
{
	char line[16];

	for (int i = 1; i + 1 < argc; i += 2) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (!strcmp(argv[i], kinds[k].name))
				kinds[k].make(atoi(argv[i + 1]));
		printf("done %s %s\n", argv[i], argv[i + 1]);
		fflush(stdout);
		must(fgets(line, sizeof(line), stdin) != NULL, "a line");
	}
	return 0;
}
