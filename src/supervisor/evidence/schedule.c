/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules as documents: see schedule.h. */
#include "supervisor/evidence/schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "engine/policy/policy.h"
#include "supervisor/evidence/report.h"

#define FORMAT_NAME "hermit-schedule"
enum { FORMAT_VERSION = 3, MAX_BYTES = 256 << 20 };

static void cleanup_json(json_t **document)
{
	json_decref(*document);
}

void schedule_clear(struct schedule *s)
{
	free(s->choices);
	free(s->preemptions);
	free(s->priorities);
	free(s->command);
	strv_clear(&s->options);
	*s = (struct schedule){ 0 };
}

static int add(struct schedule *s, const struct schedule_choice *choice)
{
	struct schedule_choice *items = array_grow(s->choices, s->n, &s->room, sizeof(*items));

	if (!items)
		return -ENOMEM;
	s->choices = items;
	items[s->n++] = *choice;
	return 0;
}

static int add_priority(struct schedule *s, const struct sched_priority *priority)
{
	struct sched_priority *items = array_grow(s->priorities, s->n_priorities, &s->priorities_room, sizeof(*items));

	if (!items)
		return -ENOMEM;
	s->priorities = items;
	items[s->n_priorities++] = *priority;
	return 0;
}

static int add_preemption(struct schedule *s, const struct schedule_preemption *preemption)
{
	struct schedule_preemption *items = array_grow(s->preemptions, s->n_preemptions, &s->preemptions_room, sizeof(*items));

	if (!items)
		return -ENOMEM;
	s->preemptions = items;
	items[s->n_preemptions++] = *preemption;
	return 0;
}

static const char *call_name(int call)
{
	const char *name = call >= 0 ? policy_row(call)->name : NULL;

	return name ? name : "";
}

/* ---- recording ---- */

static void on_picked(void *arg, struct engine *e, int task, unsigned nth, bool same, enum sched_why why)
{
	struct schedule *s = arg;
	struct schedule_choice choice;

	if (same || s->error)
		return;
	choice = (struct schedule_choice){ .turn = engine_turn(e), .nth = nth, .task = task, .tid = engine_vtid(e, task),
					   .call = engine_call_of(e, task), .why = why };
	s->error = add(s, &choice);
}

static void on_preempted(void *arg, struct engine *e, int task, uint64_t turn, const struct preempt_point *point)
{
	struct schedule *s = arg;
	struct schedule_preemption preemption = { .turn = turn, .task = task, .tid = engine_vtid(e, task), .point = *point };

	if (!s->error)
		s->error = add_preemption(s, &preemption);
}

static void on_priority(void *arg, struct engine *e, const struct sched_priority *change)
{
	struct schedule *s = arg;

	(void)e;
	if (!s->error)
		s->error = add_priority(s, change);
}

struct engine_observer schedule_recorder(struct schedule *s)
{
	return (struct engine_observer){ .picked = on_picked, .priority = on_priority, .preempted = on_preempted, .arg = s };
}

static void write_choice(FILE *f, const struct schedule_choice *c)
{
	(void)fprintf(f, "  { \"turn\": %" PRIu64, c->turn);
	if (c->nth)
		(void)fprintf(f, ", \"nth\": %" PRIu32, c->nth);
	(void)fprintf(f, ", \"thread\": %d, \"tid\": %d, \"why\": \"%s\"", c->task, c->tid, sched_why_name(c->why));
	if (c->call >= 0)
		(void)fprintf(f, ", \"call\": \"%s\"", call_name(c->call));
	(void)fputs(" }", f);
}

static void write_priority(FILE *f, const struct sched_priority *p)
{
	(void)fprintf(f, "  { \"turn\": %" PRIu64 ", \"thread\": %d, \"priority\": %" PRIu64 ", \"why\": \"%s\" }", p->turn, p->task, p->place,
		      sched_priority_why_name(p->why));
}

