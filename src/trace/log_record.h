/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of an event log, taken apart. Lines are untrusted. */
#ifndef HS_TRACE_LOG_RECORD_H
#define HS_TRACE_LOG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/log_format.h"

struct log_field {
	const char *key;
	int index;        /* place in an array, -1 for a single value */
	const char *text; /* a string's characters, or a number as it is written */
	bool number;
};

/* Owns its texts. Reused from line to line: zero-initialise once, log_record_deinit() at the end. */
struct log_record {
	enum log_kind kind;
	bool has_turn, has_time, has_thread;
	uint64_t turn, time_ns;
	int64_t thread;
	const char *call; /* name of the call, NULL where there is none */
	size_t n_fields;
	struct log_field fields[LOG_FIELDS_MAX]; /* all of them, in the order of the line, the ones above among them */
	char *arena;
	size_t arena_size;
};

/*
 * Parses a line (without its newline). On failure the message starts with the column, "17: ...", for the caller to put
 * file and line in front. -EINVAL: not a record; -ENOMEM.
 */
int log_record_parse(struct log_record *rec, const char *line, size_t len, struct error *err);
void log_record_deinit(struct log_record *rec);

/* The value of a key that is no array, NULL if there is none. */
const char *log_record_text(const struct log_record *rec, const char *key);

/* The number of a key. False when there is none, or when it is not an unsigned 64-bit number. */
bool log_record_unsigned(const struct log_record *rec, const char *key, uint64_t *ret_value);
bool log_record_number(const struct log_record *rec, const char *key, int64_t *ret_value);

/* Whole numbers as the format has them: no sign for unsigned, no fraction, no exponent, no overflow. */
bool log_parse_unsigned(const char *text, uint64_t *ret_value);
bool log_parse_number(const char *text, int64_t *ret_value);

#endif
