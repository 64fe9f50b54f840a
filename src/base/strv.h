/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing list of strings that it owns. items[count] is NULL once anything was added, so items can be an argv. */
#ifndef HS_BASE_STRV_H
#define HS_BASE_STRV_H

#include <stdbool.h>
#include <stddef.h>

struct strv {
	char **items;
	size_t count;
};

/* 0 or -ENOMEM. strv_take() owns text from then on, also on failure; NULL counts as out of memory. */
int strv_add(struct strv *list, const char *text);
int strv_take(struct strv *list, char *text);
int strv_addf(struct strv *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Environments, lists of NAME=VALUE. Replaces the value of a name that is there. */
int strv_set_env(struct strv *list, const char *assignment);
/* The value, or NULL. */
const char *strv_get_env(const struct strv *list, const char *name);

bool strv_contains(const struct strv *list, const char *text);
void strv_clear(struct strv *list);
#define _cleanup_strv_ __attribute__((cleanup(strv_clear)))

#endif
