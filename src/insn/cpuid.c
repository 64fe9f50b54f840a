/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two tables: features (cpuid_features.def) and leaves. A leaf without a row reads as zero; feature words are the
 * host's, masked by the features that the level shows; everything that names a place (APIC ids), a count of processors,
 * a frequency or the host is made here.
 *
 * The levels other than host are one processor on every host: AuthenticAMD, family 15, model 107, the model number that
 * emulators use for "some x86-64"; programs take it for an old one and go by the feature bits.
 *
 * Leaf 0DH (sizes of the XSAVE area) is the host's, whole, where XSAVE is shown at all: the hardware writes areas of
 * the size that belongs to the real XCR0, and a smaller number would make programs allocate too little.
 */
#include "insn/cpuid.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "insn/cpuid_table.h"

#define MODEL_MAX_BASIC	    0xdu
#define MODEL_MAX_EXTENDED  0x80000008u
#define HOST_MAX_BASIC	    0x16u
#define HOST_MAX_EXTENDED   0x80000021u
#define MODEL_SIGNATURE	    0x00060fb1u /* family 15, model 107, stepping 1 */
#define MODEL_ADDRESS_SIZES 0x00003028u /* 48 bits virtual, 40 physical */
#define CRYSTAL_HZ	    25000000u
#define FEATURE_HTT	    (1u << 28)	/* 1.EDX */
#define FEATURE_CMP_LEGACY  (1u << 1)	/* 80000001.ECX */
#define EDX_MIRRORED	    0x0183f3ffu /* AMD: bits of 80000001.EDX that repeat 1.EDX */

static const char *const level_names[CPUID_LEVEL_COUNT] = {
	[CPUID_HOST] = "host",
	[CPUID_BASELINE] = "baseline",
	[CPUID_V2] = "x86-64-v2",
	[CPUID_V3] = "x86-64-v3",
};

static const char *const brands[CPUID_LEVEL_COUNT] = {
	[CPUID_HOST] = "Hermit virtual processor (host features)",
	[CPUID_BASELINE] = "Hermit virtual processor (x86-64)",
	[CPUID_V2] = "Hermit virtual processor (x86-64-v2)",
	[CPUID_V3] = "Hermit virtual processor (x86-64-v3)",
};

static const struct cpuid_feature features[] = {
#define FEATURE(leaf_, subleaf_, reg_, bit_, name_, level_)                                                            \
	{ .leaf = leaf_,                                                                                               \
	  .subleaf = subleaf_,                                                                                         \
	  .reg = CPUID_##reg_,                                                                                         \
	  .bit = bit_,                                                                                                 \
	  .name = name_,                                                                                               \
	  .show = CPUID_SHOW_##level_ },
#define SYNTHETIC(name_) { .reg = CPUID_NO_REG, .name = name_, .show = CPUID_SHOW_ALL },
#include "insn/cpuid_features.def"
#undef FEATURE
#undef SYNTHETIC
};

const struct cpuid_feature *cpuid_features(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(features);
	return features;
}

bool cpuid_level_shows(enum cpuid_level level, enum cpuid_show show)
{
	static const enum cpuid_show most[CPUID_LEVEL_COUNT] = {
		[CPUID_HOST] = CPUID_SHOW_HOST,
		[CPUID_BASELINE] = CPUID_SHOW_ALL,
		[CPUID_V2] = CPUID_SHOW_V2,
		[CPUID_V3] = CPUID_SHOW_V3,
	};

	return show <= most[level];
}

uint32_t *cpuid_reg(struct insn_cpuid *regs, enum cpuid_reg reg)
{
	switch (reg) {
	case CPUID_EAX:
		return &regs->eax;
	case CPUID_EBX:
		return &regs->ebx;
	case CPUID_ECX:
		return &regs->ecx;
	case CPUID_EDX:
		return &regs->edx;
	case CPUID_NO_REG:
		break;
	}
	return NULL;
}

int cpuid_level_parse(const char *name, enum cpuid_level *ret)
{
	static const struct {
		const char *name;
		enum cpuid_level level;
	} aliases[] = { { "x86-64", CPUID_BASELINE }, { "v2", CPUID_V2 }, { "v3", CPUID_V3 } };

	for (unsigned i = 0; i < CPUID_LEVEL_COUNT; i++)
		if (!strcmp(name, level_names[i])) {
			*ret = (enum cpuid_level)i;
			return 0;
		}
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(name, aliases[i].name)) {
			*ret = aliases[i].level;
			return 0;
		}
	return -EINVAL;
}

