/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exploring schedules: one program under many seeds of the scheduler. Everything else (random numbers, time) is the same in all runs, so that
 * outcomes differ by schedule alone. Each run is a process of its own; its output and schedule are files of a private directory.
 */
#ifndef HS_SUPERVISOR_EXPLORE_H
#define HS_SUPERVISOR_EXPLORE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/options/options.h"

enum explore_until { EXPLORE_ALL, EXPLORE_FAIL, EXPLORE_BOTH };

enum { EXPECTED_MAX = 16, EXPLORE_JOBS_MAX = 64 };

/* Borrowed. */
struct explore {
	const struct run_options *o; /* chaos is on; the sched and fault seeds are counted up from theirs */
	uint64_t runs;
	enum explore_until until;
	unsigned jobs;
	unsigned shard, shards; /* this one (from 0) takes each shards-th seed */
	int expected[EXPECTED_MAX]; /* exit statuses that are passes; none: 0 */
	size_t n_expected;
	const regex_t *out_regex; /* NULL, or what standard output of a pass matches */
	const char *keep; /* directory that schedules and output are left in; is made when it does not exist */
};

/*
 * Runs them, in the order of their seeds as far as it can be seen, and prints a table. Returns the exit status: 0 when all passed, 1 when
 * one failed, 125 with a message when the tool did.
 */
int explore_main(const struct explore *x);

#endif
