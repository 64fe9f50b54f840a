/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual timers: see timers.h. */
#include "engine/time/timers.h"

#include <stddef.h>
#include <utlist.h>

#include "engine/engine.h"

void timers_arm(struct timers *timers, struct timer *timer, uint64_t deadline_ns)
{
	struct timer *at;

	timers_disarm(timers, timer);
	if (deadline_ns == TIME_NEVER)
		return;
	timer->deadline_ns = deadline_ns;
	timer->armed = true;
	DL_FOREACH(timers->head, at) {
		if (at->deadline_ns > deadline_ns)
			break;
	}
	if (at)
		DL_PREPEND_ELEM(timers->head, at, timer);
	else
		DL_APPEND(timers->head, timer);
}

void timers_disarm(struct timers *timers, struct timer *timer)
{
	if (!timer->armed)
		return;
	DL_DELETE(timers->head, timer);
	timer->armed = false;
}

uint64_t timers_next(const struct timers *timers)
{
	return timers->head ? timers->head->deadline_ns : TIME_NEVER;
}

int timers_fire(struct timers *timers, struct engine *e, uint64_t now_ns)
{
	struct timer *timer;
	int r;

	while (timers->head && timers->head->deadline_ns <= now_ns) {
		timer = timers->head;
		timers_disarm(timers, timer);
		r = timer->fire(e, timer);
		if (r < 0)
			return r;
	}
	return 0;
}
