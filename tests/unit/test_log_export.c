/* SPDX-License-Identifier: BSD-3-Clause */
/* Showing logs: text with filters, the Perfetto trace, the data of the timeline page. */
#include "log_sample.h"

#include <errno.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "trace/log_export.h"
#include "trace/log_print.h"

static void event(struct sample_log *log, enum log_kind kind, uint64_t time_ns, int64_t thread)
{
	log_writer_begin(log->writer, kind, ++log->turn, thread, time_ns);
}

static void call(struct sample_log *log, uint64_t time_ns, int64_t thread, const char *name, const char *outcome, const char *result)
{
	event(log, outcome || result ? LOG_CALL : LOG_RETURN, time_ns, thread);
	log_writer_text(log->writer, "call", name);
	if (outcome)
		log_writer_text(log->writer, "outcome", outcome);
	if (result)
		log_writer_text(log->writer, "result", result);
	cr_assert_eq(log_writer_commit(log->writer), 0);
}

/*
 * Thread 1 makes thread 2 and blocks in a futex call at 3000; thread 2 runs, wakes it at 6000 and ends at 8000; thread 1
 * runs again from 8000 and ends at 9000.
 */
static int two_threads(void)
{
	struct sample_log log;

	sample_open(&log, false, NULL);
	call(&log, 1000, 1, "clone", NULL, "2");
	event(&log, LOG_BIRTH, 2000, 1);
	log_writer_number(log.writer, "child", 2);
	log_writer_number(log.writer, "process", 1);
	cr_assert_eq(log_writer_commit(log.writer), 0);
	call(&log, 3000, 1, "futex", "blocked", NULL);
	event(&log, LOG_CHOICE, 4000, 2);
	cr_assert_eq(log_writer_commit(log.writer), 0);
	call(&log, 5000, 2, "write</script>", NULL, "1");
	call(&log, 6000, 2, "futex", NULL, "1");
	event(&log, LOG_EXIT, 8000, 2);
	log_writer_text(log.writer, "status", "0");
	cr_assert_eq(log_writer_commit(log.writer), 0);
	event(&log, LOG_CHOICE, 8000, 1);
	log_writer_number(log.writer, "by", 2);
	log_writer_unsigned(log.writer, "woken_at", 6000);
	log_writer_text(log.writer, "why", "futex");
	cr_assert_eq(log_writer_commit(log.writer), 0);
	event(&log, LOG_RETURN, 8500, 1);
	log_writer_text(log.writer, "call", "futex");
	log_writer_text(log.writer, "result", "0");
	cr_assert_eq(log_writer_commit(log.writer), 0);
	event(&log, LOG_EXIT, 9000, 1);
	cr_assert_eq(log_writer_commit(log.writer), 0);
	log.time_ns = 9000;
	return sample_close(&log);
}

static char *print(const struct log_print_options *options, uint64_t *ret_records)
{
	struct log_reader *r = sample_reader(two_threads(), "LOG");
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	cr_assert_eq(log_print(r, options, f, ret_records, NULL), 0);
	(void)fclose(f);
	(void)log_reader_free(r);
	return text;
}

Test(log_print, one_line_each)
{
	struct log_print_options options = { .color = false };
	_cleanup_free_ char *text = NULL;
	uint64_t records;

	text = print(&options, &records);
	cr_assert_eq(records, 11);
	cr_assert_str_eq(text, "    turn           time/s  thread  event\n"
			       "       1      0.000001000       1  clone() = 2\n"
			       "       2      0.000002000       1  birth child=2 process=1\n"
			       "       3      0.000003000       1  futex() ... blocked\n"
			       "       4      0.000004000       2  choice\n"
			       "       5      0.000005000       2  write</script>() = 1\n"
			       "       6      0.000006000       2  futex() = 1\n"
			       "       7      0.000008000       2  exit status=0\n"
			       "       8      0.000008000       1  choice by=2 woken_at=6000 why=futex\n"
			       "       9      0.000008500       1  ... futex = 0\n"
			       "      10      0.000009000       1  exit\n"
			       "      11      0.000009000       0  end status=0\n");
}

struct filter_case {
	const char *thread, *call, *kind, *skip, *turns;
	uint64_t records;
};

Test(log_print, filters)
{
	static const struct filter_case cases[] = {
		{ .thread = "2", .records = 4 },
		{ .call = "futex", .records = 3 },
		{ .kind = "choice", .records = 2 },
		{ .skip = "choice", .records = 9 },
		{ .turns = "3..5", .records = 3 },
		{ .turns = "..2", .records = 2 },
		{ .turns = "9..", .records = 3 },
		{ .turns = "4", .records = 1 },
		{ .thread = "1", .call = "futex", .kind = "return", .records = 1 },
		{ .call = "none", .records = 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct log_print_options options = { .json = i % 2 };
		const struct filter_case *c = &cases[i];
		uint64_t records;

		cr_assert(!c->thread || log_filter_add_thread(&options.filter, c->thread, NULL) == 0);
		cr_assert(!c->call || log_filter_add_call(&options.filter, c->call, NULL) == 0);
		cr_assert(!c->kind || log_filter_add_kind(&options.filter, c->kind, false, NULL) == 0);
		cr_assert(!c->skip || log_filter_add_kind(&options.filter, c->skip, true, NULL) == 0);
		cr_assert(!c->turns || log_filter_set_turns(&options.filter, c->turns, NULL) == 0);
		free(print(&options, &records));
		cr_assert_eq(records, c->records, "case %zu: %llu", i, (unsigned long long)records);
	}
}

Test(log_print, wrong_filters_are_refused)
{
	static const char *const turns[] = { "", "x", "5..3", "1...2", "-1", "99999999999999999999", "1..2..3" };
	struct log_filter filter = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(turns); i++)
		cr_assert_eq(log_filter_set_turns(&filter, turns[i], NULL), -EINVAL, "'%s'", turns[i]);
	cr_assert_eq(log_filter_add_thread(&filter, "1x", NULL), -EINVAL);
	cr_assert_eq(log_filter_add_kind(&filter, "header", false, NULL), -EINVAL);
	cr_assert_eq(log_filter_add_kind(&filter, "party", false, NULL), -EINVAL);
	cr_assert(log_filter_is_empty(&filter));
}

