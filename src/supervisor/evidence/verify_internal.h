/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files verify*.c share: verify.c runs, verify_files.c keeps what the runs leave, verify_compare.c compares it, verify_verdict.c says
 * what came out. The files of a verification are in one directory:
 *
 *	stdin              what each run reads
 *	stdout stderr      of the run that is going on: names that a guest could see are the same in each
 *	log.jsonl.zst
 *	run1.stdout ...    the same of a run that is over
 *
 * The layers with what the runs have written (files, run1.files ...) are in another one, which must not be below the guest's working directory
 * on the same file system: the container could not keep apart what is written there.
 */
#ifndef HS_SUPERVISOR_VERIFY_INTERNAL_H
#define HS_SUPERVISOR_VERIFY_INTERNAL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/evidence/compare.h"
#include "supervisor/evidence/host_changes.h"
#include "supervisor/evidence/observed.h"
#include "supervisor/evidence/places.h"
#include "supervisor/evidence/verify.h"
#include "trace/log_diff.h"

enum { VERIFY_PATH_SIZE = 4096 };

enum verify_verdict { VERIFY_NO_RESULT, VERIFY_EQUAL, VERIFY_DIFFERENT };

struct verify {
	const struct run_options *o;
	const struct verify_maker *maker;
	char dir[VERIFY_PATH_SIZE], layers[VERIFY_PATH_SIZE];
	const char *hidden[3]; /* both, ended by NULL: a run does not see what earlier ones have left */
	struct observed first; /* the run that all others are compared with */
	unsigned done;         /* runs that are over */
	uint64_t uncontrolled; /* in all of them */
	struct changes changed; /* files that were compared last */
	struct places places[2]; /* in memory: of the first run, of the one that goes on */
	struct place_contents upper_before; /* in the first run's layers */
	struct strv sources;     /* of verify_maker.sources() */
	struct host_changes outside; /* VERIFY_DIFFERENT: what others have done to them meanwhile */
	struct progress_clock clock;
	enum verify_verdict verdict;
	char reason[1200];     /* VERIFY_NO_RESULT: why */
	unsigned differing;    /* VERIFY_DIFFERENT: number of the run */
	struct difference status, output, errors, changes, events; /* "" where nothing differs */
	struct log_diff_result log;
};

/* ---- verify_files.c ---- */

/* Of a run that is over, or (0) of the one that goes on. Returns path. */
const char *verify_path(const struct verify *v, char path[VERIFY_PATH_SIZE], unsigned run, const char *name);

/* v->dir, then v->layers. */
int verify_make_dir(struct verify *v, struct error *err);
int verify_make_layers(struct verify *v, struct error *err);

/* Standard input until its end; from a terminal nothing is read. */
int verify_capture_stdin(struct verify *v, struct error *err);

/* What the run that goes on has left gets the names of that run; removes it. */
int verify_put_aside(const struct verify *v, unsigned run, struct error *err);
void verify_forget_run(const struct verify *v, unsigned run);

/* What of v->dir and v->layers stays: all when runs differ, otherwise nothing. */
void verify_end_files(const struct verify *v);

/* ---- verify_compare.c ---- */

/* The run that has just ended against the first one. 1 equal, 0 different, -errno. */
int verify_compare(struct verify *v, const struct observed *ob, struct error *err);

/* ---- verify_verdict.c ---- */

/* On standard error, for a person. */
void verify_say(const struct verify *v);

/* The document of --verify-json; the caller's. NULL when out of memory. */
json_t *verify_to_json(const struct verify *v);

#endif
