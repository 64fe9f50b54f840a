/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starvation of a writer: a lock that prefers readers, who come in as long as one of them is inside. 1 when the writer had to wait while four
 * readings and more began.
 */
#include "bug.h"

enum { READERS = 2, ROUNDS = 8, STARVED = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t empty = PTHREAD_COND_INITIALIZER;
static int inside, begun, begun_when_asked, begun_when_in;

static void *reader(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		(void)pthread_mutex_lock(&lock);
		inside++;
		begun++;
		(void)pthread_mutex_unlock(&lock);
		note("r");
		(void)pthread_mutex_lock(&lock);
		if (--inside == 0)
			(void)pthread_cond_signal(&empty);
		(void)pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *writer(void *arg)
{
	(void)pthread_mutex_lock(&lock);
	begun_when_asked = begun;
	while (inside > 0)
		(void)pthread_cond_wait(&empty, &lock);
	begun_when_in = begun;
	note("W");
	(void)pthread_mutex_unlock(&lock);
	return NULL;
}

static void *either(void *arg)
{
	return (long)arg == READERS ? writer(arg) : reader(arg);
}

int main(void)
{
	run_together(either, 1 + READERS);
	note("\n");
	if (begun_when_in - begun_when_asked >= STARVED)
		return fail("the writer was starved");
	return 0;
}
