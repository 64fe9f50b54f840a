/* SPDX-License-Identifier: BSD-3-Clause */
/* See traits.h. */
#include "engine/policy/traits.h"

#include <sched.h>
#include <string.h>

enum { TIMER_SLACK_NS = 50000 };

void task_traits_init(struct task_traits *traits, unsigned cpus)
{
	*traits = (struct task_traits){ .timer_slack_ns = TIMER_SLACK_NS };
	for (unsigned i = 0; i < cpus && i < TRAITS_CPUS_MAX; i++)
		traits->cpus[i / 64] |= 1ull << i % 64;
}

void process_traits_init(struct process_traits *traits, const struct rlimit *limits)
{
	*traits = (struct process_traits){ 0 };
	for (unsigned i = 0; i < LIMITS_COUNT; i++)
		traits->limits[i] = limits ? limits[i] : *limits_default(i);
}

void task_traits_born(struct task_traits *child, const struct task_traits *parent)
{
	*child = *parent;
	child->death_signal = 0;
	if (!parent->reset_on_fork)
		return;
	child->reset_on_fork = false;
	if (child->policy == SCHED_FIFO || child->policy == SCHED_RR) {
		child->policy = SCHED_OTHER;
		child->rt_priority = 0;
	}
	if (child->nice < 0)
		child->nice = 0;
}

void process_traits_born(struct process_traits *child, const struct process_traits *parent)
{
	*child = *parent;
	child->cpu_limit_next_ns = 0;
}

void process_traits_exec(struct process_traits *traits)
{
	traits->not_dumpable = false;
	traits->membarrier = 0;
}

unsigned task_traits_cpu(const struct task_traits *traits)
{
	for (unsigned i = 0; i < TRAITS_CPU_WORDS; i++)
		if (traits->cpus[i])
			return i * 64 + (unsigned)__builtin_ctzll(traits->cpus[i]);
	return 0;
}
