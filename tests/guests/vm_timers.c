/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel times by its own clock in sockets: ports of connections that are over, ends that are half closed, options that wait. See vm.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "vm_sockets.h"

static int listening(void)
{
	int fd = bound(SOCK_STREAM, 0);

	MUST(listen(fd, 5));
	return fd;
}

/* ---- ends of connections ---- */

/* The port of a connection whose own end was closed first is in TIME-WAIT for 60 s, natively. */
static void port_again(void)
{
	struct sockaddr_in address;
	char byte;
	int a, b;

	stream_pair(&a, &b);
	address = loopback(port_of(a));
	SHOWN("port %d", port_of(a));
	close(a);
	SAME("the end %zd", read(b, &byte, 1));
	close(b);
	a = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	SHOWN("bound again: %s", RESULT(bind(a, (struct sockaddr *)&address, sizeof(address))));
	close(a);
}

/* The end that was closed waits for the other one, which still sends its end. */
static void half_closed(void)
{
	char byte;
	int a, b;

	stream_pair(&a, &b);
	close(a);
	SAME("half closed: read %s", RESULT(read(b, &byte, 1)));
	SAME("shutdown %s", RESULT(shutdown(b, SHUT_WR)));
	SAME("read again %s", RESULT(read(b, &byte, 1)));
	SAME("write %s", RESULT(send(b, "x", 1, MSG_NOSIGNAL)));
	close(b);
}

/* ---- options that wait ---- */

struct reader {
	int fd;
	size_t read;
};

static void *read_later(void *arg)
{
	struct reader *reader = arg;
	static char buf[65536];
	ssize_t n;

	vm_sleep_ms(20);
	while ((n = read(reader->fd, buf, sizeof(buf))) > 0)
		reader->read += (size_t)n;
	return NULL;
}

static void lingers(void)
{
	static char buf[65536];
	struct linger linger = { 1, 30 };
	struct reader reader = { 0 };
	size_t sent = 0;
	pthread_t thread;
	ssize_t n;
	int a;

	stream_pair(&a, &reader.fd);
	MUST(setsockopt(a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	/* More than the other end takes, and less than there is room for: how much that is may differ by one of these. */
	for (int i = 0; i < 20 && (n = send(a, buf, sizeof(buf), MSG_DONTWAIT)) > 0; i++)
		sent += (size_t)n;
	pthread_create(&thread, NULL, read_later, &reader);
	SAME("close %s", RESULT(close(a)));
	pthread_join(thread, NULL);
	SAME("all of it was read: %d", sent > sizeof(buf) && reader.read == sent);
	close(reader.fd);
	/* No time to linger for is an abort. */
	linger.l_linger = 0;
	stream_pair(&a, &reader.fd);
	MUST(setsockopt(a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(a);
	SAME("abort: read %s", RESULT(read(reader.fd, buf, 1)));
	close(reader.fd);
}

/* Sent last with the word that more follows, by each call that has one. */
static void more_to_come(void)
{
	char buf[8], text[] = "abcd";
	struct iovec iov = { text, 2 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr messages[2] = { { .msg_hdr = message }, { .msg_hdr = message } };
	int a, b, pipe_ends[2];

	stream_pair(&a, &b);
	MUST(pipe(pipe_ends));
	MUST(send(a, text, 3, MSG_MORE));
	SAME("more, send: %s", RESULT(read(b, buf, sizeof(buf)))); /* natively after 200 ms */
	MUST(sendmsg(a, &message, MSG_MORE));
	SAME("more, sendmsg: %s", RESULT(read(b, buf, sizeof(buf))));
	MUST(sendmmsg(a, messages, 1, MSG_MORE));
	SAME("more, sendmmsg: %s", RESULT(read(b, buf, sizeof(buf))));
	MUST(write(pipe_ends[1], text, 4));
	MUST(splice(pipe_ends[0], NULL, a, NULL, 4, SPLICE_F_MORE));
	SAME("more, splice: %s", RESULT(read(b, buf, sizeof(buf))));
	MUST(send(a, text, 1, MSG_MORE));
	MUST(close(a));
	SAME("more, closed: %s", RESULT(read(b, buf, sizeof(buf))));
	SAME("more, the end: %s", RESULT(read(b, buf, sizeof(buf))));
	(void)close(b);
	(void)close(pipe_ends[0]);
	(void)close(pipe_ends[1]);
}

static void corked(void)
{
	int a, b, on = 1;
	char buf[16];

	stream_pair(&a, &b);
	MUST(setsockopt(a, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
	MUST(write(a, "hallo", 5));
	SAME("corked: %s", RESULT(read(b, buf, sizeof(buf)))); /* natively after 200 ms */
	close(a);
	close(b);
}

static void deferred(void)
{
	int listener = listening(), fd, seconds = 1, client;
	char buf[16];

	MUST(setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)));
	client = connected(SOCK_STREAM, port_of(listener));
	MUST(write(client, "hallo", 5));
	fd = (int)MUST(accept(listener, NULL, NULL));
	SAME("deferred: %s", RESULT(read(fd, buf, sizeof(buf))));
	close(fd);
	close(client);
	client = connected(SOCK_STREAM, port_of(listener));
	SAME("accepted in the end: %d", accept(listener, NULL, NULL) >= 0); /* natively after some seconds */
	close(client);
	close(listener);
}

static void held_back(int level, int option, uint32_t value, const char *name)
{
	char buf[64];
	int a, b;

	stream_pair(&a, &b);
	SAME("%s: %s", name, RESULT(setsockopt(a, level, option, &value, sizeof(value))));
	MUST(write(a, "hallo", 5));
	SAME("%s: read %s", name, RESULT(read(b, buf, sizeof(buf))));
	close(a);
	close(b);
}

/* ---- how they read ---- */

static long long number(int fd, int level, int option, socklen_t len)
{
	uint64_t value = 0;

	if (getsockopt(fd, level, option, &value, &len) < 0)
		return -errno;
	return len == 8 ? (long long)value : (int)value;
}

static void numbers(const char *name, int level, int option, const int *values, size_t n)
{
	int fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));

	for (size_t i = 0; i < n; i++) {
		const char *set = RESULT(setsockopt(fd, level, option, &values[i], sizeof(values[i])));

		SAME("%s %d: %s, then %lld", name, values[i], set, number(fd, level, option, sizeof(int)));
	}
	SAME("%s, short: %s", name, RESULT(setsockopt(fd, level, option, &n, 2)));
	SAME("%s, bad: %s, read in part: %lld", name, RESULT(setsockopt(fd, level, option, (void *)8, sizeof(int))),
	     number(fd, level, option, 2));
	close(fd);
}

static void rates(void)
{
	int fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	uint64_t rate = 1ull << 40;

	MUST(setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)));
	SAME("a rate: %lld, in short %lld, in part %lld", number(fd, SOL_SOCKET, SO_MAX_PACING_RATE, 8),
	     number(fd, SOL_SOCKET, SO_MAX_PACING_RATE, 4), number(fd, SOL_SOCKET, SO_MAX_PACING_RATE, 2));
	MUST(setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &(int){ -1 }, sizeof(int)));
	SAME("none: %lld, in short %lld", number(fd, SOL_SOCKET, SO_MAX_PACING_RATE, 8), number(fd, SOL_SOCKET, SO_MAX_PACING_RATE, 4));
	close(fd);
}

