/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Linux promises no order for, one thing each: orders signal|futex|requeue|epoll|accept. Prints the order that came out. Threads name
 * themselves by letters; main goes on when all of them wait.
 */
#include <linux/futex.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "bug.h"

enum { THREADS = 4 };

static volatile unsigned word, other;
static int listener;
static _Thread_local char letter;

static void let_all_wait(void)
{
	(void)nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
}

static void name_me(void)
{
	char text[2] = { letter, '\0' };

	note(text);
}

static void on_signal(int signo)
{
	name_me();
}

static void *wait_for_signal(void *arg)
{
	letter = (char)('a' + (long)arg);
	(void)nanosleep(&(struct timespec){ .tv_sec = 100 }, NULL);
	return NULL;
}

/* Each of them goes to one of the sleeping threads. */
static void signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t thread;
	sigset_t set;

	(void)sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, wait_for_signal, (void *)i) != 0)
			exit(99);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 3; i++) {
		let_all_wait();
		(void)kill(getpid(), SIGUSR1);
	}
	let_all_wait();
}

static void *wait_for_word(void *arg)
{
	letter = (char)('a' + (long)arg);
	(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	name_me();
	return NULL;
}

static void futexes(int requeue)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, wait_for_word, (void *)i) != 0)
			exit(99);
	for (int i = 0; i < THREADS; i++) {
		let_all_wait();
		if (requeue)
			(void)syscall(SYS_futex, &word, FUTEX_REQUEUE_PRIVATE, 1, 0L, &other, 0);
		else
			(void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

static void epolls(void)
{
	struct epoll_event events[THREADS];
	int set = epoll_create1(0), n;

	for (int i = 0; i < THREADS; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

		if (epoll_ctl(set, EPOLL_CTL_ADD, eventfd(1, 0), &event) < 0)
			exit(99);
	}
	n = epoll_wait(set, events, THREADS, -1);
	for (int i = 0; i < n; i++) {
		letter = (char)('a' + events[i].data.u32);
		name_me();
	}
}

static void *accept_one(void *arg)
{
	letter = (char)('a' + (long)arg);
	if (accept(listener, NULL, NULL) < 0)
		exit(99);
	name_me();
	return NULL;
}

static void accepts(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(4000) };
	pthread_t threads[THREADS];

	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, THREADS) < 0)
		exit(99);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, accept_one, (void *)i) != 0)
			exit(99);
	for (int i = 0; i < THREADS; i++) {
		let_all_wait();
		if (connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address)) < 0)
			exit(99);
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "signal"))
		signals();
	else if (!strcmp(what, "futex") || !strcmp(what, "requeue"))
		futexes(what[0] == 'r');
	else if (!strcmp(what, "epoll"))
		epolls();
	else if (!strcmp(what, "accept"))
		accepts();
	else
		return 2;
	note("\n");
	return 0;
}
