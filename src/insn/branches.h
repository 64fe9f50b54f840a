/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches in code that has not been followed: what looks like one, and whether it is one. */
#ifndef HS_INSN_BRANCHES_H
#define HS_INSN_BRANCHES_H

#include "insn/image.h"

/* The target of the direct branch or call with a 32-bit distance whose opcode is at code[at]; 0: there is none. vaddr: of code[0]. */
uint64_t insn_branch_target(const uint8_t *code, size_t len, size_t at, uint64_t vaddr);

enum insn_sight { INSN_NO_BRANCH, INSN_PERHAPS_BRANCH, INSN_BRANCH };

/*
 * What looks like a branch at vaddr: does an instruction begin there, decoding straight from the beginning of its function? Perhaps, where
 * there is no known function, or something in it cannot be decoded.
 */
enum insn_sight insn_branch_is_at(const struct insn_image *image, uint64_t vaddr);

#endif
