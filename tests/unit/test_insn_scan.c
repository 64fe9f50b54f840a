/* SPDX-License-Identifier: BSD-3-Clause */
/* The byte filter against a plain search, decoding of sites, and the scanner on damaged files. Whole programs:
 * integration/insn_map.sh. */
#include "insn/scan.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/rng.h"
#include "insn/decode.h"
#include "insn/prefilter.h"

static bool plain_hit(const uint8_t *p, size_t left)
{
	if (left >= 2 && p[0] == 0xc7 && p[1] == 0xf8)
		return true;
	if (left < 2 || p[0] != 0x0f)
		return false;
	if (p[1] == 0x31 || p[1] == 0xa2)
		return true;
	return left >= 3 && ((p[1] == 0x01 && (p[2] == 0xf9 || p[2] == 0xd0)) || (p[1] == 0xc7 && p[2] >= 0xf0));
}

Test(scan, prefilter_agrees_with_a_plain_search)
{
	/* Bytes of opcodes only, so that hits are dense and lie at every distance from the end of a vector. */
	static const uint8_t alphabet[] = { 0x0f, 0x31, 0xa2, 0x01, 0xf9, 0xd0, 0xc7, 0xf8, 0xf0, 0xff, 0x00 };
	struct rng rng;
	uint8_t code[200];

	rng_init(&rng, 7, "prefilter", 0);
	for (int round = 0; round < 5000; round++) {
		size_t len = rng_below(&rng, sizeof(code)), at = 0;

		for (size_t i = 0; i < len; i++)
			code[i] = alphabet[rng_below(&rng, sizeof(alphabet))];
		for (size_t i = 0; i < len; i++) {
			if (!plain_hit(code + i, len - i))
				continue;
			at = insn_prefilter(code, len, at);
			cr_assert_eq(at, i, "round %d: hit at %zu, not %zu", round, at, i);
			at++;
		}
		cr_assert_eq(insn_prefilter(code, len, at), len);
	}
}

struct site_row {
	const char *what;
	const char *bytes;
	uint8_t len;
	int r;
	enum insn_kind kind;
	enum insn_reg dest;
	uint8_t width, opcode_at;
	int32_t fallback;
};

static const struct site_row site_rows[] = {
	{ "rdtsc", "\x0f\x31", 2, 0, INSN_RDTSC, 0, 0, 0, 0 },
	{ "rex.w rdtsc", "\x48\x0f\x31", 3, 0, INSN_RDTSC, 0, 0, 1, 0 },
	{ "cs rdtsc", "\x2e\x0f\x31", 3, 0, INSN_RDTSC, 0, 0, 1, 0 },
	{ "lock rdtsc is undefined", "\xf0\x0f\x31", 3, -EILSEQ, 0, 0, 0, 0, 0 },
	{ "rdtscp", "\x0f\x01\xf9", 3, 0, INSN_RDTSCP, 0, 0, 0, 0 },
	{ "rdrand r12d", "\x41\x0f\xc7\xf4", 4, 0, INSN_RDRAND, INSN_R12, 32, 1, 0 },
	{ "rdseed si", "\x66\x0f\xc7\xfe", 4, 0, INSN_RDSEED, INSN_RSI, 16, 1, 0 },
	{ "rdpid r10", "\xf3\x41\x0f\xc7\xfa", 5, 0, INSN_RDPID, INSN_R10, 64, 2, 0 },
	{ "cmpxchg8b is another one of that opcode", "\x0f\xc7\x0f", 3, -EILSEQ, 0, 0, 0, 0, 0 },
	{ "xbegin back", "\xc7\xf8\xf0\xff\xff\xff", 6, 0, INSN_XBEGIN, 0, 0, 0, -16 },
	{ "xbegin, short", "\x66\xc7\xf8\x10\x00", 5, 0, INSN_XBEGIN, 0, 0, 1, 16 },
	{ "cut off", "\x0f", 1, -EILSEQ, 0, 0, 0, 0, 0 },
	{ "another instruction", "\x90", 1, -EILSEQ, 0, 0, 0, 0, 0 },
};

Test(scan, sites_are_described_by_their_bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(site_rows); i++) {
		const struct site_row *row = &site_rows[i];
		struct insn_site site;

		cr_assert_eq(insn_decode_site((const uint8_t *)row->bytes, row->len, 0x1000, &site), row->r, "%s",
			     row->what);
		if (row->r)
			continue;
		cr_assert_eq(site.kind, row->kind, "%s", row->what);
		cr_assert_eq(site.length, row->len, "%s", row->what);
		cr_assert_eq(site.dest, row->dest, "%s", row->what);
		cr_assert_eq(site.width, row->width, "%s", row->what);
		cr_assert_eq(site.opcode_at, row->opcode_at, "%s", row->what);
		cr_assert_eq(site.fallback, row->fallback, "%s", row->what);
		cr_assert(!memcmp(site.bytes, row->bytes, row->len), "%s", row->what);
	}
}

Test(scan, what_is_no_elf_file_is_refused)
{
	struct insn_map *map;

	cr_assert_eq(insn_scan_elf("", 0, &map), -ENOEXEC);
	cr_assert_eq(insn_scan_elf("#!/bin/sh\nexit 0\n", 17, &map), -ENOEXEC);
	cr_assert_eq(insn_scan_fd(-1, &map), -EBADF);
}

/* The test program itself, which has RDTSC and CPUID (somewhere in what it links) and all tables that the scanner
 * reads. */
