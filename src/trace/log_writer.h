/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes an event log (log_format.h) in constant memory, plain or as a zstd stream. What is written is a function of the calls
 * made here and of nothing else; compressed bytes as well, which is why a compressed log is flushed by size, never by time.
 *
 *	log_writer_begin(w, LOG_CALL, turn, thread, time_ns);
 *	log_writer_text(w, "call", "read");
 *	...
 *	r = log_writer_commit(w);
 *
 * The functions between begin and commit cannot fail by themselves: commit reports the first failure, and keeps reporting it.
 */
#ifndef HS_TRACE_LOG_WRITER_H
#define HS_TRACE_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/log_format.h"

struct log_writer;

/* What the header says. Strings are borrowed; NULL ones are left out. */
struct log_header {
	const char *tool;           /* version of the program that writes */
	const char *config;         /* fingerprint of the configuration, hexadecimal */
	const char *const *options; /* the effective options, one string each, NULL-terminated: names what differs */
	bool bytes;                 /* records carry hashes of payloads */
};

/*
 * Starts a log on a descriptor, which is borrowed and written from its current position, and writes the header. *ret is the
 * caller's until log_writer_free().
 */
int log_writer_new(int fd, bool compress, const struct log_header *header, struct log_writer **ret, struct error *err);

/* Writes out what is committed, without an end record: such a log says that the run did not end. Returns NULL. */
struct log_writer *log_writer_free(struct log_writer *w);

void log_writer_begin(struct log_writer *w, enum log_kind kind, uint64_t turn, int64_t thread, uint64_t time_ns);

/*
 * Values of the record that was begun. Text is any bytes: what is not UTF-8 is written as \xNN (backslash and all), and
 * what is longer than LOG_TEXT_MAX is cut and ends with "...".
 */
void log_writer_text(struct log_writer *w, const char *key, const char *text);
void log_writer_number(struct log_writer *w, const char *key, int64_t value);
void log_writer_unsigned(struct log_writer *w, const char *key, uint64_t value);
void log_writer_texts(struct log_writer *w, const char *key, const char *const *texts, size_t n);

/* Hash of a payload under this key, as LOG_HASH_HEX digits. */
void log_writer_hash(struct log_writer *w, const char *key, const void *data, size_t len);
void log_writer_digest(struct log_writer *w, const char *key, const unsigned char *digest, size_t len);

/* Ends the record. 0 or -errno of anything that failed since the start. */
int log_writer_commit(struct log_writer *w);

/* Writes out what is buffered. A compressed log keeps what its frame has not released. */
int log_writer_flush(struct log_writer *w);

/* Commits the record that was begun (kind LOG_FINISH) with the final checksum, and everything buffered. Nothing may follow. */
int log_writer_finish(struct log_writer *w);

uint64_t log_writer_records(const struct log_writer *w); /* committed by the caller: no header, no checks */

#endif
