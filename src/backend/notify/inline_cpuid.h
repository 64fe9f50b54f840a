/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPUID answered inside of the guest. The dynamic linker asks it dozens of times at each program's start, and a trap costs as much as a
 * system call that is notified. What the model answers is a constant, so where a site has padding near by (insn/insn.h), a jump leads over
 * it to code in the unused end of the vDSO, which looks the answer up in a table; what the table does not have traps there.
 *
 * Only in the dynamic linker: who copies code of his own (and CPUID with it) finds breakpoints, which are known again (trap.c), and the
 * text of the linker is out of reach of nothing but 2 GiB.
 */
#ifndef HS_BACKEND_NOTIFY_INLINE_CPUID_H
#define HS_BACKEND_NOTIFY_INLINE_CPUID_H

#include "insn/cpuid.h"

struct notify;
struct notify_task;

/*
 * In a fresh image whose text has been replaced (text.c). linker: where the dynamic linker begins, 0: there is none. 0, or -ESRCH, -ENOMEM;
 * what cannot be done is left to the breakpoints.
 */
int inline_cpuid_put(struct notify *n, const struct notify_task *t, uint64_t linker, const struct cpuid_model *model);

#endif
