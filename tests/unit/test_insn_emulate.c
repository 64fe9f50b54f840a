/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emulated instructions: rows by the SDM, and, where this processor has the instruction, the real one as a witness:
 * given its own result as the answer, the emulation must leave the same registers and flags.
 */
#include "insn/emulate.h"

#include <cpuid.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "insn/decode.h"

#define PATTERN	    0x1122334455667788ull
#define ALL_FLAGS   (INSN_FLAG_CF | INSN_FLAG_PF | INSN_FLAG_AF | INSN_FLAG_ZF | INSN_FLAG_SF | INSN_FLAG_OF)
#define OTHER_FLAGS 0x202ull /* IF and the bit that is always one */

static struct insn_regs patterned(void)
{
	struct insn_regs regs = { .rip = 0x401000, .rflags = ALL_FLAGS | OTHER_FLAGS };

	for (unsigned i = 0; i < INSN_REG_COUNT; i++)
		regs.gpr[i] = PATTERN + i;
	return regs;
}

static struct insn_site site_of(const char *bytes, size_t len)
{
	struct insn_site site;

	cr_assert_eq(insn_decode_site((const uint8_t *)bytes, len, 0x1000, &site), 0);
	cr_assert_eq(site.length, len);
	return site;
}
#define SITE(bytes) site_of(bytes, sizeof(bytes) - 1)

/* Everything but the named registers is as before. */
static void expect_others(const struct insn_regs *after, const struct insn_regs *before, unsigned changed)
{
	for (unsigned i = 0; i < INSN_REG_COUNT; i++)
		if (!(changed & 1u << i))
			cr_assert_eq(after->gpr[i], before->gpr[i], "%s changed", insn_reg_name(i, 64));
}

Test(emulate, rdtsc_clears_upper_halves_and_keeps_flags)
{
	struct insn_regs before = patterned(), regs = before;
	struct insn_site site = SITE("\x0f\x31");
	struct insn_answers a = { .tsc = 0xfedcba9876543210ull };

	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.gpr[INSN_RAX], 0x76543210u);
	cr_assert_eq(regs.gpr[INSN_RDX], 0xfedcba98u);
	cr_assert_eq(regs.rflags, before.rflags);
	cr_assert_eq(regs.rip, 0x401002);
	expect_others(&regs, &before, 1 << INSN_RAX | 1 << INSN_RDX);
}

Test(emulate, rdtscp_gives_aux_in_ecx)
{
	struct insn_regs before = patterned(), regs = before;
	struct insn_site site = SITE("\x0f\x01\xf9");
	struct insn_answers a = { .tsc = 1ull << 32 | 2, .tsc_aux = 0x80001003u };

	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.gpr[INSN_RAX], 2);
	cr_assert_eq(regs.gpr[INSN_RDX], 1);
	cr_assert_eq(regs.gpr[INSN_RCX], 0x80001003u, "zero-extended, not sign-extended");
	cr_assert_eq(regs.rip, 0x401003);
	expect_others(&regs, &before, 1 << INSN_RAX | 1 << INSN_RDX | 1 << INSN_RCX);
}

Test(emulate, cpuid_writes_four_registers)
{
	struct insn_regs before = patterned(), regs = before;
	struct insn_site site = SITE("\x0f\xa2");
	struct insn_answers a = { .cpuid = { 1, 2, 3, 0xffffffffu } };

	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.gpr[INSN_RAX], 1);
	cr_assert_eq(regs.gpr[INSN_RBX], 2);
	cr_assert_eq(regs.gpr[INSN_RCX], 3);
	cr_assert_eq(regs.gpr[INSN_RDX], 0xffffffffu);
	cr_assert_eq(regs.rflags, before.rflags);
	expect_others(&regs, &before, 1 << INSN_RAX | 1 << INSN_RBX | 1 << INSN_RCX | 1 << INSN_RDX);
}

struct random_row {
	const char *what;
	const char *bytes;
	size_t len;
	unsigned dest;
	bool fails;
	uint64_t want;
};

