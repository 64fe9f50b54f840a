/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomicity violation: a counter is read, something is written, the counter is stored. 1 when an increment was lost. */
#include "bug.h"

static volatile int counter;

static void *increment(void *arg)
{
	for (int i = 0; i < 3; i++) {
		int seen = counter;

		note("+");
		counter = seen + 1;
	}
	return NULL;
}

int main(void)
{
	run_threads(increment, 2);
	return counter == 6 ? 0 : fail("lost increment");
}
