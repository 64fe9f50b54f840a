/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes for mappings, the table of traps, and what instructions write. */
#include "insn/patch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insn/decode.h"
#include "insn/effect.h"
#include "insn/places.h"

static void add(struct insn_map *map, uint64_t offset, enum insn_trust trust, const char *bytes, size_t len)
{
	struct insn_site site;

	cr_assert_eq(insn_decode_site((const uint8_t *)bytes, len, offset + 0x10000, &site), 0);
	site.offset = offset;
	site.trust = (uint8_t)trust;
	cr_assert_eq(insn_map_add(map, &site, "f"), 0);
}

/* rdtsc at 0x100, an unsure one at 0x200, a prefixed rdrand across 0x1000, xbegin across 0x2000. */
static struct insn_map *sample(void)
{
	struct insn_map *map = insn_map_new();

	add(map, 0x1fff, INSN_CERTAIN, "\xc7\xf8\x01\x00\x00\x00", 6);
	add(map, 0xffe, INSN_LIKELY, "\x48\x0f\xc7\xf0", 4);
	add(map, 0x200, INSN_UNSURE, "\x0f\xa2", 2);
	add(map, 0x100, INSN_CERTAIN, "\x0f\x31", 2);
	insn_map_finish(map);
	return map;
}

static void expect_patch(const struct insn_patch *p, uint64_t address, uint8_t original)
{
	cr_assert_eq(p->address, address, "%lx", (unsigned long)p->address);
	cr_assert_eq(p->original, original);
}

Test(patch, whole_file)
{
	struct insn_map *map = sample();
	_cleanup_free_ struct insn_patch *list = NULL;

	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, 0, 0x3000, 0x7f0000, &list), 3, "the unsure one is left alone");
	expect_patch(&list[0], 0x7f0100, 0x0f);
	expect_patch(&list[1], 0x7f0fff, 0x0f);
	expect_patch(&list[2], 0x7f1fff, 0xc7);
	insn_map_free(map);
}

Test(patch, mapping_that_begins_or_ends_inside_an_instruction)
{
	struct insn_map *map = sample();
	_cleanup_free_ struct insn_patch *list = NULL;

	/* The changed byte of the rdrand is the last one before this page, that of the xbegin the last one of it. */
	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, 0x1000, 0x1000, 0x500000, &list), 1);
	expect_patch(&list[0], 0x500fff, 0xc7);
	free(list);
	list = NULL;
	/* Of the rdrand there is all but the prefix. */
	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, 0xfff, 0x100, 0x600000, &list), 1);
	expect_patch(&list[0], 0x600000, 0x0f);
	free(list);
	list = NULL;
	/* And here nothing but the prefix. */
	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, 0xf00, 0xff, 0x600000, &list), 0);
	insn_map_free(map);
}

Test(patch, nothing_there_and_nonsense)
{
	struct insn_map *map = sample();
	struct insn_patch *list = NULL;

	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, 0x3000, 0x1000, 0x1000, &list), 0);
	cr_assert_null(list);
	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, 0, 0, 0x1000, &list), 0);
	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, UINT64_MAX, 2, 0x1000, &list), -EINVAL);
	cr_assert_eq(insn_patch_mapping(map, INSN_KINDS_ALL, 0, 0x1000, UINT64_MAX - 10, &list), -EINVAL);
	insn_map_free(map);
}

/* INT3 with the prefixes that stay must still be INT3 for the decoder, of the length that is expected. */
Test(patch, patched_instruction_is_int3)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = { { "\x0f\x31", 2 },		{ "\x0f\x01\xf9", 3 },	   { "\x48\x0f\xc7\xf0", 4 },
		     { "\x66\x0f\xc7\xf0", 4 }, { "\xf3\x0f\xc7\xf8", 4 }, { "\x66\x41\x0f\xc7\xf8", 5 },
		     { "\xc7\xf8\0\0\0\0", 6 }, { "\x66\xc7\xf8\0\0", 5 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct insn_site site;
		struct insn_decoded decoded;
		uint8_t text[INSN_MAX_LENGTH] = { 0 };

		cr_assert_eq(insn_decode_site((const uint8_t *)rows[i].bytes, rows[i].len, 0, &site), 0);
		memcpy(text, site.bytes, site.length);
		text[insn_patch_site(&site, 0).address] = INSN_TRAP;
		cr_assert_eq(insn_decode(text, sizeof(text), 0, &decoded), 0, "row %zu", i);
		cr_assert_eq(decoded.flow, INSN_FLOW_END, "row %zu", i);
		cr_assert_eq(decoded.length, site.opcode_at + 1, "row %zu: prefixes and INT3", i);
	}
}

