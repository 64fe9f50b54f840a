/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From bytes to sites:
 *
 *	1. the pre-filter gives candidates: places of opcode bytes in executable segments;
 *	2. candidates are put into regions: the function of .eh_frame, else of a symbol, else the gap between those;
 *	3. flow of control is followed in each region (flow.h), with more and more kinds of roots as long as candidates
 *are open: the entry and symbols; jump tables and landing pads; addresses in data and relocations; branches from
 *elsewhere;
 *	4. a candidate that is the opcode of a reached instruction is certain; one inside another instruction is none;
 *the rest is judged, and kept as unsure when it looks like data.
 *
 * Only regions with candidates are decoded: in a library of megabytes a few dozen functions.
 */
#include "insn/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "insn/branches.h"
#include "insn/decode.h"
#include "insn/ehframe.h"
#include "insn/flow.h"
#include "insn/image.h"
#include "insn/moved.h"
#include "insn/prefilter.h"

/* Prefixes that can stand before an opcode, at most: an instruction has 15 bytes, the shortest opcode two. */
#define MAX_PREFIXES (INSN_MAX_LENGTH - 2)

struct region {
	struct insn_flow flow;
	size_t first, count; /* its candidates */
	const struct insn_function *function;
};

struct scan {
	struct insn_image image;
	uint64_t *candidates; /* addresses of opcode bytes, rising */
	size_t count, room;
	struct region *regions;
	size_t region_count;
	struct insn_map *map;
};

static void scan_deinit(struct scan *s)
{
	for (size_t i = 0; i < s->region_count; i++)
		insn_flow_deinit(&s->regions[i].flow);
	free(s->regions);
	free(s->candidates);
	insn_image_deinit(&s->image);
	(void)insn_map_free(s->map);
}

static int add_candidate(struct scan *s, uint64_t vaddr)
{
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		uint64_t *grown = reallocarray(s->candidates, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->candidates = grown;
		s->room = room;
	}
	s->candidates[s->count++] = vaddr;
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int find_candidates(struct scan *s)
{
	int r;

	for (size_t i = 0; i < s->image.segment_count; i++) {
		const struct insn_segment *seg = &s->image.segments[i];
		const uint8_t *code = s->image.bytes + seg->offset;

		if (!seg->exec)
			continue;
		for (size_t at = 0; (at = insn_prefilter(code, seg->size, at)) < seg->size; at++) {
			r = add_candidate(s, seg->vaddr + at);
			if (r < 0)
				return r;
		}
	}
	if (s->count)
		qsort(s->candidates, s->count, sizeof(*s->candidates), compare_u64);
	return 0;
}

static bool is_data(const struct scan *s, uint64_t vaddr)
{
	const struct insn_symbol *symbol = insn_image_symbol(&s->image, vaddr);

	return !insn_image_is_code(&s->image, vaddr) ||
	       (symbol && symbol->is_data && vaddr - symbol->start < symbol->size);
}

static void drop_data(struct scan *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++)
		if (!is_data(s, s->candidates[i]))
			s->candidates[kept++] = s->candidates[i];
	s->count = kept;
}

struct bounds {
	uint64_t start, end;
};

/* Shrinks *b around vaddr so that it does not reach into [start, end), which does not have vaddr. */
static void keep_out(struct bounds *b, uint64_t vaddr, uint64_t start, uint64_t end)
{
	if (end <= vaddr && end > b->start)
		b->start = end;
	if (start > vaddr && start < b->end)
		b->end = start;
}

/* The section, or else the segment. */
static struct bounds container_of_code(const struct insn_image *image, uint64_t vaddr)
{
	const struct insn_segment *s = insn_image_segment(image, vaddr);
	struct bounds b = { .start = s->vaddr, .end = s->vaddr + s->size };

	for (size_t i = 0; i < image->section_count; i++) {
		const struct insn_segment *section = &image->sections[i];

		if (vaddr - section->vaddr >= section->size)
			continue;
		b.start = section->vaddr > b.start ? section->vaddr : b.start;
		b.end = section->vaddr + section->size < b.end ? section->vaddr + section->size : b.end;
	}
	return b;
}

/* What no function has: from the end of the one before to the beginning of the one behind. */
static struct bounds gap_around(const struct insn_image *image, uint64_t vaddr)
{
	struct bounds b = container_of_code(image, vaddr);

	for (size_t i = 0; i < image->function_count; i++)
		keep_out(&b, vaddr, image->functions[i].start, image->functions[i].end);
	for (size_t i = 0; i < image->symbol_count; i++)
		if (image->symbols[i].size)
			keep_out(&b, vaddr, image->symbols[i].start, image->symbols[i].start + image->symbols[i].size);
	return b;
}

static int region_init(struct scan *s, struct region *region, uint64_t vaddr)
{
	const struct insn_symbol *symbol = insn_image_symbol(&s->image, vaddr);
	struct bounds b;
	bool known = true;

	region->function = insn_image_function(&s->image, vaddr);
	if (region->function) {
		b = (struct bounds){ region->function->start, region->function->end };
	} else if (symbol && vaddr - symbol->start < symbol->size) {
		b = (struct bounds){ symbol->start, symbol->start + symbol->size };
	} else {
		b = gap_around(&s->image, vaddr);
		known = false;
	}
	return insn_flow_init(&region->flow, &s->image, b.start, b.end, known);
}

