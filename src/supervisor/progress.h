/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line on a terminal about a run that takes longer than two seconds, rewritten twice a second: an observer of the engine. It asks for the real
 * time and tells nobody but the person.
 */
#ifndef HS_SUPERVISOR_PROGRESS_H
#define HS_SUPERVISOR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "engine/engine.h"

/* Since when somebody waits, and when he was told last. */
struct progress_clock {
	struct timespec start, shown;
};

struct progress {
	int fd;          /* terminal, -1: be silent */
	unsigned run, runs; /* "run 1 of 2" when runs > 1 */
	struct progress_clock *clock, own;
	struct timespec begin; /* of counting shown_turns */
	uint64_t shown_turns;
};

void progress_clock_start(struct progress_clock *clock);

/* fd: where to write, if that is a terminal. clock: of all runs, or NULL for one of this run. */
void progress_start(struct progress *p, int fd, unsigned run, unsigned runs, struct progress_clock *clock);
struct engine_observer progress_observer(struct progress *p);

/* Wipes the line. */
void progress_stop(void);

#endif
