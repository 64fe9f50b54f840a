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
#include <stdio.h>

#include "base/error.h"
#include "supervisor/options/options.h"

enum explore_until { EXPLORE_ALL, EXPLORE_FAIL, EXPLORE_BOTH };

enum { EXPECTED_MAX = 16, EXPLORE_JOBS_MAX = 64 };

/* Borrowed. */
struct explore {
	const struct run_options *o; /* chaos is on; the sched and fault seeds are counted up from theirs */
	uint64_t runs; /* at most */
	uint64_t budget_ns; /* real time after which none is started any more, but the first; 0: no limit */
	enum explore_until until;
	unsigned jobs;
	unsigned shard, shards; /* this one (from 0) takes each shards-th seed */
	int expected[EXPECTED_MAX]; /* exit statuses that are passes; none: 0 */
	size_t n_expected;
	const regex_t *out_regex; /* NULL, or what standard output of a pass matches */
	const char *input; /* file that each run reads as its standard input; NULL: nothing is read */
	const char *keep; /* directory that schedules and output are left in; is made when it does not exist. NULL: a new one in TMPDIR */
	const char *shown; /* where what is in keep will be found later, for the table; NULL: there */
	bool log_fail; /* the first failing run is repeated with an event log, which is kept, too */
	FILE *table; /* where the results are written */
	bool only_failing; /* without rows of runs that pass */
};

/* What came of it. */
struct explore_result {
	uint64_t done, failed, deadlocks; /* runs */
	size_t schedules; /* distinct ones */
	bool has_fail, has_pass;
	uint64_t first_fail, nearest_pass; /* seeds; the latter only when something has passed as well */
	char how[48]; /* RUN_END_WORDS_SIZE: the first failing run ended: "exited 1" */
	int fail_status; /* its exit status */
	int interrupted; /* the signal that has ended it early, or 0: what is said of runs is said of those until then */
	int tool_status; /* when the tool has failed: 125, or 126 and 127 when the program cannot be executed or does not exist */
	char *fail_command; /* that repeats it, by its seed */
};
void explore_result_clear(struct explore_result *result);

/* As many as there are processors. */
unsigned explore_default_jobs(void);

/*
 * Runs them, in the order of their seeds as far as it can be seen, and prints a table. 0 or -errno with a message. *ret is the caller's to
 * clear in any case.
 */
int explore_all(const struct explore *x, struct explore_result *ret, struct error *err);

/*
 * The same as a program: returns the exit status, 0 when all passed, 1 when one failed, 125 to 127 with a message when the tool did, 128+n when
 * signal n has ended it early.
 */
int explore_main(const struct explore *x);

#endif
