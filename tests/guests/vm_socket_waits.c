/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits at sockets: for all of what was asked for, until a time limit, until there is room for a connection. See vm.h. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/un.h>

#include "vm_sockets.h"

/* ---- all of it ---- */

struct writer {
	int fd;
	int pieces;
	size_t size;
};

static void *write_slowly(void *arg)
{
	struct writer *w = arg;
	char *data = calloc(1, w->size);

	for (int i = 0; i < w->pieces; i++) {
		memset(data, 'a' + i, w->size);
		vm_sleep_ms(5);
		MUST(write(w->fd, data, w->size));
	}
	free(data);
	shutdown(w->fd, SHUT_WR);
	return NULL;
}

static void wait_all(const char *what, int in, int out, size_t size, int pieces, size_t want)
{
	struct writer w = { out, pieces, size };
	char *data = calloc(1, want);
	struct iovec iov[2] = { { data, want / 3 }, { data + want / 3, want - want / 3 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	pthread_t thread;
	long n;

	pthread_create(&thread, NULL, write_slowly, &w);
	n = recv(in, data, want, MSG_WAITALL);
	SAME("%s: all of %zu: %s, ends with %c", what, want, RESULT(n), data[n - 1]);
	n = recvmsg(in, &m, MSG_WAITALL);
	SAME("%s: again, in two parts: %s, ends with %c, flags %x", what, RESULT(n), n > 0 ? data[n - 1] : '-', (unsigned)m.msg_flags);
	pthread_join(thread, NULL);
	n = recv(in, data, want, MSG_WAITALL);
	SAME("%s: at the end: %s", what, RESULT(n));
	free(data);
	close(in);
	close(out);
}

static void no_op(int signo)
{
	(void)signo;
}

static void *interrupt_soon(void *arg)
{
	vm_until_sleeps(0, getpid());
	vm_sleep_ms(20);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

static void wait_all_interrupted(int sa_flags)
{
	struct sigaction sa = { .sa_handler = no_op, .sa_flags = sa_flags };
	pthread_t me = pthread_self(), thread;
	int pair[2];
	char data[100];

	sigaction(SIGUSR1, &sa, NULL);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	MUST(write(pair[1], "some", 4));
	pthread_create(&thread, NULL, interrupt_soon, &me);
	SAME("a signal, some data: %s", RESULT(recv(pair[0], data, sizeof(data), MSG_WAITALL)));
	pthread_join(thread, NULL);
	close(pair[0]);
	close(pair[1]);
}

/* ---- limits of time ---- */

static void set_limit(int fd, int option, unsigned ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	MUST(setsockopt(fd, SOL_SOCKET, option, &tv, sizeof(tv)));
}

static void timed_out(const char *what, long result, uint64_t start, unsigned ms)
{
	int error = errno;
	uint64_t took = vm_now() - start;

	errno = error;
	SAME("%s: %s, after the time %d", what, vm_result(result), took >= ms * 1000000ull && took < (ms + 60000) * 1000000ull);
	SHOWN("%s took %llu", what, (unsigned long long)took);
}

static void receive_limits(void)
{
	int a, b, listener, udp = bound(SOCK_DGRAM, 0), pair[2];
	struct sigaction sa = { .sa_handler = no_op, .sa_flags = SA_RESTART };
	pthread_t me = pthread_self(), thread;
	struct timeval tv;
	socklen_t len = sizeof(tv);
	char data[64];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	uint64_t start;

	stream_pair(&a, &b);
	set_limit(a, SO_RCVTIMEO, 30);
	MUST(getsockopt(a, SOL_SOCKET, SO_RCVTIMEO, &tv, &len));
	SHOWN("the limit reads %lld.%06ld", (long long)tv.tv_sec, (long)tv.tv_usec);
	start = vm_now();
	timed_out("recv", recv(a, data, sizeof(data), 0), start, 30);
	start = vm_now();
	timed_out("read", read(a, data, sizeof(data)), start, 30);
	start = vm_now();
	timed_out("recvmsg", recvmsg(a, &m, 0), start, 30);
	set_limit(udp, SO_RCVTIMEO, 40);
	start = vm_now();
	timed_out("recvfrom", recvfrom(udp, data, sizeof(data), 0, NULL, NULL), start, 40);
	MUST(write(b, "xyz", 3));
	start = vm_now();
	timed_out("recv of all", recv(a, data, 10, MSG_WAITALL), start, 30);
	listener = bound(SOCK_STREAM, 0);
	MUST(listen(listener, 5));
	set_limit(listener, SO_RCVTIMEO, 25);
	start = vm_now();
	timed_out("accept", accept(listener, NULL, NULL), start, 25);
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	set_limit(pair[0], SO_RCVTIMEO, 35);
	start = vm_now();
	timed_out("recv, unix", recv(pair[0], data, sizeof(data), 0), start, 35);
	/* With a limit a signal is not followed by a restart. */
	sigaction(SIGUSR1, &sa, NULL);
	set_limit(a, SO_RCVTIMEO, 1000000);
	pthread_create(&thread, NULL, interrupt_soon, &me);
	SAME("recv with a limit, SA_RESTART: %s", RESULT(recv(a, data, sizeof(data), 0)));
	pthread_join(thread, NULL);
	close(a);
	close(b);
	close(udp);
	close(listener);
	close(pair[0]);
	close(pair[1]);
}

static void send_limits(void)
{
	static char data[1 << 20];
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int pair[2], listener, fd;
	uint64_t start;
	long n;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	set_limit(pair[0], SO_SNDTIMEO, 30);
	start = vm_now();
	n = send(pair[0], data, sizeof(data), 0);
	SAME("send of too much: some %d, in time %d", n > 0 && n < (long)sizeof(data), vm_now() - start >= 30000000);
	SHOWN("sent %ld in %llu", n, (unsigned long long)(vm_now() - start));
	start = vm_now();
	timed_out("send to a full one", send(pair[0], data, sizeof(data), 0), start, 30);
	start = vm_now();
	timed_out("write to a full one", write(pair[0], data, 10), start, 30);
	close(pair[0]);
	close(pair[1]);
	listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)));
	socklen_t len = sizeof(name);
	MUST(getsockname(listener, (struct sockaddr *)&name, &len));
	MUST(listen(listener, 0));
	fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	SAME("connect to one with room: %s", RESULT(connect(fd, (struct sockaddr *)&name, len)));
	fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	set_limit(fd, SO_SNDTIMEO, 30);
	start = vm_now();
	timed_out("connect to one without room", connect(fd, (struct sockaddr *)&name, len), start, 30);
	fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
	SAME("connect without waiting: %s", RESULT(connect(fd, (struct sockaddr *)&name, len)));
	close(listener);
}

