/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of options, from their text forms and back: see options.h. The table is in options_table.c. */
#include "supervisor/options/options.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"

enum { MAX_FILE_BYTES = 16 << 20 };

static void *member(struct run_options *o, const struct option_spec *spec)
{
	return (char *)o + spec->offset;
}

static const void *member_const(const struct run_options *o, const struct option_spec *spec)
{
	return (const char *)o + spec->offset;
}

/* ---- from text ---- */

typedef int option_set_fn(void *to, const struct option_spec *spec, const char *text, struct error *err);

static int set_flag(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return error_set(err, EINVAL, "--%s: is true or false, not '%s'", spec->name, text);
	*(bool *)to = !text || !strcmp(text, "true");
	return 0;
}

static int set_with(void *to, const struct option_spec *spec, const char *text, int (*parse)(const char *, uint64_t *),
		    const char *what, struct error *err)
{
	uint64_t value;
	int r;

	r = parse(text, &value);
	if (r == -ERANGE)
		return error_set(err, ERANGE, "--%s: '%s' is out of range", spec->name, text);
	if (r < 0)
		return error_set(err, EINVAL, "--%s: '%s' is not %s", spec->name, text, what);
	if (spec->most && (value < spec->least || value > spec->most))
		return error_set(err, ERANGE, "--%s: '%s' is not between %llu and %llu", spec->name, text,
				 (unsigned long long)spec->least, (unsigned long long)spec->most);
	*(uint64_t *)to = value;
	return 0;
}

static int set_number(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_u64, "a number", err);
}

static int set_size(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_bytes, "a size such as 512M or 2GB", err);
}

static int set_duration(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_duration_ns, "a duration such as 1.5, 200ms or 2h", err);
}

static int set_time(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_time_ns, "a time such as 2026-01-01T00:00:00Z or @1767225600", err);
}

static int set_text(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	char *copy = strdup(text);

	if (!copy)
		return error_errno(err, ENOMEM, "--%s", spec->name);
	free(*(char **)to);
	*(char **)to = copy;
	return 0;
}

static void clear_file(struct option_file *file)
{
	free(file->path);
	free(file->text);
	*file = (struct option_file){ 0 };
}

static int set_file(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	struct option_file file = { 0 };
	int r;

	r = fd_read_file(AT_FDCWD, text, MAX_FILE_BYTES, &file.text, &file.len);
	if (r < 0)
		return error_errno(err, -r, "--%s: %s", spec->name, text);
	file.path = strdup(text);
	if (!file.path) {
		clear_file(&file);
		return error_errno(err, ENOMEM, "--%s", spec->name);
	}
	clear_file(to);
	*(struct option_file *)to = file;
	return 0;
}

static int set_choice(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	char known[128] = "";
	size_t n = 0;

	for (int i = 0; spec->choices[i]; i++) {
		if (!strcmp(spec->choices[i], text)) {
			*(int *)to = i;
			return 0;
		}
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "", spec->choices[i]);
	}
	return error_set(err, EINVAL, "--%s: there is no '%s'; known: %s", spec->name, text, known);
}

static int set_list(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return strv_add(to, text) < 0 ? error_errno(err, ENOMEM, "--%s", spec->name) : 0;
}

static int set_env(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	_cleanup_free_ char *assignment = NULL;
	const char *value;

	if (*text == '\0' || *text == '=')
		return error_set(err, EINVAL, "--%s: '%s' has no name", spec->name, text);
	if (strchr(text, '='))
		return strv_set_env(to, text) < 0 ? error_errno(err, ENOMEM, "--%s", spec->name) : 0;
	value = getenv(text);
	if (!value)
		return error_set(err, EINVAL, "--%s: '%s' is not set in the environment", spec->name, text);
	if (asprintf(&assignment, "%s=%s", text, value) < 0) {
		assignment = NULL;
		return error_errno(err, ENOMEM, "--%s", spec->name);
	}
	return strv_set_env(to, assignment) < 0 ? error_errno(err, ENOMEM, "--%s", spec->name) : 0;
}

static option_set_fn *const setters[] = {
	[OPTION_FLAG] = set_flag,   [OPTION_NUMBER] = set_number, [OPTION_SIZE] = set_size,
	[OPTION_DURATION] = set_duration, [OPTION_TIME] = set_time, [OPTION_TEXT] = set_text, [OPTION_FILE] = set_file,
	[OPTION_CHOICE] = set_choice, [OPTION_LIST] = set_list, [OPTION_ENV] = set_env,
};

int run_options_set(struct run_options *o, const struct option_spec *spec, const char *text, struct error *err)
{
	if (!text && spec->implied)
		text = spec->implied;
	if (!text && spec->kind != OPTION_FLAG)
		return error_set(err, EINVAL, "--%s: needs an argument", spec->name);
	return setters[spec->kind](member(o, spec), spec, text, err);
}

