/* SPDX-License-Identifier: BSD-3-Clause */
/* Printing of records: see log_print.h. */
#include "trace/log_print.h"

#include <string.h>

#include "base/cleanup.h"
#include "trace/log_text.h"

#define DIM     "\033[2m"
#define RED     "\033[31m"
#define GREEN   "\033[32m"
#define YELLOW  "\033[33m"
#define MAGENTA "\033[35m"
#define RESET   "\033[0m"

static const char *const kind_colors[LOG_KINDS] = {
	[LOG_SIGNAL] = YELLOW, [LOG_BIRTH] = GREEN,  [LOG_EXEC] = GREEN,	[LOG_EXIT] = MAGENTA,     [LOG_STOP] = YELLOW,
	[LOG_CONT] = YELLOW,   [LOG_CHOICE] = DIM,   [LOG_TRAP] = YELLOW,      [LOG_OUTSIDE] = RED,
	[LOG_PREEMPT] = YELLOW, [LOG_FAULT] = RED, [LOG_UNCONTROLLED] = RED, [LOG_FINISH] = MAGENTA,
};

/* What the columns in front of the event, or the event's own form, have said already. */
static const char *const said[] = { "turn", "time", "thread", "kind", "call", "args", "result", "outcome", "lines", "sum" };

static bool is_said(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		if (!strcmp(key, said[i]))
			return true;
	return false;
}

static void print_colored(FILE *f, bool color, const char *sequence, const char *text)
{
	if (color && sequence)
		(void)fputs(sequence, f);
	log_text_print(f, text);
	if (color && sequence)
		(void)fputs(RESET, f);
}

static void print_args(FILE *f, const struct log_record *rec)
{
	const char *separator = "";

	(void)fputc('(', f);
	for (size_t i = 0; i < rec->n_fields; i++) {
		if (strcmp(rec->fields[i].key, "args") != 0)
			continue;
		(void)fputs(separator, f);
		log_text_print(f, rec->fields[i].text);
		separator = ", ";
	}
	(void)fputc(')', f);
}

static void print_result(FILE *f, const struct log_record *rec, bool color)
{
	const char *result = log_record_text(rec, "result");
	const char *outcome = log_record_text(rec, "outcome");

	if (result) {
		(void)fputs(" = ", f);
		print_colored(f, color, result[0] == '-' ? RED : NULL, result);
	}
	if (outcome) {
		(void)fputs(" ... ", f);
		print_colored(f, color, DIM, outcome);
	}
}

static void print_rest(FILE *f, const struct log_record *rec)
{
	const char *last = NULL;

	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct log_field *field = &rec->fields[i];

		if (is_said(field->key))
			continue;
		if (field->index > 0 && last && !strcmp(last, field->key)) {
			(void)fputc(',', f);
		} else {
			(void)fputc(' ', f);
			log_text_print(f, field->key);
			(void)fputc('=', f);
		}
		log_text_print(f, field->text);
		last = field->key;
	}
}

void log_print_event(FILE *f, const struct log_record *rec, bool color)
{
	if (rec->kind == LOG_CALL) {
		print_colored(f, color, NULL, rec->call);
		print_args(f, rec);
	} else if (rec->kind == LOG_RETURN) {
		(void)fputs("... ", f);
		print_colored(f, color, NULL, rec->call);
	} else {
		print_colored(f, color, kind_colors[rec->kind], log_kind_name(rec->kind));
	}
	print_result(f, rec, color);
	print_rest(f, rec);
}

void log_print_title(FILE *f, bool color)
{
	(void)fprintf(f, "%s%8s %16s %7s  event%s\n", color ? DIM : "", "turn", "time/s", "thread", color ? RESET : "");
}

/* The same colour for the same thread in every log. */
static void print_thread(FILE *f, int64_t thread, bool color)
{
	static const int palette[] = { 36, 32, 33, 35, 34, 96, 92, 93, 95, 94 };

	if (color)
		(void)fprintf(f, " \033[%dm%7lld\033[0m", palette[(uint64_t)thread % ARRAY_SIZE(palette)], (long long)thread);
	else
		(void)fprintf(f, " %7lld", (long long)thread);
}

void log_print_record(FILE *f, const struct log_record *rec, bool color)
{
	(void)fprintf(f, "%8llu %6llu.%09llu", (unsigned long long)rec->turn, (unsigned long long)(rec->time_ns / 1000000000),
		      (unsigned long long)(rec->time_ns % 1000000000));
	print_thread(f, rec->thread, color);
	(void)fputs("  ", f);
	log_print_event(f, rec, color);
	(void)fputc('\n', f);
}

static int print_line(struct log_reader *r, const struct log_line *line, const struct log_print_options *options,
		      struct log_record *rec, FILE *f, uint64_t *records, struct error *err)
{
	int ret;

	ret = log_reader_parse(r, line, rec, err);
	if (ret < 0)
		return ret;
	if (rec->kind != LOG_HEADER && !log_filter_matches(&options->filter, rec))
		return 0;
	*records += rec->kind != LOG_HEADER;
	if (!options->json && rec->kind != LOG_HEADER)
		log_print_record(f, rec, options->color);
	if (options->json) {
		(void)fwrite(line->text, 1, line->len, f);
		(void)fputc('\n', f);
	}
	return 0;
}

int log_print(struct log_reader *r, const struct log_print_options *options, FILE *f, uint64_t *ret_records, struct error *err)
{
	_cleanup_(log_record_deinit) struct log_record rec = { 0 };
	struct log_line line;
	int ret;

	*ret_records = 0;
	if (!options->json)
		log_print_title(f, options->color);
	while (!ferror(f)) {
		ret = log_reader_next(r, &line, err);
		if (ret == LOG_READ_SHORT)
			return log_reader_short(r, err);
		if (ret != LOG_READ_LINE)
			return ret;
		ret = print_line(r, &line, options, &rec, f, ret_records, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}
