/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of a record: see log_record.h. */
#include "trace/log_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/cleanup.h"

/* Where the parser is; `complaint` is set once, by the callback that stopped it. */
struct parse {
	struct log_record *rec;
	size_t used;
	const char *key;
	bool in_map, in_array, ended;
	int index;
	const char *complaint;
};

static int refuse(struct parse *p, const char *complaint)
{
	p->complaint = complaint;
	return 0;
}

/* Values are never longer than what stands for them in the line, quotes or separator included: the arena is large enough. */
static const char *keep(struct parse *p, const unsigned char *text, size_t len)
{
	char *kept = p->rec->arena + p->used;

	memcpy(kept, text, len);
	kept[len] = '\0';
	p->used += len + 1;
	return kept;
}

static bool is_duplicate(const struct parse *p, const char *key)
{
	for (size_t i = 0; i < p->rec->n_fields; i++)
		if (p->rec->fields[i].index <= 0 && !strcmp(p->rec->fields[i].key, key))
			return true;
	return false;
}

static int add_field(struct parse *p, const unsigned char *text, size_t len, bool number)
{
	struct log_record *rec = p->rec;

	if (!p->in_map)
		return refuse(p, "a record is an object");
	if (rec->n_fields == LOG_FIELDS_MAX)
		return refuse(p, "too many values in a record");
	if (memchr(text, '\0', len))
		return refuse(p, "a text contains the character U+0000");
	rec->fields[rec->n_fields++] = (struct log_field){
		.key = p->key,
		.index = p->in_array ? p->index++ : -1,
		.text = keep(p, text, len),
		.number = number,
	};
	return 1;
}

static int on_string(void *arg, const unsigned char *text, size_t len)
{
	return add_field(arg, text, len, false);
}

static int on_number(void *arg, const char *text, size_t len)
{
	return add_field(arg, (const unsigned char *)text, len, true);
}

static int on_null(void *arg)
{
	return refuse(arg, "null is no value of a record");
}

static int on_boolean(void *arg, int value)
{
	return refuse(arg, "true and false are no values of a record");
}

static int on_key(void *arg, const unsigned char *text, size_t len)
{
	struct parse *p = arg;

	if (len == 0 || memchr(text, '\0', len))
		return refuse(p, "not a key");
	p->key = keep(p, text, len);
	if (is_duplicate(p, p->key))
		return refuse(p, "the same key twice");
	return 1;
}

static int on_map_open(void *arg)
{
	struct parse *p = arg;

	if (p->in_map)
		return refuse(p, "an object inside a record");
	p->in_map = true;
	return 1;
}

static int on_map_close(void *arg)
{
	struct parse *p = arg;

	p->ended = true;
	return 1;
}

static int on_array_open(void *arg)
{
	struct parse *p = arg;

	if (!p->in_map)
		return refuse(p, "a record is an object");
	if (p->in_array)
		return refuse(p, "an array inside an array");
	p->in_array = true;
	p->index = 0;
	return 1;
}

static int on_array_close(void *arg)
{
	struct parse *p = arg;

	p->in_array = false;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_map_open,
	.yajl_map_key = on_key,
	.yajl_end_map = on_map_close,
	.yajl_start_array = on_array_open,
	.yajl_end_array = on_array_close,
};

bool log_parse_unsigned(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	}
	*ret_value = value;
	return true;
}

bool log_parse_number(const char *text, int64_t *ret_value)
{
	bool negative = *text == '-';
	uint64_t size;

	if (!log_parse_unsigned(text + negative, &size) || size > (uint64_t)INT64_MAX + negative)
		return false;
	*ret_value = negative ? (int64_t)-size : (int64_t)size;
	return true;
}

static const struct log_field *find(const struct log_record *rec, const char *key)
{
	for (size_t i = 0; i < rec->n_fields; i++)
		if (rec->fields[i].index < 0 && !strcmp(rec->fields[i].key, key))
			return &rec->fields[i];
	return NULL;
}

const char *log_record_text(const struct log_record *rec, const char *key)
{
	const struct log_field *field = find(rec, key);

	return field ? field->text : NULL;
}

