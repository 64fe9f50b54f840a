/* SPDX-License-Identifier: BSD-3-Clause */
/* The block and the ways to it: see inline.h. */
#include "backend/notify/inline.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "backend/notify/notify.h"
#include "backend/notify/vdso_code.h"
#include "backend/processor_answers.h"
#include "base/cleanup.h"

enum { PAGE = 4096 };

/* What the code below reads first. */
struct constants {
	uint64_t ticks; /* of the time stamp counter in a nanosecond */
	uint32_t xcr0[2];
};

/* A row of its table: keys are complements, so that zero ends the table, or stands for any subleaf. */
struct row {
	uint32_t leaf, subleaf;
	struct insn_cpuid answer;
};
_Static_assert(sizeof(struct constants) == 16, "the code's offsets");
_Static_assert(sizeof(struct row) == 24 && offsetof(struct row, answer) == 8, "the code's offsets");
_Static_assert(offsetof(struct insn_cpuid, eax) == 0 && offsetof(struct insn_cpuid, ebx) == 4 && offsetof(struct insn_cpuid, ecx) == 8 &&
		       offsetof(struct insn_cpuid, edx) == 12,
	       "the code's offsets");

/*
 * Nothing but the registers that the instruction writes is changed, and no flag, nor the red zone below the stack pointer: the way to here
 * (below) has gone below that. Flags are kept by LAHF, as PUSHF would keep the trap flag of a step, too.
 */
extern const unsigned char inline_begin_code[], inline_end_code[];
extern const unsigned char inline_cpuid[], inline_cpuid_miss[], inline_tsc[], inline_tsc_miss[], inline_xgetbv[], inline_xgetbv_miss[];
__asm__(".pushsection .rodata\n"
	".globl inline_begin_code, inline_end_code\n"
	".globl inline_cpuid, inline_cpuid_miss, inline_tsc, inline_tsc_miss, inline_xgetbv, inline_xgetbv_miss\n"
	"inline_begin_code:\n"

	/* %eax, %ecx: what it looks for in the table */
	"inline_cpuid:\n"
	"	push	%rsi\n"
	"	push	%rdi\n"
	"	mov	%ecx, %edi\n"
	"	lea	16 + inline_end_code(%rip), %rsi\n"
	"1:	mov	(%rsi), %ecx\n"
	"	jrcxz	4f\n"
	"	lea	1(%rcx,%rax), %ecx\n"
	"	jrcxz	3f\n"
	"2:	lea	24(%rsi), %rsi\n"
	"	jmp	1b\n"
	"3:	mov	4(%rsi), %ecx\n"
	"	jrcxz	5f\n"
	"	lea	1(%rcx,%rdi), %ecx\n"
	"	jrcxz	5f\n"
	"	jmp	2b\n"
	"5:	mov	8(%rsi), %eax\n"
	"	mov	12(%rsi), %ebx\n"
	"	mov	16(%rsi), %ecx\n"
	"	mov	20(%rsi), %edx\n"
	"	pop	%rdi\n"
	"	pop	%rsi\n"
	"	ret	$128\n"
	"4:	mov	%edi, %ecx\n"
	"	pop	%rdi\n"
	"	pop	%rsi\n"
	"inline_cpuid_miss:\n"
	"	cpuid\n"
	"	ret	$128\n"

	/* as in vdso_code.h, and what the engine would answer */
	"inline_tsc:\n"
	"	push	%rcx\n"
	"	seto	%al\n"
	"	lahf\n"
	"	push	%rax\n"
	"	movabs	$0x7ffff8001000, %rdx\n"
	"	mov	$1, %ecx\n"
	"	lock xadd %rcx, (%rdx)\n"
	"	inc	%rcx\n"
	"	imul	16(%rdx), %rcx\n"
	"	add	8(%rdx), %rcx\n"
	"	cmp	%rcx, 24(%rdx)\n" /* carry: limit < time */
	"	jc	1f\n"
	"	add	40(%rdx), %rcx\n"
	"	imul	inline_end_code(%rip), %rcx\n"
	"	mov	%rcx, %rdx\n"
	"	shr	$32, %rdx\n"
	"	pop	%rax\n"
	"	add	$0x7f, %al\n" /* the overflow flag again */
	"	sahf\n"
	"	mov	%ecx, %eax\n"
	"	pop	%rcx\n"
	"	ret	$128\n"
	"1:	pop	%rax\n"
	"	add	$0x7f, %al\n"
	"	sahf\n"
	"	pop	%rcx\n"
	"inline_tsc_miss:\n"
	"	rdtsc\n"
	"	ret	$128\n"

	"inline_xgetbv:\n"
	"	jecxz	1f\n"
	"inline_xgetbv_miss:\n"
	"	xgetbv\n"
	"	ret	$128\n"
	"1:	mov	8 + inline_end_code(%rip), %eax\n"
	"	mov	12 + inline_end_code(%rip), %edx\n"
	"	ret	$128\n"
	"inline_end_code:\n"
	".popsection\n");
