/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What CPUID says, asked once for each leaf: it does not change during a run, but in a virtual machine, where the hypervisor answers,
 * each question costs as much as a hundred system calls. What differs from one processor of the host to another is not shown to guests.
 */
#ifndef HS_BACKEND_PROCESSOR_ANSWERS_H
#define HS_BACKEND_PROCESSOR_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "insn/cpuid.h"

struct processor_answers {
	struct {
		bool valid;
		uint32_t leaf, subleaf;
		struct insn_cpuid answer;
	} known[128]; /* the last one with its hash */
};

/* A query function (insn/cpuid.h); arg: a struct processor_answers, zeroed before the first question. */
void processor_ask(void *arg, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret);

#endif
