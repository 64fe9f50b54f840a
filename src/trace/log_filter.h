/* SPDX-License-Identifier: BSD-3-Clause */
/* Which records of a log are looked at. An empty filter takes all. */
#ifndef HS_TRACE_LOG_FILTER_H
#define HS_TRACE_LOG_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/log_record.h"

enum { LOG_FILTER_ITEMS = 32 };

struct log_filter {
	size_t n_threads, n_calls;
	int64_t threads[LOG_FILTER_ITEMS];
	const char *calls[LOG_FILTER_ITEMS]; /* borrowed; records without a call do not match */
	uint32_t kinds;                      /* bit 1 << kind; 0: all */
	uint32_t skipped_kinds;
	bool has_turns;
	uint64_t first_turn, last_turn;
};

/* Each adds to the filter; the text is an option's value. -EINVAL with a message. */
int log_filter_add_thread(struct log_filter *filter, const char *text, struct error *err);
int log_filter_add_call(struct log_filter *filter, const char *name, struct error *err);
int log_filter_add_kind(struct log_filter *filter, const char *name, bool skip, struct error *err);
/* "A..B", "A..", "..B" or "A". */
int log_filter_set_turns(struct log_filter *filter, const char *text, struct error *err);

bool log_filter_is_empty(const struct log_filter *filter);

/* Headers and check records never match: they are no events. */
bool log_filter_matches(const struct log_filter *filter, const struct log_record *rec);

#endif
