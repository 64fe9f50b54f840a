/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow. */
#ifndef HS_BASE_ARRAY_H
#define HS_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Room for one more behind n items of `size` bytes. Returns where they are now, or NULL when out of memory: then they are where they were.
 * *room, 0 at first, is how many there is room for.
 */
static inline void *array_grow(void *items, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return items;
	grown = reallocarray(items, more, size);
	if (grown)
		*room = more;
	return grown;
}

#endif
