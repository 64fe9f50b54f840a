/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks that spin (TASK_SPINNING): EVENT_SPIN makes them. */
#ifndef HS_ENGINE_SPINNERS_H
#define HS_ENGINE_SPINNERS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct event;
struct task;

/* Of a task. */
struct task_spin {
	bool forced;       /* stopped anywhere, at the limit of real time: it computes, its loop is not known */
	bool moving;       /* on its way to another point */
	uint64_t points;   /* places at which the loop may be left: more than one when it changes memory on its way */
	uint64_t turn;     /* which of them */
	uint64_t changes;  /* e->changes when it was parked */
	uint64_t moves;    /* since e->progress was `progress` */
	uint64_t progress;
};

/* An event of the task: has anything been done that those who spin may wait for? */
void spinners_note(struct engine *e, struct task *t, const struct event *event);
/* EVENT_SPIN: it has given up its turn. Going round once more would change nothing until somebody else does something. */
int spinners_add(struct engine *e, struct task *t, const struct event *event);
/* Somebody else has done something: they look again. */
int spinners_wake(struct engine *e);

/*
 * Nobody can go on. One that changes memory on its way is let go to its next point, if it has not been at all of them: 1; 0: there is none.
 * And one whose loop is not known is let run on.
 */
int spinners_move(struct engine *e);
int spinners_go_on(struct engine *e);
/* The run time at which a limit or timer of processor time is reached by spinning, and what passing time does to those who spin. */
uint64_t spinners_deadline(const struct engine *e);
int spinners_pass_time(struct engine *e, uint64_t ns);

#endif
