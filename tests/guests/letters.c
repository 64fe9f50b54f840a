/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads that write letters, each in a function of its own: "ab" or "ba", by who is first. No call comes before the letters. */
#include "bug.h"

static volatile int written;

static __attribute__((noinline)) void write_a(void)
{
	note("a");
	written++; /* behind a */
}

static __attribute__((noinline)) void write_b(void)
{
	note("b");
	written++; /* behind b */
}

static void *letter(void *arg)
{
	if ((long)arg == 0)
		write_a();
	else
		write_b();
	return NULL;
}

int main(void)
{
	run_together(letter, 2);
	note("\n");
	return 0;
}
