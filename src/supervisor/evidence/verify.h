/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --verify: N runs from equal starting points, compared exactly: how they ended, standard output and error, changed files,
 * event logs.
 *
 * Equal starting points: the same arguments, environment and directory; standard input is captured once and given to each run as a file; every run
 * has a fresh copy-on-write layer over everything, what it binds from the host included, so nothing is written for real. Where runs differ and others
 * have changed something on the host meanwhile (host_changes.h), that is said.
 */
#ifndef HS_SUPERVISOR_VERIFY_H
#define HS_SUPERVISOR_VERIFY_H

#include "supervisor/options/options.h"

struct container_spec;
struct run_request;

/* Where the caller puts what is kept, and the verdict, afterwards: what is said names these places. NULL: they stay where they are. */
struct verify_names {
	const char *kept, *verdict;
};

/* How the runs of a verification are made. Everything is borrowed. */
struct verify_maker {
	/*
	 * Adds the directories of the host that the runs work in, the one first whose changes would be written for real but for the
	 * verification: layers are not kept below it on the same file system, nor below the others where that can be. 0 or -errno with a
	 * message.
	 */
	int (*sources)(void *arg, struct strv *list, struct error *err);
	/*
	 * Makes the request of one run, and its description, both still to be changed: what the run writes goes to the directory `layer`,
	 * which is empty. 0 or -errno with a message; unmake() in any case, when the run is over.
	 */
	int (*make)(void *arg, const char *layer, struct run_request **ret, struct container_spec **ret_spec, struct error *err);
	void (*unmake)(void *arg);
	void *arg;
	struct verify_names names;
};

/*
 * Returns the exit status of the program: the guest's own when the runs are equal, 123 when they differ, 125 without a
 * result. The verdict goes to stderr and to --verify-json; the first run's output is passed on only when all are equal. What has kept the verdict
 * from being found or written is for the caller to say: *err is set then.
 */
int verify_with(const struct run_options *o, const struct verify_maker *maker, struct error *err);

/* The same for the program of `hermit run`; names may be NULL. */
int verify_program(const struct run_options *o, const struct verify_names *names, struct error *err);

/* Which says it itself. */
int verify_main(const struct run_options *o);

#endif
