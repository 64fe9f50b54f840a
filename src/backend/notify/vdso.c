/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own vDSO, and what it shall be in the guest: see vdso.h. */
#include "backend/notify/vdso.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "backend/notify/vdso_code.h"
#include "base/cleanup.h"

#define JUMP_SIZE 5
#define CALL_AND_RETURN(nr) 0xb8, (nr) & 0xff, (nr) >> 8, 0, 0, 0x0f, 0x05, 0xc3 /* mov $nr,%eax; syscall; ret */

static const unsigned char call_clock_gettime[] = { CALL_AND_RETURN(228) };
static const unsigned char call_gettimeofday[] = { CALL_AND_RETURN(96) };
static const unsigned char call_time[] = { CALL_AND_RETURN(201) };
static const unsigned char call_clock_getres[] = { CALL_AND_RETURN(229) };
static const unsigned char call_getcpu[] = { CALL_AND_RETURN(309) };

/*
 * getrandom has five arguments. With the last one all ones it is asked how large its state must be: ENOSYS there makes a C
 * library (glibc since 2.41) use the system call ever after.
 */
static const unsigned char call_getrandom[] = {
	0x49, 0x83, 0xf8, 0xff,    /* cmp $-1,%r8 */
	0x74, 0x08,                /* je +8 */
	CALL_AND_RETURN(318),      /* 8 bytes */
	0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3, /* mov $-ENOSYS,%rax; ret */
};

#define BLOCK_OWNER "__vdso_clock_gettime" /* whose place the block of vdso_code.h takes */

struct replacement {
	const char *name;
	const unsigned char *code; /* makes the call */
	size_t size;
	const unsigned char *entry; /* into the block of vdso_code.h, which answers from the page; NULL: always a call */
};

#define REPLACEMENT(call) { "__vdso_" #call, call_##call, sizeof(call_##call), NULL }
#define REPLACEMENT_PAGE(call) { "__vdso_" #call, call_##call, sizeof(call_##call), vdso_code_##call }

static const struct replacement replacements[] = {
	REPLACEMENT_PAGE(clock_gettime), REPLACEMENT_PAGE(gettimeofday), REPLACEMENT_PAGE(time),
	REPLACEMENT(clock_getres),	 REPLACEMENT(getcpu),		 REPLACEMENT(getrandom),
};

/* The image in memory, as far as it has been understood. */
struct elf_view {
	const unsigned char *base;
	uint64_t vaddr; /* of the first byte */
	size_t size;
	const Elf64_Sym *symbols;
	const char *strings;
	size_t n_symbols;
};

static void view_segments(struct elf_view *view, const Elf64_Dyn **ret_dynamic)
{
	const Elf64_Ehdr *header = (const void *)view->base;
	const Elf64_Phdr *segments = (const void *)(view->base + header->e_phoff);
	size_t i;

	*ret_dynamic = NULL;
	for (i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && view->size == 0) {
			view->vaddr = segments[i].p_vaddr;
			view->size = segments[i].p_memsz;
		} else if (segments[i].p_type == PT_DYNAMIC) {
			*ret_dynamic = (const void *)(view->base + segments[i].p_offset);
		}
	}
}