static void *accept_later(void *arg)
{
	vm_until_sleeps(0, getpid());
	vm_sleep_ms(20);
	(void)close((int)MUST(accept(*(int *)arg, NULL, NULL)));
	return NULL;
}

/* A connect that waits until somebody accepts. */
static void connect_waits(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), fd;
	socklen_t len = sizeof(name);
	pthread_t thread;
	uint64_t start;

	MUST(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)));
	MUST(getsockname(listener, (struct sockaddr *)&name, &len));
	MUST(listen(listener, 0));
	fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(connect(fd, (struct sockaddr *)&name, len));
	pthread_create(&thread, NULL, accept_later, &listener);
	start = vm_now();
	fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	SAME("connect waits for room: %s, %d", RESULT(connect(fd, (struct sockaddr *)&name, len)), vm_now() - start >= 10000000);
	pthread_join(thread, NULL);
	close(listener);
}

int main(void)
{
	int a, b, pair[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	wait_all("unix", pair[0], pair[1], 1000, 6, 2500);
	stream_pair(&a, &b);
	wait_all("tcp", a, b, 100000, 9, 400000);
	wait_all_interrupted(0);
	wait_all_interrupted(SA_RESTART);
	receive_limits();
	send_limits();
	connect_waits();
	vm_end();
	return 0;
}
