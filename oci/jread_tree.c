/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree, built from yajl's events. yajl does not say where a token starts, but the text between the end of the last
 * token and the start of the next holds nothing but blanks, ',' and ':'; so the place is found by skipping those. One
 * cursor goes over the text once, and counts lines and characters.
 */
#include "oci/jread.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/cleanup.h"
#include "base/error.h"

struct builder {
	yajl_handle yajl;
	struct oci_arena *arena;
	const char *text;
	size_t len;
	size_t at; /* the cursor, and where it is for people */
	uint32_t line, column;
	struct jread_value *stack[JREAD_MAX_DEPTH];
	size_t depth;
	struct jread_value *root;
	const char *key; /* that was read last and has no value yet */
	size_t key_len;
	int r; /* why a callback stopped the parser */
};

static void builder_advance(struct builder *b, size_t to)
{
	for (; b->at < to && b->at < b->len; b->at++) {
		unsigned char c = (unsigned char)b->text[b->at];

		if (c == '\n') {
			b->line++;
			b->column = 1;
		} else if ((c & 0xc0) != 0x80) {
			b->column++;
		}
	}
}

/* Puts the cursor on the token whose event this is. */
static void builder_find_token(struct builder *b)
{
	while (b->at < b->len && strchr(" \t\r\n,:", b->text[b->at]) && b->text[b->at])
		builder_advance(b, b->at + 1);
}

static void builder_end_token(struct builder *b)
{
	builder_advance(b, yajl_get_bytes_consumed(b->yajl));
}

static int builder_stop(struct builder *b, int r)
{
	b->r = r;
	return 0; /* what yajl takes for "stop" */
}

static struct jread_value *builder_add(struct builder *b, enum jread_type type)
{
	struct jread_value *parent = b->depth > 0 ? b->stack[b->depth - 1] : NULL;
	struct jread_value *value;

	builder_find_token(b);
	value = oci_arena_alloc(b->arena, sizeof(*value));
	if (!value)
		return NULL;
	value->type = type;
	value->line = b->line;
	value->column = b->column;
	value->key = b->key;
	value->key_len = b->key_len;
	b->key = NULL;
	b->key_len = 0;
	if (!parent) {
		b->root = value;
		return value;
	}
	if (parent->last)
		parent->last->next = value;
	else
		parent->first = value;
	parent->last = value;
	parent->count++;
	return value;
}

static int add_scalar(struct builder *b, enum jread_type type, bool truth, const char *text, size_t len)
{
	struct jread_value *value;

	value = builder_add(b, type);
	if (!value)
		return builder_stop(b, -ENOMEM);
	value->truth = truth;
	if (text) {
		value->text = oci_arena_strndup(b->arena, text, len);
		value->len = len;
		if (!value->text)
			return builder_stop(b, -ENOMEM);
	}
	builder_end_token(b);
	return 1;
}

static int on_null(void *ctx)
{
	return add_scalar(ctx, JREAD_NULL, false, NULL, 0);
}

static int on_boolean(void *ctx, int truth)
{
	return add_scalar(ctx, JREAD_BOOLEAN, truth != 0, NULL, 0);
}

static int on_number(void *ctx, const char *text, size_t len)
{
	return add_scalar(ctx, JREAD_NUMBER, false, text, len);
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	return add_scalar(ctx, JREAD_STRING, false, (const char *)text, len);
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	struct builder *b = ctx;

	b->key = oci_arena_strndup(b->arena, (const char *)text, len);
	b->key_len = len;
	if (!b->key)
		return builder_stop(b, -ENOMEM);
	builder_find_token(b);
	builder_end_token(b);
	return 1;
}

static int on_start(struct builder *b, enum jread_type type)
{
	struct jread_value *value;

	value = builder_add(b, type);
	if (!value)
		return builder_stop(b, -ENOMEM);
	if (b->depth == JREAD_MAX_DEPTH)
		return builder_stop(b, -E2BIG);
	b->stack[b->depth++] = value;
	builder_end_token(b);
	return 1;
}

static int on_start_map(void *ctx)
{
	return on_start(ctx, JREAD_OBJECT);
}

