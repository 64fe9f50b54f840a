/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP streams that end: what each call that receives or moves bytes says of a reset, and the next one after it; sendfile and splice out of devices. See vm.h.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "vm_sockets.h"

enum { MUCH = 100000, WAIT_MS = 50 };

static char much[MUCH];
static volatile sig_atomic_t pipes_broken;

static void note_pipe(int sig)
{
	(void)sig;
	pipes_broken++;
}

static void reset(int fd)
{
	struct linger none = { 1, 0 };

	MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)));
	close(fd);
}

/* ---- a call that wants all, and gets a part ---- */

struct end {
	int fd;
	size_t some; /* bytes that come before the end ... */
	bool later;  /* ... which comes when somebody waits */
	bool is_reset;
};

static void *end_stream(void *arg)
{
	const struct end *end = arg;

	if (end->some)
		MUST(write(end->fd, much, end->some));
	if (end->later)
		vm_sleep_ms(WAIT_MS);
	if (end->is_reset)
		reset(end->fd);
	else
		close(end->fd);
	return NULL;
}

static ssize_t all_by_recv(int fd, size_t len)
{
	static char into[2 * MUCH];

	return recv(fd, into, len, MSG_WAITALL);
}

static ssize_t all_by_recvmsg(int fd, size_t len)
{
	static char into[2 * MUCH];
	struct iovec iov[2] = { { into, len / 2 }, { into + len / 2, len - len / 2 } };
	struct msghdr message = { .msg_iov = iov, .msg_iovlen = 2 };

	return recvmsg(fd, &message, MSG_WAITALL);
}

static ssize_t all_by_recvmmsg(int fd, size_t len)
{
	static char into[2 * MUCH];
	struct iovec iov = { into, len };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };
	int n = recvmmsg(fd, &message, 1, MSG_WAITALL, NULL);

	return n < 0 ? n : (ssize_t)message.msg_len;
}

static const struct {
	const char *name;
	ssize_t (*get)(int fd, size_t len);
} ways[] = { { "recv", all_by_recv }, { "recvmsg", all_by_recvmsg }, { "recvmmsg", all_by_recvmmsg } };

static void all(size_t way, size_t some, bool later, bool is_reset)
{
	struct end end = { .some = some, .later = later, .is_reset = is_reset };
	const char *first, *second;
	pthread_t thread;
	int fd;

	stream_pair(&fd, &end.fd);
	if (later) {
		pthread_create(&thread, NULL, end_stream, &end);
	} else {
		end_stream(&end);
		vm_sleep_ms(1);
	}
	first = RESULT(ways[way].get(fd, 2 * MUCH));
	second = RESULT(recv(fd, much, 1, 0));
	SAME("%s of all, %s%s behind %zu: %s, then %s, then %s", ways[way].name, is_reset ? "reset" : "closed", later ? " meanwhile" : "", some, first, second,
	     RESULT(recv(fd, much, 1, 0)));
	if (later)
		pthread_join(thread, NULL);
	close(fd);
}

/* Exactly what has come is wanted: the error is the next call's. */
static void exactly(size_t some)
{
	struct end end = { .some = some, .is_reset = true };
	int fd;

	stream_pair(&fd, &end.fd);
	end_stream(&end);
	vm_sleep_ms(1);
	SAME("exactly %zu: %s", some, RESULT(all_by_recv(fd, some)));
	SAME("then %s", RESULT(all_by_recv(fd, 1)));
	close(fd);
}

/* ---- moving bytes into a stream that is reset ---- */

static int file, ends[2];

static ssize_t by_splice(int fd, size_t len)
{
	return splice(ends[0], NULL, fd, NULL, len, 0);
}

static ssize_t by_sendfile(int fd, size_t len)
{
	return sendfile(fd, file, NULL, len);
}

static ssize_t by_write(int fd, size_t len)
{
	return write(fd, much, len);
}

static ssize_t by_send_more(int fd, size_t len)
{
	return send(fd, much, len, MSG_MORE);
}

