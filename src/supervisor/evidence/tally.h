/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what the run did not control, in the order in which it happened first: an observer of the engine. */
#ifndef HS_SUPERVISOR_TALLY_H
#define HS_SUPERVISOR_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

enum { TALLY_MAX = 256 };

/* Zero-initialised. What does not fit is in `more`. */
struct tally {
	size_t n;
	uint64_t more;
	struct {
		char what[64], where[64];
		uint64_t count;
	} items[TALLY_MAX];
};

struct engine_observer tally_observer(struct tally *tally);
uint64_t tally_total(const struct tally *tally);

#endif
