/* SPDX-License-Identifier: BSD-3-Clause */
/* The first difference of two logs: planted differences of each kind are found at their place and called what they are. */
#include "log_sample.h"

#include <errno.h>

#include "base/cleanup.h"
#include "trace/log_diff.h"

enum { EVENTS_MAX = 200 };

struct events {
	size_t n;
	struct sample list[EVENTS_MAX];
};

static const struct log_diff_options plain = { .labels = { "log A", "log B" }, .context = 3 };

static void compare(const struct events *a, const struct events *b, const struct log_diff_options *options,
		    struct log_diff_result *result)
{
	struct log_reader *left = sample_reader(sample_log(a->list, a->n), "left");
	struct log_reader *right = sample_reader(sample_log(b->list, b->n), "right");
	struct error err = { 0 };

	cr_assert_eq(log_diff(left, right, options, result, &err), 0, "%s", err.text);
	(void)log_reader_free(left);
	(void)log_reader_free(right);
}

/* A program of two threads that read and write in turns, as the numbered lines of a loop. */
static struct events program(size_t n)
{
	static const char *const numbers[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
	struct events events = { .n = n };

	for (size_t i = 0; i < n; i++) {
		int64_t thread = 1 + (int64_t)(i / 5 % 2);

		if (i % 5 == 0)
			events.list[i] = (struct sample){ .thread = thread };
		else
			events.list[i] = (struct sample){ .thread = thread,
							  .call = i % 2 ? "write" : "read",
							  .args = numbers[i % 10],
							  .result = numbers[i / 10 % 10] };
	}
	return events;
}

static void insert(struct events *events, size_t at, struct sample s)
{
	memmove(&events->list[at + 1], &events->list[at], (events->n - at) * sizeof(s));
	events->list[at] = s;
	events->n++;
}

static void swap(struct events *events, size_t i, size_t j)
{
	struct sample s = events->list[i];

	events->list[i] = events->list[j];
	events->list[j] = s;
}

/* Checks kind and place of a difference, both ways round, then frees the result. */
static void assert_difference(const struct events *a, const struct events *b, enum log_difference kind, size_t place,
			      const char *words, const char *what)
{
	struct log_diff_result result;

	compare(a, b, &plain, &result);
	cr_assert_str_eq(log_difference_name(result.kind), log_difference_name(kind), "%s: %s", what, result.sentence);
	cr_assert_eq(result.compared, place, "%s: at %zu", what, (size_t)result.compared);
	cr_assert(strstr(result.sentence, words), "%s: '%s' is not in '%s'", what, words, result.sentence);
	cr_assert_eq(result.n_context, place < 3 ? place : 3, "%s", what);
	log_diff_result_deinit(&result);
	compare(b, a, &plain, &result);
	cr_assert_eq(result.kind, kind, "%s, the other way round: %s", what, result.sentence);
	cr_assert_eq(result.compared, place);
	log_diff_result_deinit(&result);
}

Test(log_diff, equal_logs)
{
	struct events a = program(100);
	struct log_diff_result result;

	compare(&a, &a, &plain, &result);
	cr_assert(result.kind == LOG_DIFF_NONE && result.compared == 101 && result.events == 100 && !result.narrowed);
	log_diff_result_deinit(&result);
}

Test(log_diff, logs_without_events_are_no_evidence)
{
	struct events a = { .n = 0 };
	struct log_diff_result result;

	compare(&a, &a, &plain, &result);
	cr_assert(result.kind == LOG_DIFF_NONE && result.events == 0);
	log_diff_result_deinit(&result);
}

Test(log_diff, one_changed_result)
{
	static const size_t places[] = { 1, 2, 7, 51, 98, 99 };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct events a = program(100), b = program(100);

		b.list[places[i]].result = "-EIO";
		assert_difference(&a, &b, LOG_DIFF_CONTENT, places[i], "not the same content: result", "changed result");
	}
}

