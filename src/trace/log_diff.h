/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first difference between two event logs, in constant memory: both are read once, side by side; what is kept is the
 * context before the difference and a window of LOG_DIFF_WINDOW records behind it, from which the kind is judged.
 *
 * The kind is judged by what differs at that place, per thread, never by the number of records in the logs.
 */
#ifndef HS_TRACE_LOG_DIFF_H
#define HS_TRACE_LOG_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "trace/log_filter.h"
#include "trace/log_reader.h"

enum { LOG_DIFF_WINDOW = 64, LOG_DIFF_CONTEXT_MAX = 1000 };

enum log_difference {
	LOG_DIFF_NONE = 0,
	LOG_DIFF_TIME,    /* the same event at another turn or virtual time */
	LOG_DIFF_CONTENT, /* the same thread in the same place, but what it did or got differs */
	LOG_DIFF_ORDER,   /* the same events in another order */
	LOG_DIFF_COUNT,   /* one log has events that the other does not have */
};

struct log_diff_options {
	const char *labels[2];    /* how messages call the two logs: "log A", "log B" */
	struct log_filter filter;
	bool ignore_time, ignore_turn, ignore_bytes;
	bool any_config;          /* compare logs of different configurations */
	unsigned context;         /* records kept before the difference */
	/*
	 * Following: asked when a log has no more for now; false ends the comparison with -ETIMEDOUT. NULL: not following. A log that nobody
	 * has open for writing, where that can be known, is as long as it will ever be.
	 */
	bool (*wait)(void *arg);
	void *wait_arg;
};

struct log_diff_side {
	bool present;          /* false: this log is at its end */
	uint64_t line;         /* of the record */
	struct log_record rec;
	char note[256];        /* what is wrong with this log behind the difference, "" if nothing is known */
};

struct log_diff_result {
	enum log_difference kind;
	bool narrowed;         /* a filter or an ignore option was in force: equality is under it only */
	uint64_t compared;     /* equal records before the difference */
	uint64_t events;       /* as compared, without the end record: 0 is no evidence */
	char sentence[512];    /* what differs, for a person */
	char fields[256];      /* names of the fields that differ between the two records, separated by ", " */
	struct log_diff_side side[2];
	size_t n_context;
	char **context;        /* the records before, oldest first, as lines of the log */
};

/*
 * Compares. The readers are at their start. 0 with *ret filled (release it with log_diff_result_deinit(), also after
 * failure), or -errno: -EINVAL for a log that is no log, damaged or cut off before any difference, or not comparable;
 * -ETIMEDOUT when following ended.
 */
int log_diff(struct log_reader *a, struct log_reader *b, const struct log_diff_options *options, struct log_diff_result *ret,
	     struct error *err);
void log_diff_result_deinit(struct log_diff_result *result);

const char *log_difference_name(enum log_difference kind);

/* For a person: sentence, context, the two records side by side. Nothing is printed when nothing differs. */
void log_diff_print(FILE *f, const struct log_diff_result *result, const struct log_diff_options *options, bool color);

/* One JSON object, no newline. */
void log_diff_json(FILE *f, const struct log_diff_result *result);

#endif
