/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions and basic blocks that begin with instructions which are replaced, so that a place to count at and a replaced instruction are the same
 * byte. Two threads run them at once and write down who is how far. usage: insn_places [pending]
 *	pending		the first one blocks SIGTRAP, and one is pending
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 40 };

/* How many looks were later than the one before, of which there are looks - 1; 0 when one was not. */
uint64_t begins_with_rdtsc(uint64_t looks);
/* Its eax. The basic block begins with the instruction. */
uint64_t begins_with_cpuid(uint64_t leaf);
__asm__(".text\n\t"
	".globl begins_with_rdtsc\n\t"
	".type begins_with_rdtsc, @function\n"
	"begins_with_rdtsc:\n\t"
	".cfi_startproc\n\t"
	"rdtsc\n\t"
	"shl $32, %rdx\n\t"
	"or %rdx, %rax\n\t"
	"mov %rax, %r8\n\t"
	"xor %r9d, %r9d\n\t"
	"jmp 2f\n"
	"1:\n\t"
	"rdtsc\n\t"
	"shl $32, %rdx\n\t"
	"or %rdx, %rax\n\t"
	"cmp %r8, %rax\n\t"
	"jbe 3f\n\t"
	"mov %rax, %r8\n\t"
	"inc %r9\n"
	"2:\n\t"
	"dec %rdi\n\t"
	"jnz 1b\n\t"
	"mov %r9, %rax\n\t"
	"ret\n"
	"3:\n\t"
	"xor %eax, %eax\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size begins_with_rdtsc, . - begins_with_rdtsc\n\t"
	".globl begins_with_cpuid\n\t"
	".type begins_with_cpuid, @function\n"
	"begins_with_cpuid:\n\t"
	".cfi_startproc\n\t"
	"mov %rbx, %r8\n\t"
	"mov %edi, %eax\n\t"
	"xor %ecx, %ecx\n\t"
	"jmp 1f\n\t"
	"nop\n"
	"1:\n\t"
	"cpuid\n\t"
	"mov %r8, %rbx\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size begins_with_cpuid, . - begins_with_cpuid\n");

static pthread_barrier_t both;
static unsigned char order[2 * ROUNDS];
static unsigned ordered;
static uint64_t looks[2], leaves[2];

static void *look(void *arg)
{
	long who = (long)arg;

	(void)pthread_barrier_wait(&both);
	for (int i = 0; i < ROUNDS; i++) {
		looks[who] += begins_with_rdtsc(4);
		order[__atomic_fetch_add(&ordered, 1, __ATOMIC_SEQ_CST)] = (unsigned char)('a' + who);
		leaves[who] += begins_with_cpuid(0) != 0;
	}
	return NULL;
}

static void *look_with_pending(void *arg)
{
	static const struct timespec at_once;
	sigset_t trap;

	(void)sigemptyset(&trap);
	(void)sigaddset(&trap, SIGTRAP);
	(void)pthread_sigmask(SIG_BLOCK, &trap, NULL);
	(void)pthread_kill(pthread_self(), SIGTRAP);
	(void)look(arg);
	printf("pending: %s\n", sigtimedwait(&trap, NULL, &at_once) == SIGTRAP ? "one" : "none");
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*with)(void *) = argc > 1 && !strcmp(argv[1], "pending") ? look_with_pending : look;
	pthread_t other;

	(void)pthread_barrier_init(&both, NULL, 2);
	(void)pthread_create(&other, NULL, look, (void *)1);
	(void)with((void *)0);
	(void)pthread_join(other, NULL);
	for (int who = 0; who < 2; who++)
		printf("%c: %llu looks, %llu leaves\n", 'a' + who, (unsigned long long)looks[who], (unsigned long long)leaves[who]);
	printf("%.*s\n", 2 * ROUNDS, (const char *)order);
	return 0;
}
