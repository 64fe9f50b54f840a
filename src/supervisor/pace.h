/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting that takes its real time. What a program sees is the same with it and without: virtual time jumps to the next deadline in
 * both cases, only later here, so that others find the program still there meanwhile. Each deadline is noted with its real time when
 * it is first asked for; an interruption does not set it back.
 */
#ifndef HS_SUPERVISOR_PACE_H
#define HS_SUPERVISOR_PACE_H

#include <stddef.h>
#include <stdint.h>

enum { PACE_DEADLINES = 64 };

struct pace {
	struct pace_deadline {
		uint64_t virtual_ns, real_ns;
	} items[PACE_DEADLINES]; /* the oldest ones are forgotten, and begin anew */
	size_t n;
};

/* For engine_options.pace: how many ms of real time are left until the deadline. `arg` is a struct pace, zeroed at first. */
int pace_left_ms(void *arg, uint64_t now_ns, uint64_t deadline_ns);

/* The same at a real time that is given. */
int pace_left_ms_at(struct pace *pace, uint64_t real_ns, uint64_t now_ns, uint64_t deadline_ns);

/* Real time that does not count: the container was paused. */
void pace_shift(struct pace *pace, uint64_t real_ns);

#endif
