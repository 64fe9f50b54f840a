/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to a listener whose queue is full: they wait for the next time at which the kernel asks again. See vm.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "vm.h"

enum { CLIENTS = 4 };

static struct sockaddr_storage address;
static socklen_t address_len;
static uint64_t start;

/* With room for one connection. */
static int listener(int family)
{
	int fd = (int)MUST(socket(family, SOCK_STREAM, 0));

	memset(&address, 0, sizeof(address));
	address.ss_family = (sa_family_t)family;
	if (family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
	address_len = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	MUST(bind(fd, (struct sockaddr *)&address, address_len));
	MUST(getsockname(fd, (struct sockaddr *)&address, &address_len));
	MUST(listen(fd, 0));
	start = vm_now();
	return fd;
}

static int begin(int flags)
{
	int fd = (int)MUST(socket(address.ss_family, SOCK_STREAM | flags, 0));

	if (connect(fd, (struct sockaddr *)&address, address_len) == 0 || errno == EINPROGRESS)
		return fd;
	SAME("not connected: %s", vm_result(-1));
	return fd;
}

static int socket_error(int fd)
{
	socklen_t len = sizeof(int);
	int error = -1;

	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static void say_ready(const char *what, const int *fds, int n)
{
	struct pollfd looks[CLIENTS];

	for (int i = 0; i < n; i++)
		looks[i] = (struct pollfd){ fds[i], POLLOUT, 0 };
	(void)poll(looks, (nfds_t)n, 0);
	for (int i = 0; i < n; i++)
		SAME("%s: %d is %x, error %d", what, i, (unsigned)looks[i].revents, socket_error(fds[i]));
}

/* Who does not wait in the call. */
static void by_poll(int family)
{
	int listens = listener(family), set = (int)MUST(epoll_create1(0)), fds[2], accepted;
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET, .data.u32 = 7 };
	socklen_t len = sizeof(int);
	int count = 0;
	char byte = 0;

	fds[0] = begin(SOCK_NONBLOCK);
	fds[1] = begin(SOCK_NONBLOCK);
	say_ready("full", fds, 2);
	MUST(getsockopt(fds[1], IPPROTO_TCP, TCP_SYNCNT, &count, &len));
	SAME("asked again at most %d times", count);
	SAME("once more %s", RESULT(connect(fds[1], (struct sockaddr *)&address, address_len)));
	SAME("write %s", RESULT(write(fds[1], "x", 1)));
	SAME("read %s", RESULT(read(fds[1], &byte, 1)));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, fds[1], &event));
	SAME("epoll %s", RESULT(epoll_wait(set, &event, 1, 100)));
	accepted = (int)MUST(accept(listens, NULL, NULL));
	say_ready("there is room", fds, 2);
	SAME("epoll %s", RESULT(epoll_wait(set, &event, 1, -1)));
	SHOWN("after %llu", (unsigned long long)(vm_now() - start));
	SAME("a second later: %d", vm_now() - start >= 900000000);
	say_ready("asked again", fds, 2);
	SAME("connected: %s", RESULT(connect(fds[1], (struct sockaddr *)&address, address_len)));
	close(accepted);
	accepted = (int)MUST(accept(listens, NULL, NULL));
	MUST(write(fds[1], "x", 1));
	SAME("moves %s", RESULT(read(accepted, &byte, 1)));
	close(accepted);
	close(fds[0]);
	close(fds[1]);
	close(set);
	close(listens);
}

/* The socket has another number when there is room. */
static void by_another_number(void)
{
	int listens = listener(AF_INET), first = begin(SOCK_NONBLOCK), fd = begin(SOCK_NONBLOCK), other = (int)MUST(dup(fd));
	struct pollfd look = { other, POLLOUT, 0 };

	close(fd);
	close((int)MUST(accept(listens, NULL, NULL)));
	SAME("by another number: %s", RESULT(poll(&look, 1, 30000)));
	SAME("by another number: %x, error %d", (unsigned)look.revents, socket_error(other));
	close(first);
	close(other);
	close(listens);
}

static void *client(void *arg)
{
	int fd = begin(0);
	char byte = 0;

	SHOWN("client %d after %llu", *(int *)arg, (unsigned long long)(vm_now() - start));
	MUST(read(fd, &byte, 1));
	*(int *)arg = byte;
	close(fd);
	return NULL;
}

/*
 * Who waits in the call. Of several that the kernel asks for at once it may lose one: both sides see the queue from where they are, and one of them a
 * connection that the other has dropped.
 */
