/* SPDX-License-Identifier: BSD-3-Clause */
/* Converters of single values: booleans, strings, numbers, names. See jread.h. */
#include "oci/jread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/config.h"

/* ---- scalars ---- */

int jread_to_bool(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_expect(r, value, JREAD_BOOLEAN);
	if (res < 0)
		return res;
	*(bool *)out = value->truth;
	return 0;
}

int jread_to_string(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	char *copy;
	int res;

	res = jread_expect(r, value, JREAD_STRING);
	if (res < 0)
		return res;
	if (strlen(value->text) != value->len)
		return jread_fail(r, value, "the string has a NUL character");
	copy = oci_arena_strndup(r->arena, value->text, value->len);
	if (!copy)
		return jread_no_memory(r);
	*(char **)out = copy;
	return 0;
}

int jread_to_text(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_string(r, value, NULL, out);
	if (res < 0)
		return res;
	if (value->len == 0)
		*(char **)out = NULL;
	return 0;
}

int jread_to_path(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_string(r, value, NULL, out);
	if (res < 0)
		return res;
	if (value->text[0] != '/')
		return jread_fail(r, value, "must be an absolute path, is '%s'", value->text);
	return 0;
}

/* Sign and magnitude of an integer as JSON writes it; false if it has a fraction or an exponent, or 2^64 or more. */
static bool scan_integer(const struct jread_value *value, bool *ret_negative, uint64_t *ret_magnitude)
{
	const char *p = value->text;
	uint64_t n = 0;

	*ret_negative = *p == '-';
	if (*p == '-')
		p++;
	for (; *p; p++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	*ret_magnitude = n;
	return true;
}

static bool in_range(bool negative, uint64_t n, const struct jread_range *range)
{
	if (!negative || n == 0)
		return n <= range->max && (range->min <= 0 || n >= (uint64_t)range->min);
	return range->min < 0 && n <= 0 - (uint64_t)range->min;
}

/* The bits of the number in two's complement. */
static int read_integer(struct jread_reader *r, const struct jread_value *value, const struct jread_range *range,
			uint64_t *ret_bits)
{
	uint64_t n;
	bool negative;
	int res;

	res = jread_expect(r, value, JREAD_NUMBER);
	if (res < 0)
		return res;
	if (strspn(value->text, "-0123456789") != value->len)
		return jread_fail(r, value, "expected integer, found %.64s", value->text);
	if (!scan_integer(value, &negative, &n) || !in_range(negative, n, range))
		return jread_fail(r, value, "out of range: %.64s is not within %lld..%llu", value->text,
				  (long long)range->min, (unsigned long long)range->max);
	*ret_bits = negative ? 0 - n : n;
	return 0;
}

/* A converter is made of the type, and of what it holds where the table says no range. */
#define INTEGER(name, type, lowest, highest)                                                                           \
	int jread_to_##name(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)    \
	{                                                                                                              \
		static const struct jread_range all = { lowest, highest };                                             \
		uint64_t bits = 0;                                                                                     \
		int res = read_integer(r, value, detail ?: &all, &bits);                                               \
                                                                                                                       \
		if (res == 0)                                                                                          \
			*(type *)out = (type)bits;                                                                     \
		return res;                                                                                            \
	}

INTEGER(u32, uint32_t, 0, UINT32_MAX)
INTEGER(i32, int32_t, INT32_MIN, INT32_MAX)
INTEGER(u64, uint64_t, 0, UINT64_MAX)
INTEGER(i64, int64_t, INT64_MIN, INT64_MAX)

/* The same with a flag: whether there is a number, or whether it is one that counts. */
#define OPTIONAL(name, type, plain, counts)                                                                            \
	int jread_to_##name(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)    \
	{                                                                                                              \
		type number = { 0 };                                                                                   \
		int res = plain(r, value, detail, &number.value);                                                      \
                                                                                                                       \
		if (res < 0)                                                                                           \
			return res;                                                                                    \
		number.set = (counts);                                                                                 \
		*(type *)out = number;                                                                                 \
		return 0;                                                                                              \
	}

OPTIONAL(opt_bool, struct oci_bool, jread_to_bool, true)
OPTIONAL(opt_u64, struct oci_u64, jread_to_u64, true)
OPTIONAL(opt_i64, struct oci_i64, jread_to_i64, true)
OPTIONAL(limit_u64, struct oci_u64, jread_to_u64, number.value != 0)
OPTIONAL(limit_i64, struct oci_i64, jread_to_i64, number.value != 0)

/* ---- names ---- */

/* Apart, because the list is made for a failure only. */
static int fail_unknown_name(struct jread_reader *r, const struct jread_value *value, const struct jread_name *names)
{
	const struct jread_name *name;
	char known[400] = "";
	size_t n = 0;

	for (name = names; name->name && n < sizeof(known); name++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", name == names ? "" : ", ", name->name);
	return jread_fail(r, value, "unknown value '%.64s', known are: %s", value->text, known);
}

int jread_find_name(struct jread_reader *r, const struct jread_value *value, const struct jread_name *names,
		    uint64_t *ret_value)
{
	const struct jread_name *name;
	int res;

	res = jread_expect(r, value, JREAD_STRING);
	if (res < 0)
		return res;
	for (name = names; name->name; name++) {
		if (strlen(name->name) != value->len || memcmp(name->name, value->text, value->len) != 0)
			continue;
		*ret_value = name->value;
		return 0;
	}
	return fail_unknown_name(r, value, names);
}

int jread_to_name_int(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	uint64_t n;
	int res;

	res = jread_find_name(r, value, detail, &n);
	if (res < 0)
		return res;
	*(int *)out = (int)n;
	return 0;
}

int jread_to_name_u64(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	return jread_find_name(r, value, detail, out);
}

static int add_bit(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	uint64_t bit = 0;
	int res = jread_find_name(r, value, detail, &bit);

	*(uint64_t *)out |= bit;
	return res;
}

int jread_to_name_bits(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	uint64_t bits = 0;
	int res = jread_each(r, value, add_bit, detail, &bits, 0);

	if (res == 0)
		*(uint64_t *)out = bits;
	return res;
}
