/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this host offers, found out by trying (never by version numbers, names of CPUs or files that claim something), and what
 * that means for a run. Each probe runs in a process of its own with a time limit, so that none can hang, kill or change the
 * caller.
 */
#ifndef HS_SUPERVISOR_DOCTOR_H
#define HS_SUPERVISOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum probe_result {
	PROBE_FAILED = 0, /* the probe itself did not come to an end */
	PROBE_WORKS,
	PROBE_PARTLY, /* there, but not as it should be */
	PROBE_MISSING,
	PROBE_RESULTS,
};

enum { PROBE_DETAIL_SIZE = 256 };

/* Tries one thing, in a process of its own. `detail` is "" and may get a few words about what was seen. */
typedef enum probe_result probe_fn(char *detail, size_t size);

struct probe {
	const char *name;  /* one word, for machines */
	const char *title; /* for people */
	bool required;     /* without it there is no run */
	probe_fn *run;
	const char *meaning[PROBE_RESULTS]; /* what each result means for a run; NULL: nothing to say */
};

struct finding {
	const struct probe *probe;
	enum probe_result result;
	char detail[PROBE_DETAIL_SIZE];
};

struct doctor_report {
	struct finding *findings;
	size_t n;
	bool possible; /* a run is possible */
};

/* All probes, in the order of the report. */
const struct probe *doctor_probes(size_t *ret_count);

/* Runs one probe. A probe that hangs or dies gives PROBE_FAILED and says so. */
void doctor_probe(const struct probe *probe, struct finding *ret);

int doctor_run(struct doctor_report *report, struct error *err);
void doctor_report_clear(struct doctor_report *report);
#define _cleanup_doctor_report_ __attribute__((cleanup(doctor_report_clear)))

void doctor_print(const struct doctor_report *report, FILE *to);

/* The caller frees; NULL when out of memory. */
char *doctor_to_json(const struct doctor_report *report);

/* After a run that could not start: true, and logged, when that is because it was to be inside of another one. */
bool doctor_log_inside(void);

/*
 * The same: logs the things that every run needs and that are missing here, in the words of the report.
 * Says nothing when nothing is missing that the probes know of.
 */
void doctor_log_missing(void);

#endif
