/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processor that a guest sees. One table of features (cpuid_features.def) decides the answers of CPUID, AT_HWCAP,
 * AT_HWCAP2 and the text of /proc/cpuinfo, so that they agree. A feature that the host lacks is never shown, because
 * the guest's code runs on the host.
 *
 * Pure: the host's own answers are handed in.
 */
#ifndef HS_INSN_CPUID_H
#define HS_INSN_CPUID_H

#include "base/error.h"
#include "insn/emulate.h"

enum cpuid_level {
	CPUID_HOST = 0, /* the host's vendor, model and features, less what cannot be controlled */
	CPUID_BASELINE, /* x86-64 as of 2003: up to SSE2 */
	CPUID_V2,	/* the levels of the x86-64 psABI */
	CPUID_V3,
	CPUID_LEVEL_COUNT,
};

struct cpuid_model {
	enum cpuid_level level;
	unsigned cpus;	 /* logical processors: one package, one thread per core; at least 1 */
	uint64_t tsc_hz; /* frequency of the virtual time stamp counter */
};

/* Asks the host: the real CPUID instruction (cpuid_host_query) or a table of a test. */
typedef void (*cpuid_query_fn)(void *arg, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret);

/* "host", "baseline", "x86-64-v2", "x86-64-v3" (also "v2", "v3", "x86-64"): 0, or -EINVAL. */
int cpuid_level_parse(const char *name, enum cpuid_level *ret);
const char *cpuid_level_name(enum cpuid_level level);

/*
 * Checks that the host has all that the model's level promises. -ENOTSUP with a message that names what is missing. For
 * the levels other than host, a program built for that level may use it all.
 */
int cpuid_check(const struct cpuid_model *model, cpuid_query_fn query, void *arg, struct error *err);

/* The answer of the model for a leaf and subleaf whose answer on the host is *host. */
void cpuid_answer(const struct cpuid_model *model, uint32_t leaf, uint32_t subleaf, const struct insn_cpuid *host,
		  struct insn_cpuid *ret);

/* Does the answer depend on ECX? Elsewhere programs leave in it what was there. */
bool cpuid_has_subleaves(uint32_t leaf);

/* AT_HWCAP and AT_HWCAP2 as Linux would give them for the model. host_hwcap2: the host's own value. */
uint64_t cpuid_hwcap(const struct cpuid_model *model, cpuid_query_fn query, void *arg);
uint64_t cpuid_hwcap2(const struct cpuid_model *model, cpuid_query_fn query, void *arg, uint64_t host_hwcap2);

/* The text of /proc/cpuinfo. NULL when out of memory; the caller frees. */
char *cpuid_cpuinfo(const struct cpuid_model *model, cpuid_query_fn query, void *arg);

/* Runs CPUID on this processor. arg is not used. */
void cpuid_host_query(void *arg, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret);

#endif
