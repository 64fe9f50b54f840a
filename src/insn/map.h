/* SPDX-License-Identifier: BSD-3-Clause */
/* What was found in one file: the sites, sorted by file offset, and the names of their functions. Immutable once made.
 */
#ifndef HS_INSN_MAP_H
#define HS_INSN_MAP_H

#include "insn/insn.h"

struct insn_map {
	struct insn_site *sites;
	size_t count;
	char *strings; /* NUL-terminated names; begins with an empty one */
	size_t strings_size;
};

struct insn_map *insn_map_new(void);
struct insn_map *insn_map_free(struct insn_map *map);

/* While it is being made: adds a site with its function's name (may be ""). 0 or -ENOMEM. */
int insn_map_add(struct insn_map *map, const struct insn_site *site, const char *function);
/* Sorts by offset and drops doubles; call it once, after the last insn_map_add. */
void insn_map_finish(struct insn_map *map);

/* "" when it is not known. */
const char *insn_map_function(const struct insn_map *map, const struct insn_site *site);
/* The first site at or behind a file offset, as an index. */
size_t insn_map_lower_bound(const struct insn_map *map, uint64_t offset);
/* Sites that are sure enough to be replaced. */
size_t insn_map_count_trusted(const struct insn_map *map);

#endif
