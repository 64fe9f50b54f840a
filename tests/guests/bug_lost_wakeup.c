/* SPDX-License-Identifier: BSD-3-Clause */
/* Lost wakeup: the condition is looked at without the lock, and the signal may come before the wait. Then nobody ever goes on. */
#include "bug.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int done;

static void *waiter(void *arg)
{
	if (!done) {
		for (int i = 0; i < 4; i++)
			note("waiting\n");
		(void)pthread_mutex_lock(&lock);
		(void)pthread_cond_wait(&changed, &lock);
		(void)pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, waiter, NULL) != 0)
		return 99;
	note(".");
	done = 1;
	(void)pthread_cond_signal(&changed);
	(void)pthread_join(thread, NULL);
	return 0;
}