Test(scan, damaged_files_do_no_harm)
{
	_cleanup_free_ char *file = NULL;
	struct insn_map *map = NULL;
	struct rng rng;
	size_t len;

	__asm__ volatile("rdtsc" : : : "eax", "edx");
	cr_assert_eq(fd_read_file(AT_FDCWD, "/proc/self/exe", 1 << 26, &file, &len), 0);
	cr_assert_eq(insn_scan_elf(file, len, &map), 0);
	cr_assert(insn_map_count_trusted(map) >= 1);
	map = insn_map_free(map);

	rng_init(&rng, 3, "damage", 0);
	for (int round = 0; round < 300; round++) {
		size_t kept = round % 3 ? len : rng_below(&rng, len);
		_cleanup_free_ char *copy = malloc(kept + 1);
		unsigned hits = 1 + (unsigned)rng_below(&rng, 20);

		cr_assert(copy);
		memcpy(copy, file, kept);
		for (unsigned i = 0; i < hits && kept; i++) {
			/* Headers, and anywhere. */
			size_t at = rng_below(&rng, i % 2 && kept > 4096 ? 4096 : kept);

			copy[at] = (char)rng_u64(&rng);
		}
		if (insn_scan_elf(copy, kept, &map) == 0)
			map = insn_map_free(map);
	}
}

/*
 * Functions with no-operations near CPUID: behind the function; between its instructions; where a branch leads to them (so they are executed);
 * too few of them; too far away. Each is followed by one that gives nothing.
 */
#define FUNCTION(name, body)                                                                                           \
	".globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n" body ".cfi_endproc\n.size " name      \
	", . - " name "\n"
/* First what keeps short branches of what is no known function, which count as such wherever they seem to stand, out of reach. */
__asm__(".text\n" FUNCTION("barrier", ".fill 160, 1, 0xf4\n")
	FUNCTION("moved_behind", "cpuid\nmov %eax, %esi\nadd $1, %esi\nret\n") /* 2 and 3 bytes */
	FUNCTION("moved_far", "rdtsc\nlea moved_behind(%rip), %rsi\nret\n")
	FUNCTION("moved_before", "mov $1, %eax\nxor %ecx, %ecx\ncpuid\ntest %ebx, %ebx\nje 1f\nnop\n1: ret\n")
	FUNCTION("moved_short", "mov $1, %al\nxgetbv\nmov %eax, %esi\nret\n") /* two bytes are enough */
	FUNCTION("moved_entered", "mov $1, %eax\n1: cpuid\n2: mov %eax, (%rsi)\ntest %ebx, %ebx\nje 1b\njs 2b\nret\n")
	FUNCTION("moved_second", "cpuid\nmov %eax, %esi\n1: add $1, %esi\nje 1b\nret\n")
	FUNCTION("moved_elsewhere", "mov $1, %eax\ncpuid\n3: mov %eax, 1(%rsi)\nret\n") FUNCTION("moved_enters", "jmp 3b\n")
	FUNCTION("moved_table", "lea 4f(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\nadd %rdx, %rax\njmp *%rax\n"
				"5: mov $1, %eax\ncpuid\n6: mov %eax, 1(%rsi)\nret\n.p2align 2\n4: .long 5b - 4b, 6b - 4b\n")
	FUNCTION("moved_call", "rdtsc\nsyscall\nnop\nret\n") FUNCTION("moved_end", "cpuid\nret\n")
	FUNCTION("moved_twice", "cpuid\nmov $1, %eax\ncpuid\nret\n"));

extern const uint8_t moved_behind[], moved_far[], moved_before[], moved_short[], moved_entered[], moved_second[], moved_elsewhere[], moved_table[], moved_call[],
	moved_end[], moved_twice[];

/* The site `at` bytes behind the address of a function of this program. */
static const struct insn_site *site_in(const struct insn_map *map, const uint8_t *function, size_t at)
{
	for (size_t i = 0; i < map->count; i++)
		if (!memcmp(insn_map_function(map, &map->sites[i]), "moved_", 6) &&
		    map->sites[i].vaddr % 4096 == (uint64_t)(uintptr_t)(function + at) % 4096)
			return &map->sites[i];
	cr_assert_fail("there is no site");
	return NULL;
}

Test(scan, what_can_be_moved_is_entered_at_its_beginning_only)
{
	const struct {
		const uint8_t *function;
		size_t at;
		int tail, head, distance;
	} rows[] = {
		{ moved_behind, 0, 5, 0, 0 },
		{ moved_far, 0, 7, 0, 3 },
		{ moved_before, 7, 0, 7, 0 }, /* two of them; behind it is a branch */
		{ moved_short, 2, 2, 0, 0 },
		{ moved_entered, 5, 0, 0, 0 },
		{ moved_second, 0, 0, 0, 0 }, /* the second one behind it is jumped to, and nothing is before it */
		{ moved_elsewhere, 5, 0, 5, 0 }, /* from another function */
		{ moved_table, 21, 0, 5, 0 },	 /* from a table */
		{ moved_call, 0, 0, 0, 0 },
		{ moved_end, 0, 0, 0, 0 },
		{ moved_twice, 0, 5, 0, 0 }, /* the one's tail is not the other's head */
		{ moved_twice, 7, 0, 0, 0 },
	};
	struct insn_map *map;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(insn_scan_fd(fd, &map), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct insn_site *site = site_in(map, rows[i].function, rows[i].at);
		const uint8_t *there = rows[i].function + rows[i].at;

		cr_assert(site->tail == rows[i].tail && site->head == rows[i].head && site->moved_distance == rows[i].distance,
			  "row %zu: %d %d %d", i, site->tail, site->head, site->moved_distance);
		cr_assert(!memcmp(site->moved, there + site->length, site->tail) && (site->tail || !memcmp(site->moved, there - site->head, site->head)),
			  "row %zu", i);
	}
	(void)insn_map_free(map);
	(void)close(fd);
}
