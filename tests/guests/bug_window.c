/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomicity violation without a system call in the window: a counter is read, something is computed, the counter is stored. */
#include "bug.h"

static volatile int counter;

/* Some work that the compiler cannot leave out. */
static __attribute__((noinline)) int next(int seen)
{
	volatile int sum = 0;

	for (int i = 0; i < 8; i++)
		sum = sum + (seen == i);
	return seen + 1 + (sum > 8);
}

static void *increment(void *arg)
{
	for (int i = 0; i < 20; i++) {
		int seen = counter;

		counter = next(seen);
	}
	return NULL;
}

int main(void)
{
	run_together(increment, 2);
	return counter == 40 ? 0 : fail("lost increment");
}
