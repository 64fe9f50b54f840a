/* SPDX-License-Identifier: BSD-3-Clause */
/* What a verification has found, for people and as JSON: see verify_internal.h. */
#include "supervisor/evidence/verify_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/json_text.h"
#include "trace/log_text.h"

enum { CHANGES_SAID = 10 };

/* Where the output and the logs of the runs are when all is over. */
static const char *kept_in(const struct verify *v)
{
	return v->maker->names.kept ?: v->dir;
}

static void say_difference(const char *what, const struct difference *d)
{
	if (d->text[0])
		(void)fprintf(stderr, "  %s: %s\n", what, d->text);
}

static void say_different(const struct verify *v)
{
	char label[24];
	struct log_diff_options options = { .labels = { "run 1", label } };

	(void)snprintf(label, sizeof(label), "run %u", v->differing);
	(void)fprintf(stderr, "NOT equal: run %u differs from run 1\n", v->differing);
	say_difference("end", &v->status);
	say_difference("standard output", &v->output);
	say_difference("standard error", &v->errors);
	say_difference("files", &v->changes);
	say_difference("events", &v->events);
	if (v->outside.n)
		(void)fprintf(stderr, "  starting points: %s has changed on the host while the runs went on%s\n", v->outside.first,
			      v->outside.n > 1 ? ", and more" : "");
	if (v->log.kind != LOG_DIFF_NONE)
		log_diff_print(stderr, &v->log, &options, isatty(STDERR_FILENO));
	(void)fprintf(stderr, "kept: output and logs in %s, changed files in %s\n", kept_in(v), v->layers);
}

static void say_changes(const struct verify *v)
{
	const struct changes *c = &v->changed;
	char text[LOG_TEXT_MAX + 1];

	for (size_t i = 0; i < c->n && i < CHANGES_SAID; i++) {
		(void)log_text_clean(c->items[i].path, text, sizeof(text));
		(void)fprintf(stderr, "  %s: ", c->items[i].what);
		log_text_print(stderr, text);
		(void)fputc('\n', stderr);
	}
	if (c->total > CHANGES_SAID)
		(void)fprintf(stderr, "  and %" PRIu64 " more; %s names them\n", c->total - CHANGES_SAID,
			      v->maker->names.verdict ?: "--verify-json=FILE");
}

void verify_say(const struct verify *v)
{
	switch (v->verdict) {
	case VERIFY_NO_RESULT:
		(void)fprintf(stderr, "no result after %u of %" PRIu64 " runs: %s\n", v->done, v->o->verify, v->reason);
		if (v->done == 0)
			(void)doctor_log_inside();
		return;
	case VERIFY_DIFFERENT:
		say_different(v);
		break;
	case VERIFY_EQUAL:
		(void)fprintf(stderr, "verified: %u runs are equal: exit status %d, %" PRIu64 " events, %" PRIu64 " changed file%s\n", v->done,
			      v->first.result.exit_code, v->first.records, v->changed.total, v->changed.total == 1 ? "" : "s");
		say_changes(v);
		break;
	}
	if (v->uncontrolled)
		(void)fprintf(stderr, "note: %" PRIu64 " happenings were not under control: another time they can differ\n",
			      v->uncontrolled);
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_text(text) : json_null();
}

static json_t *changes_to_json(const struct changes *changes)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < changes->n; i++)
		if (json_array_append_new(list, json_pack("{s:o, s:s}", "path", json_text(changes->items[i].path), "what",
							  changes->items[i].what)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* The difference of the logs, as log_diff_json() writes it. */
static json_t *log_to_json(const struct verify *v)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f;

	if (v->log.kind == LOG_DIFF_NONE)
		return json_null();
	f = open_memstream(&text, &size);
	if (!f)
		return json_null();
	log_diff_json(f, &v->log);
	if (fclose(f) != 0)
		return json_null();
	return json_loads(text, 0, NULL) ?: json_null();
}

static json_t *difference_to_json(const struct verify *v)
{
	if (v->verdict != VERIFY_DIFFERENT)
		return json_null();
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "run", (int)v->differing, "end", text_or_null(v->status.text), "stdout",
			 text_or_null(v->output.text), "stderr", text_or_null(v->errors.text), "files", text_or_null(v->changes.text),
			 "events", text_or_null(v->events.text), "log", log_to_json(v), "changed_on_host",
			 text_or_null(v->outside.first), "changes_on_host", (json_int_t)v->outside.n);
}

json_t *verify_to_json(const struct verify *v)
{
	static const char *const words[] = { [VERIFY_NO_RESULT] = "no_result", [VERIFY_EQUAL] = "equal", [VERIFY_DIFFERENT] = "different" };
	_cleanup_free_ char *command = run_options_command_line(v->o);
	char fingerprint[HASH_HEX_SIZE] = "";

	(void)run_options_fingerprint(v->o, fingerprint);
	return json_pack("{s:s, s:i, s:s, s:o, s:s, s:s, s:b, s:i, s:i, s:I, s:I, s:o, s:I, s:i, s:o, s:o, s:o, s:o}", "format", "hermit-verify", "version",
			 1, "tool", PACKAGE_VERSION, "command", json_text(command ?: ""), "config", fingerprint, "verdict", words[v->verdict],
			 "verified", v->verdict == VERIFY_EQUAL, "runs_wanted", (int)v->o->verify, "runs", (int)v->done, "events",
			 (json_int_t)v->first.records, "changed_files", (json_int_t)v->changed.total, "changed", changes_to_json(&v->changed), "uncontrolled",
			 (json_int_t)v->uncontrolled, "exit_code", v->first.result.exit_code, "reason", text_or_null(v->verdict == VERIFY_NO_RESULT ? v->reason : ""),
			 "difference", difference_to_json(v), "kept", text_or_null(v->verdict == VERIFY_DIFFERENT ? kept_in(v) : ""),
			 "kept_files", text_or_null(v->verdict == VERIFY_DIFFERENT ? v->layers : ""));
}