/* Nothing can be read behind the name. */
static void name_at_end(int fd)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page + 4096, 4096);
	memcpy(page + 4096 - 5, "reno", 5);
	SAME("a name at the end: %s", RESULT(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, page + 4096 - 5, 16)));
	page[4095] = 'x';
	SAME("and without its own: %s", RESULT(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, page + 4096 - 5, 16)));
	munmap(page, 4096);
}

static void algorithms(void)
{
	static const char *const names[] = { "reno", "cubic", "no-such-name", "renown", "" };
	int fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	char name[16] = { 0 };
	socklen_t len;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *set = RESULT(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, names[i], (socklen_t)strlen(names[i])));

		len = sizeof(name);
		MUST(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len));
		vm_line(i == 1 ? '#' : '=', "congestion %s: %s, then %s, %u bytes", names[i], set, i < 1 ? name : "", len);
	}
	SHOWN("congestion: %s", name);
	name_at_end(fd);
	close(fd);
}

static void inherited(void)
{
	int listener = listening(), client, fd, value = 5, on = 1;
	struct linger linger = { 1, 7 };
	socklen_t len = sizeof(linger);

	MUST(setsockopt(listener, IPPROTO_TCP, TCP_LINGER2, &value, sizeof(value)));
	MUST(setsockopt(listener, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
	MUST(setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &on, sizeof(on)));
	MUST(setsockopt(listener, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	client = connected(SOCK_STREAM, port_of(listener));
	MUST(write(client, "hallo", 5));
	fd = (int)MUST(accept(listener, NULL, NULL));
	memset(&linger, 0, sizeof(linger));
	MUST(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len));
	SAME("accepted: linger %d %d, linger2 %lld, cork %lld", linger.l_onoff, linger.l_linger, number(fd, IPPROTO_TCP, TCP_LINGER2, 4),
	     number(fd, IPPROTO_TCP, TCP_CORK, 4));
	SAME("deferred is who listens: %lld, %lld", number(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 4), number(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 4));
	linger.l_onoff = 0;
	linger.l_linger = 3;
	MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	MUST(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len));
	SAME("off: %d %d", linger.l_onoff, linger.l_linger);
	close(fd);
	close(client);
	close(listener);
}

int main(void)
{
	static const int linger2[] = { 5, 60, 119, 500, -1, -7 }, waits[] = { 0, 1, 2, 5, 1000, 0 }, bits[] = { 1, 0 };
	int fd;

	port_again();
	half_closed();
	lingers();
	corked();
	more_to_come();
	deferred();
	held_back(SOL_SOCKET, SO_MAX_PACING_RATE, 5000, "pacing");
	held_back(IPPROTO_TCP, TCP_TX_DELAY, 1000, "delay");
	numbers("LINGER2", IPPROTO_TCP, TCP_LINGER2, linger2, sizeof(linger2) / sizeof(linger2[0]));
	numbers("USER_TIMEOUT", IPPROTO_TCP, TCP_USER_TIMEOUT, waits, sizeof(waits) / sizeof(waits[0]));
	numbers("DEFER_ACCEPT", IPPROTO_TCP, TCP_DEFER_ACCEPT, waits, sizeof(waits) / sizeof(waits[0]));
	numbers("TX_DELAY", IPPROTO_TCP, TCP_TX_DELAY, waits, sizeof(waits) / sizeof(waits[0]));
	numbers("PACING", SOL_SOCKET, SO_MAX_PACING_RATE, waits, sizeof(waits) / sizeof(waits[0]));
	numbers("CORK", IPPROTO_TCP, TCP_CORK, bits, sizeof(bits) / sizeof(bits[0]));
	fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	SHOWN("LINGER2 by itself %lld", number(fd, IPPROTO_TCP, TCP_LINGER2, 4));
	close(fd);
	rates();
	algorithms();
	inherited();
	fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	SAME("datagrams: %s", RESULT(setsockopt(fd, IPPROTO_TCP, TCP_LINGER2, &fd, sizeof(fd))));
	close(fd);
	vm_end();
	return 0;
}
