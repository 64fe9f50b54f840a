/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run with its observers: event log, count of the uncontrolled, progress. What `hermit run` does when it does not verify, and what
 * a verification does N times.
 */
#ifndef HS_SUPERVISOR_OBSERVED_H
#define HS_SUPERVISOR_OBSERVED_H

#include <stdbool.h>

#include "base/error.h"
#include "supervisor/options/options.h"
#include "supervisor/progress.h"
#include "supervisor/run.h"
#include "supervisor/evidence/schedule.h"
#include "supervisor/evidence/tally.h"

struct observed {
	/* What to observe. */
	int log_fd;    /* -1: no event log */
	bool compress;
	int progress_fd; /* -1: no progress */
	unsigned run, runs;
	struct progress_clock *clock; /* of several runs, whose line then stays between them; NULL: of this one */
	struct schedule *record; /* NULL: not wanted */
	struct schedule *follow; /* NULL: choices are free */
	/* What was observed. */
	uint64_t records; /* of the event log */
	bool interrupted; /* the host asked the run to end */
	struct run_result result;
	struct tally tally;
};

#define OBSERVED_NOTHING { .log_fd = -1, .progress_fd = -1 }

/*
 * Runs the request, whose observers are replaced. As run_guest(); a log that could not be written is a failure too, with
 * result.exit_code 125.
 */
int observed_run(struct observed *ob, const struct run_options *o, struct run_request *request, struct error *err);

/*
 * hermit run without verification: opens the log, runs, writes report and summary. Returns the exit status of the program;
 * messages go to the log.
 */
int observed_main(const struct run_options *o);

/* The same for a request that is made already. `image` is the digest of the image that is run, for the report, or NULL. */
int observed_request(const struct run_options *o, struct run_request *request, const char *image);

#endif