static json_t *export_perfetto(void)
{
	struct log_reader *r = sample_reader(two_threads(), "LOG");
	struct log_export_options options = { 0 };
	_cleanup_free_ char *text = NULL;
	json_error_t error;
	json_t *root;
	size_t size;
	bool cut;
	FILE *f = open_memstream(&text, &size);

	cr_assert_eq(log_export_perfetto(r, &options, f, &cut, NULL), 0);
	(void)fclose(f);
	(void)log_reader_free(r);
	root = json_loads(text, 0, &error);
	cr_assert_not_null(root, "%s: %s", error.text, text);
	cr_assert_not(cut);
	return root;
}

/* The count of trace events with this phase and name, and the first of them. */
static size_t find(json_t *root, const char *phase, const char *name, json_t **ret)
{
	size_t i, n = 0;
	json_t *e;

	json_array_foreach(json_object_get(root, "traceEvents"), i, e) {
		if (strcmp(json_string_value(json_object_get(e, "ph")), phase) != 0 ||
		    strcmp(json_string_value(json_object_get(e, "name")), name) != 0)
			continue;
		if (n++ == 0)
			*ret = e;
	}
	return n;
}

static void assert_span(json_t *e, int thread, double from, double length)
{
	cr_assert_eq(json_integer_value(json_object_get(e, "tid")), thread);
	cr_assert_float_eq(json_number_value(json_object_get(e, "ts")), from, 1e-9);
	cr_assert_float_eq(json_number_value(json_object_get(e, "dur")), length, 1e-9);
}

Test(log_export, perfetto_states)
{
	json_t *root = export_perfetto(), *e = NULL;

	cr_assert_eq(find(root, "X", "running", &e), 3);
	assert_span(e, 1, 1, 2);
	cr_assert_eq(find(root, "X", "blocked in futex", &e), 1);
	assert_span(e, 1, 3, 3);
	cr_assert_eq(find(root, "X", "ready", &e), 2);
	assert_span(e, 2, 2, 2);
	cr_assert_eq(find(root, "X", "write</script>", &e), 1);
	assert_span(e, 2, 5, 1);
	cr_assert_eq(json_integer_value(json_object_get(e, "pid")), 1);
	json_decref(root);
}

Test(log_export, perfetto_arrows)
{
	json_t *root = export_perfetto(), *s = NULL, *f = NULL;

	cr_assert(find(root, "s", "futex", &s) == 1 && find(root, "f", "futex", &f) == 1);
	cr_assert_eq(json_integer_value(json_object_get(s, "tid")), 2);
	cr_assert_float_eq(json_number_value(json_object_get(s, "ts")), 6, 1e-9);
	cr_assert_eq(json_integer_value(json_object_get(f, "tid")), 1);
	cr_assert_float_eq(json_number_value(json_object_get(f, "ts")), 8, 1e-9);
	cr_assert_eq(json_integer_value(json_object_get(s, "id")), json_integer_value(json_object_get(f, "id")));
	cr_assert(find(root, "s", "birth", &s) == 1 && find(root, "f", "birth", &f) == 1);
	cr_assert_eq(json_integer_value(json_object_get(f, "tid")), 2);
	json_decref(root);
}

static char *export_html(const struct log_export_options *options, bool *ret_cut)
{
	struct log_reader *r = sample_reader(two_threads(), "LOG");
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	cr_assert_eq(log_export_html(r, options, "a <b> & 'c'", f, ret_cut, NULL), 0);
	(void)fclose(f);
	(void)log_reader_free(r);
	return text;
}

Test(log_export, html_is_one_page_and_escapes_its_data)
{
	struct log_export_options options = { 0 };
	_cleanup_free_ char *text = NULL;
	bool cut;

	text = export_html(&options, &cut);
	cr_assert_not(cut);
	cr_assert(strstr(text, "<title>a &#60;b&#62; &#38; &#39;c&#39; - timeline</title>"), "%.300s", text);
	cr_assert_not(strstr(text, "@TITLE@") || strstr(text, "@DATA@"));
	cr_assert(strstr(text, "[\"S\",1,2,3000,6000,\"futex\"]"), "blocked slice");
	cr_assert(strstr(text, "[\"A\",2,6000,1,8000,\"futex\"]"), "arrow");
	cr_assert(strstr(text, "write\\u003c/script\\u003e()"), "escaping");
	cr_assert_eq(strstr(strstr(text, "</script>") + 1, "</script>"), NULL);
	cr_assert_not(strstr(text, "http:") || strstr(text, "https:"));
}

Test(log_export, html_can_be_cut)
{
	struct log_export_options options = { .max_events = 3 };
	_cleanup_free_ char *text = NULL;
	bool cut;

	text = export_html(&options, &cut);
	cr_assert(cut && strstr(text, "const CUT=true;"));
}
