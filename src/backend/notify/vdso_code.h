/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machine code that runs inside of guests: reading clocks from the clock page (engine/guest.h, struct clock_page) without a call, and the
 * few calls that map that page into a fresh program. Position-independent; one block, placed over __vdso_clock_gettime.
 */
#ifndef HS_BACKEND_VDSO_CODE_H
#define HS_BACKEND_VDSO_CODE_H

/* Where the page is in every guest: above the mappings (mmap_base without address randomisation), far below the stack. */
#define CLOCK_PAGE_ADDRESS 0x7ffff8001000

extern const unsigned char vdso_code_begin[], vdso_code_end[];

/* Entry points in the block. */
extern const unsigned char vdso_code_clock_gettime[]; /* = vdso_code_begin */
extern const unsigned char vdso_code_gettimeofday[];
extern const unsigned char vdso_code_time[];
/*
 * Maps the page: makes a call that is answered with a descriptor of the page, maps it, closes it, and traps (int3) with the result
 * of mmap in %rax.
 */
extern const unsigned char vdso_code_map_page[];

#endif
