/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads an event log line by line in constant memory, plain or zstd (told apart by content, not by name), and checks it on the way:
 * header first, line length, check records, end record last. Messages start with "NAME:LINE:COLUMN: ".
 *
 * A log that is still being written can be followed: LOG_READ_SHORT means that there is nothing more now, and asking again later
 * goes on from there.
 */
#ifndef HS_TRACE_LOG_READER_H
#define HS_TRACE_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/log_record.h"

struct log_reader;

enum log_read {
	LOG_READ_END = 0,   /* after the end record: the log is complete */
	LOG_READ_LINE = 1,
	LOG_READ_SHORT = 2, /* the file ends, the log does not */
};

struct log_line {
	const char *text; /* without its newline, not NUL-terminated; valid until the next call on this reader */
	size_t len;
	uint64_t number;  /* from 1 */
};

/* The descriptor becomes the reader's on success. The name is for messages. *ret is the caller's. */
int log_reader_new(int fd, const char *name, struct log_reader **ret, struct error *err);

/* Opens a file, "-" for standard input. */
int log_reader_open(const char *path, struct log_reader **ret, struct error *err);
struct log_reader *log_reader_free(struct log_reader *r);

/* Check sums that do not match are noted (log_reader_damage) instead of being an error. Before the first line. */
void log_reader_tolerate(struct log_reader *r);

/*
 * The next line: an enum log_read, or -errno (-EINVAL: damaged, or not an event log). Check records are verified and
 * not returned; the header is: the first line is always a good header.
 */
int log_reader_next(struct log_reader *r, struct log_line *ret_line, struct error *err);

/* Parses a line that log_reader_next() returned; the message gets its place. */
int log_reader_parse(const struct log_reader *r, const struct log_line *line, struct log_record *rec, struct error *err);

/* As next and parse in one, for readers that do not follow: a short log is an error. LOG_READ_LINE or LOG_READ_END. */
int log_reader_record(struct log_reader *r, struct log_record *rec, struct error *err);

/* The error for a log that ends early. */
int log_reader_short(const struct log_reader *r, struct error *err);

const char *log_reader_name(const struct log_reader *r);

/* Is surely nobody there who could still write to it: no process has the file open for writing? An empty log has one from its first moment on. */
bool log_reader_is_abandoned(const struct log_reader *r);
uint64_t log_reader_line(const struct log_reader *r); /* number of the last line read */

/* Words about the first check sum that did not match, NULL when all did. */
const char *log_reader_damage(const struct log_reader *r);

#endif
