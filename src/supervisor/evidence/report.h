/* SPDX-License-Identifier: BSD-3-Clause */
/* The report on a run: --report (JSON) and --summary (text). */
#ifndef HS_SUPERVISOR_REPORT_H
#define HS_SUPERVISOR_REPORT_H

#include <stdio.h>

#include "supervisor/options/options.h"
#include "supervisor/run.h"
#include "supervisor/evidence/tally.h"

struct run_report {
	const struct run_options *options;
	const struct run_result *result;
	const struct tally *uncontrolled;
	const char *image; /* digest of the image whose files they were; NULL: none */
};

/* The JSON document; the caller frees. NULL when out of memory. */
char *report_to_json(const struct run_report *report);

/* A few lines for a person. */
void report_print(FILE *f, const struct run_report *report);

/* The word for how a run ended: "exited", "signal", "deadlock", ... */
const char *run_end_name(const struct run_result *result);

enum { RUN_END_WORDS_SIZE = 48 };

/* The same for people: "killed by signal 11 (SIGSEGV)" where it is "signal". */
const char *run_end_words(const struct run_result *result, char buf[RUN_END_WORDS_SIZE]);

#endif
