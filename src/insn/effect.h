/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one instruction may write to memory, and what it reads of it, known before it is stepped: the caller of the spin detector
 * (engine/sched/spin.h) reads those bytes before and after the step and so learns whether memory changed.
 */
#ifndef HS_INSN_EFFECT_H
#define HS_INSN_EFFECT_H

#include "insn/emulate.h"

#define INSN_MAX_WRITES	   2
#define INSN_MAX_READS	   3
#define INSN_MAX_WRITE_LEN 64

struct insn_range {
	uint64_t address;
	uint32_t len; /* 1..INSN_MAX_WRITE_LEN */
};

struct insn_effect {
	uint8_t length;
	bool unknown; /* may write what cannot be told in advance: count it as a change of memory */
	bool leaves;  /* enters the kernel (SYSCALL, INT n), finds out about the host (RDTSC...) or about steps (PUSHF...): no step of a loop */
	bool reads_unknown; /* may read what cannot be told in advance */
	uint8_t count, n_reads;
	struct insn_range writes[INSN_MAX_WRITES], reads[INSN_MAX_READS];
};

/*
 * The effect of the instruction at code[0..len) with these registers (gpr, rip, rflags, fs_base, gs_base). For a
 * repeated string instruction: of one repetition, which is what a single step does. 0, or -EILSEQ when it does not
 * decode.
 */
int insn_effect_of(const uint8_t *code, size_t len, const struct insn_regs *regs, struct insn_effect *ret);

#endif
