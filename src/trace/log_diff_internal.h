/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of log_diff. */
#ifndef HS_TRACE_LOG_DIFF_INTERNAL_H
#define HS_TRACE_LOG_DIFF_INTERNAL_H

#include "trace/log_diff.h"

struct diff {
	struct log_reader *readers[2];
	const struct log_diff_options *options;
	struct log_diff_result *result;
	bool raw;                      /* no filter: lines are compared before they are parsed */
	struct log_record *window[2];  /* the records behind the two that differ */
	size_t n_window[2];
};

enum { DIFF_TURN = 1, DIFF_TIME = 2, DIFF_OTHER = 4 };

/* What differs between two records, as far as the options look: DIFF_ bits. names: the fields, may be NULL. */
unsigned diff_compare(const struct log_diff_options *options, const struct log_record *a, const struct log_record *b, char *names,
		      size_t size);

/* Sets kind, fields and sentence of the result from the two records and the windows. */
void diff_judge(struct diff *d);

#endif
