/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time: see clock.h. */
#include "engine/time/clock.h"

#include <time.h>

#include "engine/engine.h"

uint64_t time_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? TIME_NEVER : sum;
}

uint64_t time_left(uint64_t deadline_ns, uint64_t now_ns)
{
	uint64_t rest = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

	return rest < INT64_MAX ? rest : INT64_MAX;
}

bool time_from_parts(int64_t seconds, int64_t nanoseconds, uint64_t *ret_ns)
{
	uint64_t ns;

	if (seconds < 0 || nanoseconds < 0 || nanoseconds >= (int64_t)NS_PER_S)
		return false;
	if (__builtin_mul_overflow((uint64_t)seconds, NS_PER_S, &ns))
		ns = TIME_NEVER;
	*ret_ns = time_add(ns, (uint64_t)nanoseconds);
	return true;
}

void clock_charge(struct clock *c, uint64_t cost_ns)
{
	clock_jump(c, time_add(c->now_ns, cost_ns));
}

void clock_jump(struct clock *c, uint64_t to_ns)
{
	if (to_ns > c->now_ns && to_ns != TIME_NEVER)
		c->now_ns = to_ns;
}

/* What the clock showed at the start of the run. */
static bool clock_origin(const struct clock *c, int clock_id, uint64_t *ret_ns)
{
	switch (clock_id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
		*ret_ns = c->epoch_ns;
		return true;
	case CLOCK_TAI:
		*ret_ns = time_add(c->epoch_ns, CLOCK_TAI_OFFSET_NS);
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		*ret_ns = c->uptime_ns;
		return true;
	default:
		return false;
	}
}

bool clock_only_shows(int clock_id)
{
	enum { KIND_MASK = 7, KIND_DEVICE = 3 };

	return clock_id < 0 ? (clock_id & KIND_MASK) == KIND_DEVICE
			    : clock_id == CLOCK_MONOTONIC_RAW || clock_id == CLOCK_REALTIME_COARSE || clock_id == CLOCK_MONOTONIC_COARSE;
}

bool clock_value(const struct clock *c, int clock_id, uint64_t *ret_ns)
{
	uint64_t origin;

	if (!clock_origin(c, clock_id, &origin))
		return false;
	*ret_ns = time_add(origin, c->now_ns);
	return true;
}

bool clock_deadline(const struct clock *c, int clock_id, uint64_t value_ns, uint64_t *ret_run_ns)
{
	uint64_t origin;

	if (!clock_origin(c, clock_id, &origin))
		return false;
	if (value_ns == TIME_NEVER)
		*ret_run_ns = TIME_NEVER;
	else
		*ret_run_ns = value_ns > origin ? value_ns - origin : 0;
	return true;
}
