/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of kinds, trusts and registers. */
#include "insn/insn.h"

#include "base/cleanup.h"

static const char *const kind_names[INSN_KIND_COUNT] = {
	[INSN_NONE] = "none",	[INSN_RDTSC] = "rdtsc",	  [INSN_RDTSCP] = "rdtscp",
	[INSN_CPUID] = "cpuid", [INSN_RDRAND] = "rdrand", [INSN_RDSEED] = "rdseed",
	[INSN_RDPID] = "rdpid", [INSN_XGETBV] = "xgetbv", [INSN_XBEGIN] = "xbegin",
};

static const char *const trust_names[] = {
	[INSN_UNSURE] = "unsure",
	[INSN_LIKELY] = "likely",
	[INSN_CERTAIN] = "certain",
};

static const char *const reg_names[3][INSN_REG_COUNT] = {
	{ "ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w",
	  "r15w" },
	{ "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d",
	  "r15d" },
	{ "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
	  "r15" },
};

const char *insn_kind_name(enum insn_kind kind)
{
	return (unsigned)kind < INSN_KIND_COUNT ? kind_names[kind] : kind_names[INSN_NONE];
}

const char *insn_trust_name(enum insn_trust trust)
{
	return (unsigned)trust < ARRAY_SIZE(trust_names) ? trust_names[trust] : trust_names[INSN_UNSURE];
}

const char *insn_reg_name(enum insn_reg reg, unsigned width)
{
	unsigned row = width == 16 ? 0 : width == 32 ? 1 : 2;

	return (unsigned)reg < INSN_REG_COUNT ? reg_names[row][reg] : "?";
}
