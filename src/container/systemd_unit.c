/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of units, and lists of properties: see systemd_unit.h. */
#include "container/systemd_unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { UNIT_NAME_MAX = 255 };

static bool has_ending(const char *text, const char *ending)
{
	size_t n = strlen(text), m = strlen(ending);

	return n > m && !strcmp(text + n - m, ending);
}

/* unit_name_is_valid() of systemd: of what a name may consist. */
static bool may_be_unit(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";

	return name[strspn(name, good)] == '\0' && strlen(name) <= UNIT_NAME_MAX;
}

static int check(const struct systemd_unit *unit, struct error *err)
{
	if (!unit->slice || !unit->name)
		return error_set(err, ENOMEM, "out of memory");
	if (!has_ending(unit->slice, ".slice") || !may_be_unit(unit->slice))
		return error_set(err, EINVAL, "linux.cgroupsPath: '%s' is not the name of a slice of systemd", unit->slice);
	if (!may_be_unit(unit->name))
		return error_set(err, EINVAL, "linux.cgroupsPath: '%s' is not the name of a unit of systemd", unit->name);
	return 0;
}

static char *scope_name(const char *prefix, const char *name)
{
	char *text = NULL;

	return asprintf(&text, "%s%s%s.scope", prefix, *prefix ? "-" : "", name) < 0 ? NULL : text;
}

int systemd_unit_of_path(const char *cgroups_path, const char *id, bool user, struct systemd_unit *ret, struct error *err)
{
	const char *slice = user ? "user.slice" : "system.slice", *prefix = "hermit", *name = id;
	_cleanup_free_ char *text = cgroups_path && *cgroups_path ? strdup(cgroups_path) : NULL;
	char *rest = text, *given[3] = { NULL };
	size_t n = 0;
	int r;

	while (rest && n < ARRAY_SIZE(given))
		given[n++] = strsep(&rest, ":");
	if (text && (n != ARRAY_SIZE(given) || rest))
		return error_set(err, EINVAL,
				 "linux.cgroupsPath: expected cgroupsPath to be of format \"slice:prefix:name\" for systemd cgroups, got \"%s\" instead",
				 cgroups_path);
	if (text) {
		slice = *given[0] ? given[0] : slice;
		prefix = given[1];
		name = *given[2] ? given[2] : name;
	}
	if (has_ending(name, ".slice"))
		return error_set(err, EINVAL, "linux.cgroupsPath: '%s' is a slice: processes are in scopes", name);
	*ret = (struct systemd_unit){ .slice = strdup(slice), .name = scope_name(prefix, name) };
	r = check(ret, err);
	if (r < 0)
		systemd_unit_clear(ret);
	return r;
}

void systemd_unit_clear(struct systemd_unit *unit)
{
	free(unit->slice);
	free(unit->name);
	*unit = (struct systemd_unit){ 0 };
}

/* ---- properties ---- */

void systemd_add(struct systemd_properties *list, const char *name, const char *type)
{
	struct systemd_property *grown = list->failed ? NULL : reallocarray(list->items, list->n + 1, sizeof(*grown));

	if (grown) {
		list->items = grown;
		grown[list->n] = (struct systemd_property){ .name = strdup(name) };
		(void)snprintf(grown[list->n].type, sizeof(grown->type), "%s", type);
		list->failed = !grown[list->n++].name;
	} else {
		list->failed = true;
	}
}

void systemd_put_number(struct systemd_properties *list, uint64_t number)
{
	struct systemd_property *last = list->failed ? NULL : &list->items[list->n - 1];
	uint64_t *grown = last ? reallocarray(last->numbers, last->n_numbers + 1, sizeof(*grown)) : NULL;

	if (grown) {
		last->numbers = grown;
		grown[last->n_numbers++] = number;
	} else {
		list->failed = true;
	}
}

void systemd_put_string(struct systemd_properties *list, const char *text)
{
	if (!list->failed && strv_add(&list->items[list->n - 1].strings, text) < 0)
		list->failed = true;
}

void systemd_add_number(struct systemd_properties *list, const char *name, const char *type, uint64_t number)
{
	systemd_add(list, name, type);
	systemd_put_number(list, number);
}

void systemd_add_string(struct systemd_properties *list, const char *name, const char *text)
{
	systemd_add(list, name, "s");
	systemd_put_string(list, text);
}

void systemd_properties_clear(struct systemd_properties *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].name);
		strv_clear(&list->items[i].strings);
		free(list->items[i].numbers);
	}
	free(list->items);
	*list = (struct systemd_properties){ 0 };
}
