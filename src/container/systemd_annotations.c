/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Annotations org.systemd.property.NAME: see systemd_unit.h. Their values are GVariant text (docs.gtk.org/glib/gvariant-text-format.html), of which
 * units need texts, truth values, numbers, and arrays of these.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "container/systemd_unit.h"

#define PREFIX "org.systemd.property."

/* The words before numbers, with what fits. */
static const struct {
	const char *word;
	char type;
	int64_t min;
	uint64_t max;
} types[] = {
	{ "byte", 'y', 0, UINT8_MAX },	     { "int16", 'n', INT16_MIN, INT16_MAX }, { "uint16", 'q', 0, UINT16_MAX },
	{ "int32", 'i', INT32_MIN, INT32_MAX }, { "uint32", 'u', 0, UINT32_MAX },	      { "int64", 'x', INT64_MIN, INT64_MAX },
	{ "uint64", 't', 0, UINT64_MAX },
};

enum { INT32_ROW = 3, TEXT_MAX = 4096 };

struct value {
	char type; /* of GVariant: s, b, or a number's */
	uint64_t number;
	char text[TEXT_MAX];
};

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t\n");
}

/* 'text' or "text", with \ before what is taken as it is. The end, or NULL. */
static const char *read_text(const char *p, struct value *v)
{
	char quote = *p++;
	size_t n = 0;

	while (*p && *p != quote && n + 1 < sizeof(v->text)) {
		if (*p == '\\' && p[1])
			p++;
		v->text[n++] = *p++;
	}
	v->text[n] = '\0';
	v->type = 's';
	return *p == quote ? p + 1 : NULL;
}

static const char *read_number(const char *p, size_t row, struct value *v)
{
	bool negative = *p == '-';
	char digits[32];
	size_t n;
	uint64_t magnitude;

	p += negative || *p == '+';
	n = strspn(p, "0123456789");
	if (n == 0 || n >= sizeof(digits))
		return NULL;
	memcpy(digits, p, n);
	digits[n] = '\0';
	if (parse_u64(digits, &magnitude) < 0)
		return NULL;
	if (negative ? types[row].min == 0 || magnitude > (uint64_t)0 - (uint64_t)types[row].min : magnitude > types[row].max)
		return NULL;
	v->type = types[row].type;
	v->number = negative ? (uint64_t)0 - magnitude : magnitude;
	return p + n;
}

static const char *read_word(const char *p, struct value *v)
{
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");

	if ((n == 4 && !strncmp(p, "true", n)) || (n == 5 && !strncmp(p, "false", n))) {
		v->type = 'b';
		v->number = n == 4;
		return p + n;
	}
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i].word) == n && !strncmp(types[i].word, p, n))
			return read_number(skip_blanks(p + n), i, v);
	return NULL;
}

static const char *read_value(const char *p, struct value *v)
{
	if (*p == '\'' || *p == '"')
		return read_text(p, v);
	return islower((unsigned char)*p) ? read_word(p, v) : read_number(p, INT32_ROW, v);
}

static void put(struct systemd_properties *list, const struct value *v)
{
	if (v->type == 's')
		systemd_put_string(list, v->text);
	else
		systemd_put_number(list, v->number);
}

/* All of one type; an empty one would have none. */
static const char *read_array(const char *p, const char *name, struct systemd_properties *list)
{
	char type[3] = "";
	struct value v;

	do {
		p = read_value(skip_blanks(p + 1), &v);
		if (!p || (type[0] && type[1] != v.type))
			return NULL;
		if (!type[0]) {
			type[0] = 'a';
			type[1] = v.type;
			systemd_add(list, name, type);
		}
		put(list, &v);
		p = skip_blanks(p);
	} while (*p == ',');
	return *p == ']' ? p + 1 : NULL;
}

static const char *read_single(const char *p, const char *name, uint64_t scale, struct systemd_properties *list)
{
	char type[2] = "";
	struct value v;

	p = read_value(p, &v);
	if (!p)
		return NULL;
	if (scale > 1 && (v.type == 's' || v.type == 'b' || v.number > UINT64_MAX / scale))
		return NULL;
	type[0] = scale > 1 ? 't' : v.type;
	v.number *= scale;
	systemd_add(list, name, type);
	put(list, &v);
	return p;
}

/* The bus has times in microseconds, with names that say so; files of units have them in seconds. */
static bool is_in_seconds(const char *name)
{
	size_t n = strlen(name);

	return n > 3 && !strcmp(name + n - 3, "Sec") && islower((unsigned char)name[n - 4]);
}

static int add_one(struct systemd_properties *list, const char *key, const char *text, struct error *err)
{
	const char *name = key;
	const char *p = skip_blanks(text);
	char in_us[64];
	uint64_t scale = 1;

	if (!isalpha((unsigned char)*name) || name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ||
	    strlen(name) >= sizeof(in_us) - 1)
		return error_set(err, EINVAL, "annotation " PREFIX "%s: not the name of a property", name);
	if (is_in_seconds(name)) {
		(void)snprintf(in_us, sizeof(in_us), "%.*sUSec", (int)strlen(name) - 3, name);
		name = in_us;
		scale = 1000000;
	}
	p = *p == '[' && scale == 1 ? read_array(p, name, list) : read_single(p, name, scale, list);
	if (!p || *skip_blanks(p))
		return error_set(err, EINVAL,
				 "annotation " PREFIX "%s: '%s' is none of true, 'text', 5, uint64 5 (or int32, ...), ['text', ...]", key, text);
	return 0;
}

int systemd_add_annotations(struct systemd_properties *list, const struct oci_pairs *annotations, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < annotations->count; i++)
		if (!strncmp(annotations->items[i].key, PREFIX, strlen(PREFIX)))
			r = add_one(list, annotations->items[i].key + strlen(PREFIX), annotations->items[i].value, err);
	return r;
}