static void write_preemption(FILE *f, const struct schedule_preemption *p)
{
	(void)fprintf(f, "  { \"turn\": %" PRIu64 ", \"thread\": %d, \"tid\": %d, \"after\": %" PRIu64 ", \"of\": \"%s\" }", p->turn, p->task, p->tid,
		      p->point.after, preempt_unit_name(p->point.unit));
}

static void write_lists(FILE *f, const struct schedule *s)
{
	(void)fputs(" \"choices\": [\n", f);
	for (size_t i = 0; i < s->n; i++) {
		write_choice(f, &s->choices[i]);
		(void)fputs(i + 1 < s->n ? ",\n" : "\n", f);
	}
	(void)fputs(" ],\n \"priorities\": [\n", f);
	for (size_t i = 0; i < s->n_priorities; i++) {
		write_priority(f, &s->priorities[i]);
		(void)fputs(i + 1 < s->n_priorities ? ",\n" : "\n", f);
	}
	(void)fputs(" ],\n \"preemptions\": [\n", f);
	for (size_t i = 0; i < s->n_preemptions; i++) {
		write_preemption(f, &s->preemptions[i]);
		(void)fputs(i + 1 < s->n_preemptions ? ",\n" : "\n", f);
	}
	(void)fputs(" ],\n", f);
}

/* Bytes that are not UTF-8 cannot be in JSON: then the command is left out; the fingerprint is enough. */
static char *command_text(const struct run_options *o)
{
	_cleanup_free_ char *line = run_options_command_line(o);
	_cleanup_(cleanup_json) json_t *text = line ? json_string(line) : NULL;

	return text ? json_dumps(text, JSON_ENCODE_ANY) : strdup("null");
}

/* The options that count, as a JSON list; what is not UTF-8 is left out. */
static char *options_text(const struct run_options *o)
{
	_cleanup_(cleanup_json) json_t *array = json_array();
	struct strv list _cleanup_strv_ = { 0 };

	if (!array || run_options_outcome(o, &list) < 0)
		return NULL;
	for (size_t i = 0; i < list.count; i++)
		(void)json_array_append_new(array, json_string(list.items[i]));
	return json_dumps(array, 0);
}

int schedule_write(const struct schedule *s, const char *path, const struct run_options *o, const struct run_result *result,
		   struct error *err)
{
	_cleanup_free_ char *command = command_text(o), *options = options_text(o);
	char config[HASH_HEX_SIZE];
	bool failed;
	FILE *f;

	if (s->error || !command || !options || run_options_fingerprint(o, config) < 0)
		return error_errno(err, ENOMEM, "schedule %s", path);
	f = fopen(path, "we");
	if (!f)
		return error_errno(err, errno, "schedule %s", path);
	(void)fprintf(f, "{ \"format\": \"%s\", \"version\": %d,\n  \"config\": \"%s\",\n  \"command\": %s,\n  \"options\": %s,\n",
		      FORMAT_NAME, FORMAT_VERSION, config, command, options);
	write_lists(f, s);
	(void)fprintf(f, " \"turns\": %" PRIu64 ", \"end\": \"%s\", \"status\": %d }\n", result->turns,
		      run_end_name(result), result->exit_code);
	failed = ferror(f);
	failed |= fclose(f) != 0;
	return failed ? error_errno(err, errno, "schedule %s", path) : 0;
}

/* ---- reading ---- */

static int call_number(const char *name)
{
	for (int nr = 0; *name && nr <= POLICY_MAX_NR; nr++)
		if (policy_row(nr)->name && !strcmp(policy_row(nr)->name, name))
			return nr;
	return -1;
}

