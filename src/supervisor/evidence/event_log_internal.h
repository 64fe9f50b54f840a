/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the event log: event_log.c follows the tasks and their calls, event_log_records.c writes everything that is no call. */
#ifndef HS_SUPERVISOR_EVENT_LOG_INTERNAL_H
#define HS_SUPERVISOR_EVENT_LOG_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The library's default function does not compile cleanly with clang. */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>

#include "engine/task.h"
#include "supervisor/evidence/event_log.h"
#include "supervisor/evidence/payload.h"
#include "trace/log_writer.h"

/* A living task, as far as the log has to remember it. */
struct logged_task {
	int id; /* key */
	int vtid;
	struct payload_call call;
	bool in_call;   /* its end is still to be written */
	bool blocked;   /* written as blocked */
	bool returned;  /* the kernel has run it: call.result is valid */
	bool woken;     /* since it was blocked */
	int woken_by;   /* vtid, -1: time passed */
	unsigned woken_why;
	uint64_t woken_ns;
	enum insn_kind trap; /* the instruction that waits for its answer */
	uint32_t leaf, subleaf;
	UT_hash_handle hh;
};

struct event_log {
	struct log_writer *writer;
	bool bytes;
	struct logged_task *tasks;
	int last_resumed; /* task, -1: none yet */
	int dead, dead_vtid; /* the task that died last: its death wakes others */
	struct timespec flushed;
	int error;

	struct logged_task *held; /* whose call is held back, NULL: none */
	uint64_t held_turn, held_ns;
	bool held_has_in;
	unsigned char held_in[HASH_BYTES];
	char held_text[LOG_TEXT_MAX]; /* name(arguments) */
};

/* Keeps the first error (negative errno) for event_log_finish(). */
void event_log_fail(struct event_log *log, int error);

/* NULL when there is no memory, which is noted. */
struct logged_task *event_log_add_task(struct event_log *log, int id, int vtid);
void event_log_remove_task(struct event_log *log, struct logged_task *t);

/* NULL: not seen yet, or dead. */
struct logged_task *event_log_known_task(struct event_log *log, int id);

/* A record of the present turn and time; what is put between the two belongs to it. */
void record_begin(struct event_log *log, struct engine *e, enum log_kind kind, int vtid);
void record_commit(struct event_log *log);

void record_birth(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event);
void record_join(struct event_log *log, struct engine *e, const struct event *event);
void record_exec(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event);
void record_exit(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event);

/* `kind` is LOG_SIGNAL, LOG_STOP or LOG_OUTSIDE; `code` (si_code) is for the first. t may be NULL. */
void record_signal(struct event_log *log, struct engine *e, struct logged_task *t, enum log_kind kind, int signo, int code);
void record_choice(struct event_log *log, struct engine *e, struct logged_task *t);
void record_trap(struct event_log *log, struct engine *e, const struct logged_task *t, const struct insn_answers *answers);

#endif
