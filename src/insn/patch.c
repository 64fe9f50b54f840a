/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets to addresses, and a sorted array of what was replaced. */
#include "insn/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"

struct insn_patch insn_patch_site(const struct insn_site *site, uint64_t address)
{
	return (struct insn_patch){ .address = address + site->opcode_at, .original = site->bytes[site->opcode_at], .site = site };
}

/* Sites that have a byte at or behind offset: those that begin up to 14 bytes before it, too. */
static size_t first_site(const struct insn_map *map, uint64_t offset)
{
	return insn_map_lower_bound(map, offset < INSN_MAX_LENGTH ? 0 : offset - (INSN_MAX_LENGTH - 1));
}

static bool range_is_sane(uint64_t offset, uint64_t len, uint64_t address)
{
	return len <= UINT64_MAX - offset && len <= UINT64_MAX - address;
}

bool insn_is_replaced(const struct insn_site *site, unsigned kinds)
{
	return site->trust != INSN_UNSURE && kinds >> site->kind & 1;
}

int insn_patch_mapping(const struct insn_map *map, unsigned kinds, uint64_t offset, uint64_t len, uint64_t address,
		       struct insn_patch **ret)
{
	_cleanup_free_ struct insn_patch *list = NULL;
	size_t first, last, n = 0;

	if (!range_is_sane(offset, len, address))
		return -EINVAL;
	first = first_site(map, offset);
	last = insn_map_lower_bound(map, offset + len);
	if (first < last) {
		list = calloc(last - first, sizeof(*list));
		if (!list)
			return -ENOMEM;
	}
	for (size_t i = first; i < last; i++) {
		const struct insn_site *site = &map->sites[i];

		if (!insn_is_replaced(site, kinds))
			continue;
		list[n] = insn_patch_site(site, address + (site->offset - offset));
		n += list[n].address - address < len;
	}
	*ret = n ? take_ptr(list) : NULL;
	return (int)n;
}

void insn_traps_deinit(struct insn_traps *traps)
{
	free(traps->items);
	*traps = (struct insn_traps){ 0 };
}

int insn_traps_copy(struct insn_traps *to, const struct insn_traps *from)
{
	struct insn_trap *items = NULL;

	if (from->count) {
		items = reallocarray(NULL, from->count, sizeof(*items));
		if (!items)
			return -ENOMEM;
		memcpy(items, from->items, from->count * sizeof(*items));
	}
	free(to->items);
	*to = (struct insn_traps){ .items = items, .count = from->count, .room = from->count };
	return 0;
}

/* The index of the first one at or behind the address. */
static size_t traps_from(const struct insn_traps *traps, uint64_t address)
{
	return LOWER_BOUND(traps->items, traps->count, address, address);
}

void insn_traps_unmap(struct insn_traps *traps, uint64_t address, uint64_t len)
{
	size_t first = traps_from(traps, address);
	size_t last = len > UINT64_MAX - address ? traps->count : traps_from(traps, address + len);

	if (last > first)
		memmove(traps->items + first, traps->items + last, (traps->count - last) * sizeof(*traps->items));
	traps->count -= last - first;
}

/* Room for `more` traps at index `at`. */
static int open_gap(struct insn_traps *traps, size_t at, size_t more)
{
	if (traps->count + more > traps->room) {
		size_t room = traps->count + more + traps->room;
		struct insn_trap *grown = reallocarray(traps->items, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		traps->items = grown;
		traps->room = room;
	}
	if (more)
		memmove(traps->items + at + more, traps->items + at, (traps->count - at) * sizeof(*traps->items));
	traps->count += more;
	return 0;
}

void insn_traps_set_jump(struct insn_traps *traps, uint64_t address)
{
	size_t at = traps_from(traps, address);

	if (at < traps->count && traps->items[at].address == address)
		traps->items[at].jumps = true;
}

bool insn_traps_jumps(const struct insn_traps *traps, uint64_t address)
{
	size_t at = traps_from(traps, address);

	return at < traps->count && traps->items[at].jumps && traps->items[at].address - traps->items[at].site.head == address;
}

static size_t count_replaced(const struct insn_map *map, unsigned kinds, size_t first, size_t last)
{
	size_t n = 0;

	for (size_t i = first; i < last; i++)
		n += insn_is_replaced(&map->sites[i], kinds);
	return n;
}

int insn_traps_map(struct insn_traps *traps, const struct insn_map *map, unsigned kinds, uint64_t offset, uint64_t len,
		   uint64_t address)
{
	size_t first, last, at;
	int r;

	if (!range_is_sane(offset, len, address))
		return -EINVAL;
	/* An instruction belongs to the mapping in which it begins. */
	first = insn_map_lower_bound(map, offset);
	last = insn_map_lower_bound(map, offset + len);
	insn_traps_unmap(traps, address, len);
	at = traps_from(traps, address);
	r = open_gap(traps, at, count_replaced(map, kinds, first, last));
	if (r < 0)
		return r;
	for (size_t i = first; i < last; i++)
		if (insn_is_replaced(&map->sites[i], kinds))
			traps->items[at++] = (struct insn_trap){
				.address = address + (map->sites[i].offset - offset),
				.site = map->sites[i],
			};
	return 0;
}

const struct insn_site *insn_traps_find(const struct insn_traps *traps, uint64_t address, uint64_t *ret_start)
{
	size_t next = UPPER_BOUND(traps->items, traps->count, address, address);
	const struct insn_trap *trap;

	if (next == 0)
		return NULL;
	trap = &traps->items[next - 1];
	if (trap->jumps || address - trap->address != trap->site.opcode_at)
		return NULL;
	*ret_start = trap->address;
	return &trap->site;
}