const char *cpuid_level_name(enum cpuid_level level)
{
	return (unsigned)level < CPUID_LEVEL_COUNT ? level_names[level] : "unknown";
}

int cpuid_check(const struct cpuid_model *model, cpuid_query_fn query, void *arg, struct error *err)
{
	struct insn_cpuid regs;

	if (model->cpus < 1 || model->cpus > 255)
		return error_set(err, EINVAL, "the number of processors must be 1 to 255, is %u", model->cpus);
	if (model->level == CPUID_HOST)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		const struct cpuid_feature *f = &features[i];

		if (f->reg == CPUID_NO_REG || !cpuid_level_shows(model->level, f->show) || f->show == CPUID_SHOW_ALL)
			continue;
		query(arg, f->leaf, f->subleaf, &regs);
		if (!(*cpuid_reg(&regs, f->reg) >> f->bit & 1))
			return error_set(err, ENOTSUP, "--cpu=%s: this host's processor lacks %s",
					 level_names[model->level], *f->name ? f->name : "xsave");
	}
	return 0;
}

/* The bits of one word that the model may show. */
static uint32_t shown_bits(const struct cpuid_model *model, uint32_t leaf, uint32_t subleaf, enum cpuid_reg reg)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		const struct cpuid_feature *f = &features[i];

		if (f->leaf == leaf && f->subleaf == subleaf && f->reg == reg &&
		    cpuid_level_shows(model->level, f->show))
			bits |= 1u << f->bit;
	}
	return bits;
}

/* All four words masked by the table: a word without rows becomes zero. */
static void mask_features(const struct cpuid_model *model, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *regs)
{
	regs->eax &= shown_bits(model, leaf, subleaf, CPUID_EAX);
	regs->ebx &= shown_bits(model, leaf, subleaf, CPUID_EBX);
	regs->ecx &= shown_bits(model, leaf, subleaf, CPUID_ECX);
	regs->edx &= shown_bits(model, leaf, subleaf, CPUID_EDX);
}

