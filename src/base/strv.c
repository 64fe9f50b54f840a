/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of strings: see strv.h. */
#include "base/strv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int strv_take(struct strv *list, char *text)
{
	char **items;

	if (!text)
		return -ENOMEM;
	items = reallocarray(list->items, list->count + 2, sizeof(*items));
	if (!items) {
		free(text);
		return -ENOMEM;
	}
	items[list->count++] = text;
	items[list->count] = NULL;
	list->items = items;
	return 0;
}

int strv_add(struct strv *list, const char *text)
{
	return strv_take(list, strdup(text));
}

int strv_addf(struct strv *list, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	return n < 0 ? -ENOMEM : strv_take(list, text);
}

/* The index of NAME=..., or count. */
static size_t find_env(const struct strv *list, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (!strncmp(list->items[i], name, len) && list->items[i][len] == '=')
			break;
	return i;
}

int strv_set_env(struct strv *list, const char *assignment)
{
	size_t at = find_env(list, assignment, strcspn(assignment, "="));
	char *copy;

	if (at == list->count)
		return strv_add(list, assignment);
	copy = strdup(assignment);
	if (!copy)
		return -ENOMEM;
	free(list->items[at]);
	list->items[at] = copy;
	return 0;
}

const char *strv_get_env(const struct strv *list, const char *name)
{
	size_t len = strlen(name), at = find_env(list, name, len);

	return at == list->count ? NULL : list->items[at] + len + 1;
}

bool strv_contains(const struct strv *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i], text))
			return true;
	return false;
}

void strv_clear(struct strv *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct strv){ 0 };
}
