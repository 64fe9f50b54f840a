/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor that programs are shown: see processor_view.h. */
#include "supervisor/processor_view.h"

#include <errno.h>
#include <sys/auxv.h>

#include "backend/processor.h"
#include "engine/time/clock.h"
#include "insn/cpuid.h"

static struct cpuid_model model_of(const struct engine_options *options)
{
	return (struct cpuid_model){
		.level = options->cpu_level,
		.cpus = options->cpus ? options->cpus : 1,
		.tsc_hz = CLOCK_TSC_HZ,
	};
}

int processor_check(const struct engine_options *options, struct processor_answers *answers, struct error *err)
{
	struct cpuid_model model = model_of(options);

	return cpuid_check(&model, processor_ask, answers, err);
}

int processor_describe(struct engine_options *options, struct processor_answers *answers, char **ret_cpuinfo, struct error *err)
{
	struct cpuid_model model = model_of(options);

	options->cpuinfo = *ret_cpuinfo = cpuid_cpuinfo(&model, processor_ask, answers);
	if (!*ret_cpuinfo)
		return error_errno(err, ENOMEM, "/proc/cpuinfo");
	options->set_hwcap = !options->keep_instructions;
	options->hwcap = cpuid_hwcap(&model, processor_ask, answers);
	options->hwcap2 = cpuid_hwcap2(&model, processor_ask, answers, getauxval(AT_HWCAP2));
	return 0;
}

int processor_choose_tsc(enum run_tsc how, bool *ret_faults, struct error *err)
{
	*ret_faults = how != RUN_TSC_REPLACE && processor_tsc_faults();
	if (how == RUN_TSC_FAULT && !*ret_faults)
		return error_set(err, ENOTSUP, "--tsc=fault: RDTSC cannot be made to fault on this host; --tsc=replace works everywhere");
	return 0;
}
