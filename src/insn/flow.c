/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive descent with an explicit stack; one mark per byte keeps it linear in the size of the region. */
#include "insn/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insn/decode.h"

enum mark { UNKNOWN = 0, BEGIN, INSIDE, TABLE };

#define MAX_TABLE_ENTRIES  65536
#define FUNCTION_ALIGNMENT 16
#define MAX_GAP		   (256 * 1024)

static int addresses_add(struct insn_addresses *list, uint64_t vaddr)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		uint64_t *grown = reallocarray(list->items, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->items = grown;
		list->room = room;
	}
	list->items[list->count++] = vaddr;
	return 0;
}

int insn_flow_init(struct insn_flow *flow, const struct insn_image *image, uint64_t start, uint64_t end,
		   bool is_function)
{
	*flow = (struct insn_flow){ .image = image, .start = start, .end = end, .is_function = is_function };
	flow->code = insn_image_at(image, start, &flow->readable);
	if (!flow->code || end <= start || end - start > flow->readable)
		return -EINVAL;
	flow->marks = calloc(end - start, 1);
	return flow->marks ? 0 : -ENOMEM;
}

void insn_flow_deinit(struct insn_flow *flow)
{
	free(flow->marks);
	free(flow->sweep);
	free(flow->pending.items);
	free(flow->tables.items);
	free(flow->entries.items);
	*flow = (struct insn_flow){ 0 };
}

static bool is_inside(const struct insn_flow *flow, uint64_t vaddr)
{
	return vaddr >= flow->start && vaddr < flow->end;
}

bool insn_flow_starts_at(const struct insn_flow *flow, uint64_t vaddr)
{
	return is_inside(flow, vaddr) && flow->marks[vaddr - flow->start] == BEGIN;
}

bool insn_flow_covers(const struct insn_flow *flow, uint64_t vaddr)
{
	return is_inside(flow, vaddr) && flow->marks[vaddr - flow->start] != UNKNOWN;
}

static int decode_at(const struct insn_flow *flow, uint64_t vaddr, struct insn_decoded *ret)
{
	size_t at = vaddr - flow->start, len = flow->readable - at;

	return insn_decode(flow->code + at, len < INSN_MAX_LENGTH ? len : INSN_MAX_LENGTH, vaddr, ret);
}

/* All its bytes within the region are unknown so far. */
static bool is_free(const struct insn_flow *flow, uint64_t vaddr, uint64_t length)
{
	for (uint64_t v = vaddr; v < vaddr + length && v < flow->end; v++)
		if (flow->marks[v - flow->start] != UNKNOWN)
			return false;
	return true;
}

static void mark(struct insn_flow *flow, uint64_t vaddr, unsigned length)
{
	flow->has_code = true;
	flow->marks[vaddr - flow->start] = BEGIN;
	for (uint64_t v = vaddr + 1; v < vaddr + length && v < flow->end; v++)
		flow->marks[v - flow->start] = INSIDE;
}

static int push(struct insn_flow *flow, uint64_t vaddr)
{
	return is_inside(flow, vaddr) && !insn_flow_covers(flow, vaddr) ? addresses_add(&flow->pending, vaddr) : 0;
}

/* Takes note of what an instruction says about other places. */
static int note(struct insn_flow *flow, const struct insn_decoded *d)
{
	int r = 0;

	if (d->has_target)
		r = push(flow, d->target);
	if (r == 0 && d->has_address)
		r = addresses_add(&flow->tables, d->address);
	flow->computed_jumps += d->is_computed;
	return r;
}

static bool goes_on(const struct insn_decoded *d)
{
	return d->flow != INSN_FLOW_JUMP && d->flow != INSN_FLOW_JUMP_INDIRECT && d->flow != INSN_FLOW_END;
}

/* From vaddr straight on until flow leaves or meets known code. */
static int follow_straight(struct insn_flow *flow, uint64_t vaddr)
{
	struct insn_decoded d;
	int r;

	while (is_inside(flow, vaddr) && decode_at(flow, vaddr, &d) == 0 && is_free(flow, vaddr, d.length)) {
		mark(flow, vaddr, d.length);
		r = note(flow, &d);
		if (r < 0)
			return r;
		if (!goes_on(&d))
			break;
		vaddr += d.length;
	}
	return 0;
}

int insn_flow_follow(struct insn_flow *flow, uint64_t root)
{
	int r = push(flow, root);

	while (r == 0 && flow->pending.count > 0)
		r = follow_straight(flow, flow->pending.items[--flow->pending.count]);
	return r;
}

/* Decodes from vaddr to the end of the straight path, or into the beginning of a known instruction, or out of the
 * region. */
