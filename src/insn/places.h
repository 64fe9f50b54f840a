/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where functions and basic blocks of an ELF file begin, for counting what passes there: a breakpoint can be put at each of them, and the
 * instruction under it can be stepped. Only what flow of control reaches from the start of a function is listed, so that no byte of data
 * is taken for code.
 */
#ifndef HS_INSN_PLACES_H
#define HS_INSN_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct insn_place {
	uint64_t offset; /* in the file */
	uint8_t original; /* its first byte */
};

struct insn_places {
	struct insn_place *items; /* sorted by offset, each once */
	size_t count;
};

/* *ret is the caller's to deinit. 0; -ENOEXEC when it is no 64-bit x86 ELF program or library; -ENOMEM; -errno of fstat(2) and mmap(2). */
int insn_places_fd(int fd, struct insn_places *ret);
int insn_places_of(const void *bytes, size_t size, struct insn_places *ret);
void insn_places_deinit(struct insn_places *places);

/*
 * Can the instruction be single-stepped without anybody noticing? Not when it enters the kernel or traps, and not PUSHF, which would store the
 * trap flag. *ret_repeats: it is a repeated string instruction, of which a step does one round.
 */
bool insn_is_steppable(const uint8_t *code, size_t len, bool *ret_repeats);

#endif
