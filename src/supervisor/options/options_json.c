/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of a run as a JSON document:
 *
 *	{ "format": "hermit-config", "version": 1, "fingerprint": "...",
 *	  "options": { "seed": 7, "strict": true, "env": [ "A=1" ], "epoch": "2026-01-01T00:00:00Z" },
 *	  "command": [ "PROGRAM", "ARGUMENT" ] }
 *
 * Only options that differ from their defaults are written. Strings that are not UTF-8 (an argument may hold any bytes) are
 * written as { "hex": "..." }.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "supervisor/options/options.h"

#define FORMAT_NAME "hermit-config"
enum { FORMAT_VERSION = 1 };

static void cleanup_json(json_t **document)
{
	json_decref(*document);
}

#define _cleanup_json_ _cleanup_(cleanup_json)

/* ---- writing ---- */

static json_t *json_from_text(const char *text)
{
	_cleanup_free_ char *hex = NULL;
	size_t len = strlen(text);
	json_t *plain = json_stringn(text, len);

	if (plain)
		return plain;
	hex = malloc(2 * len + 1);
	if (!hex)
		return NULL;
	hash_hex((const unsigned char *)text, len, hex);
	return json_pack("{s:s}", "hex", hex);
}

static json_t *json_from_list(const struct strv *list)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < list->count; i++)
		if (json_array_append_new(array, json_from_text(list->items[i])) < 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *json_from_values(const struct option_spec *spec, const struct strv *values)
{
	uint64_t number;

	if (spec->kind == OPTION_LIST || spec->kind == OPTION_ENV)
		return json_from_list(values);
	if (spec->kind == OPTION_FLAG)
		return json_boolean(!strcmp(values->items[0], "true"));
	if ((spec->kind == OPTION_NUMBER || spec->kind == OPTION_SIZE) && parse_u64(values->items[0], &number) == 0 &&
	    number <= INT64_MAX)
		return json_integer((json_int_t)number);
	return json_from_text(values->items[0]);
}

static json_t *json_from_options(const struct run_options *o)
{
	_cleanup_json_ json_t *object = json_object();
	const struct option_spec *specs;
	size_t n;

	specs = option_specs(&n);
	for (size_t i = 0; i < n; i++) {
		_cleanup_strv_ struct strv values = { 0 };

		if (run_options_get(o, &specs[i], false, &values) < 0)
			return NULL;
		if (values.count > 0 && json_object_set_new(object, specs[i].name, json_from_values(&specs[i], &values)) < 0)
			return NULL;
	}
	return take_ptr(object);
}

char *run_options_to_json(const struct run_options *o)
{
	_cleanup_json_ json_t *document = NULL;
	char fingerprint[HASH_HEX_SIZE];

	if (run_options_fingerprint(o, fingerprint) < 0)
		return NULL;
	document = json_pack("{s:s, s:i, s:s, s:o, s:o}", "format", FORMAT_NAME, "version", (int)FORMAT_VERSION,
			     "fingerprint", fingerprint, "options", json_from_options(o), "command",
			     json_from_list(&o->argv));
	return document ? json_dumps(document, JSON_INDENT(2)) : NULL;
}

/* ---- reading ---- */

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static char *text_from_hex(const char *hex)
{
	size_t len = strlen(hex) / 2;
	char *text = strlen(hex) % 2 ? NULL : calloc(len + 1, 1);

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0 || (high == 0 && low == 0)) {
			free(text);
			return NULL;
		}
		text[i] = (char)(high * 16 + low);
	}
	return text;
}

/* A value's text form, NULL when it has none. */
static char *text_from_json(const json_t *value)
{
	char *text = NULL;

	if (json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value))
		return strdup(json_string_value(value));
	if (json_is_boolean(value))
		return strdup(json_is_true(value) ? "true" : "false");
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return asprintf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value)) < 0 ? NULL : text;
	if (json_is_object(value) && json_is_string(json_object_get(value, "hex")))
		return text_from_hex(json_string_value(json_object_get(value, "hex")));
	return NULL;
}

static int set_one(struct run_options *o, const struct option_spec *spec, const json_t *value, struct error *err)
{
	_cleanup_free_ char *text = text_from_json(value);

	if (!text)
		return error_set(err, EINVAL, "--%s: the value has no text form", spec->name);
	return run_options_set(o, spec, text, err);
}