static bool path_is_sound(const struct insn_flow *flow, uint64_t vaddr)
{
	struct insn_decoded d;

	while (is_inside(flow, vaddr) && !insn_flow_starts_at(flow, vaddr)) {
		if (decode_at(flow, vaddr, &d) < 0 || !is_free(flow, vaddr, d.length))
			return false;
		if (!goes_on(&d))
			return true;
		vaddr += d.length;
	}
	return true;
}

int insn_flow_follow_weak(struct insn_flow *flow, uint64_t root)
{
	if (!is_inside(flow, root))
		return 0;
	if (addresses_add(&flow->entries, root) < 0)
		return -ENOMEM;
	if (insn_flow_covers(flow, root) || !path_is_sound(flow, root))
		return 0;
	return insn_flow_follow(flow, root);
}

/* The end of the last known instruction before vaddr, or the region's start. */
static uint64_t gap_start(const struct insn_flow *flow, uint64_t vaddr)
{
	while (vaddr > flow->start && flow->marks[vaddr - 1 - flow->start] == UNKNOWN)
		vaddr--;
	return vaddr;
}

/* Straight through the region, in step with what is known by now. */
static int make_sweep(struct insn_flow *flow)
{
	struct insn_decoded d;

	flow->sweep = calloc(flow->end - flow->start, 1);
	if (!flow->sweep)
		return -ENOMEM;
	for (uint64_t at = flow->start; at < flow->end;) {
		enum mark known = flow->marks[at - flow->start];

		if (known == INSIDE || known == TABLE || decode_at(flow, at, &d) < 0) {
			at++;
			continue;
		}
		flow->sweep[at - flow->start] = 1;
		at += d.length;
	}
	return 0;
}

static void forget_sweep(struct insn_flow *flow)
{
	free(flow->sweep);
	flow->sweep = NULL;
}

int insn_flow_follow_guess(struct insn_flow *flow, uint64_t root)
{
	if (!is_inside(flow, root))
		return 0;
	if (insn_flow_covers(flow, root))
		return addresses_add(&flow->entries, root);
	if (flow->is_function && !flow->sweep && make_sweep(flow) < 0)
		return -ENOMEM;
	if (flow->is_function ? !flow->sweep[root - flow->start] : root % FUNCTION_ALIGNMENT != 0)
		return 0;
	return insn_flow_follow_weak(flow, root);
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void sort_unique(struct insn_addresses *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_addresses);
	for (size_t i = 0; i < list->count; i++)
		if (kept == 0 || list->items[i] != list->items[kept - 1])
			list->items[kept++] = list->items[i];
	list->count = kept;
}

/* The target that the entry at `at` of a table of distances (4 bytes) or addresses (8 bytes) stands for. */
static uint64_t entry_target(const uint8_t *at, size_t width, uint64_t table)
{
	int32_t distance;
	uint64_t address;

	if (width == sizeof(distance)) {
		memcpy(&distance, at, sizeof(distance));
		return table + (uint64_t)(int64_t)distance;
	}
	memcpy(&address, at, sizeof(address));
	return address;
}

/*
 * The entries of a table as long as they lead into the region; `next`, the address of another one behind it, ends this
 * one. What is behind the last entry can look like an entry too, so that targets are guesses.
 */
static size_t count_entries(const struct insn_flow *flow, uint64_t table, uint64_t next, size_t width)
{
	size_t len, count, n = 0;
	const uint8_t *bytes = insn_image_at(flow->image, table, &len);

	if (!bytes)
		return 0;
	count = (next - table < len ? next - table : len) / width;
	while (n < count && n < MAX_TABLE_ENTRIES && is_inside(flow, entry_target(bytes + n * width, width, table)))
		n++;
	return n;
}

/* A table that lies between the instructions themselves: it is data, and what follows it can be code. */
static void mark_table(struct insn_flow *flow, uint64_t table, size_t len)
{
	if (!is_inside(flow, table) || !is_free(flow, table, len))
		return;
	memset(flow->marks + (table - flow->start), TABLE, len < flow->end - table ? len : flow->end - table);
	forget_sweep(flow);
}

/* Returns how many entries led into the region, or -ENOMEM. */
static int follow_table(struct insn_flow *flow, uint64_t table, uint64_t next, size_t width)
{
	size_t len, count = count_entries(flow, table, next, width);
	const uint8_t *bytes = insn_image_at(flow->image, table, &len);
	int r = 0;

	if (insn_flow_starts_at(flow, table))
		return 0; /* the address of an instruction */
	if (count > 1)
		mark_table(flow, table, count * width);
	for (size_t i = 0; i < count && r == 0; i++)
		r = insn_flow_follow_guess(flow, entry_target(bytes + i * width, width, table));
	return r < 0 ? r : (int)count;
}

