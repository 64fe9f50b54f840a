/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes out of band of TCP (MSG_OOB): where they stand among the others, by each way to find out, and the signal that tells of them. See vm.h. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "vm_sockets.h"

enum { MUCH = 300000 };

static char much[MUCH];
static volatile sig_atomic_t n_urgent;

static void note_urgent(int sig)
{
	(void)sig;
	n_urgent++;
}

static int at_mark(int fd)
{
	int is = -1;

	MUST(ioctl(fd, SIOCATMARK, &is));
	return is;
}

/* All that comes, read by read: each ends at the mark. */
static void read_all(int fd, const char *what, bool is_inline)
{
	uint64_t sum = 0, all = 0;
	size_t bytes = 0;
	unsigned marks = 0, calls = 0;
	static char into[65536];
	char urgent = '-';
	ssize_t n;

	for (;;) {
		if (at_mark(fd)) {
			if (!is_inline)
				MUST(recv(fd, &urgent, 1, MSG_OOB));
			marks++;
			sum = (sum ^ bytes) * 0x100000001b3;
			SAME("%s: mark %u at %zu, %c", what, marks, bytes, urgent);
		}
		n = read(fd, into, sizeof(into));
		if (n <= 0)
			break;
		calls++;
		bytes += (size_t)n;
		all = (all ^ (uint64_t)n) * 0x100000001b3;
	}
	SAME("%s: %zu bytes, %u marks", what, bytes, marks);
	SHOWN("%s: %u reads, %llx", what, calls, (unsigned long long)all);
}

struct sending {
	int fd;
	bool by_message;
};

/* Some, then many with one at their end, then some more. */
static void *send_all(void *arg)
{
	const struct sending *sending = arg;
	struct iovec iov[3] = { { much, 100000 }, { much, 100000 }, { much, 99999 } };
	struct iovec last = { "!", 1 };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = iov, .msg_iovlen = 3 } }, { .msg_hdr = { .msg_iov = &last, .msg_iovlen = 1 } } };

	MUST(send(sending->fd, much, 1000, 0));
	if (sending->by_message) {
		messages[0].msg_hdr.msg_iovlen = 3;
		iov[2] = (struct iovec){ much + 200000, 100000 };
		MUST(sendmsg(sending->fd, &messages[0].msg_hdr, MSG_OOB));
	} else {
		MUST(send(sending->fd, much, MUCH, MSG_OOB));
	}
	MUST(send(sending->fd, much, 70000, 0));
	close(sending->fd);
	return NULL;
}

static void in_order(bool by_message, bool is_inline)
{
	struct sending sending = { .by_message = by_message };
	int fd, on = is_inline;
	pthread_t thread;
	char what[64];

	(void)snprintf(what, sizeof(what), "%s%s", by_message ? "sendmsg" : "send", is_inline ? ", inline" : "");
	stream_pair(&sending.fd, &fd);
	MUST(setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)));
	pthread_create(&thread, NULL, send_all, &sending);
	read_all(fd, what, is_inline);
	pthread_join(thread, NULL);
	close(fd);
}

/* Two without a look between them: the first is one of the others then. */
static void twice(void)
{
	char into[16] = { 0 }, urgent = '-';
	struct pollfd poller;
	int a, b;

	stream_pair(&a, &b);
	poller = (struct pollfd){ .fd = b, .events = POLLIN | POLLPRI };
	SAME("nothing yet: %s %d", RESULT(recv(b, &urgent, 1, MSG_OOB)), at_mark(b));
	MUST(send(a, "ab", 2, MSG_OOB));
	MUST(poll(&poller, 1, -1));
	SAME("poll: %x", (unsigned)poller.revents);
	MUST(send(a, "cd", 2, MSG_OOB));
	vm_sleep_ms(1);
	SAME("the second: %s", RESULT(recv(b, &urgent, 1, MSG_OOB | MSG_PEEK)));
	SAME("it is %c", urgent);
	SAME("and is taken: %s", RESULT(recv(b, &urgent, 1, MSG_OOB)));
	SAME("no more: %s", RESULT(recv(b, &urgent, 1, MSG_OOB)));
	SAME("the others: %s", RESULT(recv(b, into, sizeof(into), 0)));
	SAME("are %s, at the mark: %d", into, at_mark(b));
	MUST(send(a, "e", 1, 0));
	SAME("behind it: %s", RESULT(recv(b, into, sizeof(into), 0)));
	SAME("MSG_OOB without a byte: %s", RESULT(send(a, NULL, 0, MSG_OOB)));
	SAME("nobody waits for one: %s", RESULT(recv(b, &urgent, 1, MSG_OOB)));
	close(a);
	close(b);
}

