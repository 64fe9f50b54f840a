/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that poll: usage: looks NAME [MILLISECONDS]. Each looks in one way until a child (or a thread) that has slept so long has done
 * something, and says how often it has looked, and what time it was then. The answers have to be as they are on Linux.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE "looked-for"
#define MUST(call) must((long)(call), #call, __LINE__)

static long must(long result, const char *what, int line)
{
	if (result == -1) {
		printf("line %d: %s: %s\n", line, what, strerror(errno));
		exit(1);
	}
	return result;
}

static struct timespec length = { .tv_sec = 1 };
static pid_t child;
static int from, to, set; /* the ends of a socket pair, and an epoll set that has the first */
static int listener;
static atomic_uint word;
static uint64_t until;

/* By a call, whatever the vDSO can do. */
static uint64_t now(void)
{
	struct timespec ts;

	MUST(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts));
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool wrong(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- ways to look: true when it has come ---- */

static bool by_kill(void)
{
	return kill(child, 0) == -1 && errno == ESRCH;
}

static bool by_yield(void)
{
	(void)sched_yield();
	return word;
}

static bool by_poll(void)
{
	struct pollfd fd = { .fd = from, .events = POLLIN };

	return MUST(poll(&fd, 1, 0)) == 1;
}

static bool by_ppoll(void)
{
	struct pollfd fd = { .fd = from, .events = POLLIN };
	const struct timespec none = { 0 };

	return MUST(ppoll(&fd, 1, &none, NULL)) == 1;
}

static bool by_select(void)
{
	struct timeval none = { 0 };
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(from, &fds);
	return MUST(select(from + 1, &fds, NULL, NULL, &none)) == 1;
}

static bool by_pselect(void)
{
	const struct timespec none = { 0 };
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(from, &fds);
	return MUST(pselect(from + 1, &fds, NULL, NULL, &none, NULL)) == 1;
}

static bool by_epoll(void)
{
	struct epoll_event event;

	return MUST(epoll_wait(set, &event, 1, 0)) == 1;
}

static bool by_wait(void)
{
	int status;

	return MUST(waitpid(child, &status, WNOHANG)) == child;
}

static bool by_waitid(void)
{
	siginfo_t info = { 0 };

	MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG));
	return info.si_pid == child;
}

static bool by_stat(void)
{
	struct stat st;

	return stat(PLACE, &st) == 0 || (errno != ENOENT && wrong("stat"));
}

static bool by_access(void)
{
	return access(PLACE, F_OK) == 0 || (errno != ENOENT && wrong("access"));
}

static bool by_open(void)
{
	return open(PLACE, O_RDONLY) >= 0 || (errno != ENOENT && wrong("open"));
}

static bool by_read(void)
{
	char c;

	return read(from, &c, 1) == 1 || (errno != EAGAIN && wrong("read"));
}

static bool by_recv(void)
{
	char c;

	return recv(from, &c, 1, MSG_DONTWAIT) == 1 || (errno != EAGAIN && wrong("recv"));
}

static bool by_accept(void)
{
	return accept(listener, NULL, NULL) >= 0 || (errno != EAGAIN && wrong("accept"));
}

static bool by_futex(void)
{
	if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0) != -1 || errno != EAGAIN)
		return wrong("futex");
	return word;
}

static bool by_clock(void)
{
	return now() >= until;
}

/* As programs do that are not to wait for ever. */
static bool by_several(void)
{
	(void)sched_yield();
	return now() >= until + 1000000000 || by_wait() || by_access();
}

/* ---- what comes ---- */

static void go(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd;

	(void)snprintf(name.sun_path, sizeof(name.sun_path), PLACE ".socket");
	MUST(write(to, "x", 1));
	fd = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(connect(fd, (struct sockaddr *)&name, sizeof(name)));
	MUST(open(PLACE, O_CREAT | O_WRONLY, 0600));
}

static void *thread(void *arg)
{
	(void)nanosleep(&length, NULL);
	word = 2;
	return arg;
}

static void listen_there(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	(void)snprintf(name.sun_path, sizeof(name.sun_path), PLACE ".socket");
	(void)unlink(name.sun_path);
	(void)unlink(PLACE);
	listener = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
	MUST(bind(listener, (struct sockaddr *)&name, sizeof(name)));
	MUST(listen(listener, 1));
}

static void prepare(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ends[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	from = ends[0];
	to = ends[1];
	set = MUST(epoll_create1(0));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, from, &event));
	listen_there();
}

static void begin(bool with_thread)
{
	pthread_t other;

	until = now() + (uint64_t)length.tv_sec * 1000000000 + (uint64_t)length.tv_nsec;
	if (with_thread) {
		errno = pthread_create(&other, NULL, thread, NULL);
		if (errno)
			wrong("pthread_create");
		return;
	}
	child = (pid_t)MUST(fork());
	if (child)
		return;
	(void)nanosleep(&length, NULL);
	go();
	_exit(0);
}

static const struct way {
	const char *name;
	bool (*look)(void);
	bool with_thread, is_reaped; /* the kernel reaps the child: it is not there any more */
} ways[] = {
	{ "kill", by_kill, false, true },
	{ "yield", by_yield, true, false },
	{ "poll", by_poll, false, false },
	{ "ppoll", by_ppoll, false, false },
	{ "select", by_select, false, false },
	{ "pselect", by_pselect, false, false },
	{ "epoll", by_epoll, false, false },
	{ "wait", by_wait, false, false },
	{ "waitid", by_waitid, false, false },
	{ "stat", by_stat, false, false },
	{ "access", by_access, false, false },
	{ "open", by_open, false, false },
	{ "read", by_read, false, false },
	{ "recv", by_recv, false, false },
	{ "accept", by_accept, false, false },
	{ "futex", by_futex, true, false },
	{ "clock", by_clock, false, false },
	{ "several", by_several, false, false },
};

int main(int argc, char **argv)
{
	const struct way *way = ways, *end = ways + sizeof(ways) / sizeof(ways[0]);
	uint64_t start, looks = 1;
	sigset_t blocked;
	long ms;

	while (way < end && (argc < 2 || strcmp(way->name, argv[1]) != 0))
		way++;
	if (way == end) {
		for (way = ways; way < end; way++)
			printf("%s\n", way->name);
		return argc > 1;
	}
	ms = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
	length = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	if (way->is_reaped)
		(void)signal(SIGCHLD, SIG_IGN);
	/* One that is ignored takes time or not, as there is an event log or not: vm.sh. */
	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &blocked, NULL);
	prepare();
	start = now();
	begin(way->with_thread);
	while (!way->look())
		looks++;
	printf("%s: %llu looks, %llu ns\n", way->name, (unsigned long long)looks, (unsigned long long)(now() - start));
	return 0;
}