Test(log_diff, changed_argument_in_a_loop_of_equal_calls)
{
	struct events a = { .n = 100 }, b;

	for (size_t i = 0; i < a.n; i++)
		a.list[i] = (struct sample){ .thread = 1, .call = i % 2 ? "write" : "read", .args = "1" };
	b = a;
	b.list[41].args = "2";
	assert_difference(&a, &b, LOG_DIFF_CONTENT, 41, "write, but not the same content: args", "argument");
}

Test(log_diff, another_call)
{
	struct events a = program(100), b = program(100);

	b.list[42].call = "fsync";
	assert_difference(&a, &b, LOG_DIFF_CONTENT, 42, "does something else", "another call");
}

Test(log_diff, everything_after_the_change_differs)
{
	struct events a = program(100), b = program(100);

	for (size_t i = 42; i < 100; i++)
		b.list[i].args = "changed";
	assert_difference(&a, &b, LOG_DIFF_CONTENT, 42, "args", "cascade");
}

Test(log_diff, extra_call)
{
	static const size_t places[] = { 1, 3, 42, 43, 99 };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct events a = program(100), b = program(100);

		insert(&b, places[i], (struct sample){ .thread = b.list[places[i]].thread, .call = "getpid" });
		assert_difference(&a, &b, LOG_DIFF_COUNT, places[i], "1 event of thread", "extra call");
	}
}

Test(log_diff, extra_call_of_a_kind_that_is_there_already)
{
	struct events a = { .n = 100 }, b;

	for (size_t i = 0; i < a.n; i++)
		a.list[i] = (struct sample){ .thread = 1, .call = i % 2 ? "write" : "read", .args = "1" };
	b = a;
	insert(&b, 41, (struct sample){ .thread = 1, .call = "read", .args = "1" });
	assert_difference(&a, &b, LOG_DIFF_COUNT, 41, "that log A does not have, the first is read", "extra read");
}

Test(log_diff, one_log_goes_on)
{
	struct events a = program(100), b = program(103);
	struct log_diff_result result;

	compare(&a, &b, &plain, &result);
	cr_assert(result.kind == LOG_DIFF_COUNT && result.compared == 100, "%s", result.sentence);
	log_diff_result_deinit(&result);
}

Test(log_diff, swapped_calls_of_one_thread)
{
	struct events a = program(100), b = program(100);

	swap(&b, 42, 43);
	assert_difference(&a, &b, LOG_DIFF_ORDER, 42, "in another order", "swap");
}

Test(log_diff, another_thread_first)
{
	struct events a = program(100), b = program(100);

	for (size_t i = 0; i < 5; i++)
		swap(&b, 40 + i, 45 + i);
	assert_difference(&a, &b, LOG_DIFF_ORDER, 40, "of thread 1", "threads swapped");
}

Test(log_diff, thread_loses_its_turn_early)
{
	struct events a = program(100), b = program(100);
	struct sample moved = b.list[44];

	/* The last call of thread 1 comes after thread 2's, with choices around it. */
	memmove(&b.list[44], &b.list[45], 5 * sizeof(moved));
	b.list[49] = (struct sample){ .thread = 1 };
	insert(&b, 50, moved);
	assert_difference(&a, &b, LOG_DIFF_ORDER, 44, "in another order", "early loss");
}

Test(log_diff, time_only)
{
	struct events a = program(10);
	struct log_diff_options options = plain;
	struct log_diff_result result;

	for (int what = 0; what < 2; what++) {
		struct sample_log log;
		struct log_reader *left = sample_reader(sample_log(a.list, a.n), "left"), *right;

		sample_open(&log, false, NULL);
		for (size_t i = 0; i < a.n; i++) {
			if (i == 6)
				*(what ? &log.turn : &log.time_ns) += 5;
			sample_add(&log, &a.list[i]);
		}
		right = sample_reader(sample_close(&log), "right");
		cr_assert_eq(log_diff(left, right, &options, &result, NULL), 0);
		cr_assert(result.kind == LOG_DIFF_TIME && result.compared == 6, "%s", result.sentence);
		cr_assert_str_eq(result.fields, what ? "turn" : "time");
		cr_assert(strstr(result.sentence, what ? "at turn 7 in log A, at turn 12 in log B"
						       : "at 7000 ns in log A, at 7005 ns in log B"),
			  "%s", result.sentence);
		log_diff_result_deinit(&result);
		(void)log_reader_free(left);
		(void)log_reader_free(right);
	}
}

