/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that find out about the host: what they find instead. Time is that of the run's clock, so the time stamp counter agrees
 * with all other ways to see time; random numbers are the task's own; the processor is a model (insn/cpuid.h).
 */
#include "engine/engine_internal.h"

/* Virtual time of an instruction that is no look at a clock. */
#define TRAP_COST_NS 100

struct cpuid_model trap_processor(const struct engine *e)
{
	return (struct cpuid_model){ .level = e->options.cpu_level, .cpus = e->options.cpus, .tsc_hz = CLOCK_TSC_HZ };
}

/* Which processor states are enabled, as leaf 13 of CPUID says. */
static void answer_xgetbv(struct engine *e, const struct event *event, struct insn_answers *answers)
{
	struct cpuid_model m = trap_processor(e);
	struct insn_cpuid shown;

	cpuid_answer(&m, 13, 0, &event->trap.host[0], &shown);
	answers->xcr0 = (uint64_t)shown.edx << 32 | shown.eax;
	cpuid_answer(&m, 13, 1, &event->trap.host[1], &shown);
	answers->xinuse_known = shown.eax & 1u << 2;
	answers->xinuse = answers->xcr0; /* all of them, always: what is in use depends on when the host has switched tasks */
}

static void answer_cpuid(struct engine *e, const struct event *event, struct insn_answers *answers)
{
	struct cpuid_model m = trap_processor(e);

	cpuid_answer(&m, event->trap.leaf, event->trap.subleaf, &event->trap.host[0], &answers->cpuid);
}

void trap_answer(struct engine *e, struct task *t, const struct event *event)
{
	struct insn_answers *answers = &t->verdict.answers;
	bool is_look = event->trap.kind == INSN_RDTSC || event->trap.kind == INSN_RDTSCP;

	if (event->trap.kind < INSN_KIND_COUNT)
		e->stats.traps[event->trap.kind]++;
	if (!is_look)
		looks_end(t);
	task_charge(e, t, is_look ? looks_at_counter(e, t) : TRAP_COST_NS);
	t->verdict = (struct verdict){ .kind = VERDICT_ANSWER };
	answers->tsc = time_add(e->clock.uptime_ns, e->clock.now_ns) * (CLOCK_TSC_HZ / NS_PER_S);
	if (event->trap.kind == INSN_RDRAND || event->trap.kind == INSN_RDSEED)
		answers->random = rng_u64(&t->rng);
	if (event->trap.kind == INSN_CPUID)
		answer_cpuid(e, event, answers);
	if (event->trap.kind == INSN_XGETBV)
		answer_xgetbv(e, event, answers);
}

void trap_note_code(struct engine *e, const struct code_found *found)
{
	e->stats.replaced += found->replaced;
	e->stats.unsure += found->unsure;
	e->stats.generated += found->generated;
	if (found->missed)
		engine_report_uncontrolled(e, "instructions that show the host", "code that cannot be changed");
}