/* Of two: what went, or how many. */
static ssize_t by_sendmmsg(int fd, size_t len)
{
	struct iovec halves[2] = { { much, len / 2 }, { much, len - len / 2 } };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &halves[0], .msg_iovlen = 1 } }, { .msg_hdr = { .msg_iov = &halves[1], .msg_iovlen = 1 } } };
	int n = sendmmsg(fd, messages, 2, 0);
	ssize_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += (ssize_t)messages[i].msg_len;
	return n < 0 ? n : sum;
}

static const struct {
	const char *name;
	ssize_t (*put)(int fd, size_t len);
	bool much; /* it takes no more than there is */
} movers[] = {
	{ "splice", by_splice, false },	      { "sendfile", by_sendfile, false }, { "write", by_write, true },
	{ "send, more", by_send_more, true }, { "sendmmsg", by_sendmmsg, true },
};

/* What three calls say, one after the other. */
static void say(const char *what, size_t way, int fd, size_t len)
{
	for (int i = 0; i < 3; i++) {
		int before = pipes_broken;
		const char *said = RESULT(movers[way].put(fd, len));

		SAME("%s of %zu %s: %s, SIGPIPE %d", movers[way].name, len, what, said, pipes_broken - before);
		vm_sleep_ms(1);
	}
}

/* `closed`: by the other end before, which has it end in another error. */
static void move(size_t way, size_t len, bool closed)
{
	char byte;
	int a, b;

	stream_pair(&a, &b);
	if (closed) {
		MUST(write(a, "!", 1));
		MUST(recv(b, &byte, 1, MSG_PEEK)); /* there is something it has not read: it resets */
		close(b);
	} else {
		reset(b);
	}
	vm_sleep_ms(1);
	MUST(pipe(ends));
	MUST(write(ends[1], much, 50000));
	say(closed ? "into one that was closed" : "into one that was reset", way, a, len);
	close(ends[0]);
	close(ends[1]);
	close(a);
}

/* The other end closes, and resets when the first bytes come. */
static void move_until_reset(size_t way, size_t len)
{
	int a, b;

	stream_pair(&a, &b);
	close(b);
	vm_sleep_ms(1);
	MUST(pipe(ends));
	MUST(write(ends[1], much, 60000));
	say("into one that ends", way, a, len);
	close(ends[0]);
	close(ends[1]);
	close(a);
}

/* The reader is reset while somebody waits to write more. */
static void *reset_later(void *arg)
{
	vm_sleep_ms(WAIT_MS);
	reset(*(int *)arg);
	return NULL;
}

static void *fill_pipe(void *arg)
{
	(void)arg;
	while (write(ends[1], much, sizeof(much)) > 0)
		;
	return NULL;
}

static void move_meanwhile(size_t way)
{
	enum { MOST = 16 << 20 };
	pthread_t thread, filler;
	size_t sum = 0;
	ssize_t n;
	int a, b, before = pipes_broken;

	stream_pair(&a, &b);
	MUST(pipe(ends));
	pthread_create(&filler, NULL, fill_pipe, NULL);
	pthread_create(&thread, NULL, reset_later, &b);
	errno = 0;
	while ((n = movers[way].put(a, movers[way].much ? sizeof(much) : MOST)) > 0)
		sum += (size_t)n;
	SAME("%s until it is reset: some %d, %s, SIGPIPE %d", movers[way].name, sum > 0 && sum < MOST, strerrorname_np(errno), pipes_broken - before);
	before = pipes_broken;
	n = movers[way].put(a, 10);
	SAME("%s after that: %s, SIGPIPE %d", movers[way].name, n < 0 ? strerrorname_np(errno) : "?", pipes_broken - before);
	close(ends[0]);
	pthread_join(thread, NULL);
	pthread_join(filler, NULL);
	close(ends[1]);
	close(a);
}

/* ---- one of several messages is not sent ---- */