Test(traps, find_by_address)
{
	struct insn_map *map = sample();
	struct insn_traps traps = { 0 };
	const struct insn_site *site;
	uint64_t start;

	cr_assert_eq(insn_traps_map(&traps, map, INSN_KINDS_ALL, 0, 0x3000, 0x7f0000), 0);
	cr_assert_eq(traps.count, 3);
	site = insn_traps_find(&traps, 0x7f0100, &start);
	cr_assert(site && site->kind == INSN_RDTSC && start == 0x7f0100);
	cr_assert_null(insn_traps_find(&traps, 0x7f0101, &start), "inside the opcode");
	cr_assert_null(insn_traps_find(&traps, 0x7f0200, &start), "the unsure one: the guest's own");
	cr_assert_null(insn_traps_find(&traps, 0x7f0ffe, &start), "a prefix");
	site = insn_traps_find(&traps, 0x7f0fff, &start);
	cr_assert(site && site->kind == INSN_RDRAND && start == 0x7f0ffe, "the opcode behind a prefix");
	cr_assert_null(insn_traps_find(&traps, 0x7effff, &start));
	cr_assert_null(insn_traps_find(&traps, UINT64_MAX, &start));
	insn_traps_deinit(&traps);
	insn_map_free(map);
}

Test(traps, unmapped_and_mapped_over)
{
	struct insn_map *map = sample();
	struct insn_traps traps = { 0 }, copy = { 0 };
	uint64_t start;

	cr_assert_eq(insn_traps_map(&traps, map, INSN_KINDS_ALL, 0, 0x3000, 0x100000), 0);
	cr_assert_eq(insn_traps_map(&traps, map, INSN_KINDS_ALL, 0, 0x3000, 0x200000), 0);
	cr_assert_eq(insn_traps_map(&traps, map, INSN_KINDS_ALL, 0, 0x3000, 0x100000), 0, "the same again");
	cr_assert_eq(traps.count, 6);
	cr_assert_eq(insn_traps_copy(&copy, &traps), 0);
	insn_traps_unmap(&traps, 0x100000, 0x1000);
	cr_assert_eq(traps.count, 4);
	cr_assert_null(insn_traps_find(&traps, 0x100100, &start));
	cr_assert(insn_traps_find(&traps, 0x101fff, &start));
	cr_assert(insn_traps_find(&copy, 0x100100, &start), "the copy is its own");
	insn_traps_unmap(&traps, 0, UINT64_MAX);
	cr_assert_eq(traps.count, 0);
	insn_traps_deinit(&traps);
	insn_traps_deinit(&copy);
	insn_map_free(map);
}

struct effect_row {
	const char *what;
	const char *bytes;
	size_t len;
	bool unknown, leaves;
	uint8_t count;
	uint64_t address;
	uint32_t size;
};