/* What a row's function gets. */
struct question {
	const struct cpuid_model *model;
	uint32_t leaf, subleaf;
	const struct insn_cpuid *host;
	struct insn_cpuid *ret;
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool is_host(const struct question *q)
{
	return q->model->level == CPUID_HOST;
}

static void leaf_vendor(const struct question *q)
{
	uint32_t most = q->leaf ? HOST_MAX_EXTENDED : HOST_MAX_BASIC;

	*q->ret = *q->host;
	if (!is_host(q)) {
		most = q->leaf ? MODEL_MAX_EXTENDED : MODEL_MAX_BASIC;
		memcpy(&q->ret->ebx, "Auth", 4);
		memcpy(&q->ret->edx, "enti", 4);
		memcpy(&q->ret->ecx, "cAMD", 4);
	}
	q->ret->eax = min_u32(q->host->eax, most);
}

static void leaf_1(const struct question *q)
{
	struct insn_cpuid masked = *q->host;
	uint32_t flush_line = is_host(q) ? q->host->ebx & 0xff00 : 0x0800;

	mask_features(q->model, 1, 0, &masked);
	q->ret->eax = is_host(q) ? q->host->eax : MODEL_SIGNATURE;
	q->ret->ebx = q->model->cpus << 16 | flush_line; /* APIC id 0, brand index 0 */
	q->ret->ecx = masked.ecx;
	q->ret->edx = masked.edx | (q->model->cpus > 1 ? q->host->edx & FEATURE_HTT : 0);
}

/* Cache descriptors: the host's, but a cache belongs to one processor. */
static void leaf_4(const struct question *q)
{
	if (!is_host(q))
		return;
	*q->ret = *q->host;
	if (q->host->eax & 0x1f)
		q->ret->eax = (q->host->eax & 0x3fff) | min_u32(q->model->cpus - 1, 63) << 26;
}

static void leaf_features(const struct question *q)
{
	*q->ret = *q->host;
	mask_features(q->model, q->leaf, q->subleaf, q->ret);
}

static void leaf_7(const struct question *q)
{
	leaf_features(q);
	if (q->subleaf == 0)
		q->ret->eax = is_host(q) ? min_u32(q->host->eax, 1) : 0; /* highest subleaf */
}

static unsigned bits_for(unsigned count)
{
	return count <= 1 ? 0 : 32u - (unsigned)__builtin_clz(count - 1);
}

/* Level 0: one thread per core; level 1: all cores of the one package. This processor is number 0. */
static void leaf_b(const struct question *q)
{
	q->ret->ecx = q->subleaf & 0xff;
	if (q->subleaf == 0) {
		q->ret->ebx = 1;
		q->ret->ecx |= 1u << 8;
	} else if (q->subleaf == 1) {
		q->ret->eax = bits_for(q->model->cpus);
		q->ret->ebx = q->model->cpus;
		q->ret->ecx |= 2u << 8;
	}
}

static void leaf_d(const struct question *q)
{
	if (!cpuid_level_shows(q->model->level, CPUID_SHOW_V3))
		return;
	*q->ret = *q->host;
	if (q->subleaf == 1)
		q->ret->eax &= shown_bits(q->model, 0xd, 1, CPUID_EAX);
}

static bool is_intel(const struct question *q)
{
	/* These leaves are reserved, and zero, on other vendors' processors. */
	return is_host(q) && (q->host->eax || q->host->ebx || q->host->ecx);
}

/* Time stamp counter: frequency = ecx * ebx / eax. */
static void leaf_15(const struct question *q)
{
	if (!is_intel(q))
		return;
	q->ret->eax = 1000;
	q->ret->ebx = (uint32_t)(q->model->tsc_hz / (CRYSTAL_HZ / 1000));
	q->ret->ecx = CRYSTAL_HZ;
}

static void leaf_16(const struct question *q)
{
	uint32_t mhz = (uint32_t)(q->model->tsc_hz / 1000000);

	if (!is_intel(q))
		return;
	q->ret->eax = mhz;
	q->ret->ebx = mhz;
	q->ret->ecx = 100;
}

static void leaf_ext_1(const struct question *q)
{
	struct insn_cpuid one = *q->host;

	leaf_features(q);
	q->ret->eax = is_host(q) ? q->host->eax : MODEL_SIGNATURE;
	if (q->model->cpus > 1)
		q->ret->ecx |= q->host->ecx & FEATURE_CMP_LEGACY;
	/* The repeated bits are a part of AMD's leaf only; on Intel hosts they are zero and remain so. */
	mask_features(q->model, 1, 0, &one);
	q->ret->edx |= one.edx & EDX_MIRRORED;
}

static void leaf_brand(const struct question *q)
{
	char text[48] = "";

	strncpy(text, brands[q->model->level], sizeof(text) - 1);
	memcpy(q->ret, text + (q->leaf - 0x80000002u) * sizeof(*q->ret), sizeof(*q->ret));
}

static void leaf_caches(const struct question *q)
{
	static const struct insn_cpuid l1 = { 0xff40ff40, 0xff40ff40, 0x20080140, 0x20080140 };	   /* 32 KB, 8 ways */
	static const struct insn_cpuid l2_l3 = { 0x48002200, 0x68004200, 0x02006140, 0x00408140 }; /* 512 KB, 8 MB */

	if (is_host(q))
		*q->ret = *q->host;
	else
		*q->ret = q->leaf == 0x80000005 ? l1 : l2_l3;
}

static void leaf_power(const struct question *q)
{
	q->ret->edx = q->host->edx & 1u << 8; /* invariant time stamp counter */
}

static void leaf_ext_8(const struct question *q)
{
	leaf_features(q);
	q->ret->eax = is_host(q) ? q->host->eax & 0xffff : MODEL_ADDRESS_SIZES;
	q->ret->ecx = is_host(q) && !q->host->ecx ? 0 : bits_for(q->model->cpus) << 12 | (q->model->cpus - 1);
}

static void leaf_host(const struct question *q)
{
	if (is_host(q))
		*q->ret = *q->host;
}

static void leaf_cache_topology(const struct question *q)
{
	leaf_host(q);
	q->ret->eax &= 0x3fff; /* shared with nobody */
}

static void leaf_ext_1e(const struct question *q)
{
	/* Extended APIC id 0, core 0, one thread per core, node 0 of one. */
}

static const struct {
	uint32_t first, last;
	void (*answer)(const struct question *q);
	bool subleaves; /* ECX counts */
} leaves[] = {
	{ 0x0, 0x0, leaf_vendor, false },
	{ 0x1, 0x1, leaf_1, false },
	{ 0x2, 0x2, leaf_host, false },
	{ 0x4, 0x4, leaf_4, true },
	{ 0x6, 0x6, leaf_features, false },
	{ 0x7, 0x7, leaf_7, true },
	{ 0xb, 0xb, leaf_b, true },
	{ 0xd, 0xd, leaf_d, true },
	{ 0x15, 0x15, leaf_15, false },
	{ 0x16, 0x16, leaf_16, false },
	{ 0x80000000, 0x80000000, leaf_vendor, false },
	{ 0x80000001, 0x80000001, leaf_ext_1, false },
	{ 0x80000002, 0x80000004, leaf_brand, false },
	{ 0x80000005, 0x80000006, leaf_caches, false },
	{ 0x80000007, 0x80000007, leaf_power, false },
	{ 0x80000008, 0x80000008, leaf_ext_8, false },
	{ 0x80000019, 0x8000001a, leaf_host, false },
	{ 0x8000001d, 0x8000001d, leaf_cache_topology, true },
	{ 0x8000001e, 0x8000001e, leaf_ext_1e, false },
	{ 0x80000021, 0x80000021, leaf_features, false },
};

bool cpuid_has_subleaves(uint32_t leaf)
{
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++)
		if (leaf >= leaves[i].first && leaf <= leaves[i].last)
			return leaves[i].subleaves;
	return false;
}