static int set_from_json(struct run_options *o, const struct option_spec *spec, const json_t *value, struct error *err)
{
	bool list = spec->kind == OPTION_LIST || spec->kind == OPTION_ENV;
	const json_t *item;
	size_t i;
	int r;

	if (list != json_is_array(value))
		return error_set(err, EINVAL, "--%s: %s", spec->name, list ? "has to be an array" : "must not be an array");
	if (!list)
		return set_one(o, spec, value, err);
	json_array_foreach(value, i, item) {
		r = set_one(o, spec, item, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int options_from_json(struct run_options *o, json_t *options, bool (*wanted)(const struct option_spec *spec),
			     struct error *err)
{
	const struct option_spec *spec;
	const char *name;
	json_t *value;
	int r;

	json_object_foreach(options, name, value) {
		spec = option_find(name);
		if (!spec || strcmp(spec->name, name) != 0)
			return error_set(err, EINVAL, "options: there is no option '%s'", name);
		if (wanted && !wanted(spec))
			return error_set(err, EINVAL, "options: '%s' has no meaning here", name);
		r = set_from_json(o, spec, value, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int command_from_json(struct run_options *o, const json_t *command, struct error *err)
{
	const json_t *item;
	size_t i;

	strv_clear(&o->argv);
	json_array_foreach(command, i, item) {
		char *text = text_from_json(item);

		if (!text)
			return error_set(err, EINVAL, "command: item %zu is not a string", i);
		if (strv_take(&o->argv, text) < 0)
			return error_errno(err, ENOMEM, "command");
	}
	return 0;
}

static int check_head(const json_t *document, struct error *err)
{
	const char *format = json_string_value(json_object_get(document, "format"));
	json_int_t version = json_integer_value(json_object_get(document, "version"));

	if (!format || strcmp(format, FORMAT_NAME) != 0)
		return error_set(err, EINVAL, "not a document of format '%s'", FORMAT_NAME);
	if (version != FORMAT_VERSION)
		return error_set(err, EINVAL, "version %" JSON_INTEGER_FORMAT " of the format is not known, only %d", version,
				 (int)FORMAT_VERSION);
	if (!json_is_object(json_object_get(document, "options")) || !json_is_array(json_object_get(document, "command")))
		return error_set(err, EINVAL, "'options' (an object) or 'command' (an array) is missing");
	return 0;
}

/* A fingerprint is compared with that of the document's own options, before those of a command line change them. */
static int check_fingerprint(const json_t *document, struct error *err)
{
	_cleanup_run_options_ struct run_options alone = { 0 };
	const char *wanted = json_string_value(json_object_get(document, "fingerprint"));
	char found[HASH_HEX_SIZE];
	int r;

	if (!wanted)
		return 0;
	r = run_options_init(&alone);
	if (r == 0)
		r = options_from_json(&alone, json_object_get(document, "options"), NULL, err);
	if (r == 0)
		r = command_from_json(&alone, json_object_get(document, "command"), err);
	if (r == 0)
		r = run_options_fingerprint(&alone, found);
	if (r < 0)
		return r;
	if (strcmp(wanted, found) != 0)
		return error_set(err, EINVAL, "fingerprint %.12s... does not fit the options in the document, which give "
					      "%.12s...: it was edited, or written by another version; remove the line to "
					      "use it all the same", wanted, found);
	return 0;
}

/* `name` is where the text comes from, for messages. */
static int load(const char *text, const char *name, json_t **ret, struct error *err)
{
	json_error_t where;

	*ret = json_loads(text, JSON_REJECT_DUPLICATES, &where);
	return *ret ? 0 : error_set(err, EINVAL, "%s:%d:%d: %s", name, where.line, where.column, where.text);
}

int run_options_from_json(struct run_options *o, const char *text, const char *name, struct error *err)
{
	_cleanup_json_ json_t *document = NULL;
	int r;

	r = load(text, name, &document, err);
	if (r < 0)
		return r;
	r = check_head(document, err);
	if (r == 0)
		r = check_fingerprint(document, err);
	if (r == 0)
		r = options_from_json(o, json_object_get(document, "options"), NULL, err);
	if (r == 0 && json_array_size(json_object_get(document, "command")) > 0)
		r = command_from_json(o, json_object_get(document, "command"), err);
	if (r < 0)
		error_prefix(err, "%s", name);
	return r;
}

int run_options_from_defaults(struct run_options *o, const char *text, const char *name,
			      bool (*wanted)(const struct option_spec *spec), struct error *err)
{
	_cleanup_json_ json_t *document = NULL;
	int r;

	r = load(text, name, &document, err);
	if (r < 0)
		return r;
	r = json_is_object(document) ? options_from_json(o, document, wanted, err)
				     : error_set(err, EINVAL, "an object of options was expected");
	if (r < 0)
		error_prefix(err, "%s", name);
	return r;
}
