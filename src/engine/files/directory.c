/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots of directories: see directory.h. */
#include "engine/files/directory.h"

#include <stdlib.h>
#include <string.h>

struct dir_listing {
	struct dir_entry *entries;
	size_t n;
};

static int rank(const char *name)
{
	if (!strcmp(name, "."))
		return 0;
	return strcmp(name, "..") ? 2 : 1;
}

static int by_name(const void *a, const void *b)
{
	const struct dir_entry *x = a, *y = b;
	int rx = rank(x->name), ry = rank(y->name);

	return rx != ry ? rx - ry : strcmp(x->name, y->name);
}

struct dir_listing *dir_listing_new(struct dir_entry *entries, size_t n)
{
	if (n)
		qsort(entries, n, sizeof(*entries), by_name);
	return dir_listing_arranged(entries, n);
}

struct dir_listing *dir_listing_arranged(struct dir_entry *entries, size_t n)
{
	struct dir_listing *listing;

	listing = calloc(1, sizeof(*listing));
	if (!listing) {
		free(entries);
		return NULL;
	}
	listing->entries = entries;
	listing->n = n;
	return listing;
}

void dir_listing_free(struct dir_listing *listing)
{
	if (!listing)
		return;
	free(listing->entries);
	free(listing);
}

const struct dir_entry *dir_listing_at(const struct dir_listing *listing, uint64_t position)
{
	return position < listing->n ? &listing->entries[position] : NULL;
}
