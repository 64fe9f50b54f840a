/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes each instruction once and prints what it saw; "sigill" where the processor (or its image) has none. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include "insn_truth.h"

static sigjmp_buf back;

static void on_sigill(int signo)
{
	siglongjmp(back, signo);
}

static void show_tsc(void)
{
	uint32_t low, high, aux;

	__asm__ volatile(RDTSC : "=a"(low), "=d"(high));
	printf("rdtsc %llu\n", (unsigned long long)high << 32 | low);
	__asm__ volatile(RDTSCP : "=a"(low), "=d"(high), "=c"(aux));
	printf("rdtscp %llu aux %u\n", (unsigned long long)high << 32 | low, aux);
}

static void show_cpuid(uint32_t leaf, uint32_t subleaf)
{
	uint32_t eax = leaf, ebx, ecx = subleaf, edx;

	__asm__ volatile(CPUID : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	printf("cpuid %x.%x %08x %08x %08x %08x\n", leaf, subleaf, eax, ebx, ecx, edx);
}

#define SHOW_RANDOM(name, insn)                                              \
	static void show_##name(void)                                        \
	{                                                                    \
		uint64_t value = 0x1122334455667788;                         \
		unsigned char carry;                                         \
		__asm__ volatile(insn "setc %1" : "+a"(value), "=qm"(carry)); \
		printf(#name " %016llx carry %u\n", (unsigned long long)value, carry); \
	}
SHOW_RANDOM(rdrand16, RDRAND("ax"))
SHOW_RANDOM(rdrand32, RDRAND("eax"))
SHOW_RANDOM(rdrand64, RDRAND("rax"))
SHOW_RANDOM(rdseed16, RDSEED("ax"))
SHOW_RANDOM(rdseed32, RDSEED("eax"))
SHOW_RANDOM(rdseed64, RDSEED("rax"))

static void show_rdrand_r14(void)
{
	uint64_t value;

	__asm__ volatile(RDRAND("r14") "mov %%r14, %0" : "=r"(value) : : "r14", "cc");
	printf("rdrand r14 %016llx\n", (unsigned long long)value);
}

static void show_rdpid(void)
{
	uint64_t value = 0x1122334455667788;

	__asm__ volatile(RDPID("rax") : "+a"(value));
	printf("rdpid %llu\n", (unsigned long long)value);
}

static void show_xgetbv(void)
{
	uint32_t low, high;

	__asm__ volatile(XGETBV : "=a"(low), "=d"(high) : "c"(0));
	printf("xgetbv %08x%08x\n", high, low);
}

static void show_xbegin(void)
{
	uint32_t status = 0xffffffff;

	/* A transaction that never ends by itself: committed at once when it could begin. */
	__asm__ volatile(XBEGIN("1f") "xend\n1:" : "+a"(status) : : "memory");
	printf("xbegin %s\n", status == 0xffffffff ? "committed" : "aborted");
}

int main(void)
{
	static void (*const shows[])(void) = {
		show_tsc,      show_rdrand16,   show_rdrand32, show_rdrand64, show_rdseed16, show_rdseed32,
		show_rdseed64, show_rdrand_r14, show_rdpid,    show_xgetbv,   show_xbegin,
	};

	signal(SIGILL, on_sigill);
	show_cpuid(0, 0);
	show_cpuid(1, 0);
	show_cpuid(7, 0);
	show_cpuid(0xb, 1);
	show_cpuid(0x80000002, 0);
	for (unsigned i = 0; i < sizeof(shows) / sizeof(shows[0]); i++) {
		if (sigsetjmp(back, 1) == 0)
			shows[i]();
		else
			printf("sigill\n");
	}
	return 0;
}
