/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ELF file for the instruction scanner. What it finds must describe the file's own bytes. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "insn/patch.h"
#include "insn/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct insn_patch *patches = NULL;
	struct insn_map *map;

	if (insn_scan_elf(data, size, &map) < 0)
		return 0;
	for (size_t i = 0; i < map->count; i++) {
		const struct insn_site *site = &map->sites[i];

		assert(site->offset < size && site->length <= size - site->offset);
		assert(!memcmp(data + site->offset, site->bytes, site->length));
		assert(i == 0 || map->sites[i - 1].offset < site->offset);
	}
	assert(insn_patch_mapping(map, INSN_KINDS_ALL, 0, size, 0x10000, &patches) == (int)insn_map_count_trusted(map));
	free(patches);
	(void)insn_map_free(map);
	return 0;
}
