/* SPDX-License-Identifier: BSD-3-Clause */
/* ABBA deadlock: two locks taken in both orders. */
#include "bug.h"

static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

static void *transfer(void *arg)
{
	long from = (long)arg;

	for (int i = 0; i < 3; i++) {
		(void)pthread_mutex_lock(&locks[from]);
		note("one ");
		(void)pthread_mutex_lock(&locks[1 - from]);
		note("both\n");
		(void)pthread_mutex_unlock(&locks[1 - from]);
		(void)pthread_mutex_unlock(&locks[from]);
	}
	return NULL;
}

int main(void)
{
	run_threads(transfer, 2);
	return 0;
}
