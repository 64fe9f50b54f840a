/* SPDX-License-Identifier: BSD-3-Clause */
/* The virtual processor: never more than the host has, no names of places, and three views that agree. */
#include "insn/cpuid.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "insn/cpuid_table.h"

#include <fcntl.h>

/* A processor that has every feature and answers every leaf, with an APIC id that must not be seen. */
static void rich_query(void *arg, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret)
{
	*ret = (struct insn_cpuid){ 0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu };
	if (leaf == 0 || leaf == 0x80000000u)
		*ret = (struct insn_cpuid){ leaf + 0x40, 0x756e6547, 0x6c65746e, 0x49656e69 }; /* GenuineIntel */
	if (leaf == 7 && subleaf == 0)
		ret->eax = 2;
}

static void poor_query(void *arg, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret)
{
	rich_query(arg, leaf, subleaf, ret);
	if (leaf == 1)
		ret->ecx &= ~(1u << 20); /* SSE4.2 */
}

static const uint32_t all_leaves[] = {
	0x0,	    0x1,	0x2,	    0x3,	0x4,	    0x5,	0x6,	    0x7,	0x8,
	0x9,	    0xa,	0xb,	    0xc,	0xd,	    0xf,	0x10,	    0x12,	0x14,
	0x15,	    0x16,	0x17,	    0x18,	0x19,	    0x1a,	0x1f,	    0x20,	0x24,
	0x40000000, 0x40000001, 0x40000010, 0x7fffffff, 0x80000000, 0x80000001, 0x80000005, 0x80000006, 0x80000007,
	0x80000008, 0x80000009, 0x8000000a, 0x8000001a, 0x8000001b, 0x8000001d, 0x8000001e, 0x8000001f, 0x80000020,
	0x80000021, 0x80000026, 0x8fffffff, 0xc0000000, 0xffffffff,
};

static struct insn_cpuid ask(enum cpuid_level level, unsigned cpus, cpuid_query_fn query, uint32_t leaf,
			     uint32_t subleaf)
{
	struct cpuid_model model = { .level = level, .cpus = cpus, .tsc_hz = 1000000000 };
	struct insn_cpuid host, shown;

	query(NULL, leaf, subleaf, &host);
	cpuid_answer(&model, leaf, subleaf, &host, &shown);
	return shown;
}

Test(cpuid, table_has_each_bit_once)
{
	size_t count;
	const struct cpuid_feature *f = cpuid_features(&count);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			if (f[i].reg != CPUID_NO_REG)
				cr_assert(f[i].leaf != f[j].leaf || f[i].subleaf != f[j].subleaf ||
						  f[i].reg != f[j].reg || f[i].bit != f[j].bit,
					  "%s twice", f[i].name);
			cr_assert(!*f[i].name || strcmp(f[i].name, f[j].name), "%s named twice", f[i].name);
		}
}

Test(cpuid, no_feature_that_the_host_lacks)
{
	size_t count;
	const struct cpuid_feature *f = cpuid_features(&count);

	for (unsigned level = 0; level < CPUID_LEVEL_COUNT; level++)
		for (size_t i = 0; i < count; i++) {
			struct cpuid_model model = { .level = level, .cpus = 4, .tsc_hz = 1 };
			struct insn_cpuid none = { 0 }, shown;

			if (f[i].reg == CPUID_NO_REG)
				continue;
			cpuid_answer(&model, f[i].leaf, f[i].subleaf, &none, &shown);
			cr_assert_eq(*cpuid_reg(&shown, f[i].reg) >> f[i].bit & 1,
				     /* these two words hold numbers where a feature of that leaf has the same bit */
				     0, "%s at %s", f[i].name, cpuid_level_name(level));
		}
}

Test(cpuid, what_cannot_be_controlled_is_hidden_everywhere)
{
	for (unsigned level = 0; level < CPUID_LEVEL_COUNT; level++) {
		struct insn_cpuid one = ask(level, 1, rich_query, 1, 0), seven = ask(level, 1, rich_query, 7, 0);

		cr_assert_eq(one.ecx & (1u << 30 | 1u << 31 | 1u << 3 | 1u << 24), 0,
			     "rdrand, hypervisor, monitor, deadline");
		cr_assert_eq(seven.ebx & (1u << 18 | 1u << 11 | 1u << 4 | 1u << 25), 0, "rdseed, rtm, hle, pt");
		cr_assert_eq(seven.ecx & (1u << 5 | 1u << 22), 0, "waitpkg, rdpid");
		cr_assert_eq(ask(level, 1, rich_query, 0x80000008, 0).ebx & (1u << 4 | 1u << 1), 0, "rdpru, irperf");
		cr_assert_eq(ask(level, 1, rich_query, 0x80000001, 0).ecx & (1u << 29 | 1u << 10), 0, "mwaitx, ibs");
	}
}