static int make_regions(struct scan *s)
{
	struct region *region = NULL;
	int r;

	s->regions = calloc(s->count ? s->count : 1, sizeof(*s->regions));
	if (!s->regions)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		if (region && s->candidates[i] < region->flow.end) {
			region->count++;
			continue;
		}
		region = &s->regions[s->region_count];
		r = region_init(s, region, s->candidates[i]);
		if (r == -EINVAL) { /* bounds that do not hold together: nothing is known about it */
			region = NULL;
			continue;
		}
		if (r < 0)
			return r;
		region->first = i;
		region->count = 1;
		s->region_count++;
	}
	return 0;
}

static bool is_open(const struct scan *s, const struct region *region)
{
	for (size_t i = 0; i < region->count; i++)
		if (!insn_flow_covers(&region->flow, s->candidates[region->first + i]))
			return true;
	return false;
}

static int follow_pad(void *arg, uint64_t vaddr)
{
	struct insn_flow *flow = arg;

	return insn_flow_follow_weak(flow, vaddr);
}

static int follow_entries(struct scan *s, struct region *region)
{
	struct insn_flow *flow = &region->flow;
	int r = 0;

	if (flow->is_function)
		r = insn_flow_follow(flow, flow->start);
	if (r == 0)
		r = insn_flow_follow(flow, s->image.entry);
	for (size_t i = 0; i < s->image.symbol_count && r == 0; i++)
		if (!s->image.symbols[i].is_data && s->image.symbols[i].start >= flow->start &&
		    s->image.symbols[i].start < flow->end)
			r = insn_flow_follow_weak(flow, s->image.symbols[i].start);
	if (r == 0 && is_open(s, region) && region->function)
		r = insn_ehframe_landing_pads(&s->image, region->function, follow_pad, flow);
	if (r == 0 && is_open(s, region))
		r = insn_flow_follow_tables(flow);
	return r;
}

/* The region with the address, if it has open candidates. */
static struct region *open_region_at(struct scan *s, uint64_t vaddr)
{
	size_t n = UPPER_BOUND(s->regions, s->region_count, flow.start, vaddr);

	if (n == 0 || vaddr >= s->regions[n - 1].flow.end || !is_open(s, &s->regions[n - 1]))
		return NULL;
	return &s->regions[n - 1];
}

static int follow_pointer(void *arg, uint64_t vaddr)
{
	struct scan *s = arg;
	struct region *region = open_region_at(s, vaddr);

	if (!region)
		return 0;
	/* With relocations it is a pointer for sure, else a word that may be one. */
	if (s->image.is_relocatable_address)
		return insn_flow_follow_weak(&region->flow, vaddr);
	return insn_flow_follow_guess(&region->flow, vaddr);
}

/* Parts of a function that were split off (.cold) are entered from other functions. */
static int follow_branches_of(struct scan *s, const struct insn_segment *seg)
{
	const uint8_t *code = s->image.bytes + seg->offset;
	int r = 0;

	for (size_t at = 0; at < seg->size && r == 0; at++) {
		uint64_t target = insn_branch_target(code, seg->size, at, seg->vaddr);
		struct region *region = target ? open_region_at(s, target) : NULL;

		if (region && !insn_flow_covers(&region->flow, target) && insn_branch_is_at(&s->image, seg->vaddr + at) == INSN_BRANCH)
			r = insn_flow_follow_weak(&region->flow, target);
	}
	return r;
}

static bool any_open(const struct scan *s)
{
	for (size_t i = 0; i < s->region_count; i++)
		if (is_open(s, &s->regions[i]))
			return true;
	return false;
}

static int follow_all_tables(struct scan *s)
{
	int r = 0;

	for (size_t i = 0; i < s->region_count && r == 0; i++)
		if (is_open(s, &s->regions[i]))
			r = insn_flow_follow_tables(&s->regions[i].flow);
	return r;
}

static int follow_everything(struct scan *s)
{
	int r = 0;

	for (size_t i = 0; i < s->region_count && r == 0; i++)
		r = follow_entries(s, &s->regions[i]);
	if (r == 0 && any_open(s))
		r = insn_image_each_pointer(&s->image, follow_pointer, s);
	for (size_t i = 0; i < s->image.segment_count && r == 0 && any_open(s); i++)
		if (s->image.segments[i].exec)
			r = follow_branches_of(s, &s->image.segments[i]);
	if (r == 0)
		r = follow_all_tables(s);
	return r;
}

/* The address of the known instruction whose opcode is at vaddr, through its prefixes: 0 when there is none. */
static uint64_t known_start(const struct insn_flow *flow, uint64_t vaddr)
{
	for (uint64_t back = 0; back <= MAX_PREFIXES && vaddr - back >= flow->start; back++)
		if (insn_flow_starts_at(flow, vaddr - back))
			return vaddr - back;
	return 0;
}

