/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event log of a run: watches the engine and writes what happened through trace/log_writer. It decides nothing and the run is the same
 * with and without it. What the records mean is said in hermit-event-log(5).
 */
#ifndef HS_SUPERVISOR_EVENT_LOG_H
#define HS_SUPERVISOR_EVENT_LOG_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/engine.h"
#include "supervisor/options/options.h"
#include "supervisor/run.h"

struct event_log;

/*
 * Starts a log on a descriptor, which is borrowed. The options are what the header names. bytes: with hashes of payloads.
 * *ret is the caller's until event_log_free().
 */
int event_log_new(int fd, bool compress, bool bytes, const struct run_options *options, struct event_log **ret, struct error *err);
struct event_log *event_log_free(struct event_log *log);

/* For struct run_request.observers; the request's engine options must have .results set. */
struct engine_observer event_log_observer(struct event_log *log);

/* The run has ended: writes the end record. -errno with a message when any part of the log could not be written. */
int event_log_finish(struct event_log *log, const struct run_result *result, struct error *err);

/* A log whose name ends so is compressed. */
bool event_log_is_compressed(const char *path);

uint64_t event_log_records(const struct event_log *log);

#endif