static int read_choice(json_t *item, struct schedule *s, struct error *err)
{
	struct schedule_choice choice = { .why = SCHED_WHY_FOLLOWED };
	const struct schedule_choice *before = s->n ? &s->choices[s->n - 1] : NULL;
	const char *call = "", *why = "";
	json_int_t turn, nth = 0;
	json_error_t said;

	if (json_unpack_ex(item, &said, JSON_STRICT, "{s:I, s?I, s:i, s:i, s?s, s?s}", "turn", &turn, "nth", &nth, "thread", &choice.task,
			   "tid", &choice.tid, "why", &why, "call", &call) < 0)
		return error_set(err, EINVAL, "choice %zu: %s", s->n, said.text);
	if (turn < 0 || nth < 0 || nth > UINT32_MAX || choice.task < 0)
		return error_set(err, EINVAL, "choice %zu: a number is out of range", s->n);
	choice.turn = (uint64_t)turn;
	choice.nth = (uint32_t)nth;
	choice.call = call_number(call);
	if (before && (choice.turn < before->turn || (choice.turn == before->turn && choice.nth <= before->nth)))
		return error_set(err, EINVAL, "choice %zu: comes before the one in front of it", s->n);
	return add(s, &choice) < 0 ? error_errno(err, ENOMEM, "schedule") : 0;
}

static int read_priority(json_t *item, struct schedule *s, struct error *err)
{
	struct sched_priority priority = { 0 };
	json_int_t turn, place;
	json_error_t said;
	const char *why;

	if (json_unpack_ex(item, &said, JSON_STRICT, "{s:I, s:i, s:I, s:s}", "turn", &turn, "thread", &priority.task, "priority", &place, "why",
			   &why) < 0)
		return error_set(err, EINVAL, "priority %zu: %s", s->n_priorities, said.text);
	priority.turn = (uint64_t)turn;
	priority.place = (uint64_t)place;
	while (priority.why <= SCHED_PRIORITY_YIELDED && strcmp(sched_priority_why_name(priority.why), why) != 0)
		priority.why++;
	if (turn < 0 || place < 0 || priority.task < 0 || priority.why > SCHED_PRIORITY_YIELDED)
		return error_set(err, EINVAL, "priority %zu: a value is out of range", s->n_priorities);
	if (s->n_priorities && priority.turn < s->priorities[s->n_priorities - 1].turn)
		return error_set(err, EINVAL, "priority %zu: comes before the one in front of it", s->n_priorities);
	return add_priority(s, &priority) < 0 ? error_errno(err, ENOMEM, "schedule") : 0;
}

static int read_preemption(json_t *item, struct schedule *s, struct error *err)
{
	struct schedule_preemption preemption = { 0 };
	json_int_t turn, after;
	json_error_t said;
	const char *of;

	if (json_unpack_ex(item, &said, JSON_STRICT, "{s:I, s:i, s:i, s:I, s:s}", "turn", &turn, "thread", &preemption.task, "tid",
			   &preemption.tid, "after", &after, "of", &of) < 0)
		return error_set(err, EINVAL, "preemption %zu: %s", s->n_preemptions, said.text);
	preemption.turn = (uint64_t)turn;
	preemption.point.after = (uint64_t)after;
	while (preemption.point.unit <= PREEMPT_PLACES && strcmp(preempt_unit_name(preemption.point.unit), of) != 0)
		preemption.point.unit++;
	if (turn < 0 || after < 1 || preemption.task < 0 || preemption.point.unit > PREEMPT_PLACES)
		return error_set(err, EINVAL, "preemption %zu: a value is out of range", s->n_preemptions);
	if (s->n_preemptions && preemption.turn <= s->preemptions[s->n_preemptions - 1].turn)
		return error_set(err, EINVAL, "preemption %zu: comes before the one in front of it", s->n_preemptions);
	return add_preemption(s, &preemption) < 0 ? error_errno(err, ENOMEM, "schedule") : 0;
}

static int read_options(const json_t *options, struct schedule *s)
{
	const json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach(options, i, item)
		if (r == 0 && json_is_string(item))
			r = strv_add(&s->options, json_string_value(item));
	return r;
}

