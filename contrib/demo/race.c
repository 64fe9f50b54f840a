/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what differs from run to run on any Linux machine: time, process number, random bytes, an address, and who wins a race. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, LAPS = 8 };

static char track[THREADS * LAPS + 1];
static volatile size_t position; /* deliberately without a lock */
static volatile int pause_a_little;
static pthread_barrier_t start;

static void *runner(void *name)
{
	(void)pthread_barrier_wait(&start);
	for (int lap = 0; lap < LAPS; lap++) {
		for (int i = 0; i < 2000; i++)
			pause_a_little = i;
		track[position++] = *(char *)name;
		(void)sched_yield();
	}
	return NULL;
}

static void race(void)
{
	pthread_t threads[THREADS];
	char names[] = "ABCD";

	memset(track, '.', sizeof(track) - 1);
	if (pthread_barrier_init(&start, NULL, THREADS) != 0)
		exit(1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, runner, &names[i]) != 0)
			exit(1);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	printf("race      %s\n", track);
}

int main(void)
{
	unsigned char bytes[8];
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	printf("time      %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
	printf("process   %d\n", (int)getpid());
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return 1;
	printf("random    ");
	for (size_t i = 0; i < sizeof(bytes); i++)
		printf("%02x", bytes[i]);
	printf("\naddress   %p\n", (void *)&now);
	race();
	return 0;
}
