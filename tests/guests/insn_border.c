/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions that lie across a page border, cut at each of their bytes. */
#include <stdint.h>
#include <stdio.h>

#include "insn_truth.h"

#define ACROSS(name, before, kind, text)                                     \
	uint64_t name(void);                                                 \
	__asm__(".text\n\t"                                                  \
		".p2align 12\n\t"                                            \
		".globl " #name "\n\t"                                       \
		".type " #name ", @function\n"                               \
		".skip 4096 - " #before " - 4, 0xcc\n" #name ":\n\t"         \
		".cfi_startproc\n\t"                                         \
		"push %rbx\n\t"                                              \
		"xor %ecx, %ecx\n\t"                                         \
		"nop\n"                                                      \
		"7700: " text "\n\t" RECORD(kind)                            \
		"pop %rbx\n\t"                                               \
		"mov $1, %eax\n\t"                                           \
		"ret\n\t"                                                    \
		".cfi_endproc\n\t"                                           \
		".size " #name ", . - " #name "\n")

ACROSS(insn_border_rdtsc, 1, 1, "rdtsc");
ACROSS(insn_border_cpuid, 1, 3, "cpuid");
ACROSS(insn_border_rdtscp_1, 1, 2, "rdtscp");
ACROSS(insn_border_rdtscp_2, 2, 2, "rdtscp");
ACROSS(insn_border_rex_1, 1, 1, ".byte 0x48; rdtsc");
ACROSS(insn_border_rex_2, 2, 1, ".byte 0x48; rdtsc");
ACROSS(insn_border_xgetbv, 2, 7, "xgetbv");

int main(void)
{
	uint64_t (*const calls[])(void) = {
		insn_border_rdtsc, insn_border_cpuid, insn_border_rdtscp_1, insn_border_rdtscp_2,
		insn_border_rex_1, insn_border_rex_2, insn_border_xgetbv,
	};
	uint64_t done = 0;

	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		done += calls[i]();
	printf("%llu\n", (unsigned long long)done);
	return 0;
}
