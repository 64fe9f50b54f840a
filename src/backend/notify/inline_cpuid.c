/* SPDX-License-Identifier: BSD-3-Clause */
/* Code, table and jumps: see inline_cpuid.h. */
#include "backend/notify/inline_cpuid.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "backend/notify/notify.h"
#include "backend/notify/vdso.h"
#include "backend/processor_answers.h"
#include "base/cleanup.h"

enum { FAR_JUMP = 0xe9, TEXT_MOST = 16384 };

/* A row of the table that the code below reads: keys are complements, so that zero ends the table, or stands for any subleaf. */
struct row {
	uint32_t leaf, subleaf;
	struct insn_cpuid answer;
};
_Static_assert(sizeof(struct row) == 24 && offsetof(struct row, answer) == 8, "the code's offsets");
_Static_assert(offsetof(struct insn_cpuid, eax) == 0 && offsetof(struct insn_cpuid, ebx) == 4 && offsetof(struct insn_cpuid, ecx) == 8 &&
		       offsetof(struct insn_cpuid, edx) == 12,
	       "the code's offsets");

/*
 * What it looks for is in %eax and %ecx; nothing but the registers that CPUID writes is changed, and no flag, nor the red zone below the
 * stack pointer: the stub that calls it has gone below that. Flags are not even used, as saving them would save the trap flag of a step.
 */
extern const unsigned char inline_cpuid_begin[], inline_cpuid_miss[], inline_cpuid_end[];
__asm__(".pushsection .rodata\n"
	".globl inline_cpuid_begin, inline_cpuid_miss, inline_cpuid_end\n"
	"inline_cpuid_begin:\n"
	"	push	%rsi\n"
	"	push	%rdi\n"
	"	mov	%ecx, %edi\n"
	"	lea	inline_cpuid_end(%rip), %rsi\n" /* the table is behind the code */
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
	"inline_cpuid_end:\n"
	".popsection\n");

/* One for each site: over the red zone, to the code, and back behind the instruction. */
static const uint8_t stub[] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0 };
enum { STUB_CALL = 5, STUB_JUMP = 10 };

/* What C libraries ask when a program starts. */
static const struct {
	uint32_t leaf, first, last; /* subleaves, where the leaf has some */
} asked[] = {
	{ 0, 0, 0 },	       { 1, 0, 0 },	      { 2, 0, 0 },	     { 4, 0, 4 },	    { 7, 0, 1 },	   { 0xb, 0, 1 },
	{ 0xd, 0, 3 },	       { 0xd, 5, 7 },	      { 0x80000000, 0, 0 },  { 0x80000001, 0, 0 },  { 0x80000005, 0, 0 },  { 0x80000006, 0, 0 },
	{ 0x80000007, 0, 0 },  { 0x80000008, 0, 0 },  { 0x8000001d, 0, 4 },
};

struct block {
	uint64_t address; /* in the guest */
	uint8_t bytes[4096];
	size_t size, room, miss;
};

static void put(struct block *block, const void *bytes, size_t len)
{
	if (len <= block->room - block->size)
		memcpy(block->bytes + block->size, bytes, len);
	block->size += len <= block->room - block->size ? len : 0;
}

static void put_row(struct block *block, struct notify *n, const struct cpuid_model *model, uint32_t leaf, uint32_t subleaf)
{
	struct row row = { .leaf = ~leaf, .subleaf = cpuid_has_subleaves(leaf) ? ~subleaf : 0 };
	struct insn_cpuid host;

	processor_ask(n->processor, leaf, subleaf, &host);
	cpuid_answer(model, leaf, subleaf, &host, &row.answer);
	put(block, &row, sizeof(row));
}

/* The code and the table. False: there is no room. */
static bool begin_block(struct block *block, struct notify *n, const struct cpuid_model *model)
{
	const uint32_t end = 0;
	size_t before;

	put(block, inline_cpuid_begin, (size_t)(inline_cpuid_end - inline_cpuid_begin));
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		for (uint32_t subleaf = asked[i].first; subleaf <= asked[i].last; subleaf++)
			put_row(block, n, model, asked[i].leaf, subleaf);
	before = block->size;
	put(block, &end, sizeof(end));
	block->miss = (size_t)(inline_cpuid_miss - inline_cpuid_begin);
	block->bytes[block->miss] = INSN_TRAP;
	return block->size > before;
}

static void set_distance(uint8_t *operand, uint64_t target, uint64_t end)
{
	int32_t distance = (int32_t)(int64_t)(target - end);

	memcpy(operand, &distance, sizeof(distance));
}

