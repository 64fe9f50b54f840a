/* SPDX-License-Identifier: BSD-3-Clause */
/* What is moved for jumps in the place of instructions (struct insn_site in insn.h), once it is known what could be (flow.h). */
#ifndef HS_INSN_MOVED_H
#define HS_INSN_MOVED_H

#include "insn/image.h"
#include "insn/map.h"

/* Can a jump stand for it, to code that answers in the guest itself? */
bool insn_may_jump(const struct insn_site *site);

/*
 * Of a map that is finished: gives up what a direct branch from anywhere leads into, chooses between tail and head, and fills in the bytes.
 * What looks like the opcode of a branch counts as one, unless it is known to be none.
 */
void insn_find_moved(const struct insn_image *image, struct insn_map *map);

#endif
