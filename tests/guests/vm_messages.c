/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that move several messages: what they wait for, what ends them, and what is left for the next one. See vm.h. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vm_sockets.h"

enum { MANY = 6, US = 1000, MS = 1000000 };

static char bytes[MANY][64];
static struct iovec vectors[MANY];
static struct mmsghdr messages[MANY];

static void prepare(size_t len)
{
	memset(messages, 0, sizeof(messages));
	for (unsigned i = 0; i < MANY; i++) {
		vectors[i] = (struct iovec){ bytes[i], len };
		messages[i].msg_hdr.msg_iov = &vectors[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* Sends n messages, each after a pause. */
static pid_t sender(int fd, unsigned n, unsigned pause_ms)
{
	pid_t pid = (pid_t)MUST(fork());

	if (pid)
		return pid;
	for (unsigned i = 0; i < n; i++) {
		vm_sleep_ms(pause_ms);
		MUST(send(fd, "abcdefgh", i + 2, 0));
	}
	_exit(0);
}

static void receive(int rx, int tx, const char *name)
{
	struct timespec limit = { 0, 100 * MS };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct timeval patience = { 0, 50 * US }, forever = { 0, 0 };

	prepare(sizeof(bytes[0]));
	SAME("%s: nothing is waited for without a place: %s", name, RESULT(recvmmsg(rx, NULL, MANY, 0, NULL)));
	messages[0].msg_hdr.msg_iov = NULL;
	SAME("%s: nor without one for the bytes: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	prepare(sizeof(bytes[0]));
	MUST(send(tx, "1", 1, 0));
	MUST(send(tx, "22", 2, 0));
	messages[1].msg_hdr.msg_iov = (void *)8;
	SAME("%s: a bad one behind one: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	SAME("%s: the error is the next call's: %s", name, RESULT(recv(rx, bytes, sizeof(bytes), 0)));
	SAME("%s: and the message that of the one behind: %s", name, RESULT(recv(rx, bytes, sizeof(bytes), 0)));
	prepare(sizeof(bytes[0]));
	MUST(send(tx, "1", 1, 0));
	(void)sender(tx, 2, 20);
	SAME("%s: all are waited for: %s", name, RESULT(recvmmsg(rx, messages, 3, 0, NULL)));
	SAME("%s: of %u and %u bytes", name, messages[1].msg_len, messages[2].msg_len);
	MUST(wait(NULL));
	SAME("%s: nothing is left behind: %s", name, RESULT(recv(rx, bytes, 1, MSG_DONTWAIT)));
	MUST(send(tx, "1", 1, 0));
	(void)sender(tx, 1, 900);
	SAME("%s: a time limit ends at the next message only: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, &limit)));
	SAME("%s: nothing of it is left: %ld %ld", name, (long)limit.tv_sec, limit.tv_nsec);
	MUST(wait(NULL));
	MUST(send(tx, "1", 1, 0));
	MUST(send(tx, "2", 1, 0));
	SAME("%s: no time at all: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, &limit)));
	limit.tv_sec = 100;
	SAME("%s: one is enough: %s", name, RESULT(recvmmsg(rx, messages, MANY, MSG_WAITFORONE, &limit)));
	SAME("%s: what is left: %d", name, limit.tv_sec >= 90);
	SHOWN("%s: %ld.%09ld", name, (long)limit.tv_sec, limit.tv_nsec);
	MUST(setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	MUST(send(tx, "1", 1, 0));
	SAME("%s: the socket's limit: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	SAME("%s: again: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	MUST(setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever)));
	MUST(sigaction(SIGALRM, &action, NULL));
	MUST(send(tx, "1", 1, 0));
	(void)ualarm(50 * US, 50 * US);
	SAME("%s: a signal ends it behind one: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	(void)ualarm(0, 0);
	MUST(getsockopt(rx, SOL_SOCKET, SO_ERROR, bytes, &(socklen_t){ sizeof(int) })); /* Linux has left the reason there */
	(void)sender(tx, 2, 600); /* natively long, so that the alarm comes before the first */
	(void)ualarm(50 * US, 0);
	SAME("%s: before the first it is made again: %s", name, RESULT(recvmmsg(rx, messages, 2, 0, NULL)));
	MUST(wait(NULL));
}

static void send_many(void)
{
	struct timeval forever = { 0, 0 };
	int fds[2], total = 0, sent, got;
	pid_t pid;

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	MUST(setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof(forever)));
	prepare(8);
	while ((sent = sendmmsg(fds[0], messages, MANY, MSG_DONTWAIT)) > 0)
		total += sent;
	SAME("full after %d, %s", total, strerrorname_np(errno));
	pid = (pid_t)MUST(fork());
	if (!pid) {
		MUST(close(fds[0]));
		for (got = 0; got < total + MANY && recv(fds[1], bytes, sizeof(bytes), 0) > 0; got++)
			vm_sleep_ms(2);
		SAME("the other end got %d", got);
		_exit(0);
	}
	MUST(close(fds[1]));
	SAME("all are sent: %s", RESULT(sendmmsg(fds[0], messages, MANY, 0)));
	MUST(close(fds[0]));
	MUST(waitpid(pid, NULL, 0));
}

/* Nobody is there: the first goes, and the second finds out; which the third does not any more. */
static void refused(void)
{
	int nobody = bound(SOCK_DGRAM, 0), udp = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in address = loopback(port_of(nobody));

	MUST(close(nobody));
	MUST(connect(udp, (struct sockaddr *)&address, sizeof(address)));
	prepare(8);
	SAME("refused: of three go %s", RESULT(sendmmsg(udp, messages, 3, 0)));
	SAME("refused: of two go %s", RESULT(sendmmsg(udp, messages, 2, 0)));
	SAME("refused: one goes %s", RESULT(send(udp, "x", 1, 0)));
	SAME("refused: the next finds it %s", RESULT(send(udp, "x", 1, 0)));
	messages[1].msg_hdr.msg_iov = (void *)8;
	SAME("refused: a bad one behind one: %s", RESULT(sendmmsg(udp, messages, 2, 0)));
	MUST(close(udp));
}

/* More than a stream takes at once. */
static void send_much(void)
{
	static char much[1 << 20];
	struct iovec parts[3] = { { much, sizeof(much) }, { much, sizeof(much) }, { much, sizeof(much) } };
	int listener = bound(SOCK_STREAM, 0), fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), other;
	struct sockaddr_in address = loopback(port_of(listener));
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	MUST(listen(listener, 1));
	MUST(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	other = (int)MUST(accept(listener, NULL, NULL));
	pid = (pid_t)MUST(fork());
	if (!pid) {
		MUST(close(fd));
		for (vm_sleep_ms(20); (n = recv(other, much, sizeof(much), 0)) > 0; got += (size_t)n)
			;
		SAME("the other end got %zu bytes", got);
		_exit(0);
	}
	prepare(8);
	for (int i = 0; i < 3; i++)
		messages[i].msg_hdr.msg_iov = &parts[i];
	SAME("much: %s", RESULT(sendmmsg(fd, messages, 3, 0)));
	SAME("of %u, %u and %u bytes", messages[0].msg_len, messages[1].msg_len, messages[2].msg_len);
	MUST(close(fd));
	MUST(waitpid(pid, NULL, 0));
	MUST(close(other));
	MUST(close(listener));
}

static void several_messages(void)
{
	int fds[2], udp = bound(SOCK_DGRAM, 0);
	struct sockaddr_in address = loopback(port_of(udp));

	MUST(connect(udp, (struct sockaddr *)&address, sizeof(address)));
	receive(udp, udp, "UDP");
	SAME("errors are not waited for: %s", RESULT(recv(udp, bytes, 1, MSG_ERRQUEUE)));
	prepare(8);
	SAME("nor are several: %s", RESULT(recvmmsg(udp, messages, MANY, MSG_ERRQUEUE, NULL)));
	(void)sender(udp, 1, 20);
	SAME("datagrams are waited for out of band: %s", RESULT(recv(udp, bytes, 1, MSG_OOB)));
	MUST(wait(NULL));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	SAME("of a stream no byte is: %s", RESULT(recv(fds[0], bytes, 1, MSG_OOB)));
	SAME("nor are several: %s", RESULT(recvmmsg(fds[0], messages, MANY, MSG_OOB, NULL)));
	MUST(close(fds[0]));
	MUST(close(fds[1]));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	receive(fds[0], fds[1], "UNIX");
	send_many();
	refused();
	send_much();
}

/* ---- errors that wait in a queue of their own ---- */

static struct sockaddr_in nobody;

/* A socket whose queue of errors is not empty, and which hears of no other one: nobody is where it has sent to. */
static int socket_with_errors(struct sockaddr_in *ret_own)
{
	int dead = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0)), fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0)), on = 1;
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(any);
	char byte;

	MUST(bind(dead, (struct sockaddr *)&any, sizeof(any)));
	MUST(getsockname(dead, (struct sockaddr *)&nobody, &len));
	close(dead);
	MUST(bind(fd, (struct sockaddr *)&any, sizeof(any)));
	MUST(getsockname(fd, (struct sockaddr *)ret_own, &len));
	MUST(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on)));
	MUST(sendto(fd, "x", 1, 0, (struct sockaddr *)&nobody, sizeof(nobody)));
	SAME("refused: %s", RESULT(recv(fd, &byte, 1, 0)));
	return fd;
}

struct late_sender {
	struct sockaddr_in to;
	int errs; /* -1, or the socket that makes one more error in the middle */
};

static void *send_late(void *arg)
{
	const struct late_sender *s = arg;
	int fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));

	vm_sleep_ms(50);
	MUST(sendto(fd, "first", 5, 0, (const struct sockaddr *)&s->to, sizeof(s->to)));
	vm_sleep_ms(50);
	if (s->errs >= 0)
		MUST(sendto(s->errs, "x", 1, 0, (struct sockaddr *)&nobody, sizeof(nobody)));
	else
		MUST(sendto(fd, "second", 6, 0, (const struct sockaddr *)&s->to, sizeof(s->to)));
	close(fd);
	return NULL;
}

