/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What kind of difference it is. Each thread that is met at the difference is looked at by itself, as the sequence of its own events in
 * both windows: the same beginning, the same events in another order, one event changed, or events added. When every thread does
 * the same by itself, only the order between them differs.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "trace/log_diff_internal.h"

enum { SEQUENCE_MAX = LOG_DIFF_WINDOW + 1, RUN = 3 };

struct sequence {
	size_t n;
	const struct log_record *recs[SEQUENCE_MAX];
};

enum finding { SAME_START, REORDERED, CHANGED, ADDED };

struct thread_finding {
	enum finding finding;
	int64_t thread;
	int longer;    /* ADDED: which log has more */
	size_t extra;  /* ADDED: how many */
	const struct log_record *first[2];
};

static bool is_ignored(const struct log_diff_options *options, const struct log_record *rec, const char *key)
{
	if (rec->kind == LOG_FINISH && (!strcmp(key, "sum") || !strcmp(key, "lines")))
		return true;
	if (options->ignore_time && !strcmp(key, "time"))
		return true;
	if (options->ignore_turn && !strcmp(key, "turn"))
		return true;
	return options->ignore_bytes && (!strcmp(key, "in") || !strcmp(key, "out") || !strcmp(key, "moved"));
}

static size_t skip_ignored(const struct log_diff_options *options, const struct log_record *rec, size_t i)
{
	while (i < rec->n_fields && is_ignored(options, rec, rec->fields[i].key))
		i++;
	return i;
}

static void add_name(char *names, size_t size, const char *name)
{
	size_t len;

	if (!names)
		return;
	len = strlen(names);
	if (len + strlen(name) + 3 < size && !strstr(names, name))
		(void)snprintf(names + len, size - len, "%s%s", len ? ", " : "", name);
}

static unsigned field_bit(const char *key)
{
	if (!strcmp(key, "turn"))
		return DIFF_TURN;
	return strcmp(key, "time") != 0 ? DIFF_OTHER : DIFF_TIME;
}

static bool same_field(const struct log_field *a, const struct log_field *b)
{
	return a->number == b->number && !strcmp(a->text, b->text);
}

/* Fields come in one order per kind; where the keys part, the rest differs. */
unsigned diff_compare(const struct log_diff_options *options, const struct log_record *a, const struct log_record *b, char *names,
		      size_t size)
{
	size_t i = 0, j = 0;
	unsigned bits = 0;

	for (;; i++, j++) {
		const struct log_field *left, *right;

		i = skip_ignored(options, a, i);
		j = skip_ignored(options, b, j);
		left = i < a->n_fields ? &a->fields[i] : NULL;
		right = j < b->n_fields ? &b->fields[j] : NULL;
		if (!left && !right)
			return bits;
		if (!left || !right || strcmp(left->key, right->key) != 0) {
			add_name(names, size, left ? left->key : right->key);
			if (left && right)
				add_name(names, size, right->key);
			return bits | DIFF_OTHER;
		}
		if (same_field(left, right))
			continue;
		add_name(names, size, left->key);
		bits |= field_bit(left->key);
	}
}

/* The same event, wherever and whenever. */
static bool same_event(const struct diff *d, const struct log_record *a, const struct log_record *b)
{
	return !(diff_compare(d->options, a, b, NULL, 0) & DIFF_OTHER);
}

static bool same_place(const struct log_record *a, const struct log_record *b)
{
	if (a->thread != b->thread || a->kind != b->kind)
		return false;
	return a->call && b->call ? !strcmp(a->call, b->call) : a->call == b->call;
}

/* Choices follow from the order of the others. */
static bool follows(const struct log_record *rec)
{
	return rec->kind == LOG_CHOICE;
}

static const struct log_record *window_record(const struct diff *d, int which, size_t i)
{
	if (i == 0)
		return d->result->side[which].present ? &d->result->side[which].rec : NULL;
	return i <= d->n_window[which] ? &d->window[which][i - 1] : NULL;
}

static void collect(const struct diff *d, int which, int64_t thread, struct sequence *seq)
{
	const struct log_record *rec;

	seq->n = 0;
	for (size_t i = 0; i < SEQUENCE_MAX; i++) {
		rec = window_record(d, which, i);
		if (rec && rec->thread == thread && !follows(rec))
			seq->recs[seq->n++] = rec;
	}
}