/* Leaves above the highest that leaf 0 or 80000000H shows must not answer. */
static bool leaf_is_shown(const struct cpuid_model *model, uint32_t leaf)
{
	bool host = model->level == CPUID_HOST;

	if (leaf >= 0x80000000u)
		return leaf <= (host ? HOST_MAX_EXTENDED : MODEL_MAX_EXTENDED);
	return leaf <= (host ? HOST_MAX_BASIC : MODEL_MAX_BASIC);
}

void cpuid_answer(const struct cpuid_model *model, uint32_t leaf, uint32_t subleaf, const struct insn_cpuid *host,
		  struct insn_cpuid *ret)
{
	struct question q = { .model = model, .leaf = leaf, .host = host, .ret = ret };

	q.subleaf = cpuid_has_subleaves(leaf) ? subleaf : 0;
	memset(ret, 0, sizeof(*ret));
	if (!leaf_is_shown(model, leaf))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++)
		if (leaf >= leaves[i].first && leaf <= leaves[i].last)
			leaves[i].answer(&q);
}

uint64_t cpuid_hwcap(const struct cpuid_model *model, cpuid_query_fn query, void *arg)
{
	struct insn_cpuid host, shown;

	query(arg, 1, 0, &host);
	cpuid_answer(model, 1, 0, &host, &shown);
	return shown.edx;
}

uint64_t cpuid_hwcap2(const struct cpuid_model *model, cpuid_query_fn query, void *arg, uint64_t host_hwcap2)
{
	const uint64_t hwcap2_fsgsbase = 1 << 1;
	struct insn_cpuid host, shown;

	query(arg, 7, 0, &host);
	cpuid_answer(model, 7, 0, &host, &shown);
	/* Bit 0, MWAIT in user mode, is never shown. */
	return shown.ebx & 1 ? host_hwcap2 & hwcap2_fsgsbase : 0;
}

void cpuid_host_query(void *arg, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret)
{
	__cpuid_count(leaf, subleaf, ret->eax, ret->ebx, ret->ecx, ret->edx);
}
