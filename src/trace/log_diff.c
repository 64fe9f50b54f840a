/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing of event logs: see log_diff.h. Judging the kind is in log_diff_kind.c, showing it in log_diff_print.c. */
#include "trace/log_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "trace/log_diff_internal.h"

/* The last `size` lines that were equal. */
struct ring {
	char **lines;
	size_t size, count, next;
};

static void ring_deinit(struct ring *ring)
{
	for (size_t i = 0; i < ring->size; i++)
		free(ring->lines[i]);
	free(ring->lines);
}

static int ring_init(struct ring *ring, size_t size)
{
	ring->lines = size ? calloc(size, sizeof(*ring->lines)) : NULL;
	if (size && !ring->lines)
		return -ENOMEM;
	ring->size = size;
	return 0;
}

static int ring_add(struct ring *ring, const char *text, size_t len)
{
	char *copy;

	if (ring->size == 0)
		return 0;
	copy = realloc(ring->lines[ring->next], len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	ring->lines[ring->next] = copy;
	ring->next = (ring->next + 1) % ring->size;
	if (ring->count < ring->size)
		ring->count++;
	return 0;
}

/* Moves the lines, oldest first, into the result. */
static int ring_hand_over(struct ring *ring, struct log_diff_result *result)
{
	result->context = calloc(ring->count + 1, sizeof(*result->context));
	if (!result->context)
		return -ENOMEM;
	for (size_t i = 0; i < ring->count; i++) {
		char **line = &ring->lines[(ring->next + ring->size - ring->count + i) % ring->size];

		result->context[i] = take_ptr(*line);
	}
	result->n_context = ring->count;
	return 0;
}

/* The next line, waiting for it where that was asked for. LOG_READ_LINE, LOG_READ_END, -errno. */
static int next_line(struct log_reader *r, const struct log_diff_options *options, struct log_line *line, struct error *err)
{
	bool abandoned = false;
	int ret;

	for (;;) {
		ret = log_reader_next(r, line, err);
		if (ret != LOG_READ_SHORT)
			return ret;
		if (!options->wait || abandoned)
			return log_reader_short(r, err);
		abandoned = log_reader_is_abandoned(r);
		if (abandoned)
			continue; /* what its writer wrote before it closed */
		if (!options->wait(options->wait_arg))
			return error_set(err, ETIMEDOUT, "%s: no end record within the time allowed for following",
					 log_reader_name(r));
	}
}

static int read_header(struct log_reader *r, const struct log_diff_options *options, struct log_record *rec, struct error *err)
{
	struct log_line line;
	int ret;

	ret = next_line(r, options, &line, err);
	if (ret < 0)
		return ret;
	if (ret == LOG_READ_END)
		return log_reader_short(r, err);
	return log_reader_parse(r, &line, rec, err);
}

/* The first option of one header that the other does not have (arguments: argument of the program), NULL if there is none. */
static const char *lone_option(const struct log_record *rec, const struct log_record *other, bool arguments)
{
	for (size_t i = 0; i < rec->n_fields; i++) {
		bool found = false;

		if (strcmp(rec->fields[i].key, "options") != 0 || arguments == !strncmp(rec->fields[i].text, "--", 2))
			continue;
		for (size_t j = 0; j < other->n_fields && !found; j++)
			found = !strcmp(other->fields[j].key, "options") && !strcmp(other->fields[j].text, rec->fields[i].text);
		if (!found)
			return rec->fields[i].text;
	}
	return NULL;
}

static bool same_text(const struct log_record *a, const struct log_record *b, const char *key)
{
	const char *left = log_record_text(a, key), *right = log_record_text(b, key);

	return left && right ? !strcmp(left, right) : left == right;
}

/* Logs of different configurations differ by design: that is no finding. */
static int check_headers(const struct log_record *a, const struct log_record *b, const struct log_diff_options *options,
			 struct error *err)
{
	const char *left = lone_option(a, b, false), *right = lone_option(b, a, false);
	const char *none = "no such option";

	if (!options->ignore_bytes && !same_text(a, b, "bytes"))
		return error_set(err, EINVAL, "only one of the logs has hashes of the bytes moved: compare with --ignore-bytes");
	if (options->any_config)
		return 0;
	if (!same_text(a, b, "tool"))
		return error_set(err, EINVAL, "the logs were written by different versions: %s and %s; --any-config compares them all the same",
				 log_record_text(a, "tool") ?: "(unknown)", log_record_text(b, "tool") ?: "(unknown)");
	if (!left && !right) {
		left = lone_option(a, b, true);
		right = lone_option(b, a, true);
		none = left || right ? "no such argument" : none;
	}
	if (!same_text(a, b, "config") || left || right)
		return error_set(err, EINVAL,
				 "the logs are of different configurations: %s in %s, %s in %s; --any-config compares them all the same",
				 left ?: none, options->labels[0], right ?: none, options->labels[1]);
	return 0;
}

/* Reads on to the next record that the filter takes, into side->rec. 1, 0 at the end, -errno. */
static int next_record(struct diff *d, int which, struct log_line *line, struct error *err)
{
	struct log_diff_side *side = &d->result->side[which];
	int ret;

	for (;;) {
		ret = next_line(d->readers[which], d->options, line, err);
		if (ret != LOG_READ_LINE) {
			side->present = false;
			side->line = log_reader_line(d->readers[which]) + 1;
			return ret;
		}
		if (d->raw)
			return 1;
		ret = log_reader_parse(d->readers[which], line, &side->rec, err);
		if (ret < 0)
			return ret;
		if (log_filter_matches(&d->options->filter, &side->rec))
			return 1;
	}
}

/* 1: the two records are equal as far as was asked; 0: they are not, and both are parsed. */
static int compare_lines(struct diff *d, const struct log_line lines[2], struct error *err)
{
	int ret;

	if (lines[0].len == lines[1].len && !memcmp(lines[0].text, lines[1].text, lines[0].len))
		return 1;
	for (int i = 0; i < 2 && d->raw; i++) {
		ret = log_reader_parse(d->readers[i], &lines[i], &d->result->side[i].rec, err);
		if (ret < 0)
			return ret;
	}
	return diff_compare(d->options, &d->result->side[0].rec, &d->result->side[1].rec, NULL, 0) == 0;
}

/* 1: difference found, sides are set; 0: equal to the end. */
static int find_difference(struct diff *d, struct ring *ring, struct error *err)
{
	struct log_line lines[2];
	int got[2];
	int ret;

	/* The end record is the last one. With a filter that drops it the last event counts. */
	for (;; d->result->compared++) {
		for (int i = 0; i < 2; i++) {
			got[i] = next_record(d, i, &lines[i], err);
			if (got[i] < 0)
				return got[i];
			d->result->side[i].present = got[i];
			if (got[i])
				d->result->side[i].line = lines[i].number;
		}
		if (!got[0] && !got[1]) {
			if (!d->raw && d->result->side[0].rec.kind != LOG_FINISH)
				d->result->events = d->result->compared;
			return 0;
		}
		d->result->events = d->result->compared;
		if (!got[0] || !got[1])
			break;
		ret = compare_lines(d, lines, err);
		if (ret <= 0)
			return ret < 0 ? ret : 1;
		ret = ring_add(ring, lines[0].text, lines[0].len);
		if (ret < 0)
			return error_errno(err, ENOMEM, "comparing logs");
	}
	for (int i = 0; i < 2 && d->raw; i++) {
		ret = got[i] ? log_reader_parse(d->readers[i], &lines[i], &d->result->side[i].rec, err) : 0;
		if (ret < 0)
			return ret;
	}
	return 1;
}

/* Reads the records behind the difference, as far as they are there. What goes wrong is a note, not a failure. */
static void read_window(struct diff *d, int which)
{
	struct log_diff_side *side = &d->result->side[which];
	struct error err = { 0 };
	struct log_line line;
	uint64_t stop = side->line + LOG_CHECK_LINES + LOG_DIFF_WINDOW;
	int ret = LOG_READ_LINE;

	while (ret == LOG_READ_LINE && log_reader_line(d->readers[which]) < stop) {
		ret = log_reader_next(d->readers[which], &line, &err);
		if (ret != LOG_READ_LINE || d->n_window[which] == LOG_DIFF_WINDOW)
			continue;
		ret = log_reader_parse(d->readers[which], &line, &d->window[which][d->n_window[which]], &err);
		if (ret < 0)
			break;
		ret = LOG_READ_LINE;
		d->n_window[which] += log_filter_matches(&d->options->filter, &d->window[which][d->n_window[which]]);
	}
	if (ret == LOG_READ_SHORT && !d->options->wait)
		ret = log_reader_short(d->readers[which], &err);
	if (ret < 0)
		(void)snprintf(side->note, sizeof(side->note), "%.*s", (int)sizeof(side->note) - 1, err.text);
	else if (log_reader_damage(d->readers[which]))
		(void)snprintf(side->note, sizeof(side->note), "%s", log_reader_damage(d->readers[which]));
}

static void diff_deinit(struct diff *d)
{
	for (int i = 0; i < 2 && d->window[i]; i++) {
		for (size_t j = 0; j < LOG_DIFF_WINDOW; j++)
			log_record_deinit(&d->window[i][j]);
		free(d->window[i]);
	}
}

static int judge(struct diff *d, struct error *err)
{
	for (int i = 0; i < 2; i++) {
		d->window[i] = calloc(LOG_DIFF_WINDOW, sizeof(*d->window[i]));
		if (!d->window[i])
			return error_errno(err, ENOMEM, "comparing logs");
	}
	for (int i = 0; i < 2; i++)
		if (d->result->side[i].present)
			read_window(d, i);
	diff_judge(d);
	return 0;
}

int log_diff(struct log_reader *a, struct log_reader *b, const struct log_diff_options *options, struct log_diff_result *ret,
	     struct error *err)
{
	_cleanup_(ring_deinit) struct ring ring = { 0 };
	_cleanup_(diff_deinit) struct diff d = { .readers = { a, b }, .options = options, .result = ret };
	int r;

	*ret = (struct log_diff_result){ 0 };
	d.raw = log_filter_is_empty(&options->filter);
	ret->narrowed = !d.raw || options->ignore_time || options->ignore_turn || options->ignore_bytes;
	for (int i = 0; i < 2; i++) {
		r = read_header(d.readers[i], options, &ret->side[i].rec, err);
		if (r < 0)
			return r;
	}
	r = check_headers(&ret->side[0].rec, &ret->side[1].rec, options, err);
	if (r < 0)
		return r;
	r = ring_init(&ring, options->context < LOG_DIFF_CONTEXT_MAX ? options->context : LOG_DIFF_CONTEXT_MAX);
	if (r < 0)
		return error_errno(err, ENOMEM, "comparing logs");
	r = find_difference(&d, &ring, err);
	if (r <= 0)
		return r;
	if (ring_hand_over(&ring, ret) < 0)
		return error_errno(err, ENOMEM, "comparing logs");
	return judge(&d, err);
}

void log_diff_result_deinit(struct log_diff_result *result)
{
	for (size_t i = 0; i < result->n_context; i++)
		free(result->context[i]);
	free(result->context);
	result->context = NULL;
	result->n_context = 0;
	for (int i = 0; i < 2; i++)
		log_record_deinit(&result->side[i].rec);
}
