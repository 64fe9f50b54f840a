/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dynamic linker that asks the processor: it stands for the real one, as PT_INTERP of a program (built with -shared -nostdlib -e start). CPUID
 * once with padding behind it, where a jump can lead to code that answers, and once without, where it traps, must do the same: with all leaves, rubbish in the
 * upper halves and in the other registers, all flags set or clear, and the red zone in use. It prints how many answers were compared, and the
 * first byte of the text of either.
 */
typedef unsigned long u64;
typedef unsigned u32;

struct registers {
	u64 ax, bx, cx, dx, si, di, bp, r8, r9, r12, r15, flags;
};

__asm__(".text\n"
	/* void name(struct registers *%rdi): loads them, asks, stores them. */
	".macro ASK name\n"
	".globl \\name\n"
	".type \\name, @function\n"
	"\\name:\n"
	".cfi_startproc\n"
	"	push	%rbx\n"
	"	push	%rbp\n"
	"	push	%r12\n"
	"	push	%r15\n"
	"	push	%rdi\n"
	"	pushq	88(%rdi)\n"
	"	mov	0(%rdi), %rax\n"
	"	mov	8(%rdi), %rbx\n"
	"	mov	16(%rdi), %rcx\n"
	"	mov	24(%rdi), %rdx\n"
	"	mov	32(%rdi), %rsi\n"
	"	mov	48(%rdi), %rbp\n"
	"	mov	56(%rdi), %r8\n"
	"	mov	64(%rdi), %r9\n"
	"	mov	72(%rdi), %r12\n"
	"	mov	80(%rdi), %r15\n"
	"	mov	40(%rdi), %rdi\n"
	"	popfq\n"
	"	call	\\name\\()_site\n"
	"	pushfq\n"
	"	cld\n"
	"	mov	8(%rsp), %r11\n" /* the structure */
	"	popq	88(%r11)\n"
	"	mov	%rax, 0(%r11)\n"
	"	mov	%rbx, 8(%r11)\n"
	"	mov	%rcx, 16(%r11)\n"
	"	mov	%rdx, 24(%r11)\n"
	"	mov	%rsi, 32(%r11)\n"
	"	mov	%rdi, 40(%r11)\n"
	"	mov	%rbp, 48(%r11)\n"
	"	mov	%r8, 56(%r11)\n"
	"	mov	%r9, 64(%r11)\n"
	"	mov	%r12, 72(%r11)\n"
	"	mov	%r15, 80(%r11)\n"
	"	pop	%rdi\n"
	"	pop	%r15\n"
	"	pop	%r12\n"
	"	pop	%rbp\n"
	"	pop	%rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	".size \\name, . - \\name\n"
	".endm\n"
	/* The instruction in a leaf function that has words in its red zone, at either end of it. */
	".macro SITE name\n"
	".hidden \\name\\()_site\n"
	".type \\name\\()_site, @function\n"
	"\\name\\()_site:\n"
	".cfi_startproc\n"
	"	mov	%r8, -8(%rsp)\n"
	"	mov	%r9, -128(%rsp)\n"
	"\\name\\()_opcode:\n"
	"	cpuid\n"
	"	mov	-8(%rsp), %r8\n"
	"	mov	-128(%rsp), %r9\n"
	"	ret\n"
	".cfi_endproc\n"
	".size \\name\\()_site, . - \\name\\()_site\n"
	".endm\n"
	"	ASK	padded\n"
	"	ASK	bare\n"
	"	.p2align 4\n"
	"	SITE	padded\n"
	"	.nops	11, 8\n" /* in two instructions */
	".globl after_padding\n"
	".type after_padding, @function\n"
	"after_padding:\n"
	".cfi_startproc\n"
	"	.fill	160, 1, 0xf4\n" /* no padding, whatever else it is */
	".cfi_endproc\n"
	".size after_padding, . - after_padding\n"
	"	SITE	bare\n"
	".globl after_bare\n"
	".type after_bare, @function\n"
	"after_bare:\n"
	".cfi_startproc\n"
	"	.fill	160, 1, 0xf4\n"
	".cfi_endproc\n"
	".size after_bare, . - after_bare\n"
	".globl start\n"
	".type start, @function\n"
	"start:\n"
	"	and	$-16, %rsp\n"
	"	call	compare\n"
	"	hlt\n"
	".hidden padded, bare, compare, padded_opcode, bare_opcode\n");

void padded(struct registers *r);
void bare(struct registers *r);
extern const unsigned char padded_opcode[] __attribute__((visibility("hidden")));
extern const unsigned char bare_opcode[] __attribute__((visibility("hidden")));

static long call3(long nr, long a, long b, long c)
{
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return nr;
}

static void print(const char *text)
{
	long n = 0;

	while (text[n])
		n++;
	(void)call3(1, 1, (long)text, n);
}

static void print_number(u64 value)
{
	char digits[20];
	long at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	(void)call3(1, 1, (long)(digits + at), (long)sizeof(digits) - at);
}

static u64 next(u64 *state)
{
	*state = *state * 6364136223846793005ul + 1442695040888963407ul;
	return *state;
}

/* The status and arithmetic flags, and the direction. */
#define FLAGS 0xcd5ul

static int differs(u32 leaf, u32 subleaf, u64 *state)
{
	struct registers a, b;
	u64 *words = (u64 *)&a;

	for (unsigned i = 0; i < sizeof(a) / sizeof(*words); i++)
		words[i] = next(state);
	a.ax = (a.ax & ~0xfffffffful) | leaf;
	a.cx = (a.cx & ~0xfffffffful) | subleaf;
	a.flags = (a.flags >> 20 & FLAGS) | 0x202;
	b = a;
	padded(&a);
	bare(&b);
	for (unsigned i = 0; i < sizeof(a) / sizeof(*words); i++)
		if (words[i] != ((u64 *)&b)[i])
			return 1;
	return 0;
}

__attribute__((used, visibility("hidden"))) void compare(void)
{
	u64 state = 1, count = 0, different = 0;

	for (u32 high = 0; high < 2; high++)
		for (u32 leaf = 0; leaf < 0x24; leaf++)
			for (u32 subleaf = 0; subleaf < 9; subleaf++, count++)
				different += (u64)differs(high << 31 | leaf, subleaf, &state);
	different += (u64)differs(0xffffffff, 0, &state) + (u64)differs(13, 0xffffffff, &state);
	print("compared ");
	print_number(count + 2);
	print(", different ");
	print_number(different);
	print("\ntext ");
	print_number(*padded_opcode);
	print(" ");
	print_number(*bare_opcode);
	print("\n");
	(void)call3(231, different != 0, 0, 0);
}