static void several(void)
{
	static char *const nowhere = (char *)8;
	struct iovec good = { much, 3000 }, none = { nowhere, 3000 };
	struct mmsghdr messages[3];
	struct iovec *vectors[] = { &none, &none };
	static const size_t n_ranges[] = { 1, UIO_MAXIOV + 1 };
	int a, b, n;

	stream_pair(&a, &b);
	for (int i = 0; i < 2; i++) {
		memset(messages, 0, sizeof(messages));
		for (int k = 0; k < 3; k++)
			messages[k].msg_hdr = (struct msghdr){ .msg_iov = &good, .msg_iovlen = 1 };
		messages[1].msg_hdr = (struct msghdr){ .msg_iov = vectors[i], .msg_iovlen = n_ranges[i] };
		n = sendmmsg(a, messages, 3, 0);
		SAME("the second of three is bad, %d: %d, %u %u %u", i, n, messages[0].msg_len, messages[1].msg_len, messages[2].msg_len);
		SAME("behind one, too: %s", RESULT(sendmmsg(a, messages + 1, 2, 0)));
	}
	SAME("no room for the lengths: %s", RESULT(sendmmsg(a, (void *)nowhere, 2, 0)));
	MUST(shutdown(a, SHUT_WR));
	n = pipes_broken;
	messages[1] = messages[0];
	SAME("shut down: %s", RESULT(sendmmsg(a, messages, 3, 0)));
	SAME("quietly: %s", RESULT(sendmmsg(a, messages, 3, MSG_NOSIGNAL)));
	SAME("SIGPIPE %d", pipes_broken - n);
	close(a);
	SAME("which was sent: %s", RESULT(recv(b, much, sizeof(much), MSG_WAITALL)));
	close(b);
}

/* ---- devices ---- */

static void out_of_device(const char *path, size_t len)
{
	int device = (int)MUST(open(path, O_RDONLY | O_CLOEXEC)), a, b, target = (int)MUST(memfd_create("target", 0));
	off_t at = 5;
	ssize_t n;

	stream_pair(&a, &b);
	n = sendfile(a, device, NULL, len);
	SAME("sendfile of %s into a stream: %s", path, n < 0 ? strerrorname_np(errno) : n == (ssize_t)len ? "all" : n ? "a part" : "none");
	if (n > 0)
		SAME("which has come: %s", RESULT(recv(b, much, (size_t)n, MSG_WAITALL)));
	n = sendfile(a, device, &at, 10);
	SAME("at a place: %s, %ld", vm_result(n), (long)at);
	MUST(pipe(ends));
	SAME("into a pipe: %s", RESULT(sendfile(ends[1], device, NULL, 100)));
	SAME("into a file: %s", RESULT(sendfile(target, device, NULL, 70000)));
	SAME("splice: %s", RESULT(splice(device, NULL, ends[1], NULL, 100, 0)));
	SAME("copy_file_range: %s", RESULT(copy_file_range(device, NULL, target, NULL, 100, 0)));
	close(ends[0]);
	close(ends[1]);
	close(a);
	close(b);
	close(device);
	close(target);
}

int main(void)
{
	static const size_t amounts[] = { 0, 3, 1000, MUCH };

	(void)signal(SIGPIPE, note_pipe);
	file = (int)MUST(memfd_create("file", 0));
	MUST(ftruncate(file, 16 << 20));
	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
		for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
			for (int how = 0; how < 4; how++)
				all(way, amounts[i], how & 1, how & 2);
	exactly(1000);
	exactly(MUCH);
	for (size_t way = 0; way < sizeof(movers) / sizeof(movers[0]); way++) {
		for (int how = 0; how < 4; how++)
			move(way, how & 1 ? 40000 : 10, how & 2);
		if (movers[way].put != by_send_more) /* which is held back */
			move_until_reset(way, 10);
		move_meanwhile(way);
	}
	several();
	out_of_device("/dev/zero", 70000);
	out_of_device("/dev/null", 100);
	vm_end();
	return 0;
}