static const struct random_row random_rows[] = {
	{ "rdrand ax", "\x66\x0f\xc7\xf0", 4, INSN_RAX, false, 0x112233445566cdefull },
	{ "rdrand eax", "\x0f\xc7\xf0", 3, INSN_RAX, false, 0x89abcdefull },
	{ "rdrand rax", "\x48\x0f\xc7\xf0", 4, INSN_RAX, false, 0x0123456789abcdefull },
	{ "rdrand r9w", "\x66\x41\x0f\xc7\xf1", 5, INSN_R9, false, 0x112233445566cdefull },
	{ "rdrand with 66 and REX.W is 64 bits wide", "\x66\x48\x0f\xc7\xf3", 5, INSN_RBX, false,
	  0x0123456789abcdefull },
	{ "rdseed edi", "\x0f\xc7\xff", 3, INSN_RDI, false, 0x89abcdefull },
	{ "rdseed r15", "\x49\x0f\xc7\xff", 4, INSN_R15, false, 0x0123456789abcdefull },
	{ "rdrand cx fails: zero in 16 bits", "\x66\x0f\xc7\xf1", 4, INSN_RCX, true, 0x1122334455660000ull },
	{ "rdrand ecx fails", "\x0f\xc7\xf1", 3, INSN_RCX, true, 0 },
	{ "rdseed rdx fails", "\x48\x0f\xc7\xfa", 4, INSN_RDX, true, 0 },
};

Test(emulate, random_by_width_and_carry)
{
	for (size_t i = 0; i < ARRAY_SIZE(random_rows); i++) {
		const struct random_row *row = &random_rows[i];
		struct insn_site site = site_of(row->bytes, row->len);
		struct insn_answers a = { .random = 0x0123456789abcdefull, .random_fails = row->fails };
		struct insn_regs before = patterned(), regs;

		before.gpr[row->dest] = PATTERN;
		regs = before;
		cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE, "%s", row->what);
		cr_assert_eq(regs.gpr[row->dest], row->want, "%s: %lx", row->what, (unsigned long)regs.gpr[row->dest]);
		cr_assert_eq(regs.rflags, OTHER_FLAGS | (row->fails ? 0 : INSN_FLAG_CF), "%s: flags", row->what);
		cr_assert_eq(regs.rip, 0x401000 + row->len, "%s", row->what);
		expect_others(&regs, &before, 1u << row->dest);
	}
}

Test(emulate, rdpid_is_64_bits_wide_and_keeps_flags)
{
	struct insn_regs before = patterned(), regs = before;
	struct insn_site site = SITE("\xf3\x41\x0f\xc7\xf8");
	struct insn_answers a = { .tsc_aux = 0xf0000001u };

	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.gpr[INSN_R8], 0xf0000001u);
	cr_assert_eq(regs.rflags, before.rflags);
	expect_others(&regs, &before, 1 << INSN_R8);
}

Test(emulate, xgetbv_by_index)
{
	struct insn_site site = SITE("\x0f\x01\xd0");
	struct insn_answers a = { .xcr0 = 0x1000000e7ull, .xinuse = 3 };
	struct insn_regs before = patterned(), regs = before;

	regs.gpr[INSN_RCX] = 0xffffffff00000000ull; /* only ECX counts */
	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.gpr[INSN_RAX], 0xe7);
	cr_assert_eq(regs.gpr[INSN_RDX], 1);

	before.gpr[INSN_RCX] = 1;
	regs = before;
	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_FAULT_GP, "index 1 without XGETBV1");
	cr_assert(!memcmp(&regs, &before, sizeof(regs)), "a fault changes nothing");
	a.xinuse_known = true;
	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.gpr[INSN_RAX], 3);
	regs.gpr[INSN_RCX] = 2;
	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_FAULT_GP);
}

