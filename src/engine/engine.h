/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine decides what a guest sees and when. It is driven by a loop outside of it:
 *
 *	for (;;) {
 *		engine_next(e, &step);          decides: who goes on, with what verdict
 *		guest_resume(g, step.task, ...) carries it out
 *		guest_wait(g, &event);          what happened
 *		engine_event(e, &event);        takes note
 *	}
 *
 * Exactly one task runs at any time. All choices are functions of the options and of the events so far.
 */
#ifndef HS_ENGINE_ENGINE_H
#define HS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/sched/fault.h"
#include "engine/guest.h"
#include "engine/sched/order.h"
#include "engine/sched/preempt.h"
#include "engine/sched/sched_policy.h"
#include "engine/verdict.h"
#include "insn/cpuid.h"
#include "netlink/walk.h"

struct rlimit;
struct engine;
struct engine_observer;
struct policy_row;
struct task;

#define NS_PER_S 1000000000ull
#define TIME_NEVER UINT64_MAX

enum engine_post_fork { POST_FORK_PARENT, POST_FORK_CHILD, POST_FORK_RANDOM }; /* who goes on after a fork */

enum engine_preempt {
	PREEMPT_NONE,  /* a task goes on until it blocks or its slice is over */
	PREEMPT_CALLS, /* a switch may happen at every event */
	PREEMPT_STEPS, /* and some instructions behind one */
	PREEMPT_FUNCTIONS, /* and where functions and basic blocks begin */
};

/* Other choices than the default ones where Linux leaves them open. */
struct chaos_options {
	bool on;
	struct sched_policy_spec policy;
	enum engine_preempt preempt;
	uint64_t preempt_budget; /* instructions and places that are counted at most */
};

/*
 * Choices that were made before: a schedule that is followed. A pick is named by its turn and its number within that turn (from 0).
 * 1: task *ret_task; 0: the one that was picked last; -errno: the schedule has something to say that does not fit, *ret_message (not
 * owned) is what.
 */
struct engine_chooser {
	int (*pick)(void *arg, struct engine *e, uint64_t turn, unsigned nth, int *ret_task, const char **ret_message);
	/* The task goes on at this turn: 1 with the point at which its turn ends, 0: there is none. May be NULL. */
	int (*preempt)(void *arg, struct engine *e, uint64_t turn, int task, struct preempt_point *ret_point);
	/* The next priority of the schedule that was given at this turn or before: 1, or 0: there is none. May be NULL. */
	int (*priority)(void *arg, uint64_t turn, struct sched_priority *ret);
	void *arg;
};

struct engine_options {
	uint64_t seed;           /* root of all random streams that the program sees */
	uint64_t sched_seed;     /* root of those that choices of the scheduler come from */
	uint64_t epoch_ns;       /* CLOCK_REALTIME at the start, ns since 1970 */
	uint64_t uptime_ns;      /* CLOCK_MONOTONIC at the start */
	uint64_t quantum_ns;     /* mean virtual time after which an equal gets its turn */
	bool strict;             /* uncontrolled happenings end the run */
	bool allow_uncontrolled; /* unmodelled calls are let through and reported */
	bool keep_mtime;         /* files not touched by the run show their real times */
	unsigned cpus;           /* how many to show */
	uint64_t memory_bytes;   /* how much to show */
	const char *hostname;
	enum cpuid_level cpu_level; /* which processor is shown */
	bool set_hwcap;             /* hwcap and hwcap2 are that processor's; else programs see the host's */
	uint64_t hwcap, hwcap2;
	bool keep_instructions; /* instructions that show the host are left alone */
	/*
	 * Lists of mounts (mountinfo(5) and its like) have the root and what is mounted at these directories and below, ended by NULL, of
	 * "=DIRECTORY" only what is mounted there; NULL: all. The rest belongs to the tree that is shown, and what the host has mounted
	 * meanwhile is no word about the run. Borrowed, without links.
	 */
	const char *const *mount_points;
	const char *cpuinfo; /* the text of /proc/cpuinfo, NULL: a plain one */
	const struct rlimit *limits; /* LIMITS_COUNT (base/limits.h) of them that processes start with; NULL: the defaults */
	/*
	 * Whoever watches may send signals or let processes join at any time: when nobody can go on that is no deadlock, it is waited
	 * for.
	 */
	bool open_ended;
	/* The first process waits for somebody outside to start it: processes that join meanwhile are all that runs, its call is the first sign of it. */
	bool first_waits;
	/*
	 * Observers want the results of calls that the kernel runs: EVENT_DONE after each of them. Changes no choice, no turn and no
	 * virtual time. Needs GUEST_CAN_HOOK.
	 */
	bool results;
	enum engine_post_fork post_fork;
	uint64_t fault_seed; /* root of the choices of faults */
	struct fault_rule faults[FAULTS_MAX];
	size_t n_faults;
	struct chaos_options chaos;
	struct interrupt_rule interrupts[INTERRUPTS_MAX];
	size_t n_interrupts;
	const struct order_spec *order; /* NULL: none is asked for. Borrowed, outlives the engine */
	const struct engine_chooser *chooser; /* NULL: choices are made here. Borrowed, outlives the engine */
	uint64_t stop_at_turn; /* the run ends when this turn is reached; 0: never */
	/*
	 * How many ms of real time are left until a deadline (virtual, since the start) when nobody can run; asked again after each
	 * interruption. NULL: virtual time jumps there at once.
	 */
	int (*pace)(void *arg, uint64_t now_ns, uint64_t deadline_ns);
	void *pace_arg;
};

/* Defaults: seed 0, epoch 2026-01-01T00:00:00Z, uptime 120 s, one CPU, 1 GB. */
void engine_options_default(struct engine_options *options);

