/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of an exploration (explore.h), in a process of its own. Its output and schedule are files of the exploration's directory. */
#ifndef HS_SUPERVISOR_EXPLORE_RUN_H
#define HS_SUPERVISOR_EXPLORE_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/hash.h"
#include "supervisor/explore/explore_signals.h"
#include "supervisor/options/options.h"
#include "supervisor/run.h"

enum { EXPLORE_PATH_SIZE = 4096 };

/* Where runs are, and what is the same in all of them. */
struct explore_place {
	const struct run_options *o; /* borrowed */
	const char *input; /* file that is standard input; NULL: nothing is read */
	bool log; /* with an event log */
	char dir[EXPLORE_PATH_SIZE];
};

/* What a run's process tells, through a pipe. */
struct explore_told {
	struct run_result result; /* when there was no run: exit_code is 125 to 127 */
	unsigned char schedule[HASH_BYTES];
	bool valid; /* there was one */
	char why[1024]; /* there was none */
};

struct explore_run {
	uint64_t number; /* of the run, from 0, in the whole exploration */
	pid_t pid;
	int fd;
};

/* What a run leaves: "stdout", "stderr", "schedule", and "log.jsonl.zst" when it is asked for; ended by NULL. */
extern const char *const explore_kinds[];

/* The file of a run. Returns path. */
const char *explore_path(const struct explore_place *at, uint64_t number, const char *what, char path[EXPLORE_PATH_SIZE]);

uint64_t explore_seed(const struct explore_place *at, uint64_t number);

/* The options of a run, as the command that is shown for it sets them; *ret is the caller's to clear. 0, or -errno with a message. */
int explore_options(const struct explore_place *at, uint64_t number, struct run_options *ret, struct error *err);

int explore_start(const struct explore_place *at, uint64_t number, struct explore_run *ret, struct error *err);

/* Waits for its end. False when a signal has come before: it goes on, and *ret says nothing. signals: NULL, nothing but its end counts. */
bool explore_await(const struct explore_run *run, const struct explore_signals *signals, struct explore_told *ret);

#endif
