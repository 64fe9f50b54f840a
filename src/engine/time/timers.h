/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that happen at a virtual time without anybody waiting in a call: alarms, interval timers, POSIX timers, timerfds.
 * Fired in order of (deadline, arming); firing never moves the clock.
 */
#ifndef HS_ENGINE_TIMERS_H
#define HS_ENGINE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct timer;

typedef int timer_fn(struct engine *e, struct timer *timer);

/* Embedded in its owner. Zero is a valid, unarmed timer. */
struct timer {
	struct timer *prev, *next;
	bool armed;
	uint64_t deadline_ns; /* run time */
	timer_fn *fire;       /* called unarmed; may arm it again */
	void *owner;
};

struct timers {
	struct timer *head; /* sorted */
};

/* Arms or re-arms. */
void timers_arm(struct timers *timers, struct timer *timer, uint64_t deadline_ns);
void timers_disarm(struct timers *timers, struct timer *timer);

/* TIME_NEVER when none is armed. */
uint64_t timers_next(const struct timers *timers);

/* Fires all that are due at now_ns. */
int timers_fire(struct timers *timers, struct engine *e, uint64_t now_ns);

#endif
