/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast first look: where do the bytes of an opcode of interest stand? It has no false negatives; whether a hit is
 * an instruction is for decode.h and flow.h to say.
 */
#ifndef HS_INSN_PREFILTER_H
#define HS_INSN_PREFILTER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The first hit at or after `from` in code[0..len): the index of the first opcode byte (0F, or C7 for XBEGIN), or len
 * when there is none. An opcode cut off by the end of the buffer is no hit.
 */
size_t insn_prefilter(const uint8_t *code, size_t len, size_t from);

#endif