/* The first k of both are the same events in some order. */
static bool is_permutation(const struct diff *d, const struct sequence *a, const struct sequence *b, size_t k)
{
	bool used[SEQUENCE_MAX] = { false };

	for (size_t i = 0; i < k; i++) {
		size_t j = 0;

		while (j < k && (used[j] || !same_event(d, a->recs[i], b->recs[j])))
			j++;
		if (j == k)
			return false;
		used[j] = true;
	}
	return true;
}

/* Behind the first k both go on alike: with the same events, or both with the end of their log. */
static bool is_aligned(const struct diff *d, const struct sequence *a, const struct sequence *b, size_t k)
{
	if (k == a->n || k == b->n)
		return a->n == b->n && d->n_window[0] < LOG_DIFF_WINDOW && d->n_window[1] < LOG_DIFF_WINDOW;
	for (size_t i = k; i < k + RUN && i < a->n && i < b->n; i++)
		if (!same_event(d, a->recs[i], b->recs[i]))
			return false;
	return true;
}

static bool is_reordered(const struct diff *d, const struct sequence *a, const struct sequence *b)
{
	for (size_t k = 2; k <= a->n && k <= b->n; k++)
		if (is_permutation(d, a, b, k) && is_aligned(d, a, b, k))
			return true;
	return false;
}

static bool goes_on_equal(const struct diff *d, const struct sequence *a, const struct sequence *b)
{
	if (a->n < 2 || b->n < 2)
		return a->n == b->n;
	return same_event(d, a->recs[1], b->recs[1]);
}

/* How many events of `more` have to be skipped until it goes on as `less` does; 0 if it does not. */
static size_t count_added(const struct diff *d, const struct sequence *less, const struct sequence *more)
{
	size_t need = less->n < RUN ? less->n : RUN;

	for (size_t skip = 1; skip + need <= more->n; skip++) {
		size_t run = 0;

		while (run < need && same_event(d, less->recs[run], more->recs[skip + run]))
			run++;
		if (run == need)
			return skip;
	}
	return 0;
}

static void judge_added(const struct diff *d, const struct sequence *a, const struct sequence *b, struct thread_finding *f)
{
	size_t in_b = count_added(d, a, b), in_a = count_added(d, b, a);

	if (!in_a && !in_b)
		return;
	f->finding = ADDED;
	f->longer = in_b && (!in_a || in_b <= in_a);
	f->extra = f->longer ? in_b : in_a;
}

static struct thread_finding judge_thread(const struct diff *d, int64_t thread)
{
	struct thread_finding f = { .finding = SAME_START, .thread = thread };
	struct sequence a, b;

	collect(d, 0, thread, &a);
	collect(d, 1, thread, &b);
	if (a.n == 0 || b.n == 0 || same_event(d, a.recs[0], b.recs[0]))
		return f;
	f.first[0] = a.recs[0];
	f.first[1] = b.recs[0];
	f.finding = CHANGED;
	if (is_reordered(d, &a, &b))
		f.finding = REORDERED;
	else if (!same_place(a.recs[0], b.recs[0]) || !goes_on_equal(d, &a, &b))
		judge_added(d, &a, &b, &f);
	return f;
}

static const char *event_name(const struct log_record *rec)
{
	return rec->call ? rec->call : log_kind_name(rec->kind);
}

#define SAY(result, ...) ((void)snprintf((result)->sentence, sizeof((result)->sentence), __VA_ARGS__))

static bool has_ended(const struct log_diff_side *side)
{
	return !side->present || side->rec.kind == LOG_FINISH;
}

static void say_end(struct diff *d)
{
	struct log_diff_result *result = d->result;
	int longer = !has_ended(&result->side[1]);

	result->kind = LOG_DIFF_COUNT;
	SAY(result, "%s has no more events, %s goes on with %s of thread %lld", d->options->labels[!longer],
	    d->options->labels[longer], event_name(&result->side[longer].rec), (long long)result->side[longer].rec.thread);
}

