/* SPDX-License-Identifier: BSD-3-Clause */
/* Everybody waits for something that never comes, each with a time limit: no deadlock. */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "bug.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile int timed_out;

static struct timespec in_a_minute(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 60;
	return t;
}

static int wait_for(long what)
{
	struct timespec limit = in_a_minute(), minute = { .tv_sec = 60 };
	sem_t semaphore;
	sigset_t set;
	int r;

	switch (what) {
	case 0:
		(void)pthread_mutex_lock(&lock);
		r = pthread_cond_timedwait(&never, &lock, &limit);
		(void)pthread_mutex_unlock(&lock);
		return r == ETIMEDOUT;
	case 1:
		(void)sem_init(&semaphore, 0, 0);
		return sem_timedwait(&semaphore, &limit) < 0 && errno == ETIMEDOUT;
	case 2:
		return poll(NULL, 0, 60000) == 0;
	default:
		(void)sigemptyset(&set);
		(void)sigaddset(&set, SIGUSR1);
		(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
		return sigtimedwait(&set, NULL, &minute) < 0 && errno == EAGAIN;
	}
}

static void *waiter(void *arg)
{
	if (wait_for((long)arg))
		(void)__atomic_add_fetch(&timed_out, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

int main(void)
{
	run_threads(waiter, 4);
	return printf("timed out: %d\n", timed_out) < 0;
}
