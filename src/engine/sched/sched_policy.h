/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other schedules than the default one: who goes on at each event, by draws from a stream of its own. A policy is a picker (who) and any
 * number of modifiers (who is held back meanwhile). It only chooses among tasks that can run, so every schedule is one that Linux
 * could have made. A task that was passed over SCHED_PATIENCE times is picked whatever the policy says: nobody starves.
 */
#ifndef HS_ENGINE_SCHED_POLICY_H
#define HS_ENGINE_SCHED_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rng.h"

struct sched;
struct task;

enum { SCHED_PATIENCE = 4096 };

enum sched_picker {
	SCHED_ROUNDROBIN = 0, /* the run queue's own order: run until block */
	SCHED_RANDOM,         /* any, each time */
	SCHED_STICKY,         /* the last one with a probability, else any */
	SCHED_PCT,            /* by priorities drawn at birth, with a few points at which the running one loses its own */
	SCHED_MIXED,          /* one of the others, by seed */
};

/* What was asked for; plain values. */
struct sched_policy_spec {
	enum sched_picker picker;
	unsigned sticky_permille;
	unsigned depth;     /* SCHED_PCT: bugs of this many ordering constraints; depth - 1 change points */
	bool connectbind;   /* who is about to connect goes first, who is about to bind last */
	unsigned slowdown;  /* some tasks get one turn of this many, others each time after a while; 0: no */
};

/* Why a task was picked: a word of schedules and logs. */
enum sched_why {
	SCHED_WHY_QUEUE = 0, /* the run queue's order */
	SCHED_WHY_ONLY,      /* nobody else could */
	SCHED_WHY_DRAWN,     /* by the policy */
	SCHED_WHY_STARVED,   /* was passed over for too long */
	SCHED_WHY_FORK,      /* who goes on after a fork */
	SCHED_WHY_FORCED,    /* is in the middle of something */
	SCHED_WHY_INTERRUPT, /* another one was to be interrupted */
	SCHED_WHY_FOLLOWED,  /* as a recorded schedule says */
};
const char *sched_why_name(enum sched_why why);

/* Why a task has another priority. */
enum sched_priority_why {
	SCHED_PRIORITY_BORN = 0,
	SCHED_PRIORITY_POINT,   /* a change point of SCHED_PCT has come */
	SCHED_PRIORITY_YIELDED, /* it gave way, or its slice was over */
};
const char *sched_priority_why_name(enum sched_priority_why why);

/* A task gets a priority: the lower one goes first. Only policies that draw priorities change any. */
struct sched_priority {
	uint64_t turn;
	int task;
	uint64_t place;
	enum sched_priority_why why;
};

#define SCHED_CHANGES_MAX 16

struct sched_policy {
	struct sched_policy_spec spec;
	struct rng rng;
	uint64_t events;
	uint64_t changes[SCHED_CHANGES_MAX]; /* SCHED_PCT: at these events */
	unsigned n_changes;
	bool due;        /* SCHED_PCT: a change point has come, and takes effect inside the code of the running task */
	uint64_t lowest; /* SCHED_PCT: handed out next to who loses its priority */
	uint64_t epoch_end; /* of slowdown, in events */
	uint64_t epoch;
	bool steps;    /* change points of SCHED_PCT may lie behind an event, some instructions later */
	int fork_pick; /* the task that goes on next, -1: as the policy says */
};

/*
 * "random", "pct:3,connectbind": pickers roundrobin, random, stickyrandom[:P], pct[:D], mixed; modifiers connectbind, slowdown[:R]. At most
 * one picker.
 */
int sched_policy_parse(const char *text, struct sched_policy_spec *ret, struct error *err);

/* The stream is the policy's own from now on. */
void sched_policy_init(struct sched_policy *p, const struct sched_policy_spec *spec, const struct rng *rng);

/* A task has been born: it is given its place. */
void sched_policy_birth(struct sched_policy *p, struct task *t);

/* An event of this task, when others could go on as well: alone there is nothing to decide. */
void sched_policy_event(struct sched_policy *p, struct task *t);

/*
 * The task goes on: after how many of its instructions, or of its places, its turn is to end (preempt.h). 0: nowhere. For SCHED_PCT places
 * count as events do, and a change point comes some instructions behind an event.
 */
uint64_t sched_policy_steps(struct sched_policy *p);
uint64_t sched_policy_places(struct sched_policy *p);

/* It has passed so many places. */
void sched_policy_passed(struct sched_policy *p, struct task *t, uint64_t places);

/* The task asked to give way, or its slice is over. */
void sched_policy_yield(struct sched_policy *p, struct task *t);

/* One of the tasks in the queue, which stays there; NULL when there is none. `last` had the last turn (not dereferenced). */
struct task *sched_policy_pick(struct sched_policy *p, const struct sched *s, const struct task *last, enum sched_why *ret_why);

#endif
