/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processor lets the kernel take away from a program: the backend's own probe, in the words of the report. */
#include "backend/processor.h"
#include "supervisor/doctor/probes.h"

static enum probe_result from_faulting(enum processor_faulting faulting)
{
	switch (faulting) {
	case PROCESSOR_FAULTING_WORKS:
		return PROBE_WORKS;
	case PROCESSOR_FAULTING_LIES:
		return PROBE_PARTLY;
	case PROCESSOR_FAULTING_ABSENT:
		return PROBE_MISSING;
	case PROCESSOR_FAULTING_UNKNOWN:
		break;
	}
	return PROBE_FAILED;
}

enum probe_result probe_tsc(char *detail, size_t size)
{
	struct processor_probe probe;

	processor_probe_run(&probe);
	return probe_says(from_faulting(probe.tsc), detail, size, "RDTSC %s, RDTSCP %s", processor_faulting_name(probe.tsc),
			  processor_faulting_name(probe.tscp));
}

enum probe_result probe_cpuid(char *detail, size_t size)
{
	struct processor_probe probe;

	processor_probe_run(&probe);
	return from_faulting(probe.cpuid);
}

enum probe_result probe_counters(char *detail, size_t size)
{
	struct processor_probe probe;
	enum probe_result result = PROBE_FAILED;

	processor_probe_run(&probe);
	switch (probe.branches) {
	case PROCESSOR_COUNTER_WORKS:
		result = PROBE_WORKS;
		break;
	case PROCESSOR_COUNTER_ZERO:
	case PROCESSOR_COUNTER_INEXACT:
		result = PROBE_PARTLY;
		break;
	case PROCESSOR_COUNTER_ABSENT:
	case PROCESSOR_COUNTER_DENIED:
		result = PROBE_MISSING;
		break;
	case PROCESSOR_COUNTER_UNKNOWN:
		break;
	}
	return probe_says(result, detail, size, "%s", processor_counter_name(probe.branches));
}