Test(cpuid, apic_ids_are_zero)
{
	for (unsigned level = 0; level < CPUID_LEVEL_COUNT; level++) {
		cr_assert_eq(ask(level, 4, rich_query, 1, 0).ebx >> 24, 0);
		for (uint32_t sub = 0; sub < 3; sub++)
			cr_assert_eq(ask(level, 4, rich_query, 0xb, sub).edx, 0);
		cr_assert_eq(ask(level, 4, rich_query, 0x8000001e, 0).eax, 0);
		cr_assert_eq(ask(level, 4, rich_query, 0x1f, 0).edx, 0);
	}
}

Test(cpuid, topology_counts_the_processors)
{
	static const struct {
		unsigned cpus, shift;
	} rows[] = { { 1, 0 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 3 }, { 64, 6 }, { 255, 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned n = rows[i].cpus;
		struct insn_cpuid one = ask(CPUID_V2, n, rich_query, 1, 0), core = ask(CPUID_V2, n, rich_query, 0xb, 1);

		cr_assert_eq(one.ebx >> 16 & 0xff, n);
		cr_assert_eq(!!(one.edx & 1u << 28), n > 1, "HTT says more than one");
		cr_assert_eq(core.ebx, n);
		cr_assert_eq(core.eax, rows[i].shift);
		cr_assert_eq(core.ecx, 0x201);
		cr_assert_eq(ask(CPUID_V2, n, rich_query, 0xb, 0).ecx, 0x100);
		cr_assert_eq(ask(CPUID_V2, n, rich_query, 0xb, 2).ebx, 0, "two levels");
		cr_assert_eq(ask(CPUID_V2, n, rich_query, 0x80000008, 0).ecx & 0xff, n - 1);
	}
}

Test(cpuid, levels_below_host_do_not_depend_on_the_host)
{
	/* What differs between the two: vendor, sizes, ids, extra features; both have the level's features. */
	for (unsigned level = CPUID_BASELINE; level < CPUID_LEVEL_COUNT; level++)
		for (size_t i = 0; i < ARRAY_SIZE(all_leaves); i++)
			for (uint32_t sub = 0; sub < 3; sub++) {
				struct cpuid_model model = { .level = level, .cpus = 2, .tsc_hz = 1000000000 };
				struct insn_cpuid rich, other, a, b;

				if (all_leaves[i] == 0xd) /* sizes of the XSAVE area are the hardware's */
					continue;
				rich_query(NULL, all_leaves[i], sub, &rich);
				other = rich;
				if (all_leaves[i] == 0 || all_leaves[i] == 0x80000000u)
					other = (struct insn_cpuid){ all_leaves[i] + 0x21, 1, 2, 3 };
				other.eax = all_leaves[i] == 1 ? 0x00a00f11 : other.eax;
				other.ebx &= all_leaves[i] == 1 ? 0x00ffffff : 0xffffffff;
				cpuid_answer(&model, all_leaves[i], sub, &rich, &a);
				cpuid_answer(&model, all_leaves[i], sub, &other, &b);
				cr_assert(!memcmp(&a, &b, sizeof(a)), "%s leaf %x", cpuid_level_name(level),
					  all_leaves[i]);
			}
}

Test(cpuid, unknown_leaves_are_zero)
{
	static const uint32_t hidden[] = { 0x5,	       0xa,	   0xf,	       0x10,	   0x12,       0x14,
					   0x1f,       0x40000000, 0x40000001, 0x7fffffff, 0x8000000a, 0x8000001b,
					   0x8000001f, 0x80000026, 0xc0000000, 0xffffffff };
	static const struct insn_cpuid zero = { 0 };

	for (unsigned level = 0; level < CPUID_LEVEL_COUNT; level++)
		for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
			struct insn_cpuid shown = ask(level, 2, rich_query, hidden[i], 0);

			cr_assert(!memcmp(&shown, &zero, sizeof(zero)), "%s leaf %x", cpuid_level_name(level),
				  hidden[i]);
		}
}

