/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking the turn from a task in the middle of its own code, where it makes no call. A point is counted from the moment the task goes on,
 * either in instructions (it is stepped) or in places (beginnings of functions and basic blocks of chosen files). Both counts are functions
 * of the program alone, so that the same point is found again in every run. Points are asked for only while somebody else could go on.
 *
 * Who asks, the first one counts: a schedule that is followed, --interrupt-at, the policy. The points of a run are limited by a budget;
 * when it is used up there are none any more.
 */
#ifndef HS_ENGINE_PREEMPT_H
#define HS_ENGINE_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum preempt_unit { PREEMPT_NOWHERE = 0, PREEMPT_INSTRUCTIONS, PREEMPT_PLACES };
const char *preempt_unit_name(enum preempt_unit unit);

/* EVENT_PREEMPT is to come when the task has passed `after` of them, unless another event comes first. */
struct preempt_point {
	enum preempt_unit unit;
	uint64_t after; /* from 1; 0: places are only counted */
};

enum { INTERRUPTS_MAX = 64 };

/* --interrupt-at: at this turn the thread does not go on, or only for so many instructions, if anybody else can. */
struct interrupt_rule {
	int vtid;
	uint64_t turn;
	uint64_t after; /* instructions; 0: none */
};

/* What became of a rule. */
enum interrupt_end {
	INTERRUPT_NEVER = 0, /* the thread did not have that turn */
	INTERRUPT_DONE,
	INTERRUPT_ALONE, /* nobody else could go on */
	INTERRUPT_SHORT, /* something else happened before so many instructions */
};

/* "THREAD:TURN[+K]". */
int interrupt_parse(const char *text, struct interrupt_rule *ret, struct error *err);

struct engine;
struct event;
struct task;
struct verdict;

/* The task goes on with this verdict: t->armed is the point that was asked for, and v->preempt where the verdict can carry it. */
void preempt_arm(struct engine *e, struct task *t, struct verdict *v);

/* It had its call's result looked at and goes on now. */
void preempt_arm_watched(struct task *t, struct verdict *v);

/* An event of the task: what was counted is charged to the budget, and the point is over. */
void preempt_settle(struct engine *e, struct task *t, const struct event *event);

/* The task is about to be picked; true: not now, somebody else is to go on. */
bool preempt_forbids(struct engine *e, const struct task *t, bool alone);

#endif
