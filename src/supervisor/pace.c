/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting in real time: see pace.h. */
#include "supervisor/pace.h"

#include <string.h>

#include "base/clock.h"
#include "engine/engine.h"

enum { NS_PER_MS = 1000000, LONGEST_MS = 3600000 };

static void forget_passed(struct pace *pace, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < pace->n; i++)
		if (pace->items[i].virtual_ns > now_ns)
			pace->items[kept++] = pace->items[i];
	pace->n = kept;
}

static uint64_t real_deadline(struct pace *pace, uint64_t real_ns, uint64_t now_ns, uint64_t deadline_ns)
{
	struct pace_deadline *item;

	for (size_t i = 0; i < pace->n; i++)
		if (pace->items[i].virtual_ns == deadline_ns)
			return pace->items[i].real_ns;
	if (pace->n == PACE_DEADLINES)
		memmove(pace->items, pace->items + 1, --pace->n * sizeof(pace->items[0]));
	item = &pace->items[pace->n++];
	*item = (struct pace_deadline){ deadline_ns, real_ns + (deadline_ns - now_ns) };
	return item->real_ns;
}

int pace_left_ms_at(struct pace *pace, uint64_t real_ns, uint64_t now_ns, uint64_t deadline_ns)
{
	uint64_t until, ms;

	forget_passed(pace, now_ns);
	until = real_deadline(pace, real_ns, now_ns, deadline_ns);
	if (until <= real_ns)
		return 0;
	ms = (until - real_ns + NS_PER_MS - 1) / NS_PER_MS;
	return ms > LONGEST_MS ? LONGEST_MS : (int)ms;
}

int pace_left_ms(void *arg, uint64_t now_ns, uint64_t deadline_ns)
{
	return pace_left_ms_at(arg, host_clock_ns(), now_ns, deadline_ns);
}

void pace_shift(struct pace *pace, uint64_t real_ns)
{
	for (size_t i = 0; i < pace->n; i++)
		pace->items[i].real_ns += real_ns;
}