bool log_record_unsigned(const struct log_record *rec, const char *key, uint64_t *ret_value)
{
	const struct log_field *field = find(rec, key);

	return field && field->number && log_parse_unsigned(field->text, ret_value);
}

bool log_record_number(const struct log_record *rec, const char *key, int64_t *ret_value)
{
	const struct log_field *field = find(rec, key);

	return field && field->number && log_parse_number(field->text, ret_value);
}

/* What every record has, and what the format makes of it. */
static const char *take_common(struct log_record *rec)
{
	const char *kind;

	kind = log_record_text(rec, "kind");
	if (!kind)
		return "no \"kind\"";
	rec->kind = log_kind_parse(kind);
	if (!rec->kind)
		return "a \"kind\" that this version does not know";
	rec->has_turn = log_record_unsigned(rec, "turn", &rec->turn);
	rec->has_time = log_record_unsigned(rec, "time", &rec->time_ns);
	rec->has_thread = log_record_number(rec, "thread", &rec->thread);
	rec->call = log_record_text(rec, "call");
	if (rec->kind == LOG_HEADER || rec->kind == LOG_CHECK)
		return NULL;
	if (!rec->has_turn || !rec->has_time || !rec->has_thread)
		return "no \"turn\", \"time\" or \"thread\" that is a whole number";
	if ((rec->kind == LOG_CALL || rec->kind == LOG_RETURN) && !rec->call)
		return "no \"call\"";
	return NULL;
}

static void cleanup_yajl(yajl_handle *handle)
{
	if (*handle)
		yajl_free(*handle);
}

/* What yajl found wrong, its first line only, without its trailing newline. */
static int syntax_error(yajl_handle handle, size_t column, struct error *err)
{
	unsigned char *text;
	int r;

	text = yajl_get_error(handle, 0, NULL, 0);
	if (text)
		text[strcspn((char *)text, "\n")] = '\0';
	r = error_set(err, EINVAL, "%zu: not a record: %s", column, text ? (char *)text : "not JSON");
	if (text)
		yajl_free_error(handle, text);
	return r;
}

static int run_parser(struct parse *p, const char *line, size_t len, struct error *err)
{
	_cleanup_(cleanup_yajl) yajl_handle handle = NULL;
	yajl_status status;
	size_t column;

	handle = yajl_alloc(&callbacks, NULL, p);
	if (!handle)
		return error_errno(err, ENOMEM, "1");
	status = yajl_parse(handle, (const unsigned char *)line, len);
	column = yajl_get_bytes_consumed(handle);
	if (status == yajl_status_ok) {
		status = yajl_complete_parse(handle);
		column = len;
	}
	if (p->complaint)
		return error_set(err, EINVAL, "%zu: not a record: %s", column, p->complaint);
	if (status != yajl_status_ok)
		return syntax_error(handle, column + (column == 0), err);
	if (!p->ended)
		return error_set(err, EINVAL, "1: not a record: a record is an object");
	return 0;
}

static int make_room(struct log_record *rec, size_t len)
{
	size_t size;
	char *arena;

	if (__builtin_add_overflow(len, 2u, &size))
		return -ENOMEM;
	if (size <= rec->arena_size)
		return 0;
	arena = realloc(rec->arena, size);
	if (!arena)
		return -ENOMEM;
	rec->arena = arena;
	rec->arena_size = size;
	return 0;
}

int log_record_parse(struct log_record *rec, const char *line, size_t len, struct error *err)
{
	struct parse p = { .rec = rec };
	const char *complaint;
	int r;

	if (make_room(rec, len) < 0)
		return error_errno(err, ENOMEM, "1");
	rec->n_fields = 0;
	rec->kind = 0;
	r = run_parser(&p, line, len, err);
	if (r < 0)
		return r;
	complaint = take_common(rec);
	if (complaint)
		return error_set(err, EINVAL, "1: not a record: %s", complaint);
	return 0;
}

void log_record_deinit(struct log_record *rec)
{
	free(rec->arena);
	rec->arena = NULL;
	rec->arena_size = 0;
}
