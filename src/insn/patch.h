/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to write into a guest's text so that an instruction traps, and how to know it again when it does.
 *
 * The trap is INT3 (CC) in place of the first opcode byte: one byte, so the write is atomic and cannot be torn by a page border. Prefixes
 * stay, and one who jumps behind a prefix still traps. The guest stops with SIGTRAP of the kernel's (si_code SI_KERNEL, where a step has
 * TRAP_TRACE), RIP behind the byte. UD2 would do as well, but hypervisors intercept it, which makes it half as dear again (tests/bench/floor.c:
 * 13 us against 21), and some intercept general protection faults (that of CLTS, say), too. Above all the kernel forces such signals: a thread
 * that blocks or ignores one finds it unblocked and its handler gone, for the whole process. Programs can do without their handler
 * of SIGTRAP; without that of SIGSEGV a Java or Go program dies at its next null pointer.
 * The rest of the instruction stays as it was: it is never executed, and what the guest reads of its own text differs in one byte.
 */
#ifndef HS_INSN_PATCH_H
#define HS_INSN_PATCH_H

#include "insn/map.h"

#define INSN_TRAP 0xcc
#define INSN_JUMP 0xe9 /* with a distance of 32 bits */

/* One write: INSN_TRAP at a guest address, or a jump over an instruction that has no prefix. */
struct insn_patch {
	uint64_t address;
	uint8_t original;	      /* what must be there before; writing it back restores */
	const struct insn_site *site; /* in the map */
	uint64_t jump;		      /* where one could go to; 0: nowhere */
	bool jumps;		      /* it has become one, before or now */
};

/* The write that replaces a site which begins at the guest address: always possible. */
struct insn_patch insn_patch_site(const struct insn_site *site, uint64_t address);

/*
 * The writes for a mapping of file bytes [offset, offset + len) at a guest address: all trusted sites of these kinds whose byte to be
 * replaced is in it. *ret is the caller's (NULL when there is none). The number of writes or -ENOMEM; -EINVAL when the range overflows.
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
	uint64_t address; /* of the first byte of the instruction */
	struct insn_site site;
	bool jumps; /* there is a jump to code that answers, and no trap */
};

void insn_traps_deinit(struct insn_traps *traps);
/* 0 or -ENOMEM; *to is then unchanged. */
int insn_traps_copy(struct insn_traps *to, const struct insn_traps *from);
/* Notes the sites of a mapping, as insn_patch_mapping() writes them; what was noted in that range is forgotten. 0 or
 * -ENOMEM. */
int insn_traps_map(struct insn_traps *traps, const struct insn_map *map, unsigned kinds, uint64_t offset, uint64_t len,
		   uint64_t address);
void insn_traps_unmap(struct insn_traps *traps, uint64_t address, uint64_t len);
/* The instruction that begins there, if there is one, is replaced by a jump. */
void insn_traps_set_jump(struct insn_traps *traps, uint64_t address);
/* Does the jump that replaces an instruction, and perhaps what was before it, begin there? */
bool insn_traps_jumps(const struct insn_traps *traps, uint64_t address);
/* The site whose INSN_TRAP is at the address, which is RIP - 1 when it traps; NULL: none. *ret_start is where the instruction begins. */
const struct insn_site *insn_traps_find(const struct insn_traps *traps, uint64_t address, uint64_t *ret_start);

#endif
