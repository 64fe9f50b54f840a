/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timerfd(2) in virtual time. The guest holds a real timerfd that never runs by itself: it is made readable when it expires here (a "beacon" of
 * guest.h), so that poll, select and epoll see it as they would; reading and setting it are answered here.
 */
#ifndef HS_ENGINE_TIMERFD_H
#define HS_ENGINE_TIMERFD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "engine/time/timers.h"

struct engine;
struct fd_info;
struct task;

struct timerfd {
	struct timerfd *next;
	struct timer timer;
	int id;     /* of its beacon, from 1 */
	int handle; /* ours, until a sweep finds that no guest has one */
	int clock_id;
	unsigned flags; /* of the last timerfd_settime(2) */
	bool armed;
	bool sent; /* has been in a message: that no guest has it now may be because it is on its way */
	uint64_t interval_ns, deadline_ns;
	uint64_t ticks; /* expiries that were not read */
};

struct timerfds {
	struct timerfd *list;
	int next_id;
	unsigned n, sweep_at; /* how many there are, and when it is looked for those that nobody has any more */
};

void timerfds_deinit(struct engine *e);

/* The lines of a timerfd's fdinfo that are about its timer. False when the descriptor is none of ours. */
bool timerfd_describe(struct engine *e, const struct fd_info *info, FILE *out);

/* Is sent in a message (fd_info.beacon): it is not let go any more. */
void timerfd_sent(struct engine *e, int id);

#endif
