/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule: who was picked when, as a JSON document that can be kept, compared, edited, and followed again:
 *
 *	{ "format": "hermit-schedule", "version": 3, "config": FINGERPRINT, "command": COMMAND, "options": [OPTION...],
 *	  "choices": [ { "turn": 31, "thread": 2, "tid": 4, "why": "drawn", "call": "write" }, ... ],
 *	  "priorities": [ { "turn": 2, "thread": 1, "priority": 4711, "why": "born" }, ... ],
 *	  "preemptions": [ { "turn": 31, "thread": 2, "tid": 4, "after": 12, "of": "instructions" }, ... ],
 *	  "turns": 70, "end": "exited", "status": 1 }
 *
 * A choice is there when another thread is picked than the one that was picked last; in between, that one goes on. "thread" counts
 * births from 0 (the program), "tid" is the number that the program sees; "nth", when not 0, counts the picks of that turn (those before
 * were of threads that found nothing to go on with). "call" is what the thread is about to call. A preemption is there when the
 * turn that a thread was given has ended inside its code (engine/sched/preempt.h); the next turn's choice says who went on. Priorities are those
 * that a policy has drawn (PCT): when a thread is born, at a change point, when it yielded; of those that can go on, the one with the lowest number
 * does. They explain the choices; what is followed is the choices.
 */
#ifndef HS_SUPERVISOR_SCHEDULE_H
#define HS_SUPERVISOR_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "engine/engine.h"
#include "supervisor/options/options.h"
#include "supervisor/run.h"

struct schedule_choice {
	uint64_t turn;
	uint32_t nth;
	int task, tid;
	int call; /* -1: none */
	enum sched_why why;
};

struct schedule_preemption {
	uint64_t turn;
	int task, tid;
	struct preempt_point point;
};

/* Zeroed: empty. */
struct schedule {
	struct sched_priority *priorities;
	size_t n_priorities, priorities_room;
	struct schedule_choice *choices;
	size_t n, room;
	struct schedule_preemption *preemptions;
	size_t n_preemptions, preemptions_room;
	char config[HASH_HEX_SIZE];
	char *command;
	struct strv options; /* run_options_outcome() of the run */
	uint64_t turns;
	int error; /* -errno: out of memory while it was recorded */
	size_t preempted; /* preemptions that have been followed */
	size_t prioritised; /* priorities, too */
	size_t followed; /* choices that have been followed */
	char message[200]; /* why it could not be followed */
	struct engine_chooser chooser;
};

void schedule_clear(struct schedule *s);
#define _cleanup_schedule_ __attribute__((cleanup(schedule_clear)))

/* An observer that adds what the run chooses. The schedule must stay where it is. */
struct engine_observer schedule_recorder(struct schedule *s);

/* Writes it with the options and the result of its run. */
int schedule_write(const struct schedule *s, const char *path, const struct run_options *o, const struct run_result *result,
		   struct error *err);

/* *ret is the caller's to clear, also on failure. Refused with a message: what is no schedule, or one of other options than `o` (NULL: any). */
int schedule_read(const char *path, const struct run_options *o, struct schedule *ret, struct error *err);

/* For engine_options.chooser: follows it from its beginning. */
const struct engine_chooser *schedule_follow(struct schedule *s);

/* After a run that followed it and ended by itself: is anything left of it? -ESTALE with a message then. */
int schedule_check_end(const struct schedule *s, const struct run_result *result, struct error *err);

/* Digest of the choices: equal for equal schedules. */
void schedule_hash(const struct schedule *s, unsigned char ret_digest[HASH_BYTES]);

/* How many choices two schedules have in common at their beginning. */
size_t schedule_common(const struct schedule *a, const struct schedule *b);

#endif