_Static_assert(CLOCK_PAGE_ADDRESS == 0x7ffff8001000, "the address in the code");

/* Who answers what, and what traps where the code has no answer. */
static const struct {
	const unsigned char *entry, *miss;
	struct insn_site site;
} answerers[] = {
	{ inline_cpuid, inline_cpuid_miss, { .kind = INSN_CPUID, .trust = INSN_CERTAIN, .length = 2, .bytes = { 0x0f, 0xa2 } } },
	{ inline_tsc, inline_tsc_miss, { .kind = INSN_RDTSC, .trust = INSN_CERTAIN, .length = 2, .bytes = { 0x0f, 0x31 } } },
	{ inline_xgetbv, inline_xgetbv_miss, { .kind = INSN_XGETBV, .trust = INSN_CERTAIN, .length = 3, .bytes = { 0x0f, 0x01, 0xd0 } } },
};

/* The way of each site, with what is moved before or behind it, and then a jump back: over the red zone, to the code. */
static const uint8_t way[] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8, 0, 0, 0, 0 };
enum { WAY_CALL = 5 };

/* What C libraries ask when a program starts. */
static const struct {
	uint32_t leaf, first, last; /* subleaves, where the leaf has some */
} asked[] = {
	{ 0, 0, 0 },	       { 1, 0, 0 },	      { 2, 0, 0 },	     { 4, 0, 4 },	    { 7, 0, 1 },	   { 0xb, 0, 1 },
	{ 0xd, 0, 3 },	       { 0xd, 5, 7 },	      { 0x80000000, 0, 0 },  { 0x80000001, 0, 0 },  { 0x80000005, 0, 0 },  { 0x80000006, 0, 0 },
	{ 0x80000007, 0, 0 },  { 0x80000008, 0, 0 },  { 0x8000001d, 0, 4 },
};

static bool put(struct inline_block *block, const void *bytes, size_t len)
{
	if (len > block->room - block->size)
		return false;
	memcpy(block->bytes + block->size, bytes, len);
	block->size += len;
	return true;
}

static void set_distance(uint8_t *operand, uint64_t target, uint64_t end)
{
	int32_t distance = (int32_t)(int64_t)(target - end);

	memcpy(operand, &distance, sizeof(distance));
}

void inline_put_jump(uint8_t bytes[INSN_FAR_JUMP], uint64_t address, uint64_t target)
{
	bytes[0] = INSN_JUMP;
	set_distance(bytes + 1, target, address + INSN_FAR_JUMP);
}

static void answer(struct notify *n, const struct cpuid_model *model, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret)
{
	struct insn_cpuid host;

	processor_ask(n->processor, leaf, subleaf, &host);
	cpuid_answer(model, leaf, subleaf, &host, ret);
}

static bool put_rows(struct inline_block *block, struct notify *n, const struct cpuid_model *model)
{
	const uint32_t end = 0;

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		for (uint32_t leaf = asked[i].leaf, subleaf = asked[i].first; subleaf <= asked[i].last; subleaf++) {
			struct row row = { .leaf = ~leaf, .subleaf = cpuid_has_subleaves(leaf) ? ~subleaf : 0 };

			answer(n, model, leaf, subleaf, &row.answer);
			if (!put(block, &row, sizeof(row)))
				return false;
		}
	return put(block, &end, sizeof(end));
}

