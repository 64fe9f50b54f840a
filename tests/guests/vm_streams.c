/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a TCP stream takes whose reader is slow, by each call that writes without waiting, and how much each read of it gets, also while somebody
 * writes who waits. See vm.h.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "vm_sockets.h"

enum { HALF = 50000, CHUNK = 2 * HALF, CHUNKS = 20, FILE_SIZE = 16 << 20 };

static char chunk[CHUNK];
static int file, ends[2];

static ssize_t by_write(int fd)
{
	return write(fd, chunk, sizeof(chunk));
}

static struct iovec halves[2] = { { chunk, HALF }, { chunk + HALF, HALF } };

static ssize_t by_writev(int fd)
{
	return writev(fd, halves, 2);
}

static ssize_t by_send(int fd)
{
	return send(fd, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t by_sendmsg(int fd)
{
	struct msghdr message = { .msg_iov = halves, .msg_iovlen = 2 };

	return sendmsg(fd, &message, MSG_DONTWAIT);
}

static ssize_t by_sendfile(int fd)
{
	return sendfile(fd, file, NULL, CHUNK);
}

static ssize_t by_splice(int fd)
{
	static size_t waiting;
	ssize_t n;

	if (!waiting)
		waiting = (size_t)MUST(write(ends[1], chunk, HALF));
	n = splice(ends[0], NULL, fd, NULL, waiting, 0);
	waiting -= n > 0 ? (size_t)n : 0;
	return n;
}

static const struct way {
	const char *name;
	ssize_t (*put)(int fd);
	bool own; /* the descriptor says that it does not wait */
} ways[] = {
	{ "write", by_write, true },	 { "writev", by_writev, true },	    { "send", by_send, false },
	{ "sendmsg", by_sendmsg, false }, { "sendfile", by_sendfile, true }, { "splice", by_splice, true },
};

/* Each count that came, in one number. */
struct counts {
	unsigned calls;
	size_t bytes;
	uint64_t all;
};

static void count(struct counts *counts, ssize_t n)
{
	counts->calls++;
	counts->bytes += (size_t)n;
	counts->all = (counts->all ^ (uint64_t)n) * 0x100000001b3;
}

static struct counts drain(int fd)
{
	static const size_t sizes[] = { 65536, 10000, 30001, 1 };
	static char into[65536];
	struct counts counts = { 0 };
	ssize_t n;

	while ((n = read(fd, into, sizes[counts.calls % 4])) > 0)
		count(&counts, n);
	return counts;
}

static void fill(const struct way *way)
{
	struct counts put = { 0 }, got;
	ssize_t n;
	int a, b;

	stream_pair(&a, &b);
	if (way->own)
		MUST(fcntl(a, F_SETFL, O_NONBLOCK));
	while ((n = way->put(a)) > 0)
		count(&put, n);
	SAME("%s: %s, more than a packet: %d", way->name, strerrorname_np(errno), put.bytes > CHUNK);
	close(a);
	got = drain(b);
	close(b);
	SAME("%s: all of it came: %d", way->name, got.bytes == put.bytes);
	SHOWN("%s: %u calls, %zu bytes, %llx; %u reads, %llx", way->name, put.calls, put.bytes, (unsigned long long)put.all, got.calls,
	      (unsigned long long)got.all);
}

/* Writes that wait, while somebody else reads. */
static void *pour(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < CHUNKS; i++)
		MUST(i % 2 ? write(fd, chunk, sizeof(chunk)) : writev(fd, halves, 2));
	close(fd);
	return NULL;
}

static void both_at_once(void)
{
	struct counts got;
	pthread_t thread;
	int a, b;

	stream_pair(&a, &b);
	pthread_create(&thread, NULL, pour, &a);
	got = drain(b);
	pthread_join(thread, NULL);
	close(b);
	SAME("poured: %zu", got.bytes);
	SHOWN("poured: %u reads, %llx", got.calls, (unsigned long long)got.all);
}

/* The reader resets the connection while somebody waits to write more: first what has gone, then the error, then none to write to. */
static void *reset(void *arg)
{
	struct linger none = { 1, 0 };
	int fd = *(int *)arg;

	vm_sleep_ms(50);
	MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)));
	close(fd);
	return NULL;
}

static void broken(void)
{
	static char much[8 << 20];
	pthread_t thread;
	ssize_t n;
	int a, b;

	stream_pair(&a, &b);
	pthread_create(&thread, NULL, reset, &b);
	n = send(a, much, sizeof(much), MSG_NOSIGNAL);
	SAME("broken: a part: %d", n > 0 && n < (ssize_t)sizeof(much));
	SAME("broken: then %s", RESULT(send(a, much, 1, 0)));
	SAME("broken: then %s", RESULT(send(a, much, 1, MSG_NOSIGNAL)));
	pthread_join(thread, NULL);
	close(a);
}

int main(void)
{
	broken();
	file = (int)MUST(memfd_create("file", 0));
	MUST(ftruncate(file, FILE_SIZE));
	MUST(pipe(ends));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		fill(&ways[i]);
	for (int i = 0; i < 3; i++)
		both_at_once();
	vm_end();
	return 0;
}
