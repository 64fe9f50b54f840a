/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ELF file in memory, as far as finding code needs it. The file is untrusted: every offset is checked against its
 * size, and a part that does not hold together (sections, symbols, .eh_frame) counts as absent, because programs run
 * without them.
 */
#ifndef HS_INSN_IMAGE_H
#define HS_INSN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct insn_segment {
	uint64_t offset, vaddr, size; /* the part that comes from the file */
	bool exec;
};

/* A run of code with one entry at its start, as the unwind tables or a symbol say. */
struct insn_function {
	uint64_t start, end;
	uint64_t lsda; /* address of the exception table, 0: none */
};

struct insn_symbol {
	uint64_t start, size;
	const char *name; /* inside the image */
	bool is_data;	  /* an object, not a function */
};

struct insn_image {
	const uint8_t *bytes;
	size_t size;
	uint64_t entry;
	bool is_relocatable_address; /* shared object or PIE */

	struct insn_segment *segments;
	size_t segment_count;
	struct insn_segment *sections; /* those with code; none known: 0 */
	size_t section_count;
	struct insn_function *functions; /* from .eh_frame, sorted, not overlapping */
	size_t function_count;
	struct insn_symbol *symbols; /* in code, sorted by start */
	size_t symbol_count;
	uint64_t eh_frame_hdr; /* address, 0: none */
	uint64_t eh_frame;     /* address of the section, 0: none */
	uint64_t eh_frame_size;
};

/* A file's bytes in memory. 0; -ENOEXEC when it is no regular file, or empty; or -errno. */
int insn_file_map(int fd, void **ret_bytes, size_t *ret_size);
void insn_file_unmap(void *bytes, size_t size);

/*
 * Reads headers and segments only. The bytes are borrowed. 0; -ENOEXEC when it is no 64-bit x86 ELF program or library;
 * -ENOMEM.
 */
int insn_image_init(struct insn_image *image, const void *bytes, size_t size);
/* Adds sections, symbols and functions: 0 or -ENOMEM. */
int insn_image_load_details(struct insn_image *image);
void insn_image_deinit(struct insn_image *image);

/* The bytes at an address and how many follow in that segment; NULL when no segment has it. */
const uint8_t *insn_image_at(const struct insn_image *image, uint64_t vaddr, size_t *ret_len);
const struct insn_segment *insn_image_segment(const struct insn_image *image, uint64_t vaddr);
/* Inside a section (or, without sections, a segment) with code. */
bool insn_image_is_code(const struct insn_image *image, uint64_t vaddr);

/* The function whose range has the address; NULL: none. */
const struct insn_function *insn_image_function(const struct insn_image *image, uint64_t vaddr);
/* The last symbol at or below the address that can contain it; NULL: none. */
const struct insn_symbol *insn_image_symbol(const struct insn_image *image, uint64_t vaddr);

/* Calls fn with every address that relocations or, without them, words of data name, in any order; stops on non-zero.
 */
int insn_image_each_pointer(const struct insn_image *image, int (*fn)(void *arg, uint64_t vaddr), void *arg);

#endif
