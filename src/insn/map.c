/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing arrays; see map.h. */
#include "insn/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"

struct insn_map *insn_map_new(void)
{
	struct insn_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->strings = calloc(1, 1);
	if (!map->strings)
		return insn_map_free(map);
	map->strings_size = 1;
	return map;
}

struct insn_map *insn_map_free(struct insn_map *map)
{
	if (map) {
		free(map->sites);
		free(map->strings);
		free(map);
	}
	return NULL;
}

/* Names come in runs: sites of one function follow each other. */
static int add_string(struct insn_map *map, const char *text, uint32_t *ret)
{
	size_t len = strlen(text) + 1;
	const struct insn_site *last = map->count ? &map->sites[map->count - 1] : NULL;
	char *grown;

	if (!*text || (last && !strcmp(map->strings + last->name, text))) {
		*ret = *text ? last->name : 0;
		return 0;
	}
	if (map->strings_size + len > UINT32_MAX)
		return -ENOMEM;
	grown = realloc(map->strings, map->strings_size + len);
	if (!grown)
		return -ENOMEM;
	map->strings = grown;
	memcpy(grown + map->strings_size, text, len);
	*ret = (uint32_t)map->strings_size;
	map->strings_size += len;
	return 0;
}

int insn_map_add(struct insn_map *map, const struct insn_site *site, const char *function)
{
	struct insn_site *grown;
	uint32_t name;
	int r;

	r = add_string(map, function, &name);
	if (r < 0)
		return r;
	/* Doubling, without a field for the room: grow at powers of two. */
	if ((map->count & (map->count - 1)) == 0) {
		grown = reallocarray(map->sites, map->count ? 2 * map->count : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		map->sites = grown;
	}
	map->sites[map->count] = *site;
	map->sites[map->count++].name = name;
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct insn_site *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (int)y->trust - (int)x->trust;
}

void insn_map_finish(struct insn_map *map)
{
	size_t kept = 0;

	if (map->count)
		qsort(map->sites, map->count, sizeof(*map->sites), compare_sites);
	for (size_t i = 0; i < map->count; i++)
		if (kept == 0 || map->sites[i].offset != map->sites[kept - 1].offset)
			map->sites[kept++] = map->sites[i];
	map->count = kept;
}

const char *insn_map_function(const struct insn_map *map, const struct insn_site *site)
{
	return site->name < map->strings_size ? map->strings + site->name : "";
}

size_t insn_map_lower_bound(const struct insn_map *map, uint64_t offset)
{
	return LOWER_BOUND(map->sites, map->count, offset, offset);
}

size_t insn_map_count_trusted(const struct insn_map *map)
{
	size_t n = 0;

	for (size_t i = 0; i < map->count; i++)
		n += map->sites[i].trust != INSN_UNSURE;
	return n;
}
