/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event log as a format: hermit-event-log(5). JSON Lines, one flat object a line; values are strings, numbers, or arrays
 * of them. The first line is the header, the last one the end record; after each LOG_CHECK_LINES lines a check record carries
 * the SHA-256 of all bytes before it, so that damage is found and placed.
 *
 * Nothing in a log depends on the host: no host pids, addresses of the supervisor, real times, or paths of the tool. Logs of equal
 * runs are equal byte for byte.
 */
#ifndef HS_TRACE_LOG_FORMAT_H
#define HS_TRACE_LOG_FORMAT_H

#include <stddef.h>

#define LOG_FORMAT_NAME    "hermit-event-log"
#define LOG_FORMAT_VERSION 1

enum {
	LOG_CHECK_LINES = 1024,      /* lines between two check records, the header among them */
	LOG_LINE_MAX = 256 * 1024,   /* bytes in a line, its newline not counted: longer ones are damage */
	LOG_TEXT_MAX = 4096,         /* bytes of a text value before the writer cuts it */
	LOG_FIELDS_MAX = 128,        /* values in a record, each element of an array counted */
	LOG_HASH_HEX = 16,           /* digits of a payload's hash in a record */
};

enum log_kind {
	LOG_HEADER = 1,
	LOG_CALL,         /* a call was made; with its result when that was known before anything else happened */
	LOG_RETURN,       /* an earlier call of this thread ended */
	LOG_SIGNAL,       /* a signal reached a thread */
	LOG_BIRTH,        /* the thread made a thread or process */
	LOG_EXEC,         /* a new program image */
	LOG_EXIT,         /* the thread is dead */
	LOG_STOP,         /* job control stop */
	LOG_CONT,         /* job control continue */
	LOG_CHOICE,       /* this thread runs from here on: another than before, or one that was blocked */
	LOG_TRAP,         /* an instruction was answered in place of the processor */
	LOG_PREEMPT,      /* the turn of the thread has ended inside its code */
	LOG_FAULT,        /* a fault that was asked for has struck the call of the thread */
	LOG_OUTSIDE,      /* the host spoke to the run as a whole */
	LOG_UNCONTROLLED, /* something the run does not control */
	LOG_CHECK,        /* checksum of what is above */
	LOG_FINISH,       /* the end of the run: without it the log is cut off */
	LOG_KINDS,
};

/* The word in the log; never NULL for a valid kind. */
const char *log_kind_name(enum log_kind kind);

/* 0 when there is no such kind. */
enum log_kind log_kind_parse(const char *name);

#endif