static void by_threads(int clients)
{
	int listens = listener(AF_INET), letters[CLIENTS], fd, sum = 0;
	pthread_t threads[CLIENTS];

	for (int i = 0; i < clients; i++) {
		letters[i] = i;
		pthread_create(&threads[i], NULL, client, &letters[i]);
	}
	vm_sleep_ms(50);
	for (int i = 0; i < clients; i++) {
		fd = (int)MUST(accept(listens, NULL, NULL));
		MUST(write(fd, &"abcd"[i], 1));
		close(fd);
		sum -= "abcd"[i];
	}
	for (int i = 0; i < clients; i++) {
		pthread_join(threads[i], NULL);
		SHOWN("client %d got %c", i, letters[i]);
		sum += letters[i];
	}
	SAME("all served %d", sum == 0);
	close(listens);
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* Limits, signals, and a listener that goes. */
static void ends(void)
{
	const struct timeval limit = { .tv_usec = 50000 };
	const struct itimerval soon = { .it_value.tv_usec = 50000 };
	struct sigaction sa = { .sa_handler = on_alarm };
	int listens = listener(AF_INET), first = begin(SOCK_NONBLOCK), fd, left;
	struct pollfd look;

	fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
	SAME("a limit: %s", RESULT(connect(fd, (struct sockaddr *)&address, address_len)));
	SAME("a limit: %s", RESULT(connect(fd, (struct sockaddr *)&address, address_len)));
	close(fd);
	MUST(sigaction(SIGALRM, &sa, NULL));
	fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	SAME("a signal: %s", RESULT(connect(fd, (struct sockaddr *)&address, address_len)));
	close(fd);
	left = begin(SOCK_NONBLOCK);
	fd = begin(SOCK_NONBLOCK);
	close(left);
	close(first);
	close(listens);
	look = (struct pollfd){ fd, POLLOUT, 0 };
	SAME("gone: %s", RESULT(poll(&look, 1, -1)));
	SAME("gone: %x %s", (unsigned)look.revents, strerrorname_np(socket_error(fd)));
	SHOWN("after %llu", (unsigned long long)(vm_now() - start));
	close(fd);
}

static int full_listener(int *ret_first)
{
	int listens = listener(AF_INET);

	*ret_first = begin(0);
	return listens;
}

/* The socket under another number; one that becomes unconnected. */
static void elsewhere(void)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	int first, listens = full_listener(&first), fd = begin(SOCK_NONBLOCK), other = (int)MUST(dup(fd)), gone = begin(SOCK_NONBLOCK);
	struct pollfd look = { other, POLLOUT, 0 };

	close(fd);
	SAME("unconnected: %s", RESULT(connect(gone, &none, sizeof(none))));
	close((int)MUST(accept(listens, NULL, NULL)));
	SAME("another number: %s", RESULT(poll(&look, 1, -1)));
	SAME("another number: %x, error %d", (unsigned)look.revents, socket_error(other));
	close((int)MUST(accept(listens, NULL, NULL)));
	look.fd = gone;
	SAME("still unconnected: %s", RESULT(poll(&look, 1, 0)));
	SAME("still unconnected: %x %s", (unsigned)look.revents, strerrorname_np(socket_error(gone)));
	close(first);
	close(other);
	SAME("begun anew: %s", RESULT(connect(gone, (struct sockaddr *)&address, address_len)));
	look.revents = 0;
	SAME("begun anew: %s", RESULT(poll(&look, 1, -1)));
	SAME("begun anew: %x, error %d", (unsigned)look.revents, socket_error(gone));
	close(gone);
	close(listens);
}

struct ender {
	int fd, listens;
	bool closes;
};

static void *end_it(void *arg)
{
	const struct ender *ender = arg;

	vm_sleep_ms(100);
	if (!ender->closes) {
		SAME("shut down: %s", RESULT(shutdown(ender->fd, SHUT_RDWR)));
		return NULL;
	}
	SAME("closed: %s", RESULT(close(ender->fd)));
	close((int)MUST(accept(ender->listens, NULL, NULL)));
	return NULL;
}

/* What another thread does to the socket of a call that waits. */
static void disturbed(bool closes)
{
	int first, listens = full_listener(&first), r;
	struct ender ender = { (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), listens, closes };
	pthread_t thread;
	char result[64];

	pthread_create(&thread, NULL, end_it, &ender);
	r = connect(ender.fd, (struct sockaddr *)&address, address_len);
	(void)snprintf(result, sizeof(result), "%s", vm_result(r));
	pthread_join(thread, NULL);
	SAME("disturbed: %s", result);
	if (!closes) {
		close((int)MUST(accept(listens, NULL, NULL)));
		SAME("once more: %s", RESULT(connect(ender.fd, (struct sockaddr *)&address, address_len)));
		close(ender.fd);
	}
	close(first);
	close(listens);
}

