/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hermit ci: a verification (verify.h), then an exploration of schedules (explore.h) within a budget, as a step of a build service. All that a
 * person wants to see later is in one directory:
 *
 *	verify.json      the verdict, as --verify-json writes it
 *	stdout, stderr   of the program when the runs are equal; stderr has the verdict's words, too
 *	junit.xml        test cases: the program's own exit status, that its runs are equal, that it does well under other schedules
 *	summary.md       the same for a page
 *	runs/            what two different runs have left: their output, their event logs; timeline.html of the first one
 *	chaos/           table.txt; of a schedule that made the program fail, and of the nearest one that did not: schedule and output;
 *	                 event log and timeline.html of the failing run
 */
#ifndef HS_SUPERVISOR_CI_H
#define HS_SUPERVISOR_CI_H

#include <stdbool.h>

#include "supervisor/options/options.h"

struct ci_request {
	struct run_options *run; /* verify, verify_json and verify_dir are set here */
	uint64_t runs;
	uint64_t chaos_seeds;   /* how many schedules are tried at most; 0: there is no exploration */
	uint64_t chaos_time_ns; /* real time after which no further one is; 0: no limit */
	const char *artifacts;  /* a directory: made, or its files of an earlier step are replaced */
	const char *name;       /* of the test suite; NULL: the program's */
	bool annotate;          /* GitHub's lines on standard output, a summary in the file $GITHUB_STEP_SUMMARY */
};

/*
 * Returns the exit status of the program: the guest's own when the runs are equal (0: all is well), 123 when they differ, 125 without
 * a result; when all that is well and a schedule made the program fail, its exit status then.
 */
int ci_main(struct ci_request *request);

#endif
