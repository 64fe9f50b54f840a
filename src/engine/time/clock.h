/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one clock of a run. It moves by a cost per event and by jumps when nobody can run; never by itself. All times are
 * nanoseconds; additions saturate at TIME_NEVER, which is never reached.
 */
#ifndef HS_ENGINE_CLOCK_H
#define HS_ENGINE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_TAI_OFFSET_NS (37 * 1000000000ull) /* TAI - UTC since 2017 */
#define CLOCK_TSC_HZ 2000000000ull /* frequency of the time stamp counter: a whole number of ticks in a nanosecond */
#define CLOCK_READ_COST_NS 200 /* virtual time that one look at a clock takes */

struct clock {
	uint64_t now_ns;    /* since the start of the run */
	uint64_t epoch_ns;  /* CLOCK_REALTIME at the start */
	uint64_t uptime_ns; /* CLOCK_MONOTONIC at the start */
};

void clock_charge(struct clock *c, uint64_t cost_ns);

/* Moves forward to a time; never back. */
void clock_jump(struct clock *c, uint64_t to_ns);

/*
 * The value of a POSIX clock id (CLOCK_REALTIME, MONOTONIC, BOOTTIME, TAI, their _RAW, _COARSE, _ALARM forms). CPU clocks are not
 * its business. Returns false for an unknown id.
 */
bool clock_value(const struct clock *c, int clock_id, uint64_t *ret_ns);

/* Run time at which the clock `clock_id` will show value_ns (absolute timeouts); now or earlier when that is past. */
bool clock_deadline(const struct clock *c, int clock_id, uint64_t value_ns, uint64_t *ret_run_ns);

/* Is it a clock that can only be read: nobody sleeps by it, and no timer counts it (EOPNOTSUPP)? Clocks of devices are (dynamic posix clocks). */
bool clock_only_shows(int clock_id);

/* a + b, saturated. */
uint64_t time_add(uint64_t a, uint64_t b);

/* From now to a deadline, 0 when that is past. Never more than the kernel's own longest time (KTIME_MAX). */
uint64_t time_left(uint64_t deadline_ns, uint64_t now_ns);

/* Seconds and nanoseconds as a duration; false when out of range as Linux would say EINVAL. */
bool time_from_parts(int64_t seconds, int64_t nanoseconds, uint64_t *ret_ns);

#endif
