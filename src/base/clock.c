/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t host_clock_ns(void)
{
	struct timespec now = { 0 };

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}
