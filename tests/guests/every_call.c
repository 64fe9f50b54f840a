/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes system calls by number, with arguments that mean nothing: with zeros, and with ones that no object answers to; a child makes each, because
 * it may ruin its process. Those that wait for a signal get one.
 *
 * moving: calls that move many bytes, and look at descriptors where nothing is; they succeed.
 *
 * Usage: every_call [moving] NUMBER...
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 200000 };

static void on_signal(int signo)
{
}

static void in_child(long nr, long argument)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		(void)syscall(nr, argument, argument, argument, argument, argument, argument);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		abort();
}

/* Waits for a signal under a mask that lets it through. */
static void wait_for_signal(long nr)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t alarms, none;
	pid_t pid = fork();

	if (pid == 0) {
		(void)sigemptyset(&alarms);
		(void)sigemptyset(&none);
		(void)sigaddset(&alarms, SIGALRM);
		(void)sigaction(SIGALRM, &action, NULL);
		if (nr == SYS_rt_sigsuspend)
			(void)sigprocmask(SIG_BLOCK, &alarms, NULL);
		(void)alarm(1);
		_exit(syscall(nr, &none, 8) == -1 ? 0 : 1);
	}
	if (waitpid(pid, NULL, 0) != pid)
		abort();
}

static void every(long nr)
{
	if (nr == SYS_pause || nr == SYS_rt_sigsuspend) {
		wait_for_signal(nr);
		return;
	}
	if (nr != SYS_select && nr != SYS_pselect6 && nr != SYS_ppoll && nr != SYS_msgrcv) /* would wait for ever */
		in_child(nr, 0);
	in_child(nr, -1);
}

static void expect(const char *what, long long got, long long wanted)
{
	if (got == wanted)
		return;
	(void)fprintf(stderr, "%s: %lld, not %lld\n", what, got, wanted);
	exit(1);
}

/* Nothing is there, and nobody wants to wait. */
static void looks(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct timeval none = { 0 };
	struct timespec no_time = { 0 };
	fd_set set;

	expect("poll", poll(&poll_fd, 1, 0), 0);
	expect("poll of nothing", poll(NULL, 0, 0), 0);
	expect("ppoll", ppoll(&poll_fd, 1, &no_time, NULL), 0);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	expect("select", select(fd + 1, &set, NULL, NULL, &none), 0);
	FD_SET(fd, &set);
	expect("pselect", pselect(fd + 1, &set, NULL, NULL, &no_time, NULL), 0);
}

/* More than a pipe or a page holds, so that a call that is disturbed comes back early. */
static void moving(void)
{
	static char data[SIZE], back[SIZE];
	struct iovec iov = { .iov_base = data, .iov_len = 4096 };
	int in, out, null, zero, pipes[2], other[2];
	loff_t from = 0, to = 0;

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 / 3);
	in = open("moving.in", O_RDWR | O_CREAT | O_TRUNC, 0600);
	out = open("moving.out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	null = open("/dev/null", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	expect("write", write(in, data, SIZE), SIZE);
	expect("fallocate", fallocate(out, 0, 0, SIZE), 0);
	expect("sendfile", sendfile(out, in, &from, SIZE), SIZE);
	from = 0;
	expect("copy_file_range", copy_file_range(in, &from, out, &to, SIZE, 0), SIZE);
	expect("write to a device", write(null, data, SIZE), SIZE);
	expect("read from a device", read(zero, back, SIZE), SIZE);
	expect("pipe", pipe(pipes), 0);
	looks(pipes[0]);
	expect("pipe", pipe(other), 0);
	expect("vmsplice", vmsplice(pipes[1], &iov, 1, SPLICE_F_NONBLOCK), 4096);
	expect("tee", tee(pipes[0], other[1], 4096, SPLICE_F_NONBLOCK), 4096);
	expect("splice", splice(pipes[0], NULL, null, NULL, 4096, SPLICE_F_NONBLOCK), 4096);
	iov.iov_base = back;
	expect("vmsplice out", vmsplice(other[0], &iov, 1, SPLICE_F_NONBLOCK), 4096);
	expect("what came through", memcmp(data, back, 4096), 0);
	expect("read", pread(out, back, SIZE, 0), SIZE);
	expect("what was copied", memcmp(data, back, SIZE), 0);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "moving"))
			moving();
		else
			every(strtol(argv[i], NULL, 10));
	return 0;
}
