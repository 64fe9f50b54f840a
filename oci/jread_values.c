/* SPDX-License-Identifier: BSD-3-Clause */
/* Converters of single values: booleans, strings, numbers, names. See jread.h. */
#include "oci/jread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/config.h"

static const struct jread_range range_u32 = { 0, UINT32_MAX };
static const struct jread_range range_i32 = { INT32_MIN, INT32_MAX };
static const struct jread_range range_u64 = { 0, UINT64_MAX };
static const struct jread_range range_i64 = { INT64_MIN, INT64_MAX };

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

int jread_to_opt_bool(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_expect(r, value, JREAD_BOOLEAN);
	if (res < 0)
		return res;
	*(struct oci_bool *)out = (struct oci_bool){ .set = true, .value = value->truth };
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

int jread_to_u32(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	uint64_t bits;
	int res;

	res = read_integer(r, value, detail ?: &range_u32, &bits);
	if (res < 0)
		return res;
	*(uint32_t *)out = (uint32_t)bits;
	return 0;
}

int jread_to_i32(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	uint64_t bits;
	int res;

	res = read_integer(r, value, detail ?: &range_i32, &bits);
	if (res < 0)
		return res;
	*(int32_t *)out = (int32_t)(int64_t)bits;
	return 0;
}

int jread_to_u64(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	return read_integer(r, value, detail ?: &range_u64, out);
}

int jread_to_i64(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	uint64_t bits;
	int res;

	res = read_integer(r, value, detail ?: &range_i64, &bits);
	if (res < 0)
		return res;
	*(int64_t *)out = (int64_t)bits;
	return 0;
}

int jread_to_opt_u64(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_u64 number = { .set = true };
	int res;

	res = jread_to_u64(r, value, detail, &number.value);
	if (res < 0)
		return res;
	*(struct oci_u64 *)out = number;
	return 0;
}

int jread_to_opt_i64(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_i64 number = { .set = true };
	int res;

	res = jread_to_i64(r, value, detail, &number.value);
	if (res < 0)
		return res;
	*(struct oci_i64 *)out = number;
	return 0;
}

int jread_to_limit_u64(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_u64 *number = out;
	int res;

	res = jread_to_opt_u64(r, value, detail, number);
	if (res < 0)
		return res;
	number->set = number->value != 0;
	return 0;
}

int jread_to_limit_i64(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_i64 *number = out;
	int res;

	res = jread_to_opt_i64(r, value, detail, number);
	if (res < 0)
		return res;
	number->set = number->value != 0;
	return 0;
}

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

int jread_to_name_bits(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct jread_value *v;
	uint64_t bits = 0, bit;
	size_t i = 0;
	int res;

	res = jread_expect(r, value, JREAD_ARRAY);
	if (res < 0)
		return res;
	for (v = value->first; v; v = v->next, i++) {
		res = jread_enter_index(r, v, i);
		if (res < 0)
			return res;
		res = jread_find_name(r, v, detail, &bit);
		if (res < 0)
			return res;
		jread_leave(r);
		bits |= bit;
	}
	*(uint64_t *)out = bits;
	return 0;
}
