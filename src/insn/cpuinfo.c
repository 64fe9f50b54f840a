/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/cpuinfo as Linux prints it, made from the answers of cpuid_answer() alone: whatever a program learns from the
 * text it also learns from the instruction.
 */
#include "insn/cpuid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insn/cpuid_table.h"

struct source {
	const struct cpuid_model *model;
	cpuid_query_fn query;
	void *arg;
};

static struct insn_cpuid ask(const struct source *s, uint32_t leaf, uint32_t subleaf)
{
	struct insn_cpuid host, shown;

	s->query(s->arg, leaf, subleaf, &host);
	cpuid_answer(s->model, leaf, subleaf, &host, &shown);
	return shown;
}

struct signature {
	unsigned family, model, stepping;
};

/* SDM, CPUID: display family and display model. */
static struct signature signature_of(uint32_t eax)
{
	unsigned family = eax >> 8 & 15;
	unsigned model = eax >> 4 & 15;

	if (family == 6 || family == 15)
		model |= (eax >> 16 & 15) << 4;
	if (family == 15)
		family += eax >> 20 & 0xff;
	return (struct signature){ .family = family, .model = model, .stepping = eax & 15 };
}

static void print_vendor(FILE *f, const struct source *s)
{
	struct insn_cpuid zero = ask(s, 0, 0);
	char vendor[13] = "";

	memcpy(vendor, &zero.ebx, 4);
	memcpy(vendor + 4, &zero.edx, 4);
	memcpy(vendor + 8, &zero.ecx, 4);
	fprintf(f, "vendor_id\t: %s\n", vendor);
}

static void print_brand(FILE *f, const struct source *s)
{
	char brand[49] = "";

	for (uint32_t i = 0; i < 3; i++) {
		struct insn_cpuid part = ask(s, 0x80000002u + i, 0);

		memcpy(brand + 16 * i, &part, 16);
	}
	fprintf(f, "model name\t: %s\n", brand);
}

static bool is_shown(const struct source *s, const struct cpuid_feature *feature)
{
	struct insn_cpuid regs;

	if (feature->reg == CPUID_NO_REG)
		return true;
	regs = ask(s, feature->leaf, feature->subleaf);
	return *cpuid_reg(&regs, feature->reg) >> feature->bit & 1;
}

static void print_flags(FILE *f, const struct source *s)
{
	size_t count;
	const struct cpuid_feature *features = cpuid_features(&count);
	const struct cpuid_feature *sse2 = NULL;

	fputs("flags\t\t:", f);
	for (size_t i = 0; i < count; i++) {
		if (*features[i].name && is_shown(s, &features[i]))
			fprintf(f, " %s", features[i].name);
		if (!strcmp(features[i].name, "sse2"))
			sse2 = &features[i];
		/* ht belongs behind sse2 and depends on the count of processors, not on the table. */
		if (sse2 == &features[i] && (ask(s, 1, 0).edx >> 28 & 1))
			fputs(" ht", f);
	}
	fputs("\nbugs\t\t:\n", f);
}

static void print_identity(FILE *f, const struct source *s, unsigned cpu)
{
	struct signature signature = signature_of(ask(s, 1, 0).eax);

	fprintf(f, "processor\t: %u\n", cpu);
	print_vendor(f, s);
	fprintf(f, "cpu family\t: %u\nmodel\t\t: %u\n", signature.family, signature.model);
	print_brand(f, s);
	fprintf(f, "stepping\t: %u\nmicrocode\t: 0x1\n", signature.stepping);
	fprintf(f, "cpu MHz\t\t: %" PRIu64 ".%03" PRIu64 "\n", s->model->tsc_hz / 1000000,
		s->model->tsc_hz / 1000 % 1000);
	fprintf(f, "cache size\t: %u KB\n", ask(s, 0x80000006, 0).ecx >> 16);
}

static void print_topology(FILE *f, const struct source *s, unsigned cpu)
{
	unsigned cpus = s->model->cpus;

	fprintf(f, "physical id\t: 0\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n", cpus, cpu, cpus);
	fprintf(f, "apicid\t\t: %u\ninitial apicid\t: %u\n", cpu, cpu);
}

static void print_processor(FILE *f, const struct source *s, unsigned cpu)
{
	unsigned flush_line = (ask(s, 1, 0).ebx >> 8 & 0xff) * 8;
	uint32_t sizes = ask(s, 0x80000008, 0).eax;

	print_identity(f, s, cpu);
	print_topology(f, s, cpu);
	fprintf(f, "fpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: %u\nwp\t\t: yes\n", ask(s, 0, 0).eax);
	print_flags(f, s);
	fprintf(f, "bogomips\t: %" PRIu64 ".%02" PRIu64 "\n", s->model->tsc_hz / 500000, s->model->tsc_hz / 5000 % 100);
	fprintf(f, "clflush size\t: %u\ncache_alignment\t: %u\n", flush_line, flush_line);
	fprintf(f, "address sizes\t: %u bits physical, %u bits virtual\npower management:\n\n", sizes & 0xff,
		sizes >> 8 & 0xff);
}

char *cpuid_cpuinfo(const struct cpuid_model *model, cpuid_query_fn query, void *arg)
{
	struct source s = { .model = model, .query = query, .arg = arg };
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *f;

	f = open_memstream(&text, &len);
	if (!f)
		return NULL;
	for (unsigned cpu = 0; cpu < model->cpus; cpu++)
		print_processor(f, &s, cpu);
	if (fclose(f) != 0)
		return NULL;
	return take_ptr(text);
}
