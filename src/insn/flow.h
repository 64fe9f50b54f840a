/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes of a region (a function, as a rule) are instructions? Control flow is followed from places known to be
 * code (roots). What flow reaches is certain; jump tables, exception landing pads, addresses in data and branches from
 * elsewhere give more roots. What no root leads to may be data and is judged by insn_flow_judge().
 */
#ifndef HS_INSN_FLOW_H
#define HS_INSN_FLOW_H

#include "insn/image.h"
#include "insn/insn.h"

struct insn_addresses {
	uint64_t *items;
	size_t count, room;
};

struct insn_flow {
	const struct insn_image *image;
	uint64_t start, end;
	const uint8_t *code; /* the byte at start */
	size_t readable;     /* bytes from code on, for an instruction that runs over the end */
	uint8_t *marks;	     /* one per byte */
	uint8_t *sweep; /* one per byte: decoding straight through the region comes to an instruction there; NULL: not
			   made */
	struct insn_addresses pending; /* roots still to be followed */
	struct insn_addresses tables;  /* addresses that instructions name: perhaps jump tables */
	struct insn_addresses entries; /* places that tables, landing pads and data lead to */
	size_t computed_jumps;	       /* jumps whose targets are not in the instruction, and may be in the region */
	size_t resolved_tables; /* tables that gave targets: at most one for each computed jump, as far as is known */
	bool has_code;		/* flow has reached an instruction in it */
	bool is_function;	/* one function, not a stretch with entries that are not known */
};

/* The region must lie within one segment: 0, -EINVAL, -ENOMEM. */
int insn_flow_init(struct insn_flow *flow, const struct insn_image *image, uint64_t start, uint64_t end,
		   bool is_function);
void insn_flow_deinit(struct insn_flow *flow);

/* Follows flow from an address that is code for sure. Addresses outside of the region are ignored. 0 or -ENOMEM. */
int insn_flow_follow(struct insn_flow *flow, uint64_t root);
/*
 * The same for an address that is code by good evidence: refused when the straight path from it is not valid code or
 * would split a known instruction.
 */
int insn_flow_follow_weak(struct insn_flow *flow, uint64_t root);
/*
 * The same for what may be an address of code or some other number. In a function also refused unless decoding straight
 * through the function comes to an instruction there; elsewhere unless aligned as compilers align functions.
 */
int insn_flow_follow_guess(struct insn_flow *flow, uint64_t root);
/* Follows the targets of jump tables, until there are no more. */
int insn_flow_follow_tables(struct insn_flow *flow);

/* An instruction is known to begin there. */
bool insn_flow_starts_at(const struct insn_flow *flow, uint64_t vaddr);
/* A known instruction, or a jump table between instructions, has this byte. */
bool insn_flow_covers(const struct insn_flow *flow, uint64_t vaddr);

/*
 * Once all flow has been followed: what could be moved for a jump in the place of a known instruction, the lengths of tail and head (insn.h) and
 * the tail's distance. Direct branches into it are the caller's to find.
 */
void insn_flow_find_movable(const struct insn_flow *flow, struct insn_site *site);

/*
 * An opcode that flow has not reached: INSN_LIKELY when there is a way to it that is not known (a computed jump without
 * its table; in a region that is not one function but has known code, any entry), and the bytes from the end of the
 * known instruction before to the beginning of the known one behind are seamless code. *ret_start is then where the
 * instruction begins that has the opcode's byte.
 */
enum insn_trust insn_flow_judge(const struct insn_flow *flow, uint64_t opcode, uint64_t *ret_start);

#endif