/* Registers: number n holds (n + 1) * 0x10000, fs base 0x7000, rip 0x400000. */
static const struct effect_row effect_rows[] = {
	{ "push %rax", "\x50", 1, false, false, 1, 0x4fff8, 8 },
	{ "push %ax", "\x66\x50", 2, false, false, 1, 0x4fffe, 2 },
	{ "call", "\xe8\0\0\0\0", 5, false, false, 1, 0x4fff8, 8 },
	{ "call *(%rax)", "\xff\x10", 2, false, false, 1, 0x4fff8, 8 },
	{ "mov %eax,8(%rbx,%rcx,4)", "\x89\x44\x8b\x08", 4, false, false, 1, 0xc0008, 4 },
	{ "xchg %eax,(%rdi)", "\x87\x07", 2, false, false, 1, 0x80000, 4 },
	{ "lock cmpxchg %ecx,(%rdi)", "\xf0\x0f\xb1\x0f", 4, false, false, 1, 0x80000, 4 },
	{ "lock xadd %rax,(%r15)", "\xf0\x49\x0f\xc1\x07", 5, false, false, 1, 0x100000, 8 },
	{ "rep stos: one round", "\xf3\xaa", 2, false, false, 1, 0x80000, 1 },
	{ "mov %rax,%fs:0x28", "\x64\x48\x89\x04\x25\x28\0\0\0", 9, false, false, 1, 0x7028, 8 },
	{ "mov %eax,4(%rip)", "\x89\x05\x04\0\0\0", 6, false, false, 1, 0x40000a, 4 },
	{ "mov %ecx,(%eax)", "\x67\x89\x08", 3, false, false, 1, 0x10000, 4 },
	{ "cmpxchg16b (%rdi)", "\x48\x0f\xc7\x0f", 4, false, false, 1, 0x80000, 16 },
	{ "cmp %eax,(%rdi)", "\x39\x07", 2, false, false, 0, 0, 0 },
	{ "pause", "\xf3\x90", 2, false, false, 0, 0, 0 },
	{ "mov (%rdi),%eax", "\x8b\x07", 2, false, false, 0, 0, 0 },
	{ "xsave (%rsp)", "\x0f\xae\x24\x24", 4, true, false, 0, 0, 0 },
	{ "vpscatterdd", "\x62\xf2\x7d\x49\xa0\x04\x0f", 7, true, false, 0, 0, 0 },
	{ "syscall", "\x0f\x05", 2, false, true, 0, 0, 0 },
	{ "rdtsc", "\x0f\x31", 2, false, true, 0, 0, 0 },
};

Test(effect, writes_are_known_in_advance)
{
	struct insn_regs regs = { .rip = 0x400000, .fs_base = 0x7000 };

	for (unsigned i = 0; i < INSN_REG_COUNT; i++)
		regs.gpr[i] = (i + 1) * 0x10000;
	for (size_t i = 0; i < ARRAY_SIZE(effect_rows); i++) {
		const struct effect_row *row = &effect_rows[i];
		struct insn_effect effect;

		cr_assert_eq(insn_effect_of((const uint8_t *)row->bytes, row->len, &regs, &effect), 0, "%s", row->what);
		cr_assert_eq(effect.length, row->len, "%s", row->what);
		cr_assert_eq(effect.unknown, row->unknown, "%s", row->what);
		cr_assert_eq(effect.leaves, row->leaves, "%s", row->what);
		cr_assert_eq(effect.count, row->count, "%s", row->what);
		if (row->count) {
			cr_assert_eq(effect.writes[0].address, row->address, "%s: %lx", row->what,
				     (unsigned long)effect.writes[0].address);
			cr_assert_eq(effect.writes[0].len, row->size, "%s", row->what);
		}
	}
	cr_assert_eq(insn_effect_of((const uint8_t *)"\x0f", 1, &regs, &(struct insn_effect){ 0 }), -EILSEQ);
}

/* What a loop depends on. The registers are those of the test above. */
static const struct {
	const char *what, *bytes;
	size_t len;
	bool unknown;
	unsigned count;
	uint64_t address;
	uint32_t size;
} read_rows[] = {
	{ "mov (%rdi),%eax", "\x8b\x07", 2, false, 1, 0x80000, 4 },
	{ "cmp %eax,(%rdi)", "\x39\x07", 2, false, 1, 0x80000, 4 },
	{ "mov 4(%rip),%eax", "\x8b\x05\x04\0\0\0", 6, false, 1, 0x40000a, 4 },
	{ "mov %fs:(%rcx),%eax", "\x64\x8b\x01", 3, false, 1, 0x27000, 4 },
	{ "xchg %eax,(%rdi)", "\x87\x07", 2, false, 1, 0x80000, 4 },
	{ "lock cmpxchg %ecx,(%rdi)", "\xf0\x0f\xb1\x0f", 4, false, 1, 0x80000, 4 },
	{ "pop %rax", "\x58", 1, false, 1, 0x50000, 8 },
	{ "ret", "\xc3", 1, false, 1, 0x50000, 8 },
	{ "lea (%rdi),%rax", "\x48\x8d\x07", 3, false, 0, 0, 0 },
	{ "mov %eax,(%rdi)", "\x89\x07", 2, false, 0, 0, 0 },
	{ "vmovdqu (%rdi),%ymm0", "\xc5\xfe\x6f\x07", 4, false, 1, 0x80000, 32 },
	{ "vpgatherdd %ymm0,(%rdi,%ymm1,4),%ymm2", "\xc4\xe2\x7d\x90\x14\x8f", 6, true, 0, 0, 0 },
};

