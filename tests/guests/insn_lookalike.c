/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes of opcodes that are no instructions: immediates, displacements, data in text. The program prints a checksum over them: if
 * one is replaced, the number changes.
 */
#include <stdint.h>
#include <stdio.h>

#include "insn_truth.h"

uint64_t insn_lookalike_operands(void);
extern const unsigned char insn_lookalike_data[16];
extern const unsigned char insn_lookalike_object[16];
uint64_t insn_lookalike_jumped_over(void);
uint64_t insn_lookalike_switch(uint64_t which);

/* Immediates and displacements. */
__asm__(".text\n\t"
	".globl insn_lookalike_operands\n\t"
	".type insn_lookalike_operands, @function\n"
	"insn_lookalike_operands:\n\t"
	".cfi_startproc\n\t"
	".byte 0xb8\n7700: .byte 0x0f, 0x31, 0x00, 0x00\n\t" RECORD(0)          /* mov $0x310f, %eax */
	".byte 0x48, 0x69, 0xc0\n7700: .byte 0x0f, 0xa2, 0x0f, 0x31\n\t" RECORD(0) /* imul $0x310fa20f, %rax, %rax */
	".byte 0x48, 0x05\n7700: .byte 0x0f, 0x01, 0xf9, 0x00\n\t" RECORD(0)    /* add $0xf9010f, %rax */
	".byte 0x48, 0x35\n7700: .byte 0x0f, 0xc7, 0xf0, 0x00\n\t" RECORD(0)    /* xor $0xf0c70f, %rax */
	".byte 0x48, 0x8d, 0x80\n7700: .byte 0xc7, 0xf8, 0x00, 0x00\n\t" RECORD(0) /* lea 0xf8c7(%rax), %rax */
	"ret\n\t"
	".cfi_endproc\n\t"
	".size insn_lookalike_operands, . - insn_lookalike_operands\n");

/* Data between functions, with a label and no type, as hand-written code has it; and with the type of an object. */
__asm__(".text\n\t"
	".globl insn_lookalike_data\n"
	"insn_lookalike_data:\n"
	"7700: .byte 0x0f, 0x31\n\t" RECORD(0)
	"7700: .byte 0x0f, 0xa2\n\t" RECORD(0)
	"7700: .byte 0x0f, 0x01, 0xf9\n\t" RECORD(0)
	"7700: .byte 0x0f, 0xc7, 0xf0\n\t" RECORD(0)
	"7700: .byte 0xc7, 0xf8, 1, 2, 3, 4\n\t" RECORD(0)
	".globl insn_lookalike_object\n\t"
	".type insn_lookalike_object, @object\n"
	"insn_lookalike_object:\n"
	"7700: .byte 0x0f, 0x31\n\t" RECORD(0)
	".byte 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90\n"
	"7700: .byte 0x0f, 0x01, 0xd0\n\t" RECORD(0)
	".byte 0xc3, 0x90, 0x90, 0x90, 0x90\n\t"
	".size insn_lookalike_object, . - insn_lookalike_object\n");

/* Data inside a function that is jumped over, and data behind its return, which the function reads. */
__asm__(".text\n\t"
	".globl insn_lookalike_jumped_over\n\t"
	".type insn_lookalike_jumped_over, @function\n"
	"insn_lookalike_jumped_over:\n\t"
	".cfi_startproc\n\t"
	"jmp 2f\n"
	"1:\n7700: .byte 0x0f, 0x31\n\t" RECORD(0)
	"7700: .byte 0x0f, 0xa2\n\t" RECORD(0)
	"2:\n\t"
	"mov 1b(%rip), %eax\n\t"
	"add 3f(%rip), %eax\n\t"
	"ret\n"
	"3:\n7700: .byte 0x0f, 0x31\n\t" RECORD(0)
	"7700: .byte 0x0f, 0xa2\n\t" RECORD(0)
	".cfi_endproc\n\t"
	".size insn_lookalike_jumped_over, . - insn_lookalike_jumped_over\n");

/* A function with a jump table, whose data in text could pass for code. */
__asm__(".text\n\t"
	".globl insn_lookalike_switch\n\t"
	".type insn_lookalike_switch, @function\n"
	"insn_lookalike_switch:\n\t"
	".cfi_startproc\n\t"
	"and $1, %edi\n\t"
	"lea 5f(%rip), %rcx\n\t"
	"movslq (%rcx,%rdi,4), %rax\n\t"
	"add %rcx, %rax\n\t"
	"jmp *%rax\n"
	"1:\n7700: .byte 0x0f, 0x31\n\t" RECORD(0)
	"7700: .byte 0x0f, 0xa2\n\t" RECORD(0)
	"2:\n\t"
	"mov 1b(%rip), %eax\n\t"
	"ret\n"
	"3:\n\t"
	"7700: rdtsc\n\t" RECORD(1)
	"mov $7, %eax\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size insn_lookalike_switch, . - insn_lookalike_switch\n\t"
	".section .rodata\n\t"
	".p2align 2\n"
	"5:\n\t"
	".long 2b - 5b\n\t"
	".long 3b - 5b\n\t"
	".text\n");

int main(void)
{
	uint64_t sum = insn_lookalike_operands();

	for (int i = 0; i < 16; i++)
		sum = sum * 31 + insn_lookalike_data[i];
	for (int i = 0; i < 16; i++)
		sum = sum * 31 + insn_lookalike_object[i];
	sum = sum * 31 + insn_lookalike_jumped_over();
	sum = sum * 31 + insn_lookalike_switch(0);
	sum = sum * 31 + insn_lookalike_switch(1);
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