/* All tables that are known now, in the order of addresses. */
static int follow_known_tables(struct insn_flow *flow, const struct insn_addresses *known)
{
	flow->resolved_tables = 0;
	for (size_t i = 0; i < known->count; i++) {
		uint64_t next = i + 1 < known->count ? known->items[i + 1] : UINT64_MAX;
		int r = follow_table(flow, known->items[i], next, 4);

		if (r == 0 && !flow->image->is_relocatable_address)
			r = follow_table(flow, known->items[i], next, 8);
		if (r < 0)
			return r;
		flow->resolved_tables += r > 0;
	}
	return 0;
}

int insn_flow_follow_tables(struct insn_flow *flow)
{
	size_t before;
	int r = 0;

	/* Following a table can find code that names further tables. */
	do {
		struct insn_addresses known = { 0 };

		forget_sweep(flow);
		sort_unique(&flow->tables);
		before = flow->tables.count;
		if (flow->computed_jumps == 0)
			return 0;
		for (size_t i = 0; i < before && r == 0; i++)
			r = addresses_add(&known, flow->tables.items[i]);
		if (r == 0)
			r = follow_known_tables(flow, &known);
		free(known.items);
		sort_unique(&flow->tables);
	} while (r == 0 && flow->tables.count > before);
	return r;
}

static bool is_entered(const struct insn_flow *flow, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < flow->entries.count; i++)
		if (flow->entries.items[i] >= start && flow->entries.items[i] < end)
			return true;
	return false;
}

/* Do their jumps all have known targets, and is none of those in [start, end)? */
static bool is_through(const struct insn_flow *flow, uint64_t start, uint64_t end)
{
	return flow->computed_jumps <= flow->resolved_tables && end <= flow->end && !is_entered(flow, start, end);
}

static void find_tail(const struct insn_flow *flow, struct insn_site *site)
{
	uint64_t start = site->vaddr + site->length, end = start;
	size_t least = (size_t)(INSN_FAR_JUMP - site->length);
	struct insn_decoded d = { 0 };
	uint8_t distance = 0;

	while (end - start < least) {
		/* a distance is from the end of the last one */
		if (distance || !insn_flow_starts_at(flow, end) || decode_at(flow, end, &d) < 0 || !d.is_movable)
			return;
		distance = d.distance_at ? (uint8_t)(end - start + d.distance_at) : 0;
		end += d.length;
	}
	if (end - start > INSN_MOVED_MOST || !is_through(flow, start, end))
		return;
	site->tail = (uint8_t)(end - start);
	site->moved_distance = distance;
}

static void find_head(const struct insn_flow *flow, struct insn_site *site)
{
	size_t len = (size_t)(INSN_FAR_JUMP - site->length);
	struct insn_decoded d = { 0 };
	uint64_t start, at;

	while (len < INSN_MOVED_MOST && !insn_flow_starts_at(flow, site->vaddr - len))
		len++;
	start = site->vaddr - len;
	if (!insn_flow_starts_at(flow, start) || !is_through(flow, start + 1, site->vaddr + site->length))
		return;
	for (at = start; at < site->vaddr; at += d.length)
		if (decode_at(flow, at, &d) < 0 || !d.is_movable || d.distance_at)
			return;
	site->head = at == site->vaddr ? (uint8_t)len : 0;
}

void insn_flow_find_movable(const struct insn_flow *flow, struct insn_site *site)
{
	find_tail(flow, site);
	find_head(flow, site);
}

enum insn_trust insn_flow_judge(const struct insn_flow *flow, uint64_t opcode, uint64_t *ret_start)
{
	uint64_t at = gap_start(flow, opcode), start = at;
	struct insn_decoded d;

	if (flow->is_function ? flow->computed_jumps <= flow->resolved_tables : !flow->has_code)
		return INSN_UNSURE;
	if (opcode - at > MAX_GAP)
		return INSN_UNSURE;
	while (at < flow->end && !insn_flow_covers(flow, at)) {
		if (decode_at(flow, at, &d) < 0)
			return INSN_UNSURE;
		if (at <= opcode)
			start = at;
		at += d.length;
	}
	/* The sweep must end exactly where known code begins, or at the end of the region. */
	if ((at < flow->end && !insn_flow_starts_at(flow, at)) || at > flow->end)
		return INSN_UNSURE;
	*ret_start = start;
	return INSN_LIKELY;
}
