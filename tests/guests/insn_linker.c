/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dynamic linker that asks the processor and the clock: it stands for the real one, as PT_INTERP of a program (built with -shared -nostdlib -e start). Each
 * instruction stands four times: where what is behind it can be moved for a jump to code that answers, where that is relative to its place,
 * where only what is before it can be moved, and where nothing can, so that it traps. ROOM is a number of bytes to be in its text for nothing. All must do the same: with all leaves, rubbish in the
 * upper halves and in the other registers, all flags set or clear, and the red zone in use. It prints how many answers were compared, what passes
 * from look to look, and the first byte of the text of each.
 */
typedef unsigned long u64;
typedef unsigned u32;

#define TEXT(x)	   #x
#define TEXT_OF(x) TEXT(x)
#define PADDING	   TEXT_OF(ROOM)

struct registers {
	u64 ax, bx, cx, dx, si, di, bp, r8, r9, r12, r15, flags;
};

__asm__(".text\n"
	/* void name(struct registers *%rdi): loads them, asks, stores them. */
	".macro ASK name\n"
	".hidden \\name\n"
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
	".macro SITE name, instruction, behind:vararg\n"
	"	ASK	\\name\n"
	".hidden \\name\\()_site, \\name\\()_before, \\name\\()_opcode\n"
	".type \\name\\()_site, @function\n"
	"\\name\\()_site:\n"
	".cfi_startproc\n"
	"	mov	%r8, -8(%rsp)\n"
	"	mov	%r9, -128(%rsp)\n"
	"\\name\\()_before:\n"
	"	mov	%r15, -16(%rsp)\n"
	"\\name\\()_opcode:\n"
	"	\\instruction\n"
	"\\name\\()_behind:\n"
	"	\\behind\n"
	"	mov	-128(%rsp), %r9\n"
	"	mov	-16(%rsp), %r15\n"
	"	ret\n"
	".cfi_endproc\n"
	".size \\name\\()_site, . - \\name\\()_site\n"
	".endm\n"
	".macro SITES instruction\n"
	"	SITE	\\instruction\\()_tail, \\instruction, mov -8(%rsp), %r8\n"
	"	SITE	\\instruction\\()_far, \\instruction, mov word(%rip), %r8\n"
	"	SITE	\\instruction\\()_head, \\instruction, mov -8(%rsp), %r8\n"
	"	SITE	\\instruction\\()_bare, \\instruction, mov -8(%rsp), %r8\n"
	".type \\instruction\\()_entries, @function\n"
	"\\instruction\\()_entries:\n" /* who is called by nobody and jumps in between */
	".cfi_startproc\n"
	"	je	\\instruction\\()_head_behind\n"
	"	je	\\instruction\\()_bare_behind\n"
	"	jmp	\\instruction\\()_bare_opcode\n"
	".cfi_endproc\n"
	".size \\instruction\\()_entries, . - \\instruction\\()_entries\n"
	".endm\n"
	"	SITES	cpuid\n"
	"	SITES	rdtsc\n"
	"	SITES	xgetbv\n"
	".globl start\n"
	".type start, @function\n"
	"start:\n"
	"	and	$-16, %rsp\n"
	"	call	compare\n"
	"	hlt\n"
	"	.fill	" PADDING ", 1, 0xf4\n" /* so that the last page of text has room */
	"	.p2align 3\n"
	".hidden word\n"
	"word:	.quad	0x123456789abcdef\n");

#define HIDDEN __attribute__((visibility("hidden")))
#define SITE(name)                             \
	HIDDEN void name(struct registers *r); \
	extern HIDDEN const unsigned char name##_before[], name##_opcode[]
