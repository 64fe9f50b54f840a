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

/* The word for how a run ended: "exited", "deadlock", ... */
const char *run_end_name(enum run_end end);

#endif
