/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads that start together and write a letter each: 24 orders. */
#include "bug.h"

static pthread_barrier_t barrier;

static void *letter(void *arg)
{
	char text[2] = { (char)('a' + (long)arg), '\0' };

	(void)pthread_barrier_wait(&barrier);
	for (int i = 0; i < 12; i++)
		(void)getppid(); /* who left the barrier first has no lead any more */
	note(text);
	return NULL;
}

int main(void)
{
	(void)pthread_barrier_init(&barrier, NULL, 4);
	run_threads(letter, 4);
	note("\n");
	return 0;
}