enum step_kind {
	STEP_RESUME,   /* resume `task` with `verdict`, then wait for an event */
	STEP_WAIT,     /* resume nobody, wait for an event (deaths are under way) */
	STEP_END,      /* every task is dead: exit_status is the first process's wait status */
	STEP_DEADLOCK, /* nobody can ever go on; engine_describe_waiters() says who waits for what */
	STEP_MISFIT,   /* the program does not fit the schedule that is followed; see engine_failure() */
	STEP_STOPPED,  /* the turn of options.stop_at_turn has come */
	STEP_REFUSED,  /* strict mode: something unmodelled happened; see engine_failure() */
};

struct step {
	enum step_kind kind;
	int task;
	struct verdict verdict;
	bool no_event; /* STEP_RESUME: the task will give no event now: call engine_next() again */
	int exit_status;
};

/* The guest is borrowed and outlives the engine. The first task exists as task 0, stopped before its execve. */
struct engine *engine_new(const struct engine_options *options, struct guest *g, int vtid, int vpid);
struct engine *engine_free(struct engine *e);

/* 0, or -errno when the run cannot go on (message in engine_failure()). */
int engine_next(struct engine *e, struct step *ret_step);
int engine_event(struct engine *e, const struct event *event);

/* A person's words for why the run ended early; "" if there are none. */
const char *engine_failure(const struct engine *e);

/* Who waits for what, one line each; the caller frees. NULL when out of memory. */
char *engine_describe_waiters(struct engine *e);

/*
 * Who has the turn now, in one line; the caller frees. NULL when nobody has, or when out of memory. *ret_holds_up: it computes, and has done so for
 * a while, and others wait for virtual time, or for their turn.
 */
char *engine_describe_running(struct engine *e, bool *ret_holds_up);

uint64_t engine_turn(const struct engine *e);
uint64_t engine_now_ns(const struct engine *e); /* virtual time since the start */

/* What is said of a loop that others wait for and that had to be left anywhere. */
#define UNCONTROLLED_LOOP "a loop without end, left at the limit of real time"

/* What comes from there, or goes there, and when, is nobody's to decide. */
#define UNCONTROLLED_EXCHANGE "exchange with a process outside"

/* What is said of an execve that is refused. */
#define UNCONTROLLED_HIDDEN "refused to run a program that may not be read (make it readable)"

/* Something that the run did not control: what (a fixed word), where (call name or path). Counted, reported once each. */
struct uncontrolled {
	const char *what;
	char where[160];
	uint64_t count;
};
const struct uncontrolled *engine_uncontrolled(const struct engine *e, size_t *ret_count);

/* Counts one more. In strict mode the run ends at the next engine_next(). */
void engine_report_uncontrolled(struct engine *e, const char *what, const char *where);

/* How often an anchor of options.order has been seen. */
uint64_t engine_anchor_seen(const struct engine *e, size_t anchor);

struct engine_stats {
	uint64_t turns;
	uint64_t calls[512]; /* by number */
	uint64_t switches;   /* changes of the running task */
	uint64_t clock_reads; /* from the clock page */
	uint64_t faults[FAULTS_MAX]; /* by rule */
	uint64_t preemptions, instructions, places; /* inside code: how often, and what was counted for it */
	unsigned char interrupts[INTERRUPTS_MAX]; /* enum interrupt_end, by rule */
	uint64_t signals, births, execs, deaths, retries;
	uint64_t traps[INSN_KIND_COUNT]; /* instructions carried out for the guest, by enum insn_kind */
	uint64_t replaced, unsure;       /* places in code: instructions that trap, and those that may be data */
	uint64_t generated;              /* areas of code made at run time, whose instructions are not known */
	struct nl_counters netlink;
};
const struct engine_stats *engine_stats(const struct engine *e);

/*
 * Observers see every event and every verdict, in order; they must not change anything. Used by the event log, record,
 * chaos statistics. NULL functions are skipped.
 */
struct engine_observer {
	void (*event)(void *arg, struct engine *e, const struct event *event);
	void (*verdict)(void *arg, struct engine *e, int task, const struct verdict *v);
	void (*uncontrolled)(void *arg, struct engine *e, const char *what, const char *where);
	/* The task's call was considered in vain and stays parked. Can come many times for one call. */
	void (*parked)(void *arg, struct engine *e, int task);
	/*
	 * A parked call is to be considered again, for reasons `why` (WAKE_ bits of task.h), because of something that task `by` did (-1:
	 * time passed). It may be parked again.
	 */
	void (*woken)(void *arg, struct engine *e, int task, int by, unsigned why);
	/*
	 * The task was picked: the nth pick of this turn. Its call is considered next; it may be parked. same: it is the one that was picked
	 * last.
	 */
	void (*picked)(void *arg, struct engine *e, int task, unsigned nth, bool same, enum sched_why why);
	/* A task has another priority. Those that are alive when the observer comes are told about at once. */
	void (*priority)(void *arg, struct engine *e, const struct sched_priority *change);
	/* The turn that the task was given at `turn` has ended at a point inside its code. */
	void (*preempted)(void *arg, struct engine *e, int task, uint64_t turn, const struct preempt_point *point);
	/* A fault of this kind has struck the call that the task is in. */
	void (*fault)(void *arg, struct engine *e, int task, const char *kind);
	void *arg;
};
void engine_observe(struct engine *e, const struct engine_observer *observer);

/* For observers: the guest, and what the guest calls a living task (-1: there is no such task). */
struct guest *engine_guest(const struct engine *e);
int engine_vtid(const struct engine *e, int task);

/* The number of the call that a living task is parked in; -1: it is in none, or there is no such task. */
int engine_call_of(const struct engine *e, int task);

#endif
