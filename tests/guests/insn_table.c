/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions with jump tables: instructions in their cases, tables of the compiler and tables that lie in the text itself. */
#include <stdint.h>
#include <stdio.h>

#include "insn_truth.h"

#define READ_TSC(into)                                                   \
	do {                                                             \
		uint32_t low_, high_;                                    \
		__asm__ volatile(RDTSC : "=a"(low_), "=d"(high_));       \
		into += (((uint64_t)high_ << 32) | low_) != 0;           \
	} while (0)

static __attribute__((noinline)) uint64_t by_switch(int which, uint64_t x)
{
	switch (which) {
	case 0:
		READ_TSC(x);
		return x * 3;
	case 1:
		return x ^ 0x310f;
	case 2:
		READ_TSC(x);
		READ_TSC(x);
		return x + 7;
	case 3:
		return x << 3;
	case 4:
		READ_TSC(x);
		return x - 11;
	case 5:
		return x * x;
	case 6:
		READ_TSC(x);
		return x / 3;
	case 7:
		return ~x;
	default:
		return 0;
	}
}

/* Two switches in one function: their tables lie side by side. */
static __attribute__((noinline)) uint64_t by_two_switches(int a, int b, uint64_t x)
{
	switch (a) {
	case 0: READ_TSC(x); x *= 5; break;
	case 1: x += 100; break;
	case 2: READ_TSC(x); x ^= 9; break;
	case 3: x -= 3; break;
	case 4: x *= x; break;
	case 5: READ_TSC(x); break;
	default: break;
	}
	switch (b) {
	case 0: x += 17; break;
	case 1: READ_TSC(x); x *= 2; break;
	case 2: x ^= 0xa20f; break;
	case 3: READ_TSC(x); x += 2; break;
	case 4: x = x << 1 | x >> 63; break;
	case 5: READ_TSC(x); x ^= x >> 3; break;
	default: break;
	}
	return x;
}

/* Labels as values: addresses in a table of data. */
static __attribute__((noinline)) uint64_t by_labels(const unsigned char *program, uint64_t x)
{
	static const void *const labels[] = { &&stop, &&tick, &&twice, &&flip };

	goto *labels[*program];
tick:
	READ_TSC(x);
	goto *labels[*++program];
twice:
	x *= 2;
	goto *labels[*++program];
flip:
	x = ~x;
	READ_TSC(x);
	goto *labels[*++program];
stop:
	return x;
}

/*
 * A table of distances between the instructions of the function. The last word of it is not reached by the index; its bytes are those of
 * RDTSC and of CPUID.
 */
uint64_t insn_table_in_text(uint64_t which);
__asm__(".text\n\t"
	".globl insn_table_in_text\n\t"
	".type insn_table_in_text, @function\n"
	"insn_table_in_text:\n\t"
	".cfi_startproc\n\t"
	"cmp $3, %rdi\n\t"
	"jae 9f\n\t"
	"lea 5f(%rip), %rcx\n\t"
	"movslq (%rcx,%rdi,4), %rax\n\t"
	"add %rcx, %rax\n\t"
	"jmp *%rax\n\t"
	".p2align 2\n"
	"5:\n\t"
	".long 6f - 5b\n\t"
	".long 7f - 5b\n\t"
	".long 8f - 5b\n\t"
	"7700: .byte 0x0f, 0x31\n\t" RECORD(0)
	"7700: .byte 0x0f, 0xa2\n\t" RECORD(0)
	"6:\n\t"
	"7700: rdtsc\n\t" RECORD(1)
	"mov $1, %eax\n\t"
	"ret\n"
	"7:\n\t"
	"mov $2, %eax\n\t"
	"ret\n"
	"8:\n\t"
	"push %rbx\n\t"
	"xor %eax, %eax\n\t"
	"7700: cpuid\n\t" RECORD(3)
	"pop %rbx\n\t"
	"mov $3, %eax\n\t"
	"ret\n"
	"9:\n\t"
	"7700: rdtsc\n\t" RECORD(1)
	"mov $4, %eax\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size insn_table_in_text, . - insn_table_in_text\n");

int main(void)
{
	static const unsigned char program[] = { 1, 2, 3, 1, 3, 2, 2, 0 };
	uint64_t x = 1;

	for (int i = 0; i < 9; i++)
		x = x * 31 + by_switch(i, x);
	for (int a = 0; a < 7; a++)
		for (int b = 0; b < 7; b++)
			x = x * 31 + by_two_switches(a, b, x);
	x += by_labels(program, x);
	for (uint64_t i = 0; i < 5; i++)
		x = x * 31 + insn_table_in_text(i);
	printf("%llu\n", (unsigned long long)x);
	return 0;
}