/* ---- the signal ---- */

/* It comes before anything else that is done, also to a process that waits. */
static void signalled(void)
{
	int a, b, report[2];
	char byte;
	pid_t child;

	stream_pair(&a, &b);
	MUST(pipe(report));
	child = fork();
	if (!child) {
		close(a);
		MUST(fcntl(b, F_SETOWN, getpid()));
		n_urgent = 0;
		MUST(write(report[1], "r", 1));
		SAME("interrupted: %s", RESULT(pause()));
		SAME("signals %d, at the mark: %d", n_urgent, at_mark(b));
		SAME("the byte: %s", RESULT(recv(b, &byte, 1, MSG_OOB)));
		_exit(0);
	}
	MUST(read(report[0], &byte, 1));
	vm_until_sleeps(child, 0);
	MUST(send(a, "!", 1, MSG_OOB));
	MUST(waitpid(child, NULL, 0));
	close(report[0]);
	close(report[1]);
	close(a);
	close(b);
}

/* To the sender itself, whose next instruction comes after the handler's, however it sends. */
static void to_oneself(void)
{
	struct iovec iov = { much, MUCH };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } }, { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } } };
	int a, b;

	stream_pair(&a, &b);
	MUST(fcntl(b, F_SETOWN, getpid()));
	for (int i = 0; i < 3; i++) {
		n_urgent = 0;
		iov.iov_len = i == 2 ? 50000 : 1;
		if (i)
			MUST(sendmmsg(a, messages, 1, MSG_OOB));
		else
			MUST(send(a, much, 1, MSG_OOB));
		SHOWN("at once: %d", n_urgent);
		while (!n_urgent)
			vm_sleep_ms(1);
		SAME("to oneself: %d", n_urgent);
		if (i == 2)
			MUST(recv(b, much, iov.iov_len - 1, MSG_WAITALL));
		MUST(recv(b, much, 1, MSG_OOB));
	}
	close(a);
	close(b);
}

/* Many, to somebody who does other things meanwhile. */
static void counted(void)
{
	enum { TIMES = 30 };
	int a, b, report[2];
	uint64_t all = 0;
	pid_t child;
	char byte;

	stream_pair(&a, &b);
	MUST(pipe(report));
	child = fork();
	if (!child) {
		for (int i = 0; i < TIMES; i++) {
			MUST(read(report[0], &byte, 1));
			MUST(send(a, much, (size_t)i * 100 + 1, MSG_OOB));
		}
		_exit(0);
	}
	MUST(fcntl(b, F_SETOWN, getpid()));
	n_urgent = 0;
	for (int i = 0; i < TIMES; i++) {
		int before = n_urgent;

		MUST(write(report[1], "g", 1));
		for (unsigned n = 0; n_urgent == before; n++)
			vm_sleep_ms(1);
		all = (all ^ vm_now()) * 0x100000001b3;
		if (i)
			MUST(recv(b, much, (size_t)i * 100, MSG_WAITALL));
		MUST(recv(b, &byte, 1, MSG_OOB));
	}
	MUST(waitpid(child, NULL, 0));
	SAME("signals %d", n_urgent);
	SHOWN("heard of them at %llx", (unsigned long long)all);
	close(report[0]);
	close(report[1]);
	close(a);
	close(b);
}

int main(void)
{
	struct sigaction action = { .sa_handler = note_urgent };

	memset(much, 'x', sizeof(much));
	MUST(sigaction(SIGURG, &action, NULL));
	for (int i = 0; i < 4; i++)
		in_order(i & 1, i & 2);
	twice();
	for (int i = 0; i < 3; i++)
		signalled();
	to_oneself();
	counted();
	vm_end();
	return 0;
}
