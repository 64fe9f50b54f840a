/* SPDX-License-Identifier: BSD-3-Clause */
/* A hot loop of RDTSC: a million, or as many as the argument says. The counter must never stand still for long nor go back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "insn_truth.h"

static uint64_t tsc(void)
{
	uint32_t low, high;

	__asm__ volatile(RDTSC : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000000;
	uint64_t last = tsc(), first = last, back = 0, digest = 0;

	for (long i = 0; i < rounds; i++) {
		uint64_t now = tsc();

		back += now < last;
		digest = digest * 31 + (now - last);
		last = now;
	}
	printf("rounds %ld went back %llu elapsed %llu digest %llx\n", rounds, (unsigned long long)back,
	       (unsigned long long)(last - first), (unsigned long long)digest);
	return back != 0 || last == first;
}
