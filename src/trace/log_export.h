/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event logs for other eyes: a trace for Perfetto and chrome://tracing, or a page that shows the run as a timeline. Both come from one
 * walk over the log that turns records into slices (a thread in a state, from-to), events and arrows; memory grows with the
 * number of living threads only.
 */
#ifndef HS_TRACE_LOG_EXPORT_H
#define HS_TRACE_LOG_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "trace/log_filter.h"
#include "trace/log_reader.h"

enum log_state { LOG_STATE_RUNNING, LOG_STATE_READY, LOG_STATE_BLOCKED, LOG_STATE_STOPPED };

/* Whose line in the picture. */
struct log_track {
	int64_t thread, process;
};

/* Where the walk puts what it finds. Times are virtual nanoseconds. Texts are valid during the call. */
struct log_sink {
	void (*begin)(void *arg, const struct log_record *header);
	void (*thread)(void *arg, const struct log_track *track);
	void (*slice)(void *arg, const struct log_track *track, enum log_state state, uint64_t from_ns, uint64_t to_ns, const char *label);
	/* The thread was at this event from rec->time_ns to to_ns. */
	void (*event)(void *arg, const struct log_track *track, const struct log_record *rec, uint64_t to_ns, const char *text);
	void (*arrow)(void *arg, const char *why, const struct log_track *from, uint64_t from_ns, const struct log_track *to,
		      uint64_t to_ns);
	void (*end)(void *arg, bool cut);
	FILE *out; /* NULL or: what the others write to; the walk ends when that has failed */
	void *arg;
};

struct log_export_options {
	struct log_filter filter;  /* of the events shown; states are followed through all of them */
	uint64_t max_events;       /* stop after so many, 0: never */
};

/* Walks a log. *ret_cut: max_events was reached before the end. 0 or -errno. */
int log_export(struct log_reader *r, const struct log_export_options *options, const struct log_sink *sink, bool *ret_cut,
	       struct error *err);

/* Export to a stream. */
int log_export_perfetto(struct log_reader *r, const struct log_export_options *options, FILE *f, bool *ret_cut, struct error *err);
int log_export_html(struct log_reader *r, const struct log_export_options *options, const char *title, FILE *f, bool *ret_cut,
		    struct error *err);

const char *log_state_name(enum log_state state);

#endif
