/* SPDX-License-Identifier: BSD-3-Clause */
/* Combinations of options, and texts that have a form of their own: see options.h. */
#include "supervisor/options/options.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "engine/sched/fault.h"
#include "engine/sched/preempt.h"
#include "engine/sched/sched_policy.h"
#include "insn/cpuid.h"
#include "supervisor/run.h"

static int check_fs(const char *fs, struct error *err)
{
	if (!strcmp(fs, "cwd") || !strcmp(fs, "overlay") || !strcmp(fs, "host"))
		return 0;
	if (!strncmp(fs, "overlay:", 8) && fs[8])
		return 0;
	return error_set(err, EINVAL, "--fs: there is no '%s'; known: cwd, overlay, overlay:DIR, host", fs);
}

static int check_seed(const char *name, const char *text, struct error *err)
{
	uint64_t value;

	if (!text || parse_u64(text, &value) == 0)
		return 0;
	return error_set(err, EINVAL, "--%s: '%s' is not a number", name, text);
}

static int check_faults(const struct run_options *o, struct error *err)
{
	struct fault_rule rule;
	int r = 0;

	if (o->faults.count > FAULTS_MAX)
		return error_set(err, EINVAL, "--fault: at most %d of them", FAULTS_MAX);
	for (size_t i = 0; i < o->faults.count && r == 0; i++)
		r = fault_parse(o->faults.items[i], &rule, err);
	if (r < 0)
		error_prefix(err, "--fault");
	return r;
}

static int check_interrupts(const struct run_options *o, struct error *err)
{
	struct interrupt_rule rule;
	int r = 0;

	if (o->interrupts.count > INTERRUPTS_MAX)
		return error_set(err, EINVAL, "--interrupt-at: at most %d of them", INTERRUPTS_MAX);
	for (size_t i = 0; i < o->interrupts.count && r == 0; i++)
		r = interrupt_parse(o->interrupts.items[i], &rule, err);
	if (r < 0)
		error_prefix(err, "--interrupt-at");
	return r;
}

/* What changes schedules. */
static int check_chaos(const struct run_options *o, struct error *err)
{
	struct sched_policy_spec policy;
	int r;

	r = check_seed("rng-seed", o->rng_seed, err);
	if (r == 0)
		r = check_seed("sched-seed", o->sched_seed, err);
	if (r == 0)
		r = check_seed("fault-seed", o->fault_seed, err);
	if (r < 0)
		return r;
	r = sched_policy_parse(o->sched_heuristic, &policy, err);
	if (r < 0)
		error_prefix(err, "--sched-heuristic");
	if (r == 0)
		r = check_interrupts(o, err);
	return r < 0 ? r : check_faults(o, err);
}

int run_options_check(const struct run_options *o, struct error *err)
{
	int r;

	if (o->strict && o->allow_uncontrolled)
		return error_set(err, EINVAL, "--strict and --allow-uncontrolled exclude each other");
	if (o->strict && o->network == NETWORK_HOST)
		return error_set(err, EINVAL, "--strict and --network=host exclude each other: the host's network is not under "
					      "control");
	if (o->verify == 1)
		return error_set(err, EINVAL, "--verify=1: one run cannot be compared with anything");
	if (o->verify == 0 && (o->verify_json || o->verify_dir))
		return error_set(err, EINVAL, "--verify-json and --verify-dir need --verify");
	if (o->verify && o->record_schedule)
		return error_set(err, EINVAL, "--verify and --record-schedule exclude each other");
	if (o->verify && o->replay_schedule)
		return error_set(err, EINVAL, "--verify and --replay-schedule exclude each other");
	if (o->verify && o->log_events)
		return error_set(err, EINVAL, "--verify and --log-events exclude each other: --verify-dir keeps the logs of all runs");
	if (o->verify && (o->report || o->summary))
		return error_set(err, EINVAL, "--verify excludes --report and --summary, which are about one run: --verify-json has the result of all");
	if (o->keep_instructions && o->cpu != CPUID_HOST)
		return error_set(err, EINVAL, "--keep-instructions and --cpu exclude each other: programs would see this processor");
	if (o->keep_instructions && o->tsc != RUN_TSC_AUTO)
		return error_set(err, EINVAL, "--keep-instructions and --tsc exclude each other");
	if (o->quantum_ns == 0)
		return error_set(err, EINVAL, "--quantum: must be above zero");
	r = check_chaos(o, err);
	if (r == 0)
		r = check_fs(o->fs, err);
	if (r < 0)
		return r;
	if (!strcmp(o->fs, "host") && o->writable.count > 0)
		return error_set(err, EINVAL, "--writable adds nothing to --fs=host, where everything is written for real");
	return 0;
}

int run_options_validate(const struct run_options *o, struct error *err)
{
	if (o->argv.count == 0)
		return error_set(err, EINVAL, "no program was given; it stands behind the options, as in: hermit run --seed=7 -- PROGRAM ARGUMENT");
	return run_options_check(o, err);
}
