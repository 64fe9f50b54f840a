/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's clock, for the time that the tool itself takes: limits of patience, costs in the report, deadlines of a paced container.
 * Nothing of a deterministic run is decided by it.
 *
 * It is read by a system call (clock_gettime(2), CLOCK_MONOTONIC) and not through the C library, which executes RDTSC: while the guest's
 * RDTSC faults the supervisor forgoes its own (processor_tsc_forgo()), and each reading would be a fault and two writes of the
 * processor's control register, some 100 us in a virtual machine.
 */
#ifndef HS_BASE_CLOCK_H
#define HS_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some time before the start. Never fails. */
uint64_t host_clock_ns(void);

static inline int64_t host_clock_ms(void)
{
	return (int64_t)(host_clock_ns() / 1000000);
}

#endif
