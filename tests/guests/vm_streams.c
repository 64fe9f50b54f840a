/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a TCP stream takes whose reader is slow, by each call that writes without waiting, and how much each read of it gets, also while somebody
 * writes who waits. See vm.h.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "vm_sockets.h"

enum { HALF = 50000, CHUNK = 2 * HALF, CHUNKS = 20, FILE_SIZE = 16 << 20, CRUMBS = 1000, CRUMB = 100 };

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

static ssize_t spliced(int fd, unsigned flags)
{
	static size_t waiting;
	ssize_t n;

	if (!waiting)
		waiting = (size_t)MUST(write(ends[1], chunk, HALF));
	n = splice(ends[0], NULL, fd, NULL, waiting, flags);
	waiting -= n > 0 ? (size_t)n : 0;
	return n;
}

static ssize_t by_splice(int fd)
{
	return spliced(fd, 0);
}

static ssize_t by_splice_more(int fd)
{
	return spliced(fd, SPLICE_F_MORE);
}

static ssize_t by_send_more(int fd)
{
	return send(fd, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_MORE | MSG_EOR);
}

/* As many ranges as there can be. */
static struct msghdr in_crumbs(void)
{
	static struct iovec crumbs[CRUMBS];

	for (size_t i = 0; i < CRUMBS; i++)
		crumbs[i] = (struct iovec){ chunk + i * CRUMB, CRUMB };
	return (struct msghdr){ .msg_iov = crumbs, .msg_iovlen = CRUMBS };
}

static ssize_t by_crumbs(int fd)
{
	return writev(fd, in_crumbs().msg_iov, CRUMBS);
}

/* What TCP has no use for: it goes by the level and the type. */
static ssize_t with_control(int fd)
{
	union {
		char bytes[2 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr first;
	} control = { .first = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL } };
	struct msghdr message = { .msg_iov = halves, .msg_iovlen = 2, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *second = CMSG_NXTHDR(&message, &control.first);

	*second = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(second), &file, sizeof(file));
	return sendmsg(fd, &message, 0);
}

/* Several messages, the first and the third of which are many packets, and one that is nothing. */
static ssize_t by_sendmmsg(int fd)
{
	struct iovec all = { chunk, sizeof(chunk) };
	struct mmsghdr messages[4] = {
		{ .msg_hdr = { .msg_iov = halves, .msg_iovlen = 2 } },
		{ .msg_hdr = { .msg_iov = NULL } },
		{ .msg_hdr = in_crumbs() },
		{ .msg_hdr = { .msg_iov = &all, .msg_iovlen = 1 } },
	};
	int n = sendmmsg(fd, messages, 4, MSG_NOSIGNAL);
	ssize_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += (ssize_t)messages[i].msg_len;
	return n < 0 ? n : sum;
}

static ssize_t by_sendmmsg_now(int fd)
{
	struct iovec few = { chunk, CRUMB };
	struct mmsghdr messages[CRUMBS] = { 0 };
	ssize_t sum = 0;
	int n;

	for (size_t i = 0; i < CRUMBS; i++)
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &few, .msg_iovlen = 1 };
	n = sendmmsg(fd, messages, CRUMBS, MSG_DONTWAIT | MSG_MORE);
	for (int i = 0; i < n; i++)
		sum += (ssize_t)messages[i].msg_len;
	return n < 0 ? n : sum;
}

static const struct way {
	const char *name;
	ssize_t (*put)(int fd);
	bool own;  /* the descriptor says that it does not wait */
	bool cork; /* what follows is waited for */
} ways[] = {
	{ "write", by_write, true, false },
	{ "write, corked", by_write, true, true },
	{ "writev", by_writev, true, false },
	{ "writev of many", by_crumbs, true, false },
	{ "send", by_send, false, false },
	{ "send, more", by_send_more, false, false },
	{ "sendmsg", by_sendmsg, false, false },
	{ "sendmsg with control data", with_control, true, false },
	{ "sendmmsg", by_sendmmsg, true, false },
	{ "sendmmsg of many", by_sendmmsg_now, false, false },
	{ "sendmmsg, corked", by_sendmmsg_now, false, true },
	{ "sendfile", by_sendfile, true, false },
	{ "splice", by_splice, true, false },
	{ "splice, more", by_splice_more, true, false },
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
	int a, b, on = way->cork;
	ssize_t n;

	stream_pair(&a, &b);
	if (way->own)
		MUST(fcntl(a, F_SETFL, O_NONBLOCK));
	MUST(setsockopt(a, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
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
static ssize_t by_send_waiting(int fd)
{
	return send(fd, chunk, sizeof(chunk), MSG_MORE);
}

static ssize_t by_splice_waiting(int fd)
{
	enum { WAITING = 60000 };

	MUST(write(ends[1], chunk, WAITING));
	return splice(ends[0], NULL, fd, NULL, WAITING, 0);
}

static const struct waiting_way {
	const char *name;
	ssize_t (*put)(int fd);
} waiting_ways[] = {
	{ "write", by_write },	       { "writev", by_writev },
	{ "send, more", by_send_waiting }, { "sendmsg with control data", with_control },
	{ "sendmmsg", by_sendmmsg },	 { "splice", by_splice_waiting },
};

struct pouring {
	const struct waiting_way *ways[2]; /* by turns */
	int fd;
	size_t sum;
};

static void *pour(void *arg)
{
	struct pouring *pouring = arg;

	for (int i = 0; i < CHUNKS; i++)
		pouring->sum += (size_t)MUST(pouring->ways[i % 2]->put(pouring->fd));
	close(pouring->fd);
	return NULL;
}

static void both_at_once(const struct waiting_way *first, const struct waiting_way *second)
{
	struct pouring pouring = { .ways = { first, second } };
	struct counts got;
	pthread_t thread;
	int b;

	MUST(pipe(ends));
	stream_pair(&pouring.fd, &b);
	pthread_create(&thread, NULL, pour, &pouring);
	got = drain(b);
	pthread_join(thread, NULL);
	close(b);
	close(ends[0]);
	close(ends[1]);
	SAME("poured by %s and %s: %zu, all of it came: %d", first->name, second->name, pouring.sum, got.bytes == pouring.sum);
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
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < 3; i++)
		both_at_once(&waiting_ways[0], &waiting_ways[1]);
	for (size_t i = 2; i < sizeof(waiting_ways) / sizeof(waiting_ways[0]); i++)
		both_at_once(&waiting_ways[i], &waiting_ways[i]);
	vm_end();
	return 0;
}
