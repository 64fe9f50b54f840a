/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to write into a guest's text so that an instruction traps, and how to know it again when it does.
 *
 * The trap is CLTS (0F 06), a privileged instruction without operands: a general protection fault in user mode (SDM volume 2, CLTS), the
 * guest stops with SIGSEGV of si_code SI_KERNEL, RIP at the instruction. UD2 would come as SIGILL, but hypervisors intercept #UD, which
 * makes it half as dear again (tests/bench/floor.c: 13 us against 21). INT3 is a trap that leaves RIP behind it, and its SIGTRAP is
 * shared with single steps, breakpoints of debuggers and all other ptrace stops. All these instructions but XBEGIN are 0F xx,
 * so that only the one byte behind 0F changes. Prefixes stay (the processor takes them before CLTS too, and reports their address), the
 * write is atomic and cannot be torn by a page border, and one who jumps behind a prefix still traps. XBEGIN (C7 F8)
 * changes in both bytes. The rest of the instruction stays as it was: it is never executed, and what the guest reads of
 * its own text differs in one or two bytes.
 */
#ifndef HS_INSN_PATCH_H
#define HS_INSN_PATCH_H

#include "insn/map.h"

#define INSN_PATCH_MAX 2

/* One write: len bytes at a guest address. */
struct insn_patch {
	uint64_t address;
	uint8_t len;			  /* 1 or 2 */
	uint8_t bytes[INSN_PATCH_MAX];	  /* to be written */
	uint8_t original[INSN_PATCH_MAX]; /* what must be there before; writing it back restores */
	const struct insn_site *site;	  /* in the map */
};

/* The write that replaces a site which begins at the guest address: always possible. */
void insn_patch_site(const struct insn_site *site, uint64_t address, struct insn_patch *ret);

/*
 * The writes for a mapping of file bytes [offset, offset + len) at a guest address: all trusted sites of these kinds that have a byte
 * to be replaced in it; a site that straddles the end of the mapping gives the bytes that are inside. *ret is the
 * caller's (NULL when there is none). The number of writes or -ENOMEM; -EINVAL when the range overflows.
 */
int insn_patch_mapping(const struct insn_map *map, unsigned kinds, uint64_t offset, uint64_t len, uint64_t address,
		       struct insn_patch **ret);

/* Is it one of these kinds, and sure enough? */
bool insn_is_replaced(const struct insn_site *site, unsigned kinds);

/*
 * The replaced instructions of one address space, by address. Text that is unmapped, or mapped over, must be taken out;
 * a fork copies the table; an exec empties it.
 */
struct insn_traps {
	struct insn_trap *items; /* sorted by address */
	size_t count, room;
};

struct insn_trap {
	uint64_t address; /* of the first byte of the instruction: RIP when it traps */
	struct insn_site site;
};

void insn_traps_deinit(struct insn_traps *traps);
/* 0 or -ENOMEM; *to is then unchanged. */
int insn_traps_copy(struct insn_traps *to, const struct insn_traps *from);
/* Notes the sites of a mapping, as insn_patch_mapping() writes them; what was noted in that range is forgotten. 0 or
 * -ENOMEM. */
int insn_traps_map(struct insn_traps *traps, const struct insn_map *map, unsigned kinds, uint64_t offset, uint64_t len,
		   uint64_t address);
void insn_traps_unmap(struct insn_traps *traps, uint64_t address, uint64_t len);
/*
 * The site for a guest that trapped at rip; NULL when the guest's own instruction did. rip may point behind prefixes of
 * the instruction: *ret_start is where it begins.
 */
const struct insn_site *insn_traps_find(const struct insn_traps *traps, uint64_t rip, uint64_t *ret_start);

/* Undoes the replacements in bytes of guest text [address, address + len), for a debugger or for showing code to a
 * person. */
void insn_traps_restore(const struct insn_traps *traps, uint64_t address, void *bytes, size_t len);

#endif
