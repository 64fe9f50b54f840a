/* SPDX-License-Identifier: BSD-3-Clause */
/* See branches.h. */
#include "insn/branches.h"

#include <string.h>

#include "insn/decode.h"

uint64_t insn_branch_target(const uint8_t *code, size_t len, size_t at, uint64_t vaddr)
{
	size_t opcode = code[at] == 0xe8 || code[at] == 0xe9				    ? 1
			: at + 1 < len && code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80 ? 2
											    : 0;
	int32_t distance;

	if (opcode == 0 || len - at < opcode + sizeof(distance))
		return 0;
	memcpy(&distance, code + at + opcode, sizeof(distance));
	return vaddr + at + opcode + sizeof(distance) + (uint64_t)(int64_t)distance;
}

enum insn_sight insn_branch_is_at(const struct insn_image *image, uint64_t vaddr)
{
	const struct insn_function *function = insn_image_function(image, vaddr);
	const uint8_t *code;
	uint64_t at;
	size_t len;

	if (!function)
		return INSN_PERHAPS_BRANCH;
	code = insn_image_at(image, function->start, &len);
	for (at = function->start; code && at < vaddr;) {
		size_t done = at - function->start;
		struct insn_decoded d;

		if (insn_decode(code + done, len - done < INSN_MAX_LENGTH ? len - done : INSN_MAX_LENGTH, at, &d) < 0)
			return INSN_PERHAPS_BRANCH;
		at += d.length;
	}
	return at == vaddr ? INSN_BRANCH : INSN_NO_BRANCH;
}
