/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A directory as its readers see it: a whole snapshot, "." and ".." first, the rest sorted by the bytes of the names, with positions 0, 1, 2...
 * The position is kept in the open file itself, so that duplicates, telldir and seekdir share it as on Linux.
 */
#ifndef HS_ENGINE_DIRECTORY_H
#define HS_ENGINE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "engine/guest.h"

struct dir_listing;

/* Takes the entries over (sorts them). NULL when out of memory; then they are freed. */
struct dir_listing *dir_listing_new(struct dir_entry *entries, size_t n);
/* The same for entries that are in order already. */
struct dir_listing *dir_listing_arranged(struct dir_entry *entries, size_t n);
void dir_listing_free(struct dir_listing *listing);

/* The entry at a position; NULL past the end. */
const struct dir_entry *dir_listing_at(const struct dir_listing *listing, uint64_t position);

#endif
