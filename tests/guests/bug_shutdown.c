/* SPDX-License-Identifier: BSD-3-Clause */
/* Use after free on shutdown: main takes the worker's state away when it has asked it to stop, not when it has stopped. */
#include "bug.h"

struct state {
	volatile int stop, valid;
	int used_late;
};

static struct state state = { .valid = 1 };

static void *worker(void *arg)
{
	for (int i = 0; i < 5; i++) {
		if (state.stop)
			return NULL;
		note("w");
		state.used_late |= !state.valid;
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, worker, NULL) != 0)
		return 99;
	(void)usleep(1);
	note("s");
	state.stop = 1;
	state.valid = 0;
	(void)pthread_join(thread, NULL);
	return state.used_late ? fail("used after it was taken away") : 0;
}
