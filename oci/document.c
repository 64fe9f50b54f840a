/* SPDX-License-Identifier: BSD-3-Clause */
/* See document.h. */
#include "oci/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int document_set(json_t *object, const char *key, json_t *value)
{
	if (!object || !value) {
		json_decref(value);
		return -ENOMEM;
	}
	if (json_object_set_new(object, key, value) == 0)
		return 0;
	/* The key is a name of an annotation at worst. */
	return -EILSEQ;
}

/* jansson says NULL for both reasons; a copy without the check tells them apart. */
static int set_text(json_t *object, const char *key, const char *text)
{
	json_t *value = json_string(text);

	if (!value) {
		value = json_string_nocheck(text);
		json_decref(value);
		return value ? -EILSEQ : -ENOMEM;
	}
	return document_set(object, key, value);
}

int document_set_string(json_t *object, const char *key, const char *value)
{
	return set_text(object, key, value ? value : "");
}

int document_set_strings(json_t *object, const char *key, const struct oci_strings *strings)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < strings->count; i++) {
		if (json_array_append_new(list, json_string(strings->items[i])) < 0) {
			json_decref(list);
			return -EILSEQ;
		}
	}
	return document_set(object, key, list);
}

int document_set_pairs(json_t *object, const char *key, const struct oci_pairs *pairs)
{
	json_t *map = json_object();
	size_t i;
	int r;

	for (i = 0; map && i < pairs->count; i++) {
		r = set_text(map, pairs->items[i].key, pairs->items[i].value);
		if (r < 0) {
			json_decref(map);
			return r;
		}
	}
	return document_set(object, key, map);
}

int document_set_names(json_t *object, const char *key, const struct jread_name *names)
{
	json_t *list = json_array();

	for (; list && names->name; names++) {
		if (json_array_append_new(list, json_string(names->name)) < 0) {
			json_decref(list);
			return -ENOMEM;
		}
	}
	return document_set(object, key, list);
}

int document_format(const json_t *root, size_t flags, char **ret_text)
{
	_cleanup_free_ char *text = json_dumps(root, flags);

	if (!text || asprintf(ret_text, "%s\n", text) < 0)
		return -ENOMEM;
	return 0;
}