/* Limits of the protocol. */
static void limited(int option, int value)
{
	int first, listens = full_listener(&first), fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	uint64_t ms;

	MUST(setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value)));
	SAME("limited by %d: %s", option, RESULT(connect(fd, (struct sockaddr *)&address, address_len)));
	ms = (vm_now() - start) / 1000000;
	SHOWN("after %llu ms", (unsigned long long)ms);
	close((int)MUST(accept(listens, NULL, NULL)));
	SAME("then: %s", RESULT(connect(fd, (struct sockaddr *)&address, address_len)));
	close(fd);
	close(first);
	close(listens);
}

/* The same while it waits. */
static void limited_late(void)
{
	int first, listens = full_listener(&first), fd = begin(SOCK_NONBLOCK), value = 0;
	struct pollfd look = { fd, POLLOUT, 0 };
	socklen_t len = sizeof(value);

	SAME("no limit: %s", RESULT(setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &value, sizeof(value))));
	value = 1;
	SAME("a limit: %s", RESULT(setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &value, sizeof(value))));
	SAME("short: %s", RESULT(setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &value, 1)));
	value = 9;
	MUST(getsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &value, &len));
	SAME("reads %d", value);
	MUST(poll(&look, 1, -1));
	SAME("limited late: error %d, soon %d", socket_error(fd), vm_now() - start < 60000000000ull);
	SHOWN("after %llu", (unsigned long long)(vm_now() - start));
	close(fd);
	close(first);
	close(listens);
}

/* Sending that connects (MSG_FASTOPEN), by each call that sends: what it answers is in *ret_len, too, of sendmmsg. */
static long fast(int how, int fd, const char *text, int flags, unsigned *ret_len)
{
	struct iovec parts[2] = { { (char *)(uintptr_t)text, 1 }, { (char *)(uintptr_t)text + 1, strlen(text) - 1 } };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_name = &address, .msg_namelen = address_len, .msg_iov = parts, .msg_iovlen = 2 } } };
	long result;

	flags |= MSG_FASTOPEN | MSG_NOSIGNAL;
	messages[1] = messages[0];
	*ret_len = 0;
	if (how == 0)
		return sendto(fd, text, strlen(text), flags, (struct sockaddr *)&address, address_len);
	if (how == 1)
		return sendmsg(fd, &messages[0].msg_hdr, flags);
	result = sendmmsg(fd, messages, 2, flags);
	*ret_len = messages[0].msg_len;
	return result;
}

static void say_received(const char *what, int listens)
{
	int fd = (int)MUST(accept(listens, NULL, NULL));
	char text[16] = "";

	MUST(recv(fd, text, sizeof(text) - 1, 0));
	SAME("%s: received %s", what, text);
	close(fd);
}

struct fast_client {
	int how, fd;
	long result;
	int error;
	unsigned len;
};

static void *fast_client(void *arg)
{
	struct fast_client *c = arg;

	c->result = fast(c->how, c->fd, "letter", 0, &c->len);
	c->error = errno;
	return NULL;
}