/* All ways into its function that are not direct branches. 0 or -ENOMEM. */
static int find_entries(struct scan *s, struct insn_flow *flow, const struct insn_site *site)
{
	const struct insn_function *function = insn_image_function(&s->image, site->vaddr);

	if (flow->computed_jumps > flow->resolved_tables && insn_flow_follow_tables(flow) < 0)
		return -ENOMEM;
	return function && insn_ehframe_landing_pads(&s->image, function, follow_pad, flow) == -ENOMEM ? -ENOMEM : 0;
}

static int add_site(struct scan *s, const struct insn_site *found)
{
	const struct insn_segment *seg = insn_image_segment(&s->image, found->vaddr);
	const struct insn_symbol *symbol = insn_image_symbol(&s->image, found->vaddr);
	const struct insn_function *function = insn_image_function(&s->image, found->vaddr);
	struct insn_site site = *found;

	site.offset = seg->offset + (found->vaddr - seg->vaddr);
	if (symbol)
		site.name_offset = (uint32_t)(found->vaddr - symbol->start);
	else if (function)
		site.name_offset = (uint32_t)(found->vaddr - function->start);
	return insn_map_add(s->map, &site, symbol ? symbol->name : "");
}

/* Decodes at `start` and takes it when its opcode is at `opcode`: 1, 0, or -ENOMEM. */
static int try_site(struct scan *s, struct insn_flow *flow, uint64_t start, uint64_t opcode, enum insn_trust trust)
{
	struct insn_site site;
	size_t len;
	const uint8_t *code = insn_image_at(&s->image, start, &len);
	int r;

	if (!code || insn_decode_site(code, len < INSN_MAX_LENGTH ? len : INSN_MAX_LENGTH, start, &site) < 0)
		return 0;
	if (start + site.opcode_at != opcode)
		return 0;
	site.trust = (uint8_t)trust;
	if (insn_may_jump(&site) && find_entries(s, flow, &site) < 0)
		return -ENOMEM;
	if (insn_may_jump(&site))
		insn_flow_find_movable(flow, &site);
	r = add_site(s, &site);
	return r < 0 ? r : 1;
}

/* Not reached: a likely instruction, or the bare opcode, unsure; nothing when likely code has it as a part of something
 * else. */
static int judge_candidate(struct scan *s, struct insn_flow *flow, uint64_t opcode)
{
	uint64_t start;
	int r;

	if (insn_flow_judge(flow, opcode, &start) == INSN_LIKELY) {
		r = try_site(s, flow, start, opcode, INSN_LIKELY);
		return r < 0 ? r : 0;
	}
	/* RDPID is RDSEED's opcode behind F3. */
	if (opcode > flow->start && !insn_flow_covers(flow, opcode - 1)) {
		r = flow->code[opcode - 1 - flow->start] == 0xf3 ? try_site(s, flow, opcode - 1, opcode, INSN_UNSURE) : 0;
		if (r)
			return r < 0 ? r : 0;
	}
	r = try_site(s, flow, opcode, opcode, INSN_UNSURE);
	return r < 0 ? r : 0;
}

static int settle_candidate(struct scan *s, struct insn_flow *flow, uint64_t opcode)
{
	uint64_t start;
	int r;

	if (!insn_flow_covers(flow, opcode))
		return judge_candidate(s, flow, opcode);
	start = known_start(flow, opcode);
	r = start ? try_site(s, flow, start, opcode, INSN_CERTAIN) : 0;
	return r < 0 ? r : 0;
}

static int settle(struct scan *s)
{
	int r = 0;

	for (size_t i = 0; i < s->region_count; i++)
		for (size_t j = 0; j < s->regions[i].count && r == 0; j++)
			r = settle_candidate(s, &s->regions[i].flow, s->candidates[s->regions[i].first + j]);
	if (r < 0)
		return r;
	insn_map_finish(s->map);
	insn_find_moved(&s->image, s->map);
	return 0;
}

static int scan_image(struct scan *s)
{
	int r;

	r = find_candidates(s);
	if (r < 0 || s->count == 0)
		return r;
	r = insn_image_load_details(&s->image);
	if (r < 0)
		return r;
	drop_data(s);
	r = make_regions(s);
	if (r < 0)
		return r;
	r = follow_everything(s);
	return r < 0 ? r : settle(s);
}

int insn_scan_elf(const void *bytes, size_t size, struct insn_map **ret_map)
{
	_cleanup_(scan_deinit) struct scan s = { .map = insn_map_new() };
	int r;

	if (!s.map)
		return -ENOMEM;
	r = insn_image_init(&s.image, bytes, size);
	if (r < 0)
		return r;
	r = scan_image(&s);
	if (r < 0)
		return r;
	*ret_map = take_ptr(s.map);
	return 0;
}

int insn_scan_fd(int fd, struct insn_map **ret_map)
{
	size_t size;
	void *bytes;
	int r;

	r = insn_file_map(fd, &bytes, &size);
	if (r < 0)
		return r;
	r = insn_scan_elf(bytes, size, ret_map);
	insn_file_unmap(bytes, size);
	return r;
}