static void say_time(struct diff *d, unsigned bits)
{
	const struct log_record *a = &d->result->side[0].rec, *b = &d->result->side[1].rec;

	d->result->kind = LOG_DIFF_TIME;
	if (bits & DIFF_TIME)
		SAY(d->result, "the same event at another virtual time: %s of thread %lld at %llu ns in %s, at %llu ns in %s",
		    event_name(a), (long long)a->thread, (unsigned long long)a->time_ns, d->options->labels[0],
		    (unsigned long long)b->time_ns, d->options->labels[1]);
	else
		SAY(d->result, "the same event at another turn: %s of thread %lld at turn %llu in %s, at turn %llu in %s",
		    event_name(a), (long long)a->thread, (unsigned long long)a->turn, d->options->labels[0],
		    (unsigned long long)b->turn, d->options->labels[1]);
}

static void say_changed(struct diff *d, const struct thread_finding *f)
{
	char fields[256] = "";

	d->result->kind = LOG_DIFF_CONTENT;
	(void)diff_compare(d->options, f->first[0], f->first[1], fields, sizeof(fields));
	if (same_place(f->first[0], f->first[1]))
		SAY(d->result, "thread %lld has the same event, %s, but not the same content: %s", (long long)f->thread,
		    event_name(f->first[0]), fields);
	else
		SAY(d->result, "thread %lld does something else: %s in %s, %s in %s", (long long)f->thread,
		    event_name(f->first[0]), d->options->labels[0], event_name(f->first[1]), d->options->labels[1]);
}

static void say_added(struct diff *d, const struct thread_finding *f)
{
	d->result->kind = LOG_DIFF_COUNT;
	SAY(d->result, "%s has %zu event%s of thread %lld that %s does not have, the first is %s", d->options->labels[f->longer],
	    f->extra, f->extra == 1 ? "" : "s", (long long)f->thread, d->options->labels[!f->longer],
	    event_name(f->first[f->longer]));
}

static void say_order(struct diff *d)
{
	const struct log_record *a = &d->result->side[0].rec, *b = &d->result->side[1].rec;

	d->result->kind = LOG_DIFF_ORDER;
	SAY(d->result, "the same events in another order: %s goes on with %s of thread %lld, %s with %s of thread %lld",
	    d->options->labels[0], event_name(a), (long long)a->thread, d->options->labels[1], event_name(b), (long long)b->thread);
}

/* The first event of a side that is not a mere consequence; its last record when there is none. */
static const struct log_record *first_cause(const struct diff *d, int which)
{
	const struct log_record *rec = NULL;

	for (size_t i = 0; i <= d->n_window[which]; i++) {
		rec = window_record(d, which, i);
		if (!follows(rec))
			break;
	}
	return rec;
}

static void judge_threads(struct diff *d)
{
	static const enum finding weight[] = { ADDED, CHANGED, REORDERED };
	int64_t threads[2] = { first_cause(d, 0)->thread, first_cause(d, 1)->thread };
	struct thread_finding findings[2];

	for (int i = 0; i < 2; i++)
		findings[i] = judge_thread(d, threads[i]);
	for (size_t w = 0; w < ARRAY_SIZE(weight); w++) {
		for (int i = 0; i < 2; i++) {
			if (findings[i].finding != weight[w])
				continue;
			if (weight[w] == ADDED)
				say_added(d, &findings[i]);
			else if (weight[w] == CHANGED)
				say_changed(d, &findings[i]);
			else
				say_order(d);
			return;
		}
	}
	say_order(d);
}

void diff_judge(struct diff *d)
{
	struct log_diff_result *result = d->result;
	unsigned bits;

	if (has_ended(&result->side[0]) != has_ended(&result->side[1])) {
		say_end(d);
		return;
	}
	bits = diff_compare(d->options, &result->side[0].rec, &result->side[1].rec, result->fields, sizeof(result->fields));
	if (bits & DIFF_OTHER)
		judge_threads(d);
	else
		say_time(d, bits);
}

const char *log_difference_name(enum log_difference kind)
{
	static const char *const names[] = {
		[LOG_DIFF_NONE] = "none",   [LOG_DIFF_TIME] = "time",   [LOG_DIFF_CONTENT] = "content",
		[LOG_DIFF_ORDER] = "order", [LOG_DIFF_COUNT] = "count",
	};

	return names[kind];
}
