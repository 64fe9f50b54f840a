/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that race without locks, with mutexes, and with condition variables. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, LAPS = 2000 };

static volatile long unguarded;
static long guarded;
static char trace[THREADS * 20 + 1];
static size_t traced;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int whose;

static void *work(void *name)
{
	int me = *(int *)name;

	for (int i = 0; i < LAPS; i++) {
		long seen = unguarded;

		if (i % 100 == me)
			(void)sched_yield();
		unguarded = seen + 1;
		(void)pthread_mutex_lock(&lock);
		guarded++;
		if (i % 100 == 0)
			trace[traced++] = (char)('a' + me);
		(void)pthread_mutex_unlock(&lock);
	}
	(void)pthread_mutex_lock(&lock);
	while (whose != me)
		(void)pthread_cond_wait(&turn, &lock);
	whose++;
	(void)pthread_cond_broadcast(&turn);
	(void)pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int names[THREADS];
	struct timespec now;

	for (int i = 0; i < THREADS; i++) {
		names[i] = i;
		if (pthread_create(&threads[i], NULL, work, &names[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%ld %ld %s %lld.%09ld %d\n", unguarded, guarded, trace, (long long)now.tv_sec, now.tv_nsec, (int)getpid());
	return 0;
}