Test(effect, reads_are_known_in_advance)
{
	struct insn_regs regs = { .rip = 0x400000, .fs_base = 0x7000 };

	for (unsigned i = 0; i < INSN_REG_COUNT; i++)
		regs.gpr[i] = (i + 1) * 0x10000;
	for (size_t i = 0; i < ARRAY_SIZE(read_rows); i++) {
		struct insn_effect effect;

		cr_assert_eq(insn_effect_of((const uint8_t *)read_rows[i].bytes, read_rows[i].len, &regs, &effect), 0, "%s",
			     read_rows[i].what);
		cr_assert_eq(effect.reads_unknown, read_rows[i].unknown, "%s", read_rows[i].what);
		cr_assert_eq(effect.n_reads, read_rows[i].count, "%s: %u", read_rows[i].what, effect.n_reads);
		if (read_rows[i].count) {
			cr_assert_eq(effect.reads[0].address, read_rows[i].address, "%s: %lx", read_rows[i].what,
				     (unsigned long)effect.reads[0].address);
			cr_assert_eq(effect.reads[0].len, read_rows[i].size, "%s", read_rows[i].what);
		}
	}
}

Test(traps, a_jump_is_no_trap)
{
	struct insn_traps traps = { 0 };
	struct insn_map *map = sample();
	uint64_t start, address;

	cr_assert_eq(insn_traps_map(&traps, map, INSN_KINDS_ALL, 0, 0x3000, 0x7f0000), 0);
	address = traps.items[1].address;
	cr_assert(insn_traps_find(&traps, address + traps.items[1].site.opcode_at, &start) && start == address);
	cr_assert(!insn_traps_jumps(&traps, address));
	insn_traps_set_jump(&traps, address + 1); /* there is none */
	cr_assert(!insn_traps_jumps(&traps, address) && !insn_traps_jumps(&traps, address + 1));
	insn_traps_set_jump(&traps, address);
	cr_assert_null(insn_traps_find(&traps, address + traps.items[1].site.opcode_at, &start));
	cr_assert(insn_traps_jumps(&traps, address) && !insn_traps_jumps(&traps, address + 1) && !insn_traps_jumps(&traps, 0x800000));
	traps.items[1].site.head = 5; /* it begins where what is before it did */
	cr_assert(insn_traps_jumps(&traps, address - 5) && !insn_traps_jumps(&traps, address) && !insn_traps_jumps(&traps, address - 4));
	insn_traps_deinit(&traps);
	insn_map_free(map);
}

/* Two lists say what is not stepped, the one of what stops a look, the other of points: they agree on flags. */
Test(effect, what_has_to_do_with_the_trap_flag_is_not_stepped)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool stepped;
	} rows[] = { { "\x9c", 1, false }, { "\x66\x9c", 2, false }, { "\x9d", 1, false },    { "\x48\xcf", 2, false },
		     { "\xcf", 1, false }, { "\x9f", 1, true },	  { "\x9e", 1, true }, { "\x50", 1, true } };
	struct insn_regs regs = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct insn_effect effect;
		bool repeats;

		cr_assert_eq(insn_effect_of((const uint8_t *)rows[i].bytes, rows[i].len, &regs, &effect), 0);
		cr_assert_eq(!effect.leaves, rows[i].stepped, "row %zu", i);
		cr_assert_eq(insn_is_steppable((const uint8_t *)rows[i].bytes, rows[i].len, &repeats), rows[i].stepped, "row %zu", i);
	}
}
