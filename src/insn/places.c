/* SPDX-License-Identifier: BSD-3-Clause */
/* Places to count at: see places.h. Function bounds come from the unwind tables and from symbols. */
#include "insn/places.h"

#include <errno.h>
#include <stdlib.h>

#include "insn/decode.h"
#include "insn/flow.h"
#include "insn/image.h"

struct list {
	const struct insn_image *image;
	struct insn_place *items;
	size_t count, room;
};

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x36 ||
	       byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
}

static bool is_string(uint8_t opcode)
{
	return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf) || (opcode >= 0x6c && opcode <= 0x6f);
}

/*
 * INT3, INT n, INT1, HLT; PUSHF, which shows the trap flag of the step; POPF and IRET, of which the kernel believes that the flag is the
 * program's: a step that something else comes before leaves it set (is_setting_trap_flag() in step.c).
 */
static bool is_refused(uint8_t opcode)
{
	return opcode == 0xcc || opcode == 0xcd || opcode == 0xf1 || opcode == 0xf4 || opcode == 0x9c || opcode == 0x9d || opcode == 0xcf;
}

bool insn_is_steppable(const uint8_t *code, size_t len, bool *ret_repeats)
{
	bool repeats = false;
	size_t i;

	*ret_repeats = false;
	for (i = 0; i < len && is_prefix(code[i]); i++)
		repeats |= code[i] == 0xf2 || code[i] == 0xf3;
	if (i == len || is_refused(code[i]))
		return false;
	*ret_repeats = repeats && is_string(code[i]);
	/* SYSCALL, SYSENTER, UD2 */
	return code[i] != 0x0f || (i + 1 < len && code[i + 1] != 0x05 && code[i + 1] != 0x34 && code[i + 1] != 0x0b);
}

static int add(struct list *list, uint64_t vaddr)
{
	const struct insn_segment *segment = insn_image_segment(list->image, vaddr);
	struct insn_place *grown;
	const uint8_t *code;
	bool repeats;
	size_t len, room;

	code = insn_image_at(list->image, vaddr, &len);
	if (!code || !segment->exec || !insn_is_steppable(code, len < INSN_MAX_LENGTH ? len : INSN_MAX_LENGTH, &repeats) || repeats)
		return 0;
	if (list->count == list->room) {
		room = list->room ? 2 * list->room : 256;
		grown = reallocarray(list->items, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->items = grown;
		list->room = room;
	}
	list->items[list->count++] = (struct insn_place){ segment->offset + (vaddr - segment->vaddr), *code };
	return 0;
}

/* What a known instruction says about where blocks begin: at its target, and behind it when it branches. */
static int add_blocks_of(struct list *list, const struct insn_flow *flow, uint64_t vaddr, const struct insn_decoded *d)
{
	int r = 0;

	if ((d->flow == INSN_FLOW_BRANCH || d->flow == INSN_FLOW_JUMP) && d->has_target && insn_flow_starts_at(flow, d->target))
		r = add(list, d->target);
	if (r == 0 && d->flow == INSN_FLOW_BRANCH && insn_flow_starts_at(flow, vaddr + d->length))
		r = add(list, vaddr + d->length);
	return r;
}

static int add_blocks(struct list *list, const struct insn_flow *flow)
{
	struct insn_decoded d;
	int r = 0;

	for (uint64_t v = flow->start; v < flow->end && r == 0; v++) {
		size_t len = flow->readable - (v - flow->start);

		if (insn_flow_starts_at(flow, v) &&
		    insn_decode(flow->code + (v - flow->start), len < INSN_MAX_LENGTH ? len : INSN_MAX_LENGTH, v, &d) == 0)
			r = add_blocks_of(list, flow, v, &d);
	}
	return r;
}

static int add_function(struct list *list, uint64_t start, uint64_t end)
{
	struct insn_flow flow;
	int r;

	r = insn_flow_init(&flow, list->image, start, end, true);
	if (r == -EINVAL)
		return 0;
	if (r == 0)
		r = insn_flow_follow(&flow, start);
	if (r == 0)
		r = insn_flow_follow_tables(&flow);
	if (r == 0 && insn_flow_starts_at(&flow, start))
		r = add(list, start);
	if (r == 0)
		r = add_blocks(list, &flow);
	insn_flow_deinit(&flow);
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct insn_place *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void sort(struct list *list)
{
	size_t n = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare);
	for (size_t i = 0; i < list->count; i++)
		if (n == 0 || list->items[i].offset != list->items[n - 1].offset)
			list->items[n++] = list->items[i];
	list->count = n;
}

/* Unwind tables know every function of a compiler; symbols those that were written in assembly. */
static int add_all(struct list *list, const struct insn_image *image)
{
	int r = 0;

	for (size_t i = 0; i < image->function_count && r == 0; i++)
		r = add_function(list, image->functions[i].start, image->functions[i].end);
	for (size_t i = 0; i < image->symbol_count && r == 0; i++) {
		const struct insn_symbol *s = &image->symbols[i];

		if (!s->is_data && s->size && !insn_image_function(image, s->start))
			r = add_function(list, s->start, s->start + s->size);
	}
	return r;
}

int insn_places_of(const void *bytes, size_t size, struct insn_places *ret)
{
	struct insn_image image;
	struct list list = { .image = &image };
	int r;

	r = insn_image_init(&image, bytes, size);
	if (r < 0)
		return r;
	r = insn_image_load_details(&image);
	if (r == 0)
		r = add_all(&list, &image);
	insn_image_deinit(&image);
	if (r < 0) {
		free(list.items);
		return r;
	}
	sort(&list);
	*ret = (struct insn_places){ list.items, list.count };
	return 0;
}

int insn_places_fd(int fd, struct insn_places *ret)
{
	size_t size;
	void *bytes;
	int r;

	r = insn_file_map(fd, &bytes, &size);
	if (r < 0)
		return r;
	r = insn_places_of(bytes, size, ret);
	insn_file_unmap(bytes, size);
	return r;
}

void insn_places_deinit(struct insn_places *places)
{
	free(places->items);
	*places = (struct insn_places){ 0 };
}