int run_options_init(struct run_options *o)
{
	const struct option_spec *specs;
	size_t n;
	int r;

	specs = option_specs(&n);
	*o = (struct run_options){ 0 };
	for (size_t i = 0; i < n; i++) {
		if (!specs[i].preset)
			continue;
		r = run_options_set(o, &specs[i], specs[i].preset, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

void run_options_clear(struct run_options *o)
{
	const struct option_spec *specs;
	size_t n;

	specs = option_specs(&n);
	for (size_t i = 0; i < n; i++) {
		if (specs[i].kind == OPTION_LIST || specs[i].kind == OPTION_ENV)
			strv_clear(member(o, &specs[i]));
		if (specs[i].kind == OPTION_TEXT)
			free(*(char **)member(o, &specs[i]));
		if (specs[i].kind == OPTION_FILE)
			clear_file(member(o, &specs[i]));
	}
	strv_clear(&o->argv);
	strv_clear(&o->front);
	strv_clear(&o->back);
	*o = (struct run_options){ 0 };
}

/* ---- to text ---- */

static int value_text(const void *from, const struct option_spec *spec, struct strv *values)
{
	const struct option_file *file = from;
	const struct strv *list = from;
	char buf[FORMAT_SIZE];
	int r = 0;

	switch (spec->kind) {
	case OPTION_FLAG:
		return strv_add(values, *(const bool *)from ? "true" : "false");
	case OPTION_NUMBER:
	case OPTION_SIZE:
		return strv_add(values, format_u64(*(const uint64_t *)from, buf));
	case OPTION_DURATION:
		return strv_add(values, format_duration_ns(*(const uint64_t *)from, buf));
	case OPTION_TIME:
		return strv_add(values, format_time_ns(*(const uint64_t *)from, buf));
	case OPTION_TEXT:
		return *(char *const *)from ? strv_add(values, *(char *const *)from) : 0;
	case OPTION_FILE:
		return file->path ? strv_add(values, file->path) : 0;
	case OPTION_CHOICE:
		return strv_add(values, spec->choices[*(const int *)from]);
	case OPTION_LIST:
	case OPTION_ENV:
		for (size_t i = 0; i < list->count && r == 0; i++)
			r = strv_add(values, list->items[i]);
		return r;
	}
	return -EINVAL;
}

/* Whether the option has the value that its preset gives. */
static int is_preset(const struct run_options *o, const struct option_spec *spec, bool *ret)
{
	_cleanup_strv_ struct strv now = { 0 }, preset = { 0 };
	struct run_options fresh = { 0 };
	int r = 0;

	if (spec->preset)
		r = run_options_set(&fresh, spec, spec->preset, NULL);
	if (r == 0)
		r = value_text(member_const(&fresh, spec), spec, &preset);
	if (r == 0)
		r = value_text(member_const(o, spec), spec, &now);
	if (r == 0)
		*ret = now.count == preset.count && (now.count == 0 || (now.count == 1 && !strcmp(now.items[0], preset.items[0])));
	run_options_clear(&fresh);
	return r;
}

int run_options_get(const struct run_options *o, const struct option_spec *spec, bool always, struct strv *values)
{
	bool preset = false;
	int r;

	if (!always) {
		r = is_preset(o, spec, &preset);
		if (r < 0)
			return r;
	}
	return preset ? 0 : value_text(member_const(o, spec), spec, values);
}

static int copy_file(struct option_file *to, const struct option_file *from)
{
	clear_file(to);
	if (!from->path)
		return 0;
	to->path = strdup(from->path);
	to->text = malloc(from->len + 1);
	to->len = from->len;
	if (!to->path || !to->text)
		return -ENOMEM;
	memcpy(to->text, from->text, from->len + 1);
	return 0;
}

static int copy_option(const struct run_options *o, struct run_options *ret, const struct option_spec *spec, struct error *err)
{
	struct strv values _cleanup_strv_ = { 0 };
	int r;

	if (spec->kind == OPTION_FILE)
		return copy_file(member(ret, spec), member_const(o, spec));
	r = run_options_get(o, spec, false, &values);
	for (size_t i = 0; i < values.count && r == 0; i++)
		r = run_options_set(ret, spec, values.items[i], err);
	return r;
}

int run_options_copy(const struct run_options *o, struct run_options *ret, struct error *err)
{
	const struct option_spec *specs;
	size_t n;
	int r;

	specs = option_specs(&n);
	r = run_options_init(ret);
	if (r < 0)
		return error_errno(err, -r, "options");
	for (size_t i = 0; i < n && r == 0; i++)
		r = copy_option(o, ret, &specs[i], err);
	for (size_t i = 0; i < o->argv.count && r == 0; i++)
		r = strv_add(&ret->argv, o->argv.items[i]);
	return r == -ENOMEM ? error_errno(err, ENOMEM, "options") : r;
}

/* ---- seeds ---- */

uint64_t run_options_seed(const struct run_options *o, const char *own)
{
	uint64_t value;

	return own && parse_u64(own, &value) == 0 ? value : o->seed;
}

int run_options_draw_seed(struct run_options *o, struct error *err)
{
	if (o->seed_from != SEED_FROM_SYSTEM)
		return 0;
	if (getrandom(&o->seed, sizeof(o->seed), 0) != (ssize_t)sizeof(o->seed))
		return error_errno(err, errno, "--seed-from=system");
	o->seed_from = SEED_FROM_ARGS;
	if (!o->quiet)
		log_error("the seed that was drawn: --seed=%" PRIu64, o->seed);
	return 0;
}
