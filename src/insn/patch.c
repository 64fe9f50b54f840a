/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets to addresses, and a sorted array of what was replaced. */
#include "insn/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const uint8_t clts[INSN_PATCH_MAX] = { 0x0f, 0x06 };

/* Where the changed bytes begin, from the start of the instruction, and how many there are. */
static unsigned changed_at(const struct insn_site *site)
{
	return site->kind == INSN_XBEGIN ? site->opcode_at : site->opcode_at + 1u;
}

static unsigned changed_len(const struct insn_site *site)
{
	return site->kind == INSN_XBEGIN ? 2 : 1;
}

void insn_patch_site(const struct insn_site *site, uint64_t address, struct insn_patch *ret)
{
	unsigned at = changed_at(site), len = changed_len(site);

	*ret = (struct insn_patch){ .address = address + at, .len = (uint8_t)len, .site = site };
	memcpy(ret->bytes, clts + sizeof(clts) - len, len);
	memcpy(ret->original, site->bytes + at, len);
}

/* Cuts a write to [start, start + len): false when nothing is left. */
static bool clip(struct insn_patch *patch, uint64_t start, uint64_t len)
{
	unsigned from = patch->address < start ? (unsigned)(start - patch->address) : 0;
	uint64_t last = start + (len - 1);

	while (patch->len > from && patch->address + patch->len - 1 > last)
		patch->len--;
	if (from >= patch->len)
		return false;
	patch->address += from;
	patch->len = (uint8_t)(patch->len - from);
	memmove(patch->bytes, patch->bytes + from, patch->len);
	memmove(patch->original, patch->original + from, patch->len);
	return true;
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
		insn_patch_site(site, address + (site->offset - offset), &list[n]);
		n += clip(&list[n], address, len);
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

/* The index of the first trap at or behind address. */
static size_t lower_bound(const struct insn_traps *traps, uint64_t address)
{
	size_t low = 0, high = traps->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (traps->items[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void insn_traps_unmap(struct insn_traps *traps, uint64_t address, uint64_t len)
{
	size_t first = lower_bound(traps, address);
	size_t last = len > UINT64_MAX - address ? traps->count : lower_bound(traps, address + len);

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
	at = lower_bound(traps, address);
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

const struct insn_site *insn_traps_find(const struct insn_traps *traps, uint64_t rip, uint64_t *ret_start)
{
	size_t next = rip == UINT64_MAX ? traps->count : lower_bound(traps, rip + 1);
	const struct insn_trap *trap;

	if (next == 0)
		return NULL;
	trap = &traps->items[next - 1];
	if (rip - trap->address > trap->site.opcode_at)
		return NULL;
	*ret_start = trap->address;
	return &trap->site;
}

void insn_traps_restore(const struct insn_traps *traps, uint64_t address, void *bytes, size_t len)
{
	size_t i = lower_bound(traps, address < INSN_MAX_LENGTH ? 0 : address - (INSN_MAX_LENGTH - 1));
	struct insn_patch patch;

	if (len == 0 || len - 1 > UINT64_MAX - address)
		return;
	for (; i < traps->count && traps->items[i].address <= address + (len - 1); i++) {
		insn_patch_site(&traps->items[i].site, traps->items[i].address, &patch);
		if (clip(&patch, address, len))
			memcpy((char *)bytes + (patch.address - address), patch.original, patch.len);
	}
}