static bool in_reach(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < INT32_MAX;
}

/* The linker's text, as far as there are sites in it. */
struct text {
	uint64_t start;
	size_t len;
	uint8_t bytes[TEXT_MOST];
};

static uint64_t site_end(const struct insn_trap *trap)
{
	return trap->address + trap->site.length;
}

/* Jumps instead of the breakpoint: false when there is no room, or the text is not what the scanner saw. */
static bool put_jumps(struct block *block, struct text *text, const struct insn_trap *trap)
{
	uint64_t end = site_end(trap), padding = end + (uint64_t)(int64_t)trap->site.padding, address = block->address + block->size;
	uint8_t *site = text->bytes + (trap->address - text->start), *far = text->bytes + (padding - text->start);
	uint8_t code[sizeof(stub)];

	if (site[0] != INSN_TRAP || site[1] != trap->site.bytes[1] || memcmp(far, trap->site.padding_bytes, INSN_FAR_JUMP) != 0)
		return false;
	if (sizeof(code) > block->room - block->size || !in_reach(end, address))
		return false;
	memcpy(code, stub, sizeof(code));
	set_distance(code + STUB_CALL + 1, block->address, address + STUB_JUMP);
	set_distance(code + STUB_JUMP + 1, end, address + sizeof(code));
	put(block, code, sizeof(code));
	far[0] = FAR_JUMP;
	set_distance(far + 1, address, padding + INSN_FAR_JUMP);
	site[0] = INSN_NEAR_JUMP;
	site[1] = (uint8_t)trap->site.padding;
	return true;
}

static bool has_padding(const struct insn_trap *trap)
{
	return trap->site.kind == INSN_CPUID && trap->site.padding != 0;
}

/* From the first to the last byte that may change. */
static bool find_text(const struct insn_traps *traps, size_t first, struct text *text)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = first; i < traps->count; i++) {
		const struct insn_trap *trap = &traps->items[i];
		uint64_t padding = site_end(trap) + (uint64_t)(int64_t)trap->site.padding;

		if (!has_padding(trap))
			continue;
		from = trap->address < from ? trap->address : from;
		from = padding < from ? padding : from;
		to = site_end(trap) > to ? site_end(trap) : to;
		to = padding + INSN_FAR_JUMP > to ? padding + INSN_FAR_JUMP : to;
	}
	text->start = from;
	text->len = to > from && to - from <= sizeof(text->bytes) ? to - from : 0;
	return text->len > 0;
}

static bool move(int fd, bool write, void *bytes, size_t len, uint64_t address)
{
	ssize_t done = write ? pwrite(fd, bytes, len, (off_t)address) : pread(fd, bytes, len, (off_t)address);

	return done == (ssize_t)len;
}

/* The one behind inline_cpuid_miss. */
static const struct insn_site missed = { .kind = INSN_CPUID, .trust = INSN_CERTAIN, .length = 2, .bytes = { 0x0f, 0xa2 } };

int inline_cpuid_put(struct notify *n, const struct notify_task *t, uint64_t linker, const struct cpuid_model *model)
{
	struct insn_traps *traps = &t->process->code->traps;
	struct block block = { .address = t->process->code->vdso };
	_cleanup_close_ int fd = -1;
	size_t first = insn_traps_from(traps, linker);
	struct text text;
	bool any = false;

	if (!linker || !n->vdso_page || !n->vdso_page->n_unused || !find_text(traps, first, &text))
		return 0;
	block.address += n->vdso_page->unused;
	block.room = n->vdso_page->n_unused < sizeof(block.bytes) ? n->vdso_page->n_unused : sizeof(block.bytes);
	if (!begin_block(&block, n, model))
		return 0;
	fd = procfs_open(n, t->tid, "mem", O_RDWR);
	if (fd < 0)
		return fd == -ESRCH ? fd : 0;
	if (!move(fd, false, text.bytes, text.len, text.start))
		return 0;
	for (size_t i = first; i < traps->count; i++)
		if (has_padding(&traps->items[i]) && put_jumps(&block, &text, &traps->items[i]))
			traps->items[i].jumps = any = true;
	/* The block first: nobody jumps to what is not there. */
	if (!any || !move(fd, true, block.bytes, block.size, block.address) || !move(fd, true, text.bytes, text.len, text.start))
		return 0;
	return insn_traps_add(traps, block.address + block.miss, &missed);
}
