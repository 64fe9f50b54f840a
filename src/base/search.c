/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/search.h"

#include <string.h>

size_t search_lower_bound(const void *items, size_t count, size_t size, size_t offset, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		uint64_t value;

		memcpy(&value, (const char *)items + mid * size + offset, sizeof(value));
		if (value < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t search_upper_bound(const void *items, size_t count, size_t size, size_t offset, uint64_t key)
{
	return key == UINT64_MAX ? count : search_lower_bound(items, count, size, offset, key + 1);
}
