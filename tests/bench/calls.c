/* SPDX-License-Identifier: BSD-3-Clause */
/* What `make bench` times: one operation, many times. calls NAME COUNT */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void getppid_calls(long n)
{
	while (n--)
		(void)syscall(SYS_getppid);
}

static void uname_calls(long n)
{
	char buf[512];

	while (n--)
		(void)syscall(SYS_uname, buf);
}

static void clock_reads(long n)
{
	struct timespec ts;

	while (n--)
		(void)clock_gettime(CLOCK_MONOTONIC, &ts);
}

static void stats(long n)
{
	struct stat st;

	while (n--)
		(void)stat("/etc/passwd", &st);
}

static void ping_pong(long n)
{
	int there[2], back[2];
	char byte = 0;

	if (pipe(there) < 0 || pipe(back) < 0)
		exit(1);
	if (fork() == 0) {
		while (n--)
			if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	while (n--)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(1);
	(void)wait(NULL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long turn, hand_overs;

static void *hand_over(void *arg)
{
	long me = (long)arg;

	(void)pthread_mutex_lock(&lock);
	while (turn < hand_overs) {
		if (turn % 2 != me) {
			(void)pthread_cond_wait(&changed, &lock);
			continue;
		}
		turn++;
		(void)pthread_cond_signal(&changed);
	}
	(void)pthread_cond_signal(&changed);
	(void)pthread_mutex_unlock(&lock);
	return NULL;
}

static void futex_hand_overs(long n)
{
	pthread_t other;

	hand_overs = n;
	(void)pthread_create(&other, NULL, hand_over, (void *)1);
	(void)hand_over((void *)0);
	(void)pthread_join(other, NULL);
}

static void spawns(long n)
{
	while (n--) {
		if (fork() == 0) {
			(void)execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		(void)wait(NULL);
	}
}

static const struct {
	const char *name;
	void (*run)(long n);
} operations[] = {
	{ "getppid", getppid_calls }, { "uname", uname_calls }, { "clock_gettime", clock_reads }, { "stat", stats },
	{ "pipe", ping_pong },	      { "futex", futex_hand_overs }, { "spawn", spawns },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (strcmp(operations[i].name, argv[1]))
			continue;
		operations[i].run(atol(argv[2]));
		return 0;
	}
	(void)fprintf(stderr, "usage: calls NAME COUNT\n");
	return 2;
}
