/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that let a program see what no system call shows: time (RDTSC, RDTSCP), the processor (CPUID, RDPID,
 * XGETBV), randomness (RDRAND, RDSEED), and transactions whose aborts depend on timing (XBEGIN). On hosts where the
 * hardware cannot make them fault they are found in the guest's code and replaced by a trapping instruction; see
 * scan.h, patch.h, emulate.h.
 *
 * This header has the words that all of src/insn/ shares.
 */
#ifndef HS_INSN_INSN_H
#define HS_INSN_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_MAX_LENGTH 15
#define INSN_FAR_JUMP   5 /* length of a jump with a distance of 32 bits */
#define INSN_MOVED_MOST 12 /* bytes that are moved for its sake */

enum insn_kind {
	INSN_NONE = 0,
	INSN_RDTSC,
	INSN_RDTSCP,
	INSN_CPUID,
	INSN_RDRAND,
	INSN_RDSEED,
	INSN_RDPID,
	INSN_XGETBV,
	INSN_XBEGIN,
	INSN_KIND_COUNT,
};

/* Sets of kinds: 1 << kind. */
#define INSN_KINDS_ALL ((1u << INSN_KIND_COUNT) - 2)
#define INSN_KINDS_TSC (1u << INSN_RDTSC | 1u << INSN_RDTSCP)

/* Numbers of the general registers as instructions encode them. */
enum insn_reg {
	INSN_RAX,
	INSN_RCX,
	INSN_RDX,
	INSN_RBX,
	INSN_RSP,
	INSN_RBP,
	INSN_RSI,
	INSN_RDI,
	INSN_R8,
	INSN_R9,
	INSN_R10,
	INSN_R11,
	INSN_R12,
	INSN_R13,
	INSN_R14,
	INSN_R15,
	INSN_REG_COUNT,
};

/* How sure it is that a place is code. Only certain and likely sites are replaced. */
enum insn_trust {
	INSN_UNSURE = 0, /* no flow of control is known that leads there: may be data; left alone and reported */
	INSN_LIKELY,  /* between known code, behind an indirect jump that could not be resolved, and decodes seamlessly
		       */
	INSN_CERTAIN, /* control flow from a known entry point leads there */
};

/* One instruction. What is needed to replace and to answer it is all here, so that nothing is decoded at run time. */
struct insn_site {
	uint64_t offset;		/* in the file */
	uint64_t vaddr;			/* as the ELF file has it, before relocation */
	uint8_t kind;			/* enum insn_kind */
	uint8_t trust;			/* enum insn_trust */
	uint8_t length;			/* whole instruction with prefixes, 2..15 */
	uint8_t dest;			/* enum insn_reg: RDRAND, RDSEED, RDPID; else 0 */
	uint8_t width;			/* operand size in bits, 16, 32 or 64: RDRAND, RDSEED, RDPID; else 0 */
	uint8_t opcode_at;		/* where in the instruction the opcode bytes begin (after the prefixes) */
	int32_t fallback;		/* XBEGIN: displacement of the abort handler from the end of the instruction */
	uint8_t bytes[INSN_MAX_LENGTH]; /* the original bytes; the rest is zero */
	/*
	 * A jump in the instruction's place is longer than it. Instructions beside it that do the same elsewhere can be moved for that, where all
	 * flow comes in at the first of them all: how many bytes behind it or, if there are none, before it; which; and where in them 32 bits are a
	 * distance from their end, 0: nowhere.
	 */
	uint8_t tail, head;
	uint8_t moved_distance;
	uint8_t moved[INSN_MOVED_MOST];
	uint32_t name;			/* offset of the function's name in the map's strings; 0: unknown */
	uint32_t name_offset;		/* distance from the function's start */
};

/* "rdtsc" ...; "none" for anything else. */
const char *insn_kind_name(enum insn_kind kind);
/* "certain", "likely", "unsure". */
const char *insn_trust_name(enum insn_trust trust);
/* "rax", "r8d", "cx" ...: register as written with this width. */
const char *insn_reg_name(enum insn_reg reg, unsigned width);

#endif
