/* SPDX-License-Identifier: BSD-3-Clause */
/* Code for guests: see vdso_code.h. */
#include "backend/notify/vdso_code.h"

#include <stddef.h>

#include "engine/guest.h"

/* The offsets that the code below uses. */
_Static_assert(offsetof(struct clock_page, reads) == 0, "clock page");
_Static_assert(offsetof(struct clock_page, now_ns) == 8, "clock page");
_Static_assert(offsetof(struct clock_page, cost_ns) == 16, "clock page");
_Static_assert(offsetof(struct clock_page, limit_ns) == 24, "clock page");
_Static_assert(offsetof(struct clock_page, realtime_ns) == 32, "clock page");
_Static_assert(offsetof(struct clock_page, monotonic_ns) == 40, "clock page");
_Static_assert(offsetof(struct clock_page, tai_ns) == 48, "clock page");
_Static_assert(CLOCK_PAGE_ADDRESS == 0x7ffff8001000, "the address in the code");

__asm__(".pushsection .rodata\n"
	".globl vdso_code_begin, vdso_code_end, vdso_code_clock_gettime, vdso_code_gettimeofday, vdso_code_time, "
	"vdso_code_map_page\n"
	"vdso_code_begin:\n"

	/* int clock_gettime(%edi clock, %rsi timespec) */
	"vdso_code_clock_gettime:\n"
	"	cmp	$11, %edi\n"
	"	ja	1f\n"
	"	mov	$0x8f3, %eax\n" /* REALTIME, MONOTONIC, their RAW and COARSE forms, BOOTTIME, TAI */
	"	bt	%edi, %eax\n"
	"	jnc	1f\n"
	"	call	vdso_code_now\n"
	"	jc	1f\n"
	"	lea	40(%r8), %r9\n" /* monotonic_ns */
	"	cmp	$11, %edi\n"
	"	je	2f\n"
	"	test	%edi, %edi\n"
	"	je	3f\n"
	"	cmp	$5, %edi\n"
	"	jne	4f\n"
	"3:	sub	$8, %r9\n" /* realtime_ns */
	"	jmp	4f\n"
	"2:	add	$8, %r9\n" /* tai_ns */
	"4:	add	(%r9), %rax\n"
	"	xor	%edx, %edx\n"
	"	mov	$1000000000, %ecx\n"
	"	div	%rcx\n"
	"	mov	%rax, (%rsi)\n"
	"	mov	%rdx, 8(%rsi)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	"1:	mov	$228, %eax\n"
	"	syscall\n"
	"	ret\n"

	/* int gettimeofday(%rdi timeval, %rsi timezone) */
	"vdso_code_gettimeofday:\n"
	"	test	%rsi, %rsi\n"
	"	jne	1f\n"
	"	test	%rdi, %rdi\n"
	"	je	1f\n"
	"	call	vdso_code_now\n"
	"	jc	1f\n"
	"	add	32(%r8), %rax\n"
	"	xor	%edx, %edx\n"
	"	mov	$1000000000, %ecx\n"
	"	div	%rcx\n"
	"	mov	%rax, (%rdi)\n"
	"	mov	%rdx, %rax\n"
	"	xor	%edx, %edx\n"
	"	mov	$1000, %ecx\n"
	"	div	%rcx\n"
	"	mov	%rax, 8(%rdi)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	"1:	mov	$96, %eax\n"
	"	syscall\n"
	"	ret\n"

	/* time_t time(%rdi) */
	"vdso_code_time:\n"
	"	call	vdso_code_now\n"
	"	jc	1f\n"
	"	add	32(%r8), %rax\n"
	"	xor	%edx, %edx\n"
	"	mov	$1000000000, %ecx\n"
	"	div	%rcx\n"
	"	test	%rdi, %rdi\n"
	"	je	2f\n"
	"	mov	%rax, (%rdi)\n"
	"2:	ret\n"
	"1:	mov	$201, %eax\n"
	"	syscall\n"
	"	ret\n"

	/*
	 * Counts a read. %r8: the page, %rax: run time; carry: the limit is reached, the kernel has to be called.
	 * The count is taken in one locked instruction, so that a signal handler that reads the clock in between harms nothing.
	 */
	"vdso_code_now:\n"
	"	movabs	$0x7ffff8001000, %r8\n"
	"	mov	$1, %eax\n"
	"	lock xadd %rax, (%r8)\n"
	"	inc	%rax\n"
	"	imul	16(%r8), %rax\n"
	"	add	8(%r8), %rax\n"
	"	cmp	%rax, 24(%r8)\n" /* carry: limit < time */
	"	ret\n"

	"vdso_code_map_page:\n"
	"	mov	$257, %eax\n" /* openat: answered with the page's descriptor */
	"	syscall\n"
	"	mov	%eax, %r8d\n"
	"	movabs	$0x7ffff8001000, %rdi\n"
	"	mov	$4096, %esi\n"
	"	mov	$3, %edx\n"        /* PROT_READ | PROT_WRITE */
	"	mov	$0x100001, %r10d\n" /* MAP_SHARED | MAP_FIXED_NOREPLACE */
	"	xor	%r9d, %r9d\n"
	"	mov	$9, %eax\n" /* mmap */
	"	syscall\n"
	"	mov	%rax, %rbx\n"
	"	mov	%r8d, %edi\n"
	"	mov	$3, %eax\n" /* close */
	"	syscall\n"
	"	mov	%rbx, %rax\n"
	"	int3\n"
	"vdso_code_end:\n"
	".popsection\n");
