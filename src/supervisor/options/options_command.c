/* SPDX-License-Identifier: BSD-3-Clause */
/* Options as a command line that reproduces the run: see options.h. */
#include "supervisor/options/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

char *shell_quote(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
	size_t quotes = 0, n = 0;
	char *text;

	if (*word && word[strspn(word, plain)] == '\0')
		return strdup(word);
	for (const char *c = word; *c; c++)
		quotes += *c == '\'';
	text = malloc(strlen(word) + 3 * quotes + 3);
	if (!text)
		return NULL;
	text[n++] = '\'';
	for (const char *c = word; *c; c++) {
		text[n++] = *c;
		if (*c == '\'') {
			text[n++] = '\\';
			text[n++] = '\'';
			text[n++] = '\'';
		}
	}
	text[n++] = '\'';
	text[n] = '\0';
	return text;
}

static int append_word(char **line, const char *word)
{
	_cleanup_free_ char *quoted = shell_quote(word);
	char *longer;

	if (!quoted || asprintf(&longer, "%s%s%s", *line, **line ? " " : "", quoted) < 0)
		return -ENOMEM;
	free(*line);
	*line = longer;
	return 0;
}

static int append_option(char **line, const struct option_spec *spec, const struct strv *values)
{
	_cleanup_free_ char *word = NULL;
	int r = 0;

	for (size_t i = 0; i < values->count && r == 0; i++) {
		free(word);
		if (spec->kind == OPTION_FLAG)
			r = asprintf(&word, "--%s", spec->name);
		else
			r = asprintf(&word, "--%s=%s", spec->name, values->items[i]);
		if (r < 0) {
			word = NULL;
			return -ENOMEM;
		}
		r = append_word(line, word);
	}
	return r;
}

static int append_options(char **line, const struct run_options *o)
{
	const struct option_spec *specs;
	size_t n;
	int r = 0;

	specs = option_specs(&n);
	for (size_t i = 0; i < n && r == 0; i++) {
		_cleanup_strv_ struct strv values = { 0 };

		r = run_options_get(o, &specs[i], false, &values);
		if (r == 0)
			r = append_option(line, &specs[i], &values);
	}
	return r;
}

static int append_words(char **line, const struct strv *words)
{
	int r = 0;

	for (size_t i = 0; i < words->count && r == 0; i++)
		r = append_word(line, words->items[i]);
	return r;
}

char *run_options_command_line(const struct run_options *o)
{
	_cleanup_free_ char *line = strdup(o->front.count ? "" : "hermit run");
	int r;

	if (!line)
		return NULL;
	r = append_words(&line, &o->front);
	if (r == 0)
		r = append_options(&line, o);
	if (r == 0 && !o->front.count)
		r = append_word(&line, "--");
	if (r == 0)
		r = append_words(&line, o->front.count ? &o->back : &o->argv);
	return r < 0 ? NULL : take_ptr(line);
}
