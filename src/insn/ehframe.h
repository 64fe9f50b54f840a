/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Function bounds and landing pads from .eh_frame and .gcc_except_table (LSB 5.0, Itanium C++ ABI: exception handling
 * tables). Sections are untrusted; what cannot be read ends the list.
 */
#ifndef HS_INSN_EHFRAME_H
#define HS_INSN_EHFRAME_H

#include "insn/image.h"

/* All FDEs as a sorted list without overlaps (an overlapping one is dropped); *ret is the caller's. 0 or -ENOMEM. */
int insn_ehframe_load(const struct insn_image *image, struct insn_function **ret, size_t *ret_count);

/* Calls fn with the address of every landing pad of the function; stops on non-zero and returns that. */
int insn_ehframe_landing_pads(const struct insn_image *image, const struct insn_function *function,
			      int (*fn)(void *arg, uint64_t vaddr), void *arg);

#endif