/* The code, what it reads, and breakpoints where it has no answer. */
static bool put_answerers(struct inline_block *block, struct notify *n, const struct cpuid_model *model)
{
	struct constants constants = { .ticks = model->tsc_hz / 1000000000 };
	struct insn_cpuid states;

	answer(n, model, 13, 0, &states);
	constants.xcr0[0] = states.eax;
	constants.xcr0[1] = states.edx;
	if (!put(block, inline_begin_code, (size_t)(inline_end_code - inline_begin_code)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(answerers); i++)
		block->bytes[answerers[i].miss - inline_begin_code] = INSN_TRAP;
	return put(block, &constants, sizeof(constants)) && put_rows(block, n, model);
}

/* LAHF is not what every 64-bit processor has. */
static bool has_lahf(struct notify *n)
{
	struct insn_cpuid host;

	processor_ask(n->processor, 0x80000001, 0, &host);
	return host.ecx & 1;
}

/* Behind the end of the segment that is mapped there: 0 when it is none of this file's. */
static uint64_t find_text_end(int memory_fd, uint64_t base, uint64_t start, uint64_t end)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[16];
	} file;
	const Elf64_Phdr *s = file.segments;

	if (pread(memory_fd, &file, sizeof(file), (off_t)base) != sizeof(file) || file.header.e_phoff != sizeof(file.header) ||
	    file.header.e_phentsize != sizeof(*s) || file.header.e_phnum > ARRAY_SIZE(file.segments))
		return 0;
	for (; s < file.segments + file.header.e_phnum; s++)
		if (s->p_type == PT_LOAD && base + s->p_vaddr >= start && base + s->p_vaddr < end && s->p_filesz == s->p_memsz &&
		    s->p_filesz <= end - (base + s->p_vaddr))
			return base + s->p_vaddr + s->p_filesz;
	return 0;
}

bool inline_begin(struct inline_block *block, struct notify *n, int memory_fd, const struct inline_image *image, uint64_t start, uint64_t end)
{
	uint64_t at = image->linker && start >= image->linker ? find_text_end(memory_fd, image->linker, start, end) : 0;

	block->size = 0;
	block->address = (at + 15) / 16 * 16;
	if (!at || block->address >= end || end - at >= PAGE)
		return false;
	block->room = end - block->address;
	block->has_clock = image->has_clock && has_lahf(n);
	return put_answerers(block, n, image->processor);
}

static const unsigned char *find_entry(const struct inline_block *block, const struct insn_site *site)
{
	for (size_t i = 0; i < ARRAY_SIZE(answerers); i++)
		if (answerers[i].site.kind == site->kind && (site->kind != INSN_RDTSC || block->has_clock))
			return answerers[i].entry;
	return NULL;
}

uint64_t inline_add(struct inline_block *block, const struct insn_site *site, uint64_t address)
{
	const unsigned char *entry = site->tail || site->head ? find_entry(block, site) : NULL;
	size_t tail_at = site->head + sizeof(way), end = tail_at + site->tail;
	uint64_t from = block->address + block->size, behind = address + site->length + site->tail;
	uint8_t code[sizeof(way) + INSN_MOVED_MOST + INSN_FAR_JUMP], *tail = code + tail_at;
	int32_t distance;

	if (!entry)
		return 0;
	memcpy(code, site->moved, site->head);
	memcpy(code + site->head, way, sizeof(way));
	set_distance(code + site->head + WAY_CALL + 1, block->address + (uint64_t)(entry - inline_begin_code), from + tail_at);
	memcpy(tail, site->moved, site->tail);
	if (site->moved_distance) {
		memcpy(&distance, site->moved + site->moved_distance, sizeof(distance));
		set_distance(tail + site->moved_distance, behind + (uint64_t)(int64_t)distance, from + end);
	}
	inline_put_jump(code + end, from + end, behind);
	return put(block, code, end + INSN_FAR_JUMP) ? from : 0;
}

bool inline_finish(const struct inline_block *block, int memory_fd, struct task_code *code)
{
	if (pwrite(memory_fd, block->bytes, block->size, (off_t)block->address) != (ssize_t)block->size)
		return false;
	code->block = block->address;
	code->block_end = block->address + block->size;
	return true;
}

bool inline_has(const struct task_code *code, uint64_t address)
{
	return address >= code->block && address < code->block_end;
}

const struct insn_site *inline_missed(const struct task_code *code, uint64_t address)
{
	for (size_t i = 0; inline_has(code, address) && i < ARRAY_SIZE(answerers); i++)
		if (address == code->block + (uint64_t)(answerers[i].miss - inline_begin_code))
			return &answerers[i].site;
	return NULL;
}
