/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoding of one 64-bit instruction, reduced to what this folder asks: how long, where does control go, is it one of
 * ours, and what memory does it write. Zydis is behind it and nowhere else.
 */
#ifndef HS_INSN_DECODE_H
#define HS_INSN_DECODE_H

#include "insn/insn.h"

enum insn_next {
	INSN_FLOW_NEXT = 0, /* goes on behind it */
	INSN_FLOW_BRANCH,   /* goes on behind it or at target */
	INSN_FLOW_JUMP,	    /* goes on at target */
	INSN_FLOW_CALL,	    /* calls target, then goes on behind it */
	INSN_FLOW_CALL_INDIRECT,
	INSN_FLOW_JUMP_INDIRECT,
	INSN_FLOW_END, /* return, UD2, HLT, INT3: nothing behind it follows */
};

struct insn_decoded {
	uint8_t length;
	uint8_t flow;	  /* enum insn_next */
	uint8_t kind;	  /* enum insn_kind */
	bool is_nop;	  /* of any length */
	bool has_target;  /* direct branch */
	bool has_address; /* refers to a fixed address: RIP-relative, or absolute as in jmp *table(,%rax,8) */
	bool is_movable;  /* does the same wherever it stands, if its distance is corrected */
	uint8_t distance_at; /* RIP-relative: where in it the distance is, 32 bits; 0: it is not */
	bool is_computed; /* INSN_FLOW_JUMP_INDIRECT through a register or an indexed table: a switch, or a tail call */
	uint64_t target;
	uint64_t address;
};

/* Decodes at code[0..len), which lies at vaddr. 0, or -EILSEQ when it is no (complete) valid instruction. */
int insn_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn_decoded *ret);

/* Fills in a site from its bytes (all fields but offset, trust and name). -EILSEQ when it is none of ours. */
int insn_decode_site(const uint8_t *code, size_t len, uint64_t vaddr, struct insn_site *ret);

#endif
