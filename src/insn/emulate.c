/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One small function per kind, found through a table. They write results only; the step over the instruction is common,
 * except for XBEGIN, which goes to its abort handler.
 */
#include "insn/emulate.h"

#include <errno.h>

#define ARITHMETIC_FLAGS (INSN_FLAG_CF | INSN_FLAG_PF | INSN_FLAG_AF | INSN_FLAG_ZF | INSN_FLAG_SF | INSN_FLAG_OF)

/* EDX:EAX = value. Writing a 32-bit register clears the upper half of the 64-bit one. */
static void set_edx_eax(struct insn_regs *regs, uint64_t value)
{
	regs->gpr[INSN_RAX] = (uint32_t)value;
	regs->gpr[INSN_RDX] = value >> 32;
}

static int emulate_rdtsc(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *a)
{
	set_edx_eax(regs, a->tsc);
	return INSN_DONE;
}

static int emulate_rdtscp(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *a)
{
	set_edx_eax(regs, a->tsc);
	regs->gpr[INSN_RCX] = a->tsc_aux;
	return INSN_DONE;
}

static int emulate_cpuid(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *a)
{
	regs->gpr[INSN_RAX] = a->cpuid.eax;
	regs->gpr[INSN_RBX] = a->cpuid.ebx;
	regs->gpr[INSN_RCX] = a->cpuid.ecx;
	regs->gpr[INSN_RDX] = a->cpuid.edx;
	return INSN_DONE;
}

/* A 16-bit result leaves the upper 48 bits as they are, a 32-bit one clears the upper 32. */
static void set_sized(uint64_t *reg, unsigned width, uint64_t value)
{
	if (width == 16)
		*reg = (*reg & ~0xffffull) | (value & 0xffff);
	else if (width == 32)
		*reg = (uint32_t)value;
	else
		*reg = value;
}

/* RDRAND and RDSEED: CF says whether there was a number, the other arithmetic flags are cleared; no number reads as
 * zero. */
static int emulate_random(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *a)
{
	set_sized(&regs->gpr[site->dest], site->width, a->random_fails ? 0 : a->random);
	regs->rflags &= ~ARITHMETIC_FLAGS;
	if (!a->random_fails)
		regs->rflags |= INSN_FLAG_CF;
	return INSN_DONE;
}

/* In 64-bit mode the operand is always 64 bits wide; IA32_TSC_AUX is zero-extended. */
static int emulate_rdpid(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *a)
{
	regs->gpr[site->dest] = a->tsc_aux;
	return INSN_DONE;
}

static int emulate_xgetbv(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *a)
{
	uint32_t index = (uint32_t)regs->gpr[INSN_RCX];

	if (index > 1 || (index == 1 && !a->xinuse_known))
		return INSN_FAULT_GP;
	set_edx_eax(regs, index == 0 ? a->xcr0 : a->xinuse);
	return INSN_DONE;
}

/* The transaction aborts before its first instruction. Nothing but EAX and RIP changes. */
static int emulate_xbegin(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *a)
{
	regs->gpr[INSN_RAX] = a->abort_status;
	regs->rip += (uint64_t)(int64_t)site->fallback;
	return INSN_DONE;
}

static int (*const emulators[INSN_KIND_COUNT])(const struct insn_site *, struct insn_regs *,
					       const struct insn_answers *) = {
	[INSN_RDTSC] = emulate_rdtsc,	[INSN_RDTSCP] = emulate_rdtscp, [INSN_CPUID] = emulate_cpuid,
	[INSN_RDRAND] = emulate_random, [INSN_RDSEED] = emulate_random, [INSN_RDPID] = emulate_rdpid,
	[INSN_XGETBV] = emulate_xgetbv, [INSN_XBEGIN] = emulate_xbegin,
};

static bool site_is_valid(const struct insn_site *site)
{
	bool random = site->kind == INSN_RDRAND || site->kind == INSN_RDSEED;

	if (site->kind >= INSN_KIND_COUNT || !emulators[site->kind])
		return false;
	if (site->length < 2 || site->length > INSN_MAX_LENGTH || site->dest >= INSN_REG_COUNT)
		return false;
	return !random || site->width == 16 || site->width == 32 || site->width == 64;
}

int insn_emulate(const struct insn_site *site, struct insn_regs *regs, const struct insn_answers *answers)
{
	int r;

	if (!site_is_valid(site))
		return -EINVAL;
	r = emulators[site->kind](site, regs, answers);
	if (r != INSN_DONE)
		return r;

	regs->rip += site->length;
	/* The fault that brought us here has set RF in the saved flags; a completed instruction clears it. */
	regs->rflags &= ~INSN_FLAG_RF;
	return INSN_DONE;
}