Test(log_diff, filters_and_ignoring_have_to_be_asked_for)
{
	struct events a = program(100), b = program(100);
	struct log_diff_options options = plain;
	struct log_diff_result result;

	b.list[42].result = "77"; /* a read of thread 1 */
	cr_assert_str_eq(b.list[42].call, "read");
	cr_assert_eq(log_filter_add_call(&options.filter, "write", NULL), 0);
	compare(&a, &b, &options, &result);
	cr_assert(result.kind == LOG_DIFF_NONE && result.narrowed && result.events > 0);
	log_diff_result_deinit(&result);
	cr_assert_eq(log_filter_add_call(&options.filter, "read", NULL), 0);
	compare(&a, &b, &options, &result);
	cr_assert(result.kind == LOG_DIFF_CONTENT && result.side[0].line == 44 && result.side[1].line == 44);
	log_diff_result_deinit(&result);
}

Test(log_diff, filter_that_takes_nothing_is_no_evidence)
{
	struct events a = program(100);
	struct log_diff_options options = plain;
	struct log_diff_result result;

	cr_assert_eq(log_filter_add_call(&options.filter, "mount", NULL), 0);
	compare(&a, &a, &options, &result);
	cr_assert(result.kind == LOG_DIFF_NONE && result.events == 0);
	log_diff_result_deinit(&result);
}

static int diff_headers(const struct log_header *a, const struct log_header *b, bool any_config, struct error *err)
{
	struct log_diff_options options = plain;
	struct log_diff_result result;
	struct sample_log left, right;
	struct log_reader *l, *r;
	int ret;

	options.any_config = any_config;
	sample_open(&left, false, a);
	sample_open(&right, false, b);
	l = sample_reader(sample_close(&left), "left");
	r = sample_reader(sample_close(&right), "right");
	ret = log_diff(l, r, &options, &result, err);
	log_diff_result_deinit(&result);
	(void)log_reader_free(l);
	(void)log_reader_free(r);
	return ret;
}

Test(log_diff, different_configurations_are_refused_by_name)
{
	static const char *const seed_1[] = { "--epoch=1", "--seed=1", NULL }, *const seed_2[] = { "--epoch=1", "--seed=2", NULL };
	struct log_header a = { .tool = "1", .config = "aa", .options = seed_1 }, b = { .tool = "1", .config = "bb", .options = seed_2 };
	struct error err = { 0 };

	cr_assert_eq(diff_headers(&a, &b, false, &err), -EINVAL);
	cr_assert(strstr(err.text, "--seed=1 in log A, --seed=2 in log B"), "%s", err.text);
	cr_assert_eq(diff_headers(&a, &b, true, &err), 0);
	b = a;
	b.tool = "2";
	cr_assert_eq(diff_headers(&a, &b, false, &err), -EINVAL);
	cr_assert(strstr(err.text, "different versions: 1 and 2"), "%s", err.text);
	b = a;
	b.bytes = true;
	cr_assert_eq(diff_headers(&a, &b, true, &err), -EINVAL);
	cr_assert(strstr(err.text, "--ignore-bytes"), "%s", err.text);
}