static int on_start_array(void *ctx)
{
	return on_start(ctx, JREAD_ARRAY);
}

static int on_end(void *ctx)
{
	struct builder *b = ctx;

	b->depth--;
	builder_end_token(b);
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end,
};

/* yajl's own words without their "parse error: " and the end of line. */
static int builder_fail(struct builder *b, const char *name, struct error *err)
{
	unsigned char *words;
	const char *text, *colon;
	int r;

	words = yajl_get_error(b->yajl, 0, (const unsigned char *)b->text, b->len);
	text = words ? (const char *)words : "syntax error";
	colon = strstr(text, "error: ");
	text = colon ? colon + strlen("error: ") : text;
	r = error_set(err, EINVAL, "%s:%u:%u: not valid JSON: %.*s", name, b->line, b->column, (int)strcspn(text, "\n"),
		      text);
	if (words)
		yajl_free_error(b->yajl, words);
	return r;
}

static int builder_run(struct builder *b, const char *name, struct error *err)
{
	yajl_status status;

	status = yajl_parse(b->yajl, (const unsigned char *)b->text, b->len);
	if (status == yajl_status_ok) {
		builder_advance(b, b->len);
		status = yajl_complete_parse(b->yajl);
	}
	builder_find_token(b); /* the one that is wrong, should there be an error */
	if (b->r == -ENOMEM)
		return error_set(err, ENOMEM, "%s: out of memory", name);
	if (b->r == -E2BIG)
		return error_set(err, EINVAL, "%s:%u:%u: nested deeper than %d levels", name, b->line, b->column,
				 JREAD_MAX_DEPTH);
	if (status != yajl_status_ok)
		return builder_fail(b, name, err);
	return 0;
}

int jread_tree_parse(const char *text, size_t len, const char *name, struct oci_arena *arena,
		     const struct jread_value **ret_root, struct error *err)
{
	struct builder b = { .arena = arena, .text = text, .len = len, .line = 1, .column = 1 };
	int r;

	b.yajl = yajl_alloc(&callbacks, NULL, &b);
	if (!b.yajl)
		return error_set(err, ENOMEM, "%s: out of memory", name);
	r = builder_run(&b, name, err);
	yajl_free(b.yajl);
	if (r < 0)
		return r;
	if (!b.root)
		return error_set(err, EINVAL, "%s:1:1: not valid JSON: no value", name);
	*ret_root = b.root;
	return 0;
}

const struct jread_value *jread_object_get(const struct jread_value *object, const char *key)
{
	const struct jread_value *v;
	size_t len = strlen(key);

	if (object->type != JREAD_OBJECT)
		return NULL;
	for (v = object->first; v; v = v->next)
		if (v->key_len == len && memcmp(v->key, key, len) == 0)
			return v->type == JREAD_NULL ? NULL : v;
	return NULL;
}

/* The child that the path starts with; names may have dots, so the longest one counts. *ret_len: its length in path. */
static const struct jread_value *find_child(const struct jread_value *value, const char *path, size_t *ret_len)
{
	const struct jread_value *v, *best = NULL;
	size_t rest = strlen(path);
	unsigned index, i = 0;
	int n = 0;

	if (value->type == JREAD_ARRAY && sscanf(path, "[%u]%n", &index, &n) == 1 && n > 0) {
		for (v = value->first; v && i < index; v = v->next)
			i++;
		*ret_len = (size_t)n;
		return v;
	}
	for (v = value->first; value->type == JREAD_OBJECT && v; v = v->next) {
		if (v->key_len == 0 || v->key_len > rest || memcmp(path, v->key, v->key_len) != 0)
			continue; /* a key may have a NUL, so strncmp() will not do */
		if (best && best->key_len >= v->key_len)
			continue;
		if (strchr(".[", path[v->key_len]))
			best = v;
	}
	*ret_len = best ? best->key_len : 0;
	return best;
}

const struct jread_value *jread_tree_locate(const struct jread_value *root, const char *path)
{
	const struct jread_value *child;
	size_t len;

	while (*path) {
		child = find_child(root, path, &len);
		if (!child)
			break;
		root = child;
		path += len;
		if (*path == '.')
			path++;
	}
	return root;
}