#define SITES(instruction)        \
	SITE(instruction##_tail); \
	SITE(instruction##_far);  \
	SITE(instruction##_head); \
	SITE(instruction##_bare)
SITES(cpuid);
SITES(rdtsc);
SITES(xgetbv);
extern HIDDEN const u64 word;

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

enum { TAIL, FAR, HEAD, BARE, WAYS };

enum instruction { CPUID, RDTSC, XGETBV };

/* No table: nobody relocates this program. */
static void run(enum instruction instruction, int way, struct registers *r)
{
	switch ((int)instruction * WAYS + way) {
	case CPUID * WAYS + TAIL: cpuid_tail(r); break;
	case CPUID * WAYS + FAR: cpuid_far(r); break;
	case CPUID * WAYS + HEAD: cpuid_head(r); break;
	case CPUID * WAYS + BARE: cpuid_bare(r); break;
	case RDTSC * WAYS + TAIL: rdtsc_tail(r); break;
	case RDTSC * WAYS + FAR: rdtsc_far(r); break;
	case RDTSC * WAYS + HEAD: rdtsc_head(r); break;
	case RDTSC * WAYS + BARE: rdtsc_bare(r); break;
	case XGETBV * WAYS + TAIL: xgetbv_tail(r); break;
	case XGETBV * WAYS + FAR: xgetbv_far(r); break;
	case XGETBV * WAYS + HEAD: xgetbv_head(r); break;
	default: xgetbv_bare(r); break;
	}
}

static void fill(struct registers *r, u32 leaf, u32 subleaf, u64 *state)
{
	for (unsigned i = 0; i < sizeof(*r) / sizeof(u64); i++)
		((u64 *)r)[i] = next(state);
	r->ax = (r->ax & ~0xfffffffful) | leaf;
	r->cx = (r->cx & ~0xfffffffful) | subleaf;
	r->flags = (r->flags >> 20 & FLAGS) | 0x202;
}

static u64 differ(const struct registers *a, const struct registers *b)
{
	u64 n = 0;

	for (unsigned i = 0; i < sizeof(*a) / sizeof(u64); i++)
		n += ((const u64 *)a)[i] != ((const u64 *)b)[i];
	return n;
}

/* Asks in the four ways: how much differs. What the far one has loaded is put back. */
static u64 ask(enum instruction instruction, u32 leaf, u32 subleaf, u64 *state, struct registers answers[WAYS])
{
	u64 r8, wrong;

	fill(&answers[TAIL], leaf, subleaf, state);
	r8 = answers[TAIL].r8;
	for (int i = FAR; i < WAYS; i++)
		answers[i] = answers[TAIL];
	for (int i = TAIL; i < WAYS; i++)
		run(instruction, i, &answers[i]);
	wrong = answers[FAR].r8 != word;
	answers[FAR].r8 = r8;
	return wrong;
}

static u64 compare_answers(enum instruction instruction, u32 leaf, u32 subleaf, u64 *state)
{
	struct registers answers[WAYS];
	u64 wrong = ask(instruction, leaf, subleaf, state, answers);

	for (int i = TAIL; i < BARE; i++)
		wrong += differ(&answers[i], &answers[BARE]);
	return wrong;
}

/* The time passes from look to look; all else is the same. */
static u64 compare_looks(u64 *state, u64 passed[WAYS])
{
	struct registers answers[WAYS];
	u64 wrong = ask(RDTSC, 0, 0, state, answers), last = 0;

	for (int i = TAIL; i < WAYS; i++) {
		u64 now = answers[i].dx << 32 | answers[i].ax;

		wrong += answers[i].dx >> 32 || answers[i].ax >> 32 || now <= last;
		passed[i] = now - last;
		last = now;
		answers[i].dx = answers[i].ax = 0;
		wrong += i > TAIL && differ(&answers[i], &answers[i - 1]);
	}
	return wrong;
}

static void print_text(const unsigned char *tail, const unsigned char *far, const unsigned char *head, const unsigned char *bare)
{
	print("text ");
	print_number(*tail);
	print(" ");
	print_number(*far);
	print(" ");
	print_number(*head);
	print(" ");
	print_number(*bare);
	print("\n");
}

__attribute__((used, visibility("hidden"))) void compare(void)
{
	u64 state = 1, count = 0, different = 0, passed[WAYS];

	for (int i = 0; i < 20; i++) /* first, as looks that trap take longer after a thousand traps */
		different += compare_looks(&state, passed);
	for (u32 high = 0; high < 2; high++)
		for (u32 leaf = 0; leaf < 0x24; leaf++)
			for (u32 subleaf = 0; subleaf < 9; subleaf++, count++)
				different += compare_answers(CPUID, high << 31 | leaf, subleaf, &state);
	different += compare_answers(CPUID, 0xffffffff, 0, &state) + compare_answers(CPUID, 13, 0xffffffff, &state);
	for (int i = 0; i < 20; i++)
		different += compare_answers(XGETBV, 0, 0, &state);
	print("compared ");
	print_number(count + 42);
	print(", different ");
	print_number(different);
	print("\npassed ");
	print_number(passed[FAR]);
	print(" ");
	print_number(passed[HEAD]);
	print(" ");
	print_number(passed[BARE]);
	print("\n");
	print_text(cpuid_tail_opcode, cpuid_far_opcode, cpuid_head_before, cpuid_bare_opcode);
	print_text(rdtsc_tail_opcode, rdtsc_far_opcode, rdtsc_head_before, rdtsc_bare_opcode);
	print_text(xgetbv_tail_opcode, xgetbv_far_opcode, xgetbv_head_before, xgetbv_bare_opcode);
	(void)call3(231, different != 0, 0, 0);
}