static int read_list(const json_t *list, struct schedule *s, int (*read_item)(json_t *item, struct schedule *s, struct error *err),
		     struct error *err)
{
	json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach(list, i, item)
		if (r == 0)
			r = read_item(item, s, err);
	return r;
}

static int read_document(json_t *document, struct schedule *s, struct error *err)
{
	const char *format, *config, *command = NULL;
	json_t *choices, *priorities, *preemptions, *options = NULL;
	json_error_t said;
	json_int_t turns;
	int version, r;

	if (json_unpack_ex(document, &said, 0, "{s:s, s:i}", "format", &format, "version", &version) < 0)
		return error_set(err, EINVAL, "%s", said.text);
	if (strcmp(format, FORMAT_NAME) != 0 || version != FORMAT_VERSION)
		return error_set(err, EINVAL, "no schedule of version %d", FORMAT_VERSION);
	if (json_unpack_ex(document, &said, 0, "{s:s, s?s, s?o, s:o, s:o, s:o, s:I}", "config", &config, "command", &command, "options", &options,
			   "choices", &choices, "priorities", &priorities, "preemptions", &preemptions, "turns", &turns) < 0)
		return error_set(err, EINVAL, "%s", said.text);
	if (!json_is_array(choices) || !json_is_array(priorities) || !json_is_array(preemptions) || turns < 0)
		return error_set(err, EINVAL, "a value has the wrong type, or is out of range");
	s->turns = (uint64_t)turns;
	s->command = command ? strdup(command) : NULL;
	if (read_options(options, s) < 0)
		return error_errno(err, ENOMEM, "schedule");
	(void)snprintf(s->config, sizeof(s->config), "%s", config);
	r = read_list(choices, s, read_choice, err);
	if (r == 0)
		r = read_list(priorities, s, read_priority, err);
	return r == 0 ? read_list(preemptions, s, read_preemption, err) : r;
}

/* The first of a list that is not in the other, NULL: none. */
static const char *lone(const struct strv *list, const struct strv *other)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strv_contains(other, list->items[i]))
			return list->items[i];
	return NULL;
}

/* Of other options, or made by another version: says the first option that differs, and how the schedule was made. */
static int refuse(const char *path, const struct run_options *o, const struct schedule *s, struct error *err)
{
	const char *command = s->command ? s->command : "(command unknown)", *theirs, *ours;
	struct strv list _cleanup_strv_ = { 0 };

	if (run_options_outcome(o, &list) < 0)
		return error_errno(err, ENOMEM, "schedule");
	theirs = lone(&s->options, &list);
	ours = lone(&list, &s->options);
	if (s->options.count == 0 || (!theirs && !ours))
		return error_set(err, EINVAL, "schedule %s is one of other options, or of another version: %.600s", path, command);
	return error_set(err, EINVAL, "schedule %s is one of other options: %.150s in it, %.150s in this run; it was made by: %.600s", path,
			 theirs ? theirs : "no such option", ours ? ours : "no such option", command);
}

int schedule_read(const char *path, const struct run_options *o, struct schedule *ret, struct error *err)
{
	_cleanup_(cleanup_json) json_t *document = NULL;
	_cleanup_free_ char *text = NULL;
	char config[HASH_HEX_SIZE];
	json_error_t said;
	size_t len;
	int r;

	*ret = (struct schedule){ 0 };
	r = fd_read_file(AT_FDCWD, path, MAX_BYTES, &text, &len);
	if (r < 0)
		return error_errno(err, -r, "schedule %s", path);
	document = json_loadb(text, len, JSON_REJECT_DUPLICATES, &said);
	if (!document)
		return error_set(err, EINVAL, "schedule %s: line %d: %s", path, said.line, said.text);
	r = read_document(document, ret, err);
	if (r < 0) {
		error_prefix(err, "schedule %s", path);
		return r;
	}
	if (!o)
		return 0;
	if (run_options_fingerprint(o, config) < 0)
		return error_errno(err, ENOMEM, "schedule");
	if (strcmp(config, ret->config) != 0)
		return refuse(path, o, ret, err);
	return 0;
}

