/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The maps of all files that a run has mapped executable: asked for by descriptor, made once. In this process they are
 * found by the file's identity and times; across runs through the cache directory.
 */
#ifndef HS_INSN_STORE_H
#define HS_INSN_STORE_H

#include "insn/map.h"

struct insn_store;

struct insn_store_stats {
	uint64_t asked, known, from_cache, scanned, not_elf;
	uint64_t sites, unsure; /* in all maps */
};

/*
 * cache_dir: absolute path, made (0700) with its last parent when it does not exist; NULL, or a directory that cannot
 * be used: no cache. NULL when out of memory.
 */
struct insn_store *insn_store_new(const char *cache_dir);
struct insn_store *insn_store_free(struct insn_store *store);

/*
 * The map of an open file, which the store keeps until it is freed: 0. -ENOEXEC when there is nothing to find in such a
 * file; -errno.
 */
int insn_store_get(struct insn_store *store, int fd, const struct insn_map **ret_map);

const struct insn_store_stats *insn_store_stats(const struct insn_store *store);

#endif
