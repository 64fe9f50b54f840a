/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tasks and processes have been told to be and can ask back: scheduling, limits, personality and their kin. Most of it never reaches
 * the host's kernel; all of it is inherited as on Linux.
 */
#ifndef HS_ENGINE_TRAITS_H
#define HS_ENGINE_TRAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/limits.h"

enum { TRAITS_CPUS_MAX = 1024, TRAITS_CPU_WORDS = TRAITS_CPUS_MAX / 64 };

/* Of a thread. */
struct task_traits {
	int nice;
	int policy; /* SCHED_ */
	int rt_priority;
	bool reset_on_fork;
	uint64_t dl_runtime, dl_deadline, dl_period; /* SCHED_DEADLINE */
	int io_priority;
	uint64_t cpus[TRAITS_CPU_WORDS]; /* may run on these */
	uint32_t persona;
	uint64_t timer_slack_ns;
	int death_signal;
	unsigned filters; /* system call filters of the guest's own */
	int memory_policy;
	uint64_t memory_nodes;
};

/* Of a process. */
struct process_traits {
	struct rlimit limits[LIMITS_COUNT];
	uint64_t cpu_limit_next_ns; /* of its CPU time: when SIGXCPU comes next; 0: not set yet */
	bool not_dumpable;
	bool no_huge_pages;
	unsigned membarrier; /* registrations, as command bits */
};

/* What the first task has. limits: LIMITS_COUNT of them, or NULL for the defaults. */
void task_traits_init(struct task_traits *traits, unsigned cpus);
void process_traits_init(struct process_traits *traits, const struct rlimit *limits);

/* What a newborn gets from its parent; a thread and a process get the same of these, but for reset_on_fork and the death signal. */
void task_traits_born(struct task_traits *child, const struct task_traits *parent);
void process_traits_born(struct process_traits *child, const struct process_traits *parent);

/* A new program. */
void process_traits_exec(struct process_traits *traits);

/* The lowest processor that the task may run on: the one it always is on. */
unsigned task_traits_cpu(const struct task_traits *traits);

#endif