enum { BY_RECV, BY_RECVMSG, BY_READ, BY_READV, BY_ONE, BY_TWO, BY_TWO_IN_TIME, RECEIVES };

static long receive_by(int how, int fd)
{
	static char room[2][16];
	struct iovec parts[2] = { { room[0], sizeof(room[0]) }, { room[1], sizeof(room[1]) } };
	struct mmsghdr pair[2] = { { .msg_hdr = { .msg_iov = &parts[0], .msg_iovlen = 1 } }, { .msg_hdr = { .msg_iov = &parts[1], .msg_iovlen = 1 } } };
	struct timespec limit = { .tv_sec = 1 };

	switch (how) {
	case BY_RECV:
		return recv(fd, room, sizeof(room), 0);
	case BY_RECVMSG:
		return recvmsg(fd, &pair[0].msg_hdr, 0);
	case BY_READ:
		return read(fd, room, sizeof(room));
	case BY_READV:
		return readv(fd, parts, 2);
	case BY_ONE:
		return recvmmsg(fd, pair, 1, 0, NULL);
	case BY_TWO:
		return recvmmsg(fd, pair, 2, 0, NULL);
	default:
		return recvmmsg(fd, pair, 2, 0, &limit);
	}
}

static void past_errors(int how, bool one_more)
{
	const struct timeval limit = { .tv_usec = 20000 };
	struct late_sender sender = { .errs = -1 };
	int fd = socket_with_errors(&sender.to), error = -1;
	socklen_t len = sizeof(error);
	struct msghdr queued = { 0 };
	pthread_t thread;

	if (one_more)
		sender.errs = fd;
	MUST(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	SAME("past errors %d, a limit: %s", how, RESULT(receive_by(how, fd)));
	MUST(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ 0 }, sizeof(limit)));
	pthread_create(&thread, NULL, send_late, &sender);
	SAME("past errors %d: %s", how, RESULT(receive_by(how, fd)));
	pthread_join(thread, NULL);
	SAME("past errors %d, next: %s", how, one_more || how < BY_TWO ? RESULT(receive_by(BY_RECV, fd)) : "-");
	MUST(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	SAME("past errors %d, left: %d", how, error);
	SAME("past errors %d, queue: %s", how, RESULT(recvmsg(fd, &queued, MSG_ERRQUEUE)));
	close(fd);
}

static void errors_in_queues(void)
{
	for (int how = 0; how < RECEIVES; how++)
		past_errors(how, false);
	past_errors(BY_TWO, true);
}

int main(void)
{
	several_messages();
	errors_in_queues();
	vm_end();
	return 0;
}