/* How many symbols there are is told by a hash table only: DT_HASH outright, DT_GNU_HASH by its last chain. */
static size_t count_gnu_hash(const uint32_t *table)
{
	uint32_t n_buckets = table[0], first = table[1], bloom_words = table[2], i, last = 0;
	const uint32_t *buckets = table + 4 + bloom_words * 2u, *chain = buckets + n_buckets;

	for (i = 0; i < n_buckets; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

static void view_symbols(struct elf_view *view, const Elf64_Dyn *dynamic)
{
	const void *table;

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		table = view->base + (dynamic->d_un.d_ptr - view->vaddr);
		if (dynamic->d_tag == DT_SYMTAB)
			view->symbols = table;
		else if (dynamic->d_tag == DT_STRTAB)
			view->strings = table;
		else if (dynamic->d_tag == DT_HASH)
			view->n_symbols = ((const uint32_t *)table)[1];
		else if (dynamic->d_tag == DT_GNU_HASH && view->n_symbols == 0)
			view->n_symbols = count_gnu_hash(table);
	}
}

static bool view_init(struct elf_view *view)
{
	const Elf64_Dyn *dynamic;

	if (memcmp(view->base, ELFMAG, SELFMAG) != 0 || view->base[EI_CLASS] != ELFCLASS64)
		return false;
	view_segments(view, &dynamic);
	if (!dynamic || view->size == 0)
		return false;
	view_symbols(view, dynamic);
	return view->symbols && view->strings && view->n_symbols > 0;
}

/* Offset of a function in the image; 0 when it has none of that name. */
static size_t find_function(const struct elf_view *view, const char *name, size_t *ret_size)
{
	const Elf64_Sym *s;
	size_t i;

	for (i = 0; i < view->n_symbols; i++) {
		s = &view->symbols[i];
		if (s->st_shndx == SHN_UNDEF || strcmp(view->strings + s->st_name, name) != 0)
			continue;
		*ret_size = s->st_size;
		return s->st_value - view->vaddr;
	}
	return 0;
}

/* The code for one function at `offset`: its own, the block, or a jump into the block. Returns its size, 0 when it does not fit. */
static size_t put_code(const struct replacement *rep, unsigned char *at, size_t offset, size_t room, size_t block)
{
	size_t size = (size_t)(vdso_code_end - vdso_code_begin);
	int32_t distance;

	if (!block || !rep->entry) {
		if (room < rep->size)
			return 0;
		memcpy(at, rep->code, rep->size);
		return rep->size;
	}
	if (rep->entry == vdso_code_begin) {
		if (room < size)
			return 0;
		memcpy(at, vdso_code_begin, size);
		return size;
	}
	distance = (int32_t)((int64_t)(block + (size_t)(rep->entry - vdso_code_begin)) - (int64_t)(offset + JUMP_SIZE));
	if (room < JUMP_SIZE)
		return 0;
	at[0] = 0xe9; /* jmp rel32 */
	memcpy(at + 1, &distance, sizeof(distance));
	return JUMP_SIZE;
}

/* Writes the replacements into a copy of the whole image; returns the stretch that changed, false if one does not fit. */
static bool replace(const struct elf_view *view, size_t block, unsigned char *copy, size_t *ret_from, size_t *ret_to)
{
	size_t i, offset, room, size, from = view->size, to = 0;

	for (i = 0; i < ARRAY_SIZE(replacements); i++) {
		offset = find_function(view, replacements[i].name, &room);
		if (offset == 0)
			continue; /* this kernel does not have it */
		if (room > view->size || offset > view->size - room)
			return false;
		size = put_code(&replacements[i], copy + offset, offset, room, block);
		if (!size)
			return false;
		from = offset < from ? offset : from;
		to = offset + size > to ? offset + size : to;
	}
	*ret_from = from;
	*ret_to = to;
	return to > from;
}

DEFINE_CLEANUP(vdso, struct vdso_image, vdso_free)

struct vdso_image *vdso_new(enum vdso_kind kind)
{
	struct elf_view view = { .base = (const void *)getauxval(AT_SYSINFO_EHDR) };
	_cleanup_(cleanup_vdso) struct vdso_image *image = NULL;
	_cleanup_free_ unsigned char *copy = NULL;
	size_t from, to, block = 0, room;

	errno = ENOEXEC;
	if (!view.base || !view_init(&view))
		return NULL;
	if (kind == VDSO_PAGE) {
		block = find_function(&view, BLOCK_OWNER, &room);
		if (!block)
			return NULL;
	}
	image = calloc(1, sizeof(*image));
	copy = malloc(view.size);
	if (!image || !copy)
		return NULL;
	memcpy(copy, view.base, view.size);
	if (!replace(&view, block, copy, &from, &to)) {
		errno = ENOEXEC;
		return NULL;
	}
	image->map_page = block + (size_t)(vdso_code_map_page - vdso_code_begin);
	image->offset = from;
	image->size = to - from;
	image->before = malloc(image->size);
	image->after = malloc(image->size);
	if (!image->before || !image->after)
		return NULL;
	memcpy(image->before, view.base + from, image->size);
	memcpy(image->after, copy + from, image->size);
	return take_ptr(image);
}

struct vdso_image *vdso_free(struct vdso_image *image)
{
	if (image) {
		free(image->before);
		free(image->after);
	}
	free(image);
	return NULL;
}
