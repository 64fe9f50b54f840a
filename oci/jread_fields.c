/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver of the field tables, messages, objects and lists. See jread.h for the rules; converters of single values are in jread_values.c. */
#include "oci/jread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "oci/config.h"

static const char *const type_names[] = {
	[JREAD_NULL] = "null",	   [JREAD_BOOLEAN] = "boolean", [JREAD_NUMBER] = "number",
	[JREAD_STRING] = "string", [JREAD_ARRAY] = "array",	[JREAD_OBJECT] = "object",
};

/* What all lists have in common in memory; stored by memcpy because the element types differ. */
struct list_head {
	void *items;
	size_t count;
};

/* ---- messages ---- */

/* Appends; what does not fit is cut, as error texts are. */
static void append(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void append(char *buf, size_t size, const char *format, ...)
{
	size_t n = strlen(buf);
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(buf + n, size - n, format, ap);
	va_end(ap);
}

/* sub is a path below value, "" for value itself. */
__attribute__((format(printf, 4, 0))) static int fail_below(struct jread_reader *r, const struct jread_value *value,
							    const char *sub, const char *format, va_list ap)
{
	char path[512] = "", text[512];
	size_t i;

	for (i = 0; i < r->depth; i++) {
		if (r->path[i].key)
			append(path, sizeof(path), "%s%s", i > 0 ? "." : "", r->path[i].key);
		else
			append(path, sizeof(path), "[%zu]", r->path[i].index);
	}
	append(path, sizeof(path), "%s%s", path[0] && sub[0] ? "." : "", sub);
	value = jread_tree_locate(value, sub);
	(void)vsnprintf(text, sizeof(text), format, ap);
	return error_set(r->err, EINVAL, "%s:%u:%u: %s%s%s", r->name, value->line, value->column, path,
			 path[0] ? ": " : "", text);
}

int jread_fail(struct jread_reader *r, const struct jread_value *value, const char *format, ...)
{
	va_list ap;
	int res;

	va_start(ap, format);
	res = fail_below(r, value, "", format, ap);
	va_end(ap);
	return res;
}

int jread_fail_member(struct jread_reader *r, const struct jread_value *value, const char *key, const char *format, ...)
{
	va_list ap;
	int res;

	va_start(ap, format);
	res = fail_below(r, value, key, format, ap);
	va_end(ap);
	return res;
}

int jread_fail_element(struct jread_reader *r, const struct jread_value *value, const char *key, size_t index,
		       const char *format, ...)
{
	char sub[128];
	va_list ap;
	int res;

	(void)snprintf(sub, sizeof(sub), "%s[%zu]", key, index);
	va_start(ap, format);
	res = fail_below(r, value, sub, format, ap);
	va_end(ap);
	return res;
}

int jread_no_memory(struct jread_reader *r)
{
	return error_set(r->err, ENOMEM, "%s: out of memory", r->name);
}

int jread_expect(struct jread_reader *r, const struct jread_value *value, enum jread_type type)
{
	if (value->type == type)
		return 0;
	return jread_fail(r, value, "expected %s, found %s", type == JREAD_NUMBER ? "integer" : type_names[type],
			  type_names[value->type]);
}

/* ---- the path ---- */

static int enter(struct jread_reader *r, const struct jread_value *value, const char *key, size_t index)
{
	if (r->depth == JREAD_MAX_DEPTH)
		return jread_fail(r, value, "nested too deep");
	r->path[r->depth++] = (struct jread_step){ .key = key, .index = index };
	return 0;
}

int jread_enter_key(struct jread_reader *r, const struct jread_value *value)
{
	return enter(r, value, value->key, 0);
}

int jread_enter_index(struct jread_reader *r, const struct jread_value *value, size_t index)
{
	return enter(r, value, NULL, index);
}

void jread_leave(struct jread_reader *r)
{
	r->depth--;
}

/* ---- objects ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct jread_value *x = *(const struct jread_value *const *)a, *y = *(const struct jread_value *const *)b;
	size_t n = x->key_len < y->key_len ? x->key_len : y->key_len;
	int c = memcmp(x->key, y->key, n);

	if (c)
		return c;
	if (x->key_len != y->key_len)
		return x->key_len < y->key_len ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->column < y->column ? -1 : 1;
}

static bool same_key(const struct jread_value *a, const struct jread_value *b)
{
	return a->key_len == b->key_len && memcmp(a->key, b->key, a->key_len) == 0;
}

int jread_check_unique(struct jread_reader *r, const struct jread_value *object)
{
	_cleanup_free_ const struct jread_value **sorted = NULL;
	const struct jread_value *v;
	size_t i = 0;
	int res;

	if (object->count < 2)
		return 0;
	sorted = calloc(object->count, sizeof(*sorted));
	if (!sorted)
		return jread_no_memory(r);
	for (v = object->first; v; v = v->next)
		sorted[i++] = v;
	qsort(sorted, object->count, sizeof(*sorted), compare_keys);
	for (i = 1; i < object->count; i++) {
		if (!same_key(sorted[i - 1], sorted[i]))
			continue;
		res = jread_enter_key(r, sorted[i]);
		return res < 0 ? res : jread_fail(r, sorted[i], "written twice, first in line %u", sorted[i - 1]->line);
	}
	return 0;
}

static int read_field(struct jread_reader *r, const struct jread_value *object, const struct jread_field *field,
		      void *out)
{
	const struct jread_value *value;
	int res;

	value = jread_object_get(object, field->key);
	if (!value && !(field->flags & JREAD_REQUIRED))
		return 0;
	if (!value) {
		return jread_fail_member(r, object, field->key, "required, but missing");
	}
	if (field->flags & JREAD_IGNORED)
		return 0;
	res = jread_enter_key(r, value);
	if (res < 0)
		return res;
	if (field->flags & JREAD_UNSUPPORTED)
		return jread_fail(r, value, "not supported");
	res = field->convert(r, value, field->detail, (char *)out + field->offset);
	if (res < 0)
		return res;
	jread_leave(r);
	return 0;
}

int jread_read_object(struct jread_reader *r, const struct jread_value *value, const struct jread_object *object,
		      void *out)
{
	const struct jread_field *field;
	int res;

	res = jread_expect(r, value, JREAD_OBJECT);
	if (res < 0)
		return res;
	res = jread_check_unique(r, value);
	if (res < 0)
		return res;
	for (field = object->fields; field->key; field++) {
		res = read_field(r, value, field, out);
		if (res < 0)
			return res;
	}
	return object->finish ? object->finish(r, value, NULL, out) : 0;
}

/* The tree has an arena of its own, since it goes before the results do. */
int jread_read_document(const char *text, size_t len, const char *name, const struct jread_object *object,
			struct oci_arena *arena, void *out, struct error *err)
{
	struct jread_reader reader = { .name = name, .arena = arena, .err = err };
	const struct jread_value *root;
	struct oci_arena *tree;
	int r;

	if (len > JREAD_MAX_BYTES)
		return error_set(err, EINVAL, "%s: larger than %u bytes", name, JREAD_MAX_BYTES);
	tree = oci_arena_new();
	if (!tree || !arena)
		r = jread_no_memory(&reader);
	else
		r = jread_tree_parse(text, len, name, tree, &root, err);
	if (r == 0)
		r = jread_read_object(&reader, root, object, out);
	oci_arena_free(tree);
	return r;
}

int jread_to_object(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	return jread_read_object(r, value, detail, out);
}

/* ---- lists ---- */

int jread_each(struct jread_reader *r, const struct jread_value *value, jread_convert_fn *convert, const void *detail,
	       void *out, size_t step)
{
	const struct jread_value *v;
	size_t i = 0;
	int res;

	res = jread_expect(r, value, JREAD_ARRAY);
	if (res < 0)
		return res;
	for (v = value->first; v; v = v->next, i++) {
		res = jread_enter_index(r, v, i);
		if (res < 0)
			return res;
		res = convert(r, v, detail, (char *)out + i * step);
		if (res < 0)
			return res;
		jread_leave(r);
	}
	return 0;
}

int jread_to_list(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct jread_list *list = detail;
	struct list_head head = { 0 };
	int res;

	res = jread_expect(r, value, JREAD_ARRAY);
	if (res < 0)
		return res;
	if (list->max > 0 && value->count > list->max)
		return jread_fail(r, value, "%zu entries, no more than %zu are possible", value->count, list->max);
	head.items = oci_arena_array(r->arena, value->count, list->size);
	if (!head.items)
		return jread_no_memory(r);
	head.count = value->count;
	res = jread_each(r, value, list->convert, list->detail, head.items, list->size);
	if (res < 0)
		return res;
	memcpy(out, &head, sizeof(head));
	return 0;
}

int jread_to_strings(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	char **items;
	int res;

	res = jread_expect(r, value, JREAD_ARRAY);
	if (res < 0)
		return res;
	items = oci_arena_array(r->arena, value->count + 1, sizeof(*items));
	if (!items)
		return jread_no_memory(r);
	res = jread_each(r, value, jread_to_string, NULL, items, sizeof(*items));
	if (res < 0)
		return res;
	*(struct oci_strings *)out = (struct oci_strings){ .items = items, .count = value->count };
	return 0;
}

int jread_to_pairs(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_pairs *pairs = out;
	struct oci_pair *items;
	const struct jread_value *v;
	size_t n = 0;
	int res;

	res = jread_expect(r, value, JREAD_OBJECT);
	if (res < 0)
		return res;
	res = jread_check_unique(r, value);
	if (res < 0)
		return res;
	items = oci_arena_array(r->arena, value->count, sizeof(*items));
	if (!items)
		return jread_no_memory(r);
	for (v = value->first; v; v = v->next, n++) {
		res = jread_enter_key(r, v);
		if (res < 0)
			return res;
		if (v->key_len == 0 || strlen(v->key) != v->key_len)
			return jread_fail(r, v, "a name is empty or has a NUL character");
		res = jread_to_string(r, v, NULL, &items[n].value);
		if (res < 0)
			return res;
		items[n].key = oci_arena_strndup(r->arena, v->key, v->key_len);
		if (!items[n].key)
			return jread_no_memory(r);
		jread_leave(r);
	}
	*pairs = (struct oci_pairs){ .items = items, .count = n };
	return 0;
}
