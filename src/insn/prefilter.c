/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sixteen positions at a time with SSE2, which every x86-64 has. The pair (byte, next byte) is compared with the pairs
 *that begin an opcode of interest:
 *
 *	0F 31		RDTSC
 *	0F A2		CPUID
 *	0F 01 F9|D0	RDTSCP, XGETBV
 *	0F C7 F0..FF	RDRAND /6, RDSEED and RDPID /7 with a register operand
 *	C7 F8		XBEGIN
 */
#include "insn/prefilter.h"

#include <emmintrin.h>
#include <stdbool.h>

static bool is_hit(const uint8_t *code, size_t len, size_t at)
{
	if (len - at < 2)
		return false;
	if (code[at] == 0xc7)
		return code[at + 1] == 0xf8;
	if (code[at] != 0x0f)
		return false;
	if (code[at + 1] == 0x31 || code[at + 1] == 0xa2)
		return true;
	if (len - at < 3)
		return false;
	if (code[at + 1] == 0x01)
		return code[at + 2] == 0xf9 || code[at + 2] == 0xd0;
	return code[at + 1] == 0xc7 && code[at + 2] >= 0xf0;
}

static __m128i equals(__m128i bytes, int value)
{
	return _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)value));
}

/* Bit i: a pair of interest begins at code[i], i < 16. Reads 17 bytes. */
static unsigned pair_mask(const uint8_t *code)
{
	__m128i first = _mm_loadu_si128((const __m128i *)(const void *)code);
	__m128i second = _mm_loadu_si128((const __m128i *)(const void *)(code + 1));
	__m128i is_c7 = equals(second, 0xc7);
	__m128i after_0f = _mm_or_si128(_mm_or_si128(equals(second, 0x31), equals(second, 0xa2)),
					_mm_or_si128(equals(second, 0x01), is_c7));
	__m128i hit = _mm_or_si128(_mm_and_si128(equals(first, 0x0f), after_0f),
				   _mm_and_si128(equals(first, 0xc7), equals(second, 0xf8)));

	return (unsigned)_mm_movemask_epi8(hit);
}

size_t insn_prefilter(const uint8_t *code, size_t len, size_t from)
{
	size_t at = from;

	while (at < len && len - at >= 17) {
		unsigned mask = pair_mask(code + at);

		for (; mask; mask &= mask - 1) {
			size_t hit = at + (size_t)__builtin_ctz(mask);

			if (is_hit(code, len, hit))
				return hit;
		}
		at += 16;
	}
	for (; at < len; at++)
		if (is_hit(code, len, at))
			return at;
	return len;
}
