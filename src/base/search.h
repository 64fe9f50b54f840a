/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary search in arrays of structs that are sorted by a member of 64 bits. */
#ifndef HS_BASE_SEARCH_H
#define HS_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* The index of the first of `count` elements whose member is not below key; count when there is none. */
#define LOWER_BOUND(items, count, member, key) \
	search_lower_bound((items), (count), sizeof(*(items)), offsetof(__typeof__(*(items)), member), (key))
/* The same for the first whose member is above key: how many are not above it. */
#define UPPER_BOUND(items, count, member, key) \
	search_upper_bound((items), (count), sizeof(*(items)), offsetof(__typeof__(*(items)), member), (key))

/* Elements are `size` bytes long, the member is `offset` bytes into each. */
size_t search_lower_bound(const void *items, size_t count, size_t size, size_t offset, uint64_t key);
size_t search_upper_bound(const void *items, size_t count, size_t size, size_t offset, uint64_t key);

#endif