/* Has it asked for a connection? On a busy host a thread may come late to that, natively. */
static bool has_begun(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	MUST(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	return info.tcpi_state != TCP_CLOSE;
}

static void fast_with_room(int family, int how)
{
	int listens = listener(family), fd = (int)MUST(socket(family, SOCK_STREAM, 0));
	unsigned len;

	SAME("fast %d: %s", how, RESULT(fast(how, fd, "hello", 0, &len)));
	SAME("fast %d: %u bytes", how, len);
	SAME("fast %d: once more %s", how, RESULT(fast(how, fd, "hello", 0, &len)));
	say_received("fast", listens);
	close(fd);
	fd = (int)MUST(socket(family, SOCK_STREAM | (how == 1 ? SOCK_NONBLOCK : 0), 0));
	SAME("fast, at once %d: %s", how, RESULT(fast(how, fd, "hello", MSG_DONTWAIT, &len)));
	close(fd);
	close(listens);
	fd = (int)MUST(socket(family, SOCK_STREAM, 0));
	SAME("fast, refused %d: %s", how, RESULT(fast(how, fd, "hello", 0, &len)));
	close(fd);
}

static void fast_when_full(int family, int how)
{
	const struct timeval limit = { .tv_usec = 50000 };
	int listens = listener(family), first = begin(0);
	struct fast_client c = { .how = how, .fd = (int)MUST(socket(family, SOCK_STREAM, 0)) };
	pthread_t thread;

	MUST(setsockopt(c.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
	SAME("full, a limit %d: %s", how, RESULT(fast(how, c.fd, "hello", 0, &c.len)));
	SAME("full, once more %d: %s", how, RESULT(fast(how, c.fd, "hello", MSG_DONTWAIT, &c.len)));
	close(c.fd);
	c.fd = (int)MUST(socket(family, SOCK_STREAM, 0));
	start = vm_now();
	pthread_create(&thread, NULL, fast_client, &c);
	do
		vm_sleep_ms(100);
	while (!has_begun(c.fd));
	close((int)MUST(accept(listens, NULL, NULL)));
	say_received("full", listens);
	SAME("a second later: %d", vm_now() - start >= 900000000);
	SHOWN("after %llu", (unsigned long long)(vm_now() - start));
	pthread_join(thread, NULL);
	SAME("full, in the end %d: %ld %u", how, c.result, c.len);
	close(c.fd);
	close(first);
	close(listens);
}

/* Connecting that sends with the request where that is known to be heard (TCP_FASTOPEN_CONNECT): here it is not. */
static void fast_by_option(void)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	const int on = 1;
	int listens = listener(AF_INET), fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), other;
	socklen_t len = sizeof(int);
	int value = -1;

	MUST(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)));
	SAME("by option: %s", RESULT(connect(fd, (struct sockaddr *)&address, address_len)));
	SAME("by option: %s", RESULT(send(fd, "option", 6, 0)));
	other = (int)MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	MUST(setsockopt(other, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)));
	say_received("by option", listens);
	close(fd);
	fd = begin(0);
	SAME("by option, full: %s", RESULT(connect(other, (struct sockaddr *)&address, address_len)));
	SAME("by option, full: %s", RESULT(send(other, "option", 6, MSG_NOSIGNAL)));
	close(other);
	close(fd);
	fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	SAME("to nobody: %s", RESULT(sendto(fd, "x", 1, MSG_FASTOPEN, &none, sizeof(none))));
	SAME("to a short one: %s", RESULT(sendto(fd, "x", 1, MSG_FASTOPEN, &none, 1)));
	MUST(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &on, sizeof(on)));
	MUST(getsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &value, &len));
	SAME("without a cookie: %d", value);
	close(fd);
	close(listens);
}

static void fast_in_all_ways(void)
{
	for (int how = 0; how < 3; how++) {
		fast_with_room(AF_INET, how);
		fast_with_room(AF_INET6, how);
		fast_when_full(AF_INET, how);
	}
	fast_when_full(AF_INET6, 0);
	fast_by_option();
}

/* Nobody ever accepts: two minutes. */
static void never(void)
{
	int listens = listener(AF_INET), first = begin(0), fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));

	SHOWN("never: %s", RESULT(connect(fd, (struct sockaddr *)&address, address_len)));
	SHOWN("after %llu", (unsigned long long)(vm_now() - start));
	close(fd);
	for (int i = 0; i < 2; i++) {
		struct pollfd look = { fd = begin(SOCK_NONBLOCK), POLLOUT, 0 };

		MUST(poll(&look, 1, -1));
		MUST(look.revents == (POLLOUT | POLLERR | POLLHUP) ? 0 : -look.revents);
		if (i == 0)
			MUST(socket_error(fd) == ETIMEDOUT ? socket_error(fd) : -1);
		else
			MUST(connect(fd, (struct sockaddr *)&address, address_len) < 0 && errno == ETIMEDOUT ? 0 : -1);
		SHOWN("never, who does not wait: after %llu", (unsigned long long)(vm_now() - start));
		close(fd);
	}
	close(first);
	close(listens);
}

int main(void)
{
	by_poll(AF_INET);
	by_poll(AF_INET6);
	by_another_number();
	by_threads(getenv("VM_CALLS_REFUSED") ? CLIENTS : 2);
	ends();
	elsewhere();
	disturbed(false);
	disturbed(true);
	limited(TCP_SYNCNT, 1);
	limited(TCP_USER_TIMEOUT, 1500);
	limited_late();
	fast_in_all_ways();
	if (getenv("VM_CALLS_REFUSED")) /* not natively */
		never();
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
