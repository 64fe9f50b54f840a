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

struct progress {
	int fd;          /* terminal, -1: be silent */
	unsigned run, runs; /* "run 1 of 2" when runs > 1 */
	struct timespec start, shown;
	uint64_t shown_turns;
};

/* fd: where to write, if that is a terminal. */
void progress_start(struct progress *p, int fd, unsigned run, unsigned runs);
struct engine_observer progress_observer(struct progress *p);

/* Wipes the line. */
void progress_stop(void);

#endif
