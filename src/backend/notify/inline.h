/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions answered inside of the guest. The dynamic linker asks the processor and the clock dozens of times at each program's start, and
 * a trap costs as much as a system call that is notified. What CPUID and XGETBV answer is a constant, and time is in the clock page; so
 * where the instructions behind such a one can be moved (insn/insn.h), a jump leads to a block of code, which answers, has the moved ones
 * run, and jumps back. The block is in what is left of the linker's last page of text, behind its end.
 *
 * Only in the dynamic linker: when it is fresh nobody stands in what is moved; who copies code of his own, and such instructions with it, finds
 * breakpoints, which are known again (trap.c).
 */
#ifndef HS_BACKEND_NOTIFY_INLINE_H
#define HS_BACKEND_NOTIFY_INLINE_H

#include "backend/notify/tasks.h"
#include "insn/cpuid.h"
#include "insn/patch.h"

struct notify;

/* What a fresh image is. */
struct inline_image {
	uint64_t linker; /* where the dynamic linker begins, 0: there is none */
	bool has_clock;	 /* the clock page is mapped, and the model's time stamp counter goes with it */
	const struct cpuid_model *processor;
};

struct inline_block {
	uint64_t address; /* in the guest */
	size_t size, room;
	bool has_clock;
	uint8_t bytes[4096];
};

/*
 * The block for text that is mapped at [start, end) and can be written through memory_fd: the code and the answers. False: none can be
 * made, or the text is not the linker's.
 */
bool inline_begin(struct inline_block *block, struct notify *n, int memory_fd, const struct inline_image *image, uint64_t start, uint64_t end);
/* What is jumped to from a site that begins at the address; 0: it has to trap. */
uint64_t inline_add(struct inline_block *block, const struct insn_site *site, uint64_t address);
/* Writes the block: whether it is there. */
bool inline_finish(const struct inline_block *block, int memory_fd, struct task_code *code);

/* The jump. */
void inline_put_jump(uint8_t bytes[INSN_FAR_JUMP], uint64_t address, uint64_t target);

/* Is the address in a block? */
bool inline_has(const struct task_code *code, uint64_t address);
/* The instruction that answers what the block cannot, and traps at this address; NULL: none does. */
const struct insn_site *inline_missed(const struct task_code *code, uint64_t address);

#endif