/* Programs leave anything in ECX where it does not count. */
Test(cpuid, the_subleaf_counts_only_where_there_are_some)
{
	static const uint32_t leaves[] = { 0, 1, 2, 6, 0x15, 0x80000001, 0x80000002, 0x80000008, 0x80000021 };

	for (unsigned level = 0; level < CPUID_LEVEL_COUNT; level++)
		for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
			struct insn_cpuid zero = ask(level, 4, rich_query, leaves[i], 0);
			struct insn_cpuid other = ask(level, 4, rich_query, leaves[i], 0x444d4163);

			cr_expect_not(cpuid_has_subleaves(leaves[i]));
			cr_expect(!memcmp(&zero, &other, sizeof(zero)), "leaf %x at %s", leaves[i], cpuid_level_name(level));
		}
	cr_expect(cpuid_has_subleaves(7) && cpuid_has_subleaves(0xd));
}

Test(cpuid, levels_are_those_of_the_psabi)
{
	struct insn_cpuid v2 = ask(CPUID_V2, 1, rich_query, 1, 0), base = ask(CPUID_BASELINE, 1, rich_query, 1, 0);
	struct insn_cpuid v3 = ask(CPUID_V3, 1, rich_query, 1, 0), v3_7 = ask(CPUID_V3, 1, rich_query, 7, 0);
	struct insn_cpuid v3_ext = ask(CPUID_V3, 1, rich_query, 0x80000001, 0);

	cr_assert_eq(base.ecx, 0);
	cr_assert_eq(base.edx & (1u << 26 | 1u << 15 | 1u << 8), 1u << 26 | 1u << 15 | 1u << 8, "sse2 cmov cx8");
	/* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT and nothing else */
	cr_assert_eq(v2.ecx, 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23);
	/* FMA, MOVBE, XSAVE, OSXSAVE, AVX, F16C on top */
	cr_assert_eq(v3.ecx, v2.ecx | 1u << 12 | 1u << 22 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 29);
	cr_assert_eq(v3_7.ebx, 1u << 3 | 1u << 5 | 1u << 8, "bmi1 avx2 bmi2");
	cr_assert_eq(v3_ext.ecx, 1u << 0 | 1u << 5, "lahf lzcnt");
	cr_assert_eq(ask(CPUID_V2, 1, rich_query, 7, 0).ebx, 0);
}

Test(cpuid, missing_level_is_named)
{
	struct cpuid_model model = { .level = CPUID_V2, .cpus = 1, .tsc_hz = 1 };
	struct error err = { 0 };

	cr_assert_eq(cpuid_check(&model, rich_query, NULL, &err), 0);
	cr_assert_eq(cpuid_check(&model, poor_query, NULL, &err), -ENOTSUP);
	cr_assert(strstr(err.text, "sse4_2") && strstr(err.text, "x86-64-v2"), "%s", err.text);
	model.level = CPUID_HOST;
	cr_assert_eq(cpuid_check(&model, poor_query, NULL, &err), 0);
	model.cpus = 0;
	cr_assert_eq(cpuid_check(&model, rich_query, NULL, &err), -EINVAL);
}

Test(cpuid, xsave_sizes_are_the_hosts_where_xsave_is_shown)
{
	cr_assert_eq(ask(CPUID_V2, 1, rich_query, 0xd, 0).ebx, 0);
	cr_assert_eq(ask(CPUID_V3, 1, rich_query, 0xd, 0).ebx, 0xffffffffu);
	cr_assert_eq(ask(CPUID_V3, 1, rich_query, 0xd, 1).eax, 0, "xsavec is not of the level");
	cr_assert_eq(ask(CPUID_HOST, 1, rich_query, 0xd, 1).eax, 0xf);
}

