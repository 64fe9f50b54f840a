/* SPDX-License-Identifier: BSD-3-Clause */
/* See moved.h. */
#include "insn/moved.h"

#include <string.h>

#include "insn/branches.h"

struct moving {
	const struct insn_image *image;
	struct insn_map *map;
};

bool insn_may_jump(const struct insn_site *site)
{
	return (site->kind == INSN_CPUID || site->kind == INSN_RDTSC || site->kind == INSN_XGETBV) && site->opcode_at == 0 &&
	       site->trust == INSN_CERTAIN && site->length < INSN_FAR_JUMP;
}

/* A branch from `from` to the offset `to`, if there is an instruction, ends what is said of the bytes there. */
static void forbid_entered(const struct moving *m, uint64_t from, uint64_t to)
{
	size_t behind = insn_map_lower_bound(m->map, to);
	struct insn_site *before = behind ? &m->map->sites[behind - 1] : NULL, *next = behind < m->map->count ? &m->map->sites[behind] : NULL;
	bool in_tail = before && to - before->offset < (uint64_t)before->length + before->tail;
	bool in_head = next && next->offset - to < next->head;

	if ((!in_tail && !in_head) || insn_branch_is_at(m->image, from) == INSN_NO_BRANCH)
		return;
	if (in_tail)
		before->tail = 0;
	if (in_head)
		next->head = 0;
}

static void forbid_target(const struct moving *m, const struct insn_segment *seg, uint64_t from, uint64_t target)
{
	const struct insn_segment *there = target - seg->vaddr < seg->size ? seg : insn_image_segment(m->image, target);

	if (there)
		forbid_entered(m, from, there->offset + (target - there->vaddr));
}

static void forbid_all_entered(const struct moving *m, const struct insn_segment *seg)
{
	const uint8_t *code = m->image->bytes + seg->offset;

	for (size_t at = 0; at + 1 < seg->size; at++) {
		bool is_short = (code[at] & 0xf0) == 0x70 || code[at] == 0xeb || (code[at] & 0xfc) == 0xe0;
		uint64_t from = seg->vaddr + at, target = insn_branch_target(code, seg->size, at, seg->vaddr);

		if (is_short)
			forbid_target(m, seg, from, from + 2 + (uint64_t)(int64_t)(int8_t)code[at + 1]);
		if (target)
			forbid_target(m, seg, from, target);
	}
}

static bool has_movable(const struct moving *m)
{
	for (size_t i = 0; i < m->map->count; i++)
		if (m->map->sites[i].tail || m->map->sites[i].head)
			return true;
	return false;
}

/* The tail, or else the head, which may be the tail of the site before. */
static void choose_moved(const struct moving *m)
{
	uint64_t end = 0;

	for (size_t i = 0; i < m->map->count; i++) {
		struct insn_site *site = &m->map->sites[i];
		uint64_t behind = site->offset + site->length;

		if (site->tail || site->offset < end + site->head)
			site->head = 0;
		if (!site->tail)
			site->moved_distance = 0;
		if (site->tail)
			memcpy(site->moved, m->image->bytes + behind, site->tail);
		else
			memcpy(site->moved, m->image->bytes + site->offset - site->head, site->head);
		end = behind + site->tail;
	}
}

void insn_find_moved(const struct insn_image *image, struct insn_map *map)
{
	const struct moving moving = { image, map }, *m = &moving;

	if (!has_movable(m))
		return;
	for (size_t i = 0; i < m->image->segment_count; i++)
		if (m->image->segments[i].exec)
			forbid_all_entered(m, &m->image->segments[i]);
	choose_moved(m);
}
