/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process's timers that end in signals: the three interval timers of setitimer(2), alarm(2), and POSIX timers. They count virtual time:
 * ITIMER_REAL and clocks by the run's clock, ITIMER_VIRTUAL, ITIMER_PROF and CPU clocks by the process's own virtual CPU time.
 */
#ifndef HS_ENGINE_ITIMERS_H
#define HS_ENGINE_ITIMERS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/time/timers.h"

struct engine;
struct process;
struct task;

enum { ITIMERS = 3, CPU_ITIMERS_FROM = 1 };

struct itimer {
	struct timer timer; /* the run's clock; unused for CPU time */
	struct process *process;
	int signo;
	bool armed;
	uint64_t interval_ns;
	uint64_t deadline_ns; /* run time, or CPU time of the process */
};

/* One timer_create(2). */
struct posix_timer {
	struct posix_timer *next;
	struct timer timer;
	struct process *process;
	int id;
	int clock_id;
	bool cpu;     /* counts CPU time: of the thread, or (0) of the process */
	int cpu_vtid;
	int how;    /* SIGEV_ */
	int signo;
	int vtid;   /* SIGEV_THREAD_ID */
	uint64_t value; /* sigval */
	bool armed;
	uint64_t interval_ns, deadline_ns; /* in what it counts */
	uint64_t overrun;      /* expiries since the signal that is pending now was queued */
	uint64_t last_overrun; /* what timer_getoverrun(2) says */
};

struct itimers {
	struct itimer interval[ITIMERS];
	struct posix_timer *posix;
	int next_id;
};

/* The process is dead or has called execve: POSIX timers end; at death all do. */
void itimers_exec(struct engine *e, struct itimers *timers);
void itimers_deinit(struct engine *e, struct itimers *timers);

/* Does any of them count CPU time now? */
bool itimers_count_cpu(const struct itimers *timers);

/* The CPU time at which one of these is due; TIME_NEVER: none. */
uint64_t itimers_next_cpu(const struct engine *e, const struct itimers *timers);

/* The process has used CPU time: fires what counts it. */
int itimers_cpu(struct engine *e, struct process *p);

/* posix_timer.c: the parts of these that are about timers of timer_create(2). */
void posix_timers_free(struct engine *e, struct itimers *timers);
bool posix_timers_count_cpu(const struct itimers *timers);
uint64_t posix_timers_next_cpu(const struct engine *e, const struct itimers *timers);
int posix_timers_cpu(struct engine *e, struct process *p);

/* A thread of the process that can be sent to, NULL: none. Sends, and lets those know who wait. */
struct task *itimers_any_task(struct engine *e, struct process *p);
int itimers_queue_signal(struct engine *e, struct process *p, struct task *t, bool to_thread, const siginfo_t *info);

/* A signal of a POSIX timer is about to be delivered: fills in how often it ran over. */
void itimers_delivered(struct process *p, siginfo_t *info);

#endif
