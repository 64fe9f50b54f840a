/* SPDX-License-Identifier: BSD-3-Clause */
/* A record as a person reads it, one line each. */
#ifndef HS_TRACE_LOG_PRINT_H
#define HS_TRACE_LOG_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "trace/log_filter.h"
#include "trace/log_reader.h"

/* Column titles for log_print_record(). */
void log_print_title(FILE *f, bool color);

/* Turn, time, thread, then the event as call(args) = result or as words; ends with a newline. */
void log_print_record(FILE *f, const struct log_record *rec, bool color);

/* The event alone: "read(3, ..., 5) = 5", "exit code=0"; no newline. */
void log_print_event(FILE *f, const struct log_record *rec, bool color);

struct log_print_options {
	struct log_filter filter;
	bool color;
	bool json; /* the lines themselves, as they are in the log, header included */
};

/*
 * Prints a log to f. *ret_records: how many matched. A log that is cut off or damaged is printed up to there and is an
 * error then. Stops early, without an error, when f cannot be written (ferror tells).
 */
int log_print(struct log_reader *r, const struct log_print_options *options, FILE *f, uint64_t *ret_records, struct error *err);

#endif