Test(cpuid, names_parse)
{
	static const struct {
		const char *name;
		int r;
		enum cpuid_level level;
	} rows[] = {
		{ "host", 0, CPUID_HOST },
		{ "baseline", 0, CPUID_BASELINE },
		{ "x86-64", 0, CPUID_BASELINE },
		{ "x86-64-v2", 0, CPUID_V2 },
		{ "v2", 0, CPUID_V2 },
		{ "x86-64-v3", 0, CPUID_V3 },
		{ "v3", 0, CPUID_V3 },
		{ "v4", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "Host", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum cpuid_level level = CPUID_LEVEL_COUNT;

		cr_assert_eq(cpuid_level_parse(rows[i].name, &level), rows[i].r, "%s", rows[i].name);
		if (!rows[i].r)
			cr_assert_eq(level, rows[i].level, "%s", rows[i].name);
	}
}

/* The words of the first "flags" line. */
static void flags_of(const char *cpuinfo, char *ret, size_t size)
{
	const char *line = strstr(cpuinfo, "flags\t\t:");

	cr_assert(line);
	line += strlen("flags\t\t:");
	snprintf(ret, size, "%.*s ", (int)strcspn(line, "\n"), line);
}

static bool has_flag(const char *flags, const char *name)
{
	char padded[64];

	snprintf(padded, sizeof(padded), " %s ", name);
	return strstr(flags, padded);
}

Test(cpuid, cpuinfo_agrees_with_the_instruction)
{
	size_t count;
	const struct cpuid_feature *f = cpuid_features(&count);

	for (unsigned level = 0; level < CPUID_LEVEL_COUNT; level++) {
		struct cpuid_model model = { .level = level, .cpus = 3, .tsc_hz = 2500000000ull };
		_cleanup_free_ char *text = cpuid_cpuinfo(&model, rich_query, NULL);
		char flags[4096];

		cr_assert(text);
		flags_of(text, flags, sizeof(flags));
		for (size_t i = 0; i < count; i++) {
			struct insn_cpuid shown = ask(level, 3, rich_query, f[i].leaf, f[i].subleaf);

			if (*f[i].name && f[i].reg != CPUID_NO_REG)
				cr_assert_eq(has_flag(flags, f[i].name), *cpuid_reg(&shown, f[i].reg) >> f[i].bit & 1,
					     "%s", f[i].name);
		}
		cr_assert(has_flag(flags, "ht"));
		cr_assert(strstr(text, "processor\t: 2\n") && !strstr(text, "processor\t: 3\n"));
		cr_assert(strstr(text, "cpu MHz\t\t: 2500.000\n"));
		cr_assert(strstr(text, "model name\t: Hermit virtual processor"));
	}
}

Test(cpuid, hwcap_agrees_with_the_instruction)
{
	for (unsigned level = 0; level < CPUID_LEVEL_COUNT; level++) {
		struct cpuid_model model = { .level = level, .cpus = 1, .tsc_hz = 1 };
		bool fsgsbase = ask(level, 1, rich_query, 7, 0).ebx & 1;

		cr_assert_eq(cpuid_hwcap(&model, rich_query, NULL), ask(level, 1, rich_query, 1, 0).edx);
		cr_assert_eq(cpuid_hwcap2(&model, rich_query, NULL, 3), fsgsbase ? 2 : 0);
		cr_assert_eq(cpuid_hwcap2(&model, rich_query, NULL, 0), 0, "the kernel has it off");
	}
}

/*
 * Linux's own text is the independent witness for names and bits: what we show of the host, Linux shows too, but for
 * what it makes up itself, and for what its boot parameters, errata lists and firmware (which may leave the MTRRs off) can hide although the
 * processor has it. A paravirtual kernel has a CPUID of its own, which lacks what its programs see of the processor.
 */
Test(cpuid, host_flags_are_a_subset_of_linux_own)
{
	static const char *const synthetic[] = { "constant_tsc", "nonstop_tsc", "tsc_known_freq", "xtopology",
						 "xsaves",	 "pku",		"ospke",	  "la57",
						 "umip",	 "smap",	"smep",		  "pcid",
						 "invpcid",	 "erms",	"fsrm",		  "ibt",
						 "mtrr",	 "pdpe1gb",	"abm",		  "sse4a",
						 "fsgsbase" };
	struct cpuid_model model = { .level = CPUID_HOST, .cpus = 1, .tsc_hz = 1000000000 };
	_cleanup_free_ char *ours = cpuid_cpuinfo(&model, cpuid_host_query, NULL);
	_cleanup_free_ char *linux_text = NULL;
	char our_flags[4096], linux_flags[4096], *save, *word;
	size_t len;
	int shown = 0;

	cr_assert_eq(fd_read_file(AT_FDCWD, "/proc/cpuinfo", 1 << 24, &linux_text, &len), 0);
	flags_of(ours, our_flags, sizeof(our_flags));
	flags_of(linux_text, linux_flags, sizeof(linux_flags));
	for (word = strtok_r(our_flags, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		bool known = has_flag(linux_flags, word);

		for (size_t i = 0; i < ARRAY_SIZE(synthetic); i++)
			known |= !strcmp(word, synthetic[i]);
		cr_assert(known, "Linux does not show %s", word);
		shown++;
	}
	cr_assert(shown > 40, "only %d flags", shown);
}
