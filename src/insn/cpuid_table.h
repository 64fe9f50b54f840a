/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of cpuid_features.def, for cpuid.c, cpuinfo.c and their test. Private to this folder and its tests. */
#ifndef HS_INSN_CPUID_TABLE_H
#define HS_INSN_CPUID_TABLE_H

#include "insn/cpuid.h"

enum cpuid_reg { CPUID_NO_REG = 0, CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

/* In rising order: a level shows what is at or below its own. */
enum cpuid_show { CPUID_SHOW_ALL, CPUID_SHOW_V2, CPUID_SHOW_V3, CPUID_SHOW_HOST, CPUID_SHOW_NEVER };

struct cpuid_feature {
	uint32_t leaf, subleaf;
	enum cpuid_reg reg; /* CPUID_NO_REG: no bit, Linux says it of every such processor */
	unsigned bit;
	const char *name; /* in /proc/cpuinfo; "" when Linux does not show it */
	enum cpuid_show show;
};

const struct cpuid_feature *cpuid_features(size_t *ret_count);
bool cpuid_level_shows(enum cpuid_level level, enum cpuid_show show);
uint32_t *cpuid_reg(struct insn_cpuid *regs, enum cpuid_reg reg);

#endif
