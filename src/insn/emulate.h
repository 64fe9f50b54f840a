/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an instruction does, as a pure function of registers and answers. The rules are those of the Intel SDM, volume 2
 * (the AMD manual, volume 3, agrees where both describe an instruction), in 64-bit mode.
 */
#ifndef HS_INSN_EMULATE_H
#define HS_INSN_EMULATE_H

#include "insn/insn.h"

/* Registers as the guest has them, at the first byte of the instruction. */
struct insn_regs {
	uint64_t gpr[INSN_REG_COUNT]; /* by enum insn_reg */
	uint64_t rip;
	uint64_t rflags;
	uint64_t fs_base, gs_base; /* only read, by effect.h */
};

#define INSN_FLAG_CF (1ull << 0)
#define INSN_FLAG_PF (1ull << 2)
#define INSN_FLAG_AF (1ull << 4)
#define INSN_FLAG_ZF (1ull << 6)
#define INSN_FLAG_SF (1ull << 7)
#define INSN_FLAG_DF (1ull << 10)
#define INSN_FLAG_OF (1ull << 11)
#define INSN_FLAG_RF (1ull << 16)

struct insn_cpuid {
	uint32_t eax, ebx, ecx, edx;
};

/* What the instruction is to find out. Only the fields of its kind are read. */
struct insn_answers {
	uint64_t tsc;		 /* RDTSC, RDTSCP */
	uint32_t tsc_aux;	 /* RDTSCP, RDPID: IA32_TSC_AUX, on Linux node << 12 | cpu */
	uint64_t random;	 /* RDRAND, RDSEED: the low bits are taken for short operands */
	bool random_fails;	 /* RDRAND, RDSEED: no number available, CF = 0 */
	struct insn_cpuid cpuid; /* CPUID: for the leaf in EAX and subleaf in ECX of the registers */
	uint64_t xcr0;		 /* XGETBV with ECX = 0 */
	bool xinuse_known;	 /* XGETBV with ECX = 1 is supported: CPUID.(0DH,1).EAX[2] */
	uint64_t xinuse;	 /* XGETBV with ECX = 1: XCR0 AND XINUSE */
	uint32_t abort_status;	 /* XBEGIN: EAX of the abort handler; 0: no reason given, do not retry */
};

enum insn_outcome {
	INSN_DONE = 0, /* registers are as after the instruction */
	INSN_FAULT_GP, /* general protection: the guest gets SIGSEGV; registers untouched */
};

/*
 * Carries the site's instruction out on *regs. Returns an enum insn_outcome, or -EINVAL for a site that is no valid
 * description (kind, register, width, length); *regs is then untouched.
 */
int insn_emulate(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *answers);

#endif
