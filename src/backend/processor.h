/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this host's processor and kernel can really do, found out by doing it in a child process: the return code of a
 * request to make an instruction fault is never believed (there are virtual machines whose kernel says yes and where
 * nothing faults).
 */
#ifndef HS_BACKEND_PROCESSOR_H
#define HS_BACKEND_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

enum processor_faulting {
	PROCESSOR_FAULTING_UNKNOWN = 0, /* the probe itself failed */
	PROCESSOR_FAULTING_ABSENT,	/* the kernel says no */
	PROCESSOR_FAULTING_LIES,	/* the kernel says yes, and the instruction runs on */
	PROCESSOR_FAULTING_WORKS,
};

enum processor_counter {
	PROCESSOR_COUNTER_UNKNOWN = 0,
	PROCESSOR_COUNTER_ABSENT,  /* no such event on this host */
	PROCESSOR_COUNTER_DENIED,  /* there may be one, but not for this user (perf_event_paranoid, seccomp) */
	PROCESSOR_COUNTER_ZERO,	   /* is present, and counts nothing */
	PROCESSOR_COUNTER_INEXACT, /* counts, but not twice the same for the same work */
	PROCESSOR_COUNTER_WORKS,
};

struct processor_probe {
	enum processor_faulting tsc;	 /* RDTSC after prctl(PR_SET_TSC, PR_TSC_SIGSEGV) */
	enum processor_faulting tscp;	 /* RDTSCP likewise; ABSENT when the processor has none */
	enum processor_faulting cpuid;	 /* CPUID after arch_prctl(ARCH_SET_CPUID, 0) */
	enum processor_counter branches; /* retired branches in user mode: what a preemption by count needs */
	uint64_t branches_counted;	 /* of a loop of PROCESSOR_PROBE_BRANCHES */
};

#define PROCESSOR_PROBE_BRANCHES 100000

/* Some milliseconds; forks, so call it before there are threads or children to wait for. */
void processor_probe_run(struct processor_probe *ret);

/* Do RDTSC and RDTSCP fault in this process when it asks for it? Some microseconds; asks and takes it back. One thread only. */
bool processor_tsc_faults(void);

/*
 * This process does without RDTSC, too, while it supervises a guest for which it faults: else the processor's control register would be
 * written at each change from one to the other, which takes microseconds in a virtual machine. Who reads a clock all the same (through
 * the vDSO) is served, and processor_tsc_forgo() is to be called again. Not across fork and exec: a program that is executed inherits it.
 */
void processor_tsc_forgo(void);
/* Has somebody read a clock since? */
bool processor_tsc_is_back(void);
void processor_tsc_take_back(void);

/* "works", "lies" ...: for reports. */
const char *processor_faulting_name(enum processor_faulting faulting);
const char *processor_counter_name(enum processor_counter counter);

#endif
