/* SPDX-License-Identifier: BSD-3-Clause */
/* Showing a difference: see log_diff.h. */
#include <string.h>

#include "base/cleanup.h"
#include "trace/log_diff.h"
#include "trace/log_print.h"
#include "trace/log_text.h"

static void print_context(FILE *f, const struct log_diff_result *result, bool color)
{
	_cleanup_(log_record_deinit) struct log_record rec = { 0 };

	if (result->n_context > 0)
		(void)fprintf(f, "equal before (%llu in all):\n", (unsigned long long)result->compared);
	for (size_t i = 0; i < result->n_context; i++) {
		if (log_record_parse(&rec, result->context[i], strlen(result->context[i]), NULL) < 0)
			continue;
		(void)fputs("    ", f);
		log_print_record(f, &rec, color);
	}
}

static void print_side(FILE *f, const struct log_diff_side *side, const char *label, char sign, bool color)
{
	if (color)
		(void)fputs(sign == '-' ? "\033[31m" : "\033[32m", f);
	(void)fprintf(f, "  %c ", sign);
	if (side->present)
		log_print_record(f, &side->rec, false);
	else
		(void)fprintf(f, "(%s ends)\n", label);
	if (color)
		(void)fputs("\033[0m", f);
}

void log_diff_print(FILE *f, const struct log_diff_result *result, const struct log_diff_options *options, bool color)
{
	if (result->kind == LOG_DIFF_NONE)
		return;
	(void)fprintf(f, "first difference (%s): %s\n", log_difference_name(result->kind), result->sentence);
	if (result->fields[0])
		(void)fprintf(f, "fields that differ: %s\n", result->fields);
	print_context(f, result, color);
	(void)fprintf(f, "line %llu of %s (-), line %llu of %s (+):\n", (unsigned long long)result->side[0].line,
		      options->labels[0], (unsigned long long)result->side[1].line, options->labels[1]);
	print_side(f, &result->side[0], options->labels[0], '-', color);
	print_side(f, &result->side[1], options->labels[1], '+', color);
	for (int i = 0; i < 2; i++)
		if (result->side[i].note[0])
			(void)fprintf(f, "note on %s: %s\n", options->labels[i], result->side[i].note);
}

static void json_key(FILE *f, const char *key)
{
	(void)fputc(',', f);
	log_text_json(f, key);
	(void)fputc(':', f);
}

/* A record again, as it was in the log. */
static void json_record(FILE *f, const struct log_record *rec)
{
	(void)fputc('{', f);
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct log_field *field = &rec->fields[i];
		bool first = field->index <= 0, array = field->index >= 0;
		bool last = !array || i + 1 == rec->n_fields || rec->fields[i + 1].index <= 0;

		if (i > 0)
			(void)fputc(',', f);
		if (first) {
			log_text_json(f, field->key);
			(void)fputs(array ? ":[" : ":", f);
		}
		if (field->number)
			(void)fputs(field->text, f);
		else
			log_text_json(f, field->text);
		if (array && last)
			(void)fputc(']', f);
	}
	(void)fputc('}', f);
}

static void json_side(FILE *f, const struct log_diff_side *side, const char *key)
{
	json_key(f, key);
	(void)fprintf(f, "{\"line\":%llu,\"record\":", (unsigned long long)side->line);
	if (side->present)
		json_record(f, &side->rec);
	else
		(void)fputs("null", f);
	if (side->note[0]) {
		json_key(f, "note");
		log_text_json(f, side->note);
	}
	(void)fputc('}', f);
}

void log_diff_json(FILE *f, const struct log_diff_result *result)
{
	(void)fprintf(f, "{\"equal\":%s,\"narrowed\":%s,\"compared\":%llu,\"kind\":\"%s\"",
		      result->kind == LOG_DIFF_NONE ? "true" : "false", result->narrowed ? "true" : "false",
		      (unsigned long long)result->compared, log_difference_name(result->kind));
	if (result->kind != LOG_DIFF_NONE) {
		json_key(f, "sentence");
		log_text_json(f, result->sentence);
		json_key(f, "fields");
		log_text_json(f, result->fields);
		json_side(f, &result->side[0], "a");
		json_side(f, &result->side[1], "b");
		(void)fputs(",\"context\":[", f);
		for (size_t i = 0; i < result->n_context; i++)
			(void)fprintf(f, "%s%s", i ? "," : "", result->context[i]);
		(void)fputc(']', f);
	}
	(void)fputc('}', f);
}