/* ---- following ---- */

static int pick(void *arg, struct engine *e, uint64_t turn, unsigned nth, int *ret_task, const char **ret_message)
{
	struct schedule *s = arg;
	const struct schedule_choice *next = s->followed < s->n ? &s->choices[s->followed] : NULL;
	int call;

	if (!next || next->turn > turn || (next->turn == turn && next->nth > nth))
		return 0;
	*ret_task = next->task;
	*ret_message = s->message;
	if (next->turn < turn || next->nth < nth) {
		(void)snprintf(s->message, sizeof(s->message), "the choice of turn %" PRIu64 " never came up", next->turn);
		return -ESTALE;
	}
	call = engine_call_of(e, next->task);
	if (engine_vtid(e, next->task) != next->tid) {
		(void)snprintf(s->message, sizeof(s->message), "expected thread %d, which is not there", next->tid);
		return -ESTALE;
	}
	if (call != next->call) {
		(void)snprintf(s->message, sizeof(s->message), "expected %s, got %s", next->call >= 0 ? call_name(next->call) : "no call",
			       call >= 0 ? call_name(call) : "no call");
		return -ESTALE;
	}
	s->followed++;
	return 1;
}

static int preempt(void *arg, struct engine *e, uint64_t turn, int task, struct preempt_point *ret_point)
{
	struct schedule *s = arg;

	while (s->preempted < s->n_preemptions && s->preemptions[s->preempted].turn < turn)
		s->preempted++;
	if (s->preempted == s->n_preemptions || s->preemptions[s->preempted].turn != turn || s->preemptions[s->preempted].task != task)
		return 0;
	*ret_point = s->preemptions[s->preempted].point;
	return 1;
}

static int next_priority(void *arg, uint64_t turn, struct sched_priority *ret)
{
	struct schedule *s = arg;

	if (s->prioritised == s->n_priorities || s->priorities[s->prioritised].turn > turn)
		return 0;
	*ret = s->priorities[s->prioritised++];
	return 1;
}

const struct engine_chooser *schedule_follow(struct schedule *s)
{
	s->followed = s->preempted = s->prioritised = 0;
	s->chooser = (struct engine_chooser){ .pick = pick, .preempt = preempt, .priority = next_priority, .arg = s };
	return &s->chooser;
}

int schedule_check_end(const struct schedule *s, const struct run_result *result, struct error *err)
{
	if (result->end != RUN_EXITED && result->end != RUN_DEADLOCK)
		return 0;
	if (s->followed == s->n && result->turns == s->turns)
		return 0;
	return error_set(err, ESTALE, "the program ended at turn %" PRIu64 ", the schedule at turn %" PRIu64, result->turns, s->turns);
}

/* ---- comparing ---- */

void schedule_hash(const struct schedule *s, unsigned char ret_digest[HASH_BYTES])
{
	struct hash h;

	hash_init(&h);
	for (size_t i = 0; i < s->n; i++) {
		uint64_t words[3] = { s->choices[i].turn, s->choices[i].nth, (uint64_t)s->choices[i].task };

		hash_add(&h, words, sizeof(words));
	}
	for (size_t i = 0; i < s->n_preemptions; i++) {
		const struct schedule_preemption *p = &s->preemptions[i];
		uint64_t words[4] = { p->turn, (uint64_t)p->task, p->point.unit, p->point.after };

		hash_add(&h, words, sizeof(words));
	}
	hash_final(&h, ret_digest);
}

static bool same_choice(const struct schedule_choice *a, const struct schedule_choice *b)
{
	return a->turn == b->turn && a->nth == b->nth && a->task == b->task;
}

size_t schedule_common(const struct schedule *a, const struct schedule *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && same_choice(&a->choices[n], &b->choices[n]))
		n++;
	return n;
}
