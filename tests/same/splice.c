/* SPDX-License-Identifier: BSD-3-Clause */
/* splice, tee and vmsplice at ends that make them wait. What has to hold on Linux is asserted, when it happened is printed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(what) ((what) ? (void)0 : wrong(#what, __LINE__))

static void wrong(const char *what, int line)
{
	printf("line %d: %s does not hold (%s)\n", line, what, strerror(errno));
	exit(1);
}

static void now(const char *what)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	printf("%s %lld.%09ld\n", what, (long long)t.tv_sec, t.tv_nsec);
	fflush(stdout);
}

/* A child that runs `f` after a while, and ends. */
static void later(void (*f)(int fd), int fd)
{
	fflush(stdout);
	if (fork() == 0) {
		usleep(20000);
		f(fd);
		_exit(0);
	}
}

static void say(int fd)
{
	MUST(write(fd, "abc", 3) == 3);
}

static void drain(int fd)
{
	static char buf[1 << 20];

	MUST(read(fd, buf, sizeof(buf)) > 0);
}

static void drain_all(int fd)
{
	static char buf[30000];
	size_t total = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		total += (size_t)n;
		usleep(500);
	}
	printf("the other end got %zu\n", total);
	fflush(stdout);
}

static void nothing(int sig)
{
	(void)sig;
}

static void to_files(void)
{
	int p[2], null = open("/dev/null", O_WRONLY), file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	loff_t offset = 100;

	MUST(pipe(p) == 0);
	later(say, p[1]);
	MUST(splice(p[0], NULL, null, NULL, 1 << 20, 0) == 3);
	now("pipe to /dev/null");
	later(say, p[1]);
	MUST(splice(p[0], NULL, file, &offset, 1 << 20, 0) == 3 && offset == 103);
	now("pipe to file");
	MUST(lseek(file, 100, SEEK_SET) == 100 && splice(file, NULL, p[1], NULL, 100, 0) == 3);
	MUST(splice(file, NULL, p[1], NULL, 100, 0) == 0);
	MUST(splice(p[0], NULL, null, NULL, 2, 0) == 2 && splice(p[0], NULL, null, NULL, 2, 0) == 1);
	MUST(splice(p[0], NULL, null, NULL, 2, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	MUST(fcntl(p[0], F_SETFL, O_NONBLOCK) == 0 && splice(p[0], NULL, null, NULL, 2, 0) == -1 && errno == EAGAIN);
	MUST(fcntl(p[0], F_SETFL, 0) == 0 && splice(file, NULL, null, NULL, 2, 0) == -1 && errno == EINVAL);
	MUST(splice(p[0], &offset, null, NULL, 2, 0) == -1 && errno == ESPIPE);
	MUST(splice(-1, NULL, null, NULL, 2, 0) == -1 && errno == EBADF);
	close(p[1]);
	MUST(splice(p[0], NULL, null, NULL, 2, 0) == 0);
	close(p[0]);
}

static void between_pipes(void)
{
	_Alignas(4096) static char buf[65536];
	struct iovec iov = { buf, sizeof(buf) }, three = { buf, 3 };
	int p[2], q[2];

	MUST(pipe(p) == 0 && pipe(q) == 0);
	later(say, p[1]);
	MUST(tee(p[0], q[1], 100, 0) == 3);
	now("tee");
	MUST(splice(p[0], NULL, q[1], NULL, 100, 0) == 3 && read(q[0], buf, 100) == 6 && !memcmp(buf, "abcabc", 6));
	MUST(vmsplice(q[1], &iov, 1, 0) == 65536);
	MUST(vmsplice(q[1], &iov, 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	later(drain, q[0]);
	MUST(vmsplice(q[1], &three, 1, 0) == 3);
	now("vmsplice into a full pipe");
	later(say, p[1]);
	MUST(vmsplice(p[0], &iov, 1, 0) == 3 && !memcmp(buf, "abc", 3));
	now("vmsplice out of an empty pipe");
	MUST(write(q[1], buf, 60000) == 60000 && write(p[1], buf, 10000) == 10000);
	MUST(fcntl(q[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(q[1], buf, 4096) > 0)
		;
	MUST(fcntl(q[1], F_SETFL, 0) == 0);
	later(drain, q[0]);
	MUST(splice(p[0], NULL, q[1], NULL, 10000, 0) == 10000);
	now("splice into a full pipe");
	close(q[0]);
	MUST(write(p[1], buf, 10) == 10 && splice(p[0], NULL, q[1], NULL, 10, 0) == -1 && errno == EPIPE);
	close(p[0]), close(p[1]), close(q[1]);
}

static void with_sockets(void)
{
	static char buf[300000];
	int p[2], s[2];
	size_t left = sizeof(buf) + 3;
	ssize_t n;

	MUST(pipe(p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	later(say, s[1]);
	MUST(splice(s[0], NULL, p[1], NULL, 100, 0) == 3);
	now("socket to pipe");
	MUST(fcntl(p[1], F_SETPIPE_SZ, 1 << 20) == 1 << 20 && write(p[1], buf, sizeof(buf)) == sizeof(buf));
	fflush(stdout);
	if (fork() == 0) {
		close(s[0]);
		drain_all(s[1]);
		_exit(0);
	}
	close(s[1]);
	while (left && (n = splice(p[0], NULL, s[0], NULL, 1 << 20, 0)) > 0)
		left -= (size_t)n;
	MUST(left == 0);
	now("pipe to socket");
	close(s[0]);
	wait(NULL);
}

static void interrupted(void)
{
	struct sigaction action = { .sa_handler = nothing };
	int p[2], null = open("/dev/null", O_WRONLY);

	MUST(pipe(p) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
	ualarm(5000, 0);
	MUST(splice(p[0], NULL, null, NULL, 10, 0) == -1 && errno == EINTR);
	now("interrupted");
	action.sa_flags = SA_RESTART;
	MUST(sigaction(SIGALRM, &action, NULL) == 0);
	ualarm(5000, 0);
	later(say, p[1]);
	MUST(splice(p[0], NULL, null, NULL, 10, 0) == 3);
	now("restarted");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	to_files();
	between_pipes();
	with_sockets();
	interrupted();
	while (wait(NULL) > 0)
		;
	return 0;
}
