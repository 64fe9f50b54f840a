/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * splice, tee, vmsplice and sendfile that wait, or do not: by their flag, by O_NONBLOCK of one end or the other, set before or later. A call that waits
 * on Linux is given its bytes by a child, some time later or before it has begun. See vm.h.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vm.h"

enum { BYTES = 5, ROOM = 4096 };

static void set_own(int fd, int on)
{
	int flags = (int)MUST(fcntl(fd, F_GETFL));

	MUST(fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

/* Where to write into, and where what was written can be read. */
static void make_pair(const char *kind, int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener;

	if (!strcmp(kind, "pipe")) {
		int p[2];

		MUST(pipe(p));
		ends[0] = p[1];
		ends[1] = p[0];
	} else if (!strcmp(kind, "stream")) {
		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	} else if (!strcmp(kind, "datagrams")) {
		MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	} else {
		listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
		MUST(bind(listener, (struct sockaddr *)&address, sizeof(address)));
		MUST(listen(listener, 1));
		MUST(getsockname(listener, (struct sockaddr *)&address, &len));
		ends[0] = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
		MUST(connect(ends[0], (struct sockaddr *)&address, sizeof(address)));
		ends[1] = (int)MUST(accept(listener, NULL, NULL));
		MUST(close(listener));
	}
}

/* A child that writes into `fd`, or reads a page of it. */
static pid_t later(int fd, int reads)
{
	static char page[ROOM];
	pid_t pid = (pid_t)MUST(fork());

	if (pid)
		return pid;
	vm_sleep_ms(10);
	_exit(reads ? read(fd, page, ROOM) != ROOM : write(fd, "bytes", BYTES) != BYTES);
}

static void fill(int fd)
{
	static char page[ROOM];

	set_own(fd, 1);
	while (write(fd, page, ROOM) > 0)
		;
	set_own(fd, 0);
}

enum { SPLICE, TEE, SENDFILE };
enum { SOURCE = 1, TARGET = 2 }; /* whose O_NONBLOCK is set */

static long move(int how, int in, int out, unsigned flags)
{
	if (how == SENDFILE)
		return sendfile(out, in, NULL, BYTES);
	return how == TEE ? tee(in, out, BYTES, flags) : splice(in, NULL, out, NULL, BYTES, flags);
}

/* Out of a source that has nothing yet. */
static const struct row {
	int how;
	const char *source, *target;
	unsigned flags, own;
	int waits;
} rows[] = {
	{ SPLICE, "pipe", "pipe", 0, 0, 1 },
	{ SPLICE, "pipe", "pipe", SPLICE_F_NONBLOCK, 0, 0 },
	{ SPLICE, "pipe", "pipe", 0, SOURCE, 0 },
	{ SPLICE, "pipe", "pipe", 0, TARGET, 0 },
	{ SPLICE, "pipe", "stream", 0, 0, 1 },
	{ SPLICE, "pipe", "stream", 0, TARGET, 1 },
	{ SPLICE, "pipe", "stream", SPLICE_F_NONBLOCK, 0, 0 },
	{ SPLICE, "stream", "pipe", 0, 0, 1 },
	{ SPLICE, "stream", "pipe", SPLICE_F_NONBLOCK, 0, 0 },
	{ SPLICE, "stream", "pipe", 0, SOURCE, 0 },
	{ SPLICE, "stream", "pipe", 0, TARGET, 0 },
	{ SPLICE, "datagrams", "pipe", 0, 0, 1 },
	{ SPLICE, "datagrams", "pipe", SPLICE_F_NONBLOCK, 0, 1 },
	{ SPLICE, "datagrams", "pipe", 0, SOURCE, 0 },
	{ SPLICE, "datagrams", "pipe", 0, TARGET, 1 },
	{ SPLICE, "tcp", "pipe", 0, 0, 1 },
	{ SPLICE, "tcp", "pipe", SPLICE_F_NONBLOCK, 0, 1 },
	{ SPLICE, "tcp", "pipe", 0, SOURCE, 0 },
	{ TEE, "pipe", "pipe", 0, 0, 1 },
	{ TEE, "pipe", "pipe", SPLICE_F_NONBLOCK, 0, 0 },
	{ TEE, "pipe", "pipe", 0, TARGET, 0 },
	{ SENDFILE, "pipe", "pipe", 0, 0, 0 },
	{ SENDFILE, "stream", "pipe", 0, 0, 1 },
	{ SENDFILE, "stream", "pipe", 0, SOURCE, 0 },
	{ SENDFILE, "stream", "pipe", 0, TARGET, 0 },
	{ SENDFILE, "datagrams", "pipe", 0, 0, 1 },
	{ SENDFILE, "datagrams", "pipe", 0, TARGET, 1 },
	{ SENDFILE, "datagrams", "stream", 0, 0, 0 },
	{ SENDFILE, "tcp", "pipe", 0, 0, 1 },
	{ SENDFILE, "tcp", "pipe", 0, SOURCE, 0 },
};

static void empty_source(const struct row *row)
{
	static const char *const calls[] = { "splice", "tee", "sendfile" };
	int source[2], target[2];
	pid_t child = 0;
	const char *result;

	make_pair(row->source, source);
	make_pair(row->target, target);
	MUST(splice(source[1], NULL, target[0], NULL, 0, 0)); /* both have been used before O_NONBLOCK is set */
	set_own(source[1], row->own & SOURCE);
	set_own(target[0], row->own & TARGET);
	if (row->waits)
		child = later(source[0], 0);
	result = RESULT(move(row->how, source[1], target[0], row->flags));
	SAME("%s, %s to %s, flags %u, own %u: %s", calls[row->how], row->source, row->target, row->flags, row->own, result);
	if (child)
		MUST(waitpid(child, NULL, 0));
	for (int i = 0; i < 2; i++) {
		MUST(close(source[i]));
		MUST(close(target[i]));
	}
}

/* Into what has no room. */
static void full_target(void)
{
	struct iovec vector = { "bytes", BYTES };
	int source[2], full[2], streams[2], own;
	pid_t child;

	make_pair("pipe", source);
	make_pair("pipe", full);
	MUST(write(source[0], "bytes", BYTES));
	fill(full[0]);
	SAME("full pipe, flag: %s", RESULT(splice(source[1], NULL, full[0], NULL, BYTES, SPLICE_F_NONBLOCK)));
	SAME("vmsplice, flag: %s", RESULT(vmsplice(full[0], &vector, 1, SPLICE_F_NONBLOCK)));
	for (own = 0; own < 2; own++) {
		set_own(full[0], own);
		child = later(full[1], 1);
		SAME("vmsplice, own %d: %s", own, RESULT(vmsplice(full[0], &vector, 1, 0)));
		MUST(waitpid(child, NULL, 0));
	}
	make_pair("stream", streams);
	fill(streams[0]);
	set_own(streams[0], 1);
	SAME("full stream, its own: %s", RESULT(splice(source[1], NULL, streams[0], NULL, BYTES, 0)));
	set_own(source[1], 1);
	SAME("both: %s", RESULT(splice(source[1], NULL, streams[0], NULL, BYTES, SPLICE_F_NONBLOCK)));
}

/* The kernel has nothing to move out of these: it says so at once. */
static void no_sources(void)
{
	static const char *const names[] = { "eventfd", "timerfd", "signalfd", "inotify" };
	int fds[4], p[2], streams[2];
	loff_t at = 0;
	sigset_t none;

	(void)sigemptyset(&none);
	fds[0] = (int)MUST(eventfd(0, 0));
	fds[1] = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	fds[2] = (int)MUST(signalfd(-1, &none, 0));
	fds[3] = (int)MUST(inotify_init());
	make_pair("pipe", p);
	make_pair("stream", streams);
	for (unsigned i = 0; i < 4; i++) {
		SAME("%s: splice %s", names[i], RESULT(splice(fds[i], NULL, p[0], NULL, BYTES, 0)));
		SAME("%s: sendfile %s", names[i], RESULT(sendfile(p[0], fds[i], NULL, BYTES)));
	}
	SAME("an offset into a stream: %s", RESULT(splice(p[1], NULL, streams[0], &at, BYTES, 0)));
	SAME("an offset of a stream: %s", RESULT(splice(streams[0], &at, p[0], NULL, BYTES, 0)));
	SAME("an offset of a stream, sendfile: %s", RESULT(sendfile(p[0], streams[0], &at, BYTES)));
}

/* O_NONBLOCK that was set when the descriptor had been used already. */
static void set_later(void)
{
	static char page[ROOM];
	struct iovec vector = { page, ROOM };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &vector, .msg_iovlen = 1 } }, { .msg_hdr = { .msg_iov = &vector, .msg_iovlen = 1 } } };
	struct iovec little = { "bytes", BYTES };
	int streams[2], pidfd, n = 0;
	siginfo_t info;
	pid_t pid;

	make_pair("stream", streams);
	SAME("sendmmsg: %s", RESULT(sendmmsg(streams[0], messages, 1, 0)));
	set_own(streams[0], 1);
	while (sendmmsg(streams[0], messages, 2, 0) > 0 && n < 10000)
		n++;
	SAME("sendmmsg ends: %d %s", n < 10000, strerrorname_np(errno));
	SAME("a flag that there is not, pwritev2: %s", RESULT(pwritev2(streams[1], &little, 1, -1, 1 << 20)));
	pid = (pid_t)MUST(fork());
	if (!pid) {
		(void)pause();
		_exit(0);
	}
	pidfd = (int)MUST(syscall(SYS_pidfd_open, pid, 0));
	SAME("it lives: %s", RESULT(syscall(SYS_waitid, 3 /* P_PIDFD */, pidfd, &info, WEXITED | WNOHANG, NULL)));
	set_own(pidfd, 1);
	SAME("it lives, and nobody waits: %s", RESULT(syscall(SYS_waitid, 3, pidfd, &info, WEXITED, NULL)));
	MUST(kill(pid, SIGKILL));
	set_own(pidfd, 0);
	SAME("it is waited for: %s", RESULT(syscall(SYS_waitid, 3, pidfd, &info, WEXITED, NULL)));
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		empty_source(&rows[i]);
	full_target();
	no_sources();
	set_later();
	vm_end();
	return 0;
}