/* Damage before a difference is an error, damage behind it a note. */
Test(log_diff, damage_behind_the_difference_is_a_note)
{
	struct events a = program(100), b = program(100);
	struct log_diff_result result;
	struct log_reader *left, *right;
	_cleanup_free_ char *bytes = NULL;
	size_t len;

	b.list[10].thread = 5;
	bytes = sample_bytes(sample_log(b.list, b.n), &len);
	left = sample_reader(sample_log(a.list, a.n), "left");
	right = sample_reader(sample_text(bytes, len - 20), "right");
	cr_assert_eq(log_diff(left, right, &plain, &result, NULL), 0);
	cr_assert(result.kind != LOG_DIFF_NONE && result.compared == 10);
	cr_assert(strstr(result.side[1].note, "right:102:") && strstr(result.side[1].note, "cut off"), "%s", result.side[1].note);
	cr_assert_str_empty(result.side[0].note);
	log_diff_result_deinit(&result);
	(void)log_reader_free(left);
	(void)log_reader_free(right);
}

Test(log_diff, cut_off_log_is_an_error)
{
	struct events a = program(100);
	struct log_diff_result result;
	struct error err = { 0 };
	_cleanup_free_ char *bytes = NULL;
	struct log_reader *left, *right;
	size_t len;

	bytes = sample_bytes(sample_log(a.list, a.n), &len);
	left = sample_reader(sample_text(bytes, len / 2), "left");
	right = sample_reader(sample_text(bytes, len / 2), "right");
	cr_assert_eq(log_diff(left, right, &plain, &result, &err), -EINVAL);
	cr_assert(strstr(err.text, "left:") && strstr(err.text, "cut off"), "%s", err.text);
	log_diff_result_deinit(&result);
	(void)log_reader_free(left);
	(void)log_reader_free(right);
}

static bool give_up(void *arg)
{
	return --*(int *)arg > 0;
}

Test(log_diff, following_ends)
{
	struct events a = program(10);
	int patience = 3;
	struct log_diff_options options = { .labels = { "log A", "log B" }, .wait = give_up, .wait_arg = &patience };
	struct log_diff_result result;
	struct sample_log log;
	struct log_reader *left, *right;
	char path[64];

	sample_open(&log, false, NULL);
	for (size_t i = 0; i < a.n; i++)
		sample_add(&log, &a.list[i]);
	cr_assert_eq(log_writer_flush(log.writer), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", log.fd);
	cr_assert_eq(log_reader_open(path, &left, NULL), 0);
	right = sample_reader(sample_log(a.list, a.n), "right");
	cr_assert_eq(log_diff(left, right, &options, &result, NULL), -ETIMEDOUT);
	cr_assert(patience == 0 && result.compared == 10);
	log_diff_result_deinit(&result);
	(void)log_reader_free(left);
	(void)log_reader_free(right);
	(void)sample_close(&log);
}

Test(log_diff, output_for_people_and_machines)
{
	struct events a = program(100), b = program(100);
	_cleanup_free_ char *text = NULL;
	struct log_diff_result result;
	size_t size;
	FILE *f;

	b.list[42].result = "<\033[31m>";
	compare(&a, &b, &plain, &result);
	f = open_memstream(&text, &size);
	log_diff_print(f, &result, &plain, false);
	(void)fputc('\n', f);
	log_diff_json(f, &result);
	(void)fclose(f);
	cr_assert(strstr(text, "first difference (content): thread 1 has the same event, read"), "%s", text);
	cr_assert(strstr(text, "equal before (42 in all):"), "%s", text);
	cr_assert(strstr(text, "line 44 of log A (-), line 44 of log B (+)"), "%s", text);
	cr_assert(strstr(text, "  -       43      0.000043000       1  read(2) = 4\n"), "%s", text);
	cr_assert(strstr(text, "read(2) = <\\x1b[31m>\n"), "%s", text);
	cr_assert(strstr(text, "\"kind\":\"content\"") && strstr(text, "\"fields\":\"result\""), "%s", text);
	cr_assert(strstr(text, "\"result\":\"\\u003c\\u001b[31m\\u003e\""), "%s", text);
	log_diff_result_deinit(&result);
}