Test(emulate, xbegin_goes_to_the_abort_handler)
{
	struct insn_site forward = SITE("\xc7\xf8\x10\x00\x00\x00");
	struct insn_site back = SITE("\xc7\xf8\xf0\xff\xff\xff");
	struct insn_site near = SITE("\x66\xc7\xf8\xfe\xff");
	struct insn_answers a = { .abort_status = 0 };
	struct insn_regs before = patterned(), regs = before;

	cr_assert_eq(insn_emulate(&forward, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.rip, 0x401000 + 6 + 0x10);
	cr_assert_eq(regs.gpr[INSN_RAX], 0, "status 0 says: do not retry");
	cr_assert_eq(regs.rflags, before.rflags);
	expect_others(&regs, &before, 1 << INSN_RAX);

	regs = before;
	cr_assert_eq(insn_emulate(&back, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.rip, 0x401000 + 6 - 0x10);
	regs = before;
	cr_assert_eq(insn_emulate(&near, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.rip, 0x401000 + 5 - 2);
}

Test(emulate, resume_flag_of_the_fault_is_cleared)
{
	struct insn_site site = SITE("\x0f\x31");
	struct insn_answers a = { .tsc = 0 };
	struct insn_regs regs = patterned();

	regs.rflags |= INSN_FLAG_RF;
	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.rflags & INSN_FLAG_RF, 0);
}

Test(emulate, invalid_sites_are_refused_and_touch_nothing)
{
	static const struct insn_site rows[] = {
		{ .kind = INSN_NONE, .length = 2 },
		{ .kind = INSN_KIND_COUNT, .length = 2 },
		{ .kind = 255, .length = 2 },
		{ .kind = INSN_RDTSC, .length = 0 },
		{ .kind = INSN_RDTSC, .length = 1 },
		{ .kind = INSN_RDTSC, .length = 16 },
		{ .kind = INSN_RDRAND, .length = 3, .width = 0 },
		{ .kind = INSN_RDRAND, .length = 3, .width = 8 },
		{ .kind = INSN_RDSEED, .length = 3, .width = 64, .dest = 16 },
	};
	struct insn_answers a = { .tsc = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct insn_regs before = patterned(), regs = before;

		cr_assert_eq(insn_emulate(&rows[i], &regs, &a), -EINVAL, "row %zu", i);
		cr_assert(!memcmp(&regs, &before, sizeof(regs)), "row %zu", i);
	}
}

/* Executes `insn` on this processor with %rax = PATTERN and all arithmetic flags set. */
#define RUN_ON_RAX(insn, value, flags)                                                                                 \
	__asm__ volatile("pushfq\n\torq $0x8d5, (%%rsp)\n\tpopfq\n\t" insn "\n\tpushfq\n\tpopq %1"                     \
			 : "+a"(value), "=r"(flags)                                                                    \
			 :                                                                                             \
			 : "cc", "memory")

static void compare_random(const char *what, struct insn_site site, uint64_t value, uint64_t flags)
{
	struct insn_answers a = { .random = value, .random_fails = !(flags & INSN_FLAG_CF) };
	struct insn_regs regs = { .rflags = ALL_FLAGS };

	regs.gpr[INSN_RAX] = PATTERN;
	cr_assert_eq(insn_emulate(&site, &regs, &a), INSN_DONE);
	cr_assert_eq(regs.gpr[INSN_RAX], value, "%s: processor %lx, emulation %lx", what, (unsigned long)value,
		     (unsigned long)regs.gpr[INSN_RAX]);
	cr_assert_eq(regs.rflags & ALL_FLAGS, flags & ALL_FLAGS, "%s: flags", what);
}

Test(emulate, random_is_as_on_this_processor)
{
	unsigned eax, ebx, ecx, edx;
	uint64_t value, flags;

	__cpuid(1, eax, ebx, ecx, edx);
	if (!(ecx & bit_RDRND))
		cr_skip_test("this processor has no RDRAND to compare with");
	value = PATTERN;
	RUN_ON_RAX("rdrand %%ax", value, flags);
	compare_random("rdrand ax", SITE("\x66\x0f\xc7\xf0"), value, flags);
	value = PATTERN;
	RUN_ON_RAX("rdrand %%eax", value, flags);
	compare_random("rdrand eax", SITE("\x0f\xc7\xf0"), value, flags);
	value = PATTERN;
	RUN_ON_RAX("rdrand %%rax", value, flags);
	compare_random("rdrand rax", SITE("\x48\x0f\xc7\xf0"), value, flags);
}

Test(emulate, cpuid_and_rdtsc_are_as_on_this_processor)
{
	uint64_t rax = PATTERN << 32, rbx = PATTERN, rcx = PATTERN << 32, rdx = PATTERN;
	struct insn_site cpuid = SITE("\x0f\xa2"), rdtsc = SITE("\x0f\x31");
	struct insn_regs regs = patterned();
	struct insn_answers a = { .tsc = 0 };

	__asm__ volatile("cpuid" : "+a"(rax), "+b"(rbx), "+c"(rcx), "+d"(rdx));
	a.cpuid = (struct insn_cpuid){ (uint32_t)rax, (uint32_t)rbx, (uint32_t)rcx, (uint32_t)rdx };
	cr_assert_eq(insn_emulate(&cpuid, &regs, &a), INSN_DONE);
	cr_assert(regs.gpr[INSN_RAX] == rax && regs.gpr[INSN_RBX] == rbx && regs.gpr[INSN_RCX] == rcx &&
		  regs.gpr[INSN_RDX] == rdx);

	rax = rdx = PATTERN;
	__asm__ volatile("rdtsc" : "+a"(rax), "+d"(rdx));
	a.tsc = (uint64_t)(uint32_t)rdx << 32 | (uint32_t)rax;
	regs = patterned();
	cr_assert_eq(insn_emulate(&rdtsc, &regs, &a), INSN_DONE);
	cr_assert(regs.gpr[INSN_RAX] == rax && regs.gpr[INSN_RDX] == rdx);
}
