/* SPDX-License-Identifier: BSD-3-Clause */
/* One thing that can go wrong each, and how it went, as a line. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "bug.h"

enum { SIZE = 4000 };

static char data[SIZE];

static const char *judge(ssize_t r, const char *full, const char *part)
{
	return r < 0 ? strerror(errno) : r == SIZE ? full : part;
}

static const char *fine_or_error(long r)
{
	return r < 0 ? strerror(errno) : "fine";
}

static void fill(int fds[2])
{
	if (pipe(fds) < 0 || write(fds[1], data, SIZE) != SIZE)
		exit(99);
}

static const char *short_read(void)
{
	int fds[2];

	fill(fds);
	return judge(read(fds[0], data, SIZE), "full read", "short read");
}

static const char *short_write(void)
{
	int fds[2];

	return pipe(fds) < 0 ? "?" : judge(write(fds[1], data, SIZE), "full write", "short write");
}

static const char *short_writev(void)
{
	struct iovec parts[2] = { { data, SIZE / 2 }, { data + SIZE / 2, SIZE / 2 } };
	int fds[2];

	return pipe(fds) < 0 ? "?" : judge(writev(fds[1], parts, 2), "full write", "short write");
}

static const char *short_recv(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 || write(fds[1], data, SIZE) != SIZE)
		exit(99);
	return judge(recv(fds[0], data, SIZE, 0), "full read", "short read");
}

static void on_signal(int signo)
{
}

static void handle_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	(void)sigaction(SIGUSR1, &action, NULL);
}

static const char *interrupted(void)
{
	int fds[2];

	handle_signals();
	fill(fds);
	return fine_or_error(read(fds[0], data, SIZE));
}

static const char *interrupted_poll(void)
{
	handle_signals();
	return fine_or_error(poll(NULL, 0, 1));
}

/* Who is told of changes only would never hear of what is left. */
static const char *edge(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int fds[2], set = epoll_create1(0);

	fill(fds);
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	if (epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event) < 0 || epoll_wait(set, &event, 1, 0) != 1)
		exit(99);
	return judge(read(fds[0], data, SIZE), "full read", "short read");
}

static const char *unavailable(void)
{
	int fds[2];

	fill(fds);
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	return fine_or_error(read(fds[0], data, SIZE));
}

static const char *no_space(void)
{
	static char text[64];
	int fd = open("disk.data", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0) {
		(void)snprintf(text, sizeof(text), "open: %s", strerror(errno));
		return text;
	}
	return fine_or_error(write(fd, data, SIZE));
}

static const char *no_mmap(void)
{
	return mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? strerror(errno) : "fine";
}

static const char *no_mremap(void)
{
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mremap(at, 4096, 1 << 20, MREMAP_MAYMOVE) == MAP_FAILED ? strerror(errno) : "fine";
}

static const char *no_brk(void)
{
	return fine_or_error((long)sbrk(1 << 16));
}

static void tcp_pair(int fds[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(4001) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 1) < 0 ||
	    connect(fds[0], (struct sockaddr *)&address, sizeof(address)) < 0)
		exit(99);
	fds[1] = accept(listener, NULL, NULL);
}

static const char *reset(void)
{
	int fds[2];

	tcp_pair(fds);
	return fine_or_error(write(fds[0], data, 1));
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char *datagram(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(4002) };
	int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd wait = { .fd = to, .events = POLLIN };
	int64_t began;
	char got[8];

	if (bind(to, (struct sockaddr *)&address, sizeof(address)) < 0)
		exit(99);
	began = now_ns(CLOCK_MONOTONIC);
	if (sendto(from, "hello", 5, 0, (struct sockaddr *)&address, sizeof(address)) != 5)
		return strerror(errno);
	if (poll(&wait, 1, 1000) != 1)
		return "nothing came";
	if (recv(to, got, sizeof(got), 0) != 5 || memcmp(got, "hello", 5) != 0)
		return "something else came";
	return now_ns(CLOCK_MONOTONIC) - began > 100000 ? "came late" : "came at once";
}

static const char *latency(void)
{
	int64_t began = now_ns(CLOCK_MONOTONIC);

	(void)syscall(SYS_sched_yield);
	return now_ns(CLOCK_MONOTONIC) - began > 100000 ? "slow" : "fast";
}

static const char *clock_jump(void)
{
	int64_t wall = now_ns(CLOCK_REALTIME), steady = now_ns(CLOCK_MONOTONIC), off;

	(void)syscall(SYS_sched_yield);
	wall = now_ns(CLOCK_REALTIME) - wall;
	steady = now_ns(CLOCK_MONOTONIC) - steady;
	off = wall - steady;
	return off > 500 || off < -500 ? "jumped" : "steady";
}

static const struct {
	const char *name;
	const char *(*run)(void);
} modes[] = {
	{ "short-read", short_read }, { "short-write", short_write }, { "short-writev", short_writev }, { "short-recv", short_recv },
	{ "eintr", interrupted },     { "eintr-poll", interrupted_poll }, { "eagain", unavailable }, { "edge", edge },    { "enospc", no_space },
	{ "nomem-mmap", no_mmap },    { "nomem-brk", no_brk }, { "nomem-mremap", no_mremap },	      { "reset", reset },		{ "udp", datagram },
	{ "latency", latency },	      { "clock", clock_jump },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		char line[100];
		int n;

		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		n = snprintf(line, sizeof(line), "%s\n", modes[i].run());
		return syscall(SYS_pwritev2, 1, (struct iovec[]){ { line, (size_t)n } }, 1, -1L, -1L, 0) == n ? 0 : 99;
	}
	return 2;
}
