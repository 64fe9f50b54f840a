/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared library with instructions in an exported and in a static function; used by insn_dlopen.c and insn_shared.c. */
#include <stdint.h>

#include "insn_truth.h"

uint64_t insn_lib_tsc(void);
uint32_t insn_lib_apic_id(void);

static __attribute__((noinline)) uint64_t hidden_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile(RDTSCP : "=a"(low), "=d"(high) : : "rcx");
	return (uint64_t)high << 32 | low;
}

uint64_t insn_lib_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile(RDTSC : "=a"(low), "=d"(high));
	return hidden_tsc() - ((uint64_t)high << 32 | low);
}

uint32_t insn_lib_apic_id(void)
{
	uint32_t eax = 1, ebx, ecx = 0, edx;

	__asm__ volatile(CPUID : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	return ebx >> 24;
}
