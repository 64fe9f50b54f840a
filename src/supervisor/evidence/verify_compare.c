/* SPDX-License-Identifier: BSD-3-Clause */
/* Two runs of a verification, compared: see verify_internal.h. */
#include "supervisor/evidence/verify_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/evidence/report.h"

enum { CONTEXT = 5 };

static int compare_status(const struct run_result *a, const struct run_result *b, struct difference *what)
{
	char words[2][RUN_END_WORDS_SIZE];

	if (a->end == b->end && a->exit_code == b->exit_code && (a->end != RUN_EXITED || a->wait_status == b->wait_status))
		return 1;
	(void)snprintf(what->text, sizeof(what->text), "%s with status %d, and %s with status %d", run_end_words(a, words[0]), a->exit_code,
		       run_end_words(b, words[1]), b->exit_code);
	return 0;
}

static int compare_stream(const struct verify *v, const char *name, struct difference *what, struct error *err)
{
	char path[VERIFY_PATH_SIZE];
	_cleanup_close_ int a = open(verify_path(v, path, 1, name), O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int b = open(verify_path(v, path, v->done, name), O_RDONLY | O_CLOEXEC);

	if (a < 0 || b < 0)
		return error_errno(err, errno, "%s", path);
	return compare_contents(a, b, what, err);
}

/* What is in memory only. */
static int compare_places(struct verify *v, struct difference *what, struct error *err)
{
	int r = 1;

	for (size_t i = 0; i < v->places[0].n && r > 0; i++) {
		const char *path = v->places[0].items[i].path;
		int other = places_fd(&v->places[1], path);

		if (other < 0)
			return error_set(err, ENOENT, "comparing %s: it is in one container only", path);
		r = compare_trees(v->places[0].items[i].fd, other, path, &v->places[0].mounts, &v->places[0].items[i].before, &v->changed, what,
				  err);
	}
	return r;
}

static int compare_changes(struct verify *v, struct difference *what, struct error *err)
{
	char a[VERIFY_PATH_SIZE], b[VERIFY_PATH_SIZE];
	int r;

	changes_clear(&v->changed);
	r = compare_layers(verify_path(v, a, 1, "files/upper"), verify_path(v, b, v->done, "files/upper"), &v->upper_before,
			   &v->changed, what, err);
	return r > 0 ? compare_places(v, what, err) : r;
}

DEFINE_CLEANUP(log_reader, struct log_reader, log_reader_free)

static int compare_events(struct verify *v, struct difference *what, struct error *err)
{
	_cleanup_(cleanup_log_reader) struct log_reader *a = NULL;
	_cleanup_(cleanup_log_reader) struct log_reader *b = NULL;
	char label[24], path[VERIFY_PATH_SIZE];
	struct log_diff_options options = { .labels = { "run 1", label }, .context = CONTEXT };
	int r;

	(void)snprintf(label, sizeof(label), "run %u", v->done);
	r = log_reader_open(verify_path(v, path, 1, "log.jsonl.zst"), &a, err);
	if (r == 0)
		r = log_reader_open(verify_path(v, path, v->done, "log.jsonl.zst"), &b, err);
	if (r == 0) {
		log_diff_result_deinit(&v->log);
		r = log_diff(a, b, &options, &v->log, err);
	}
	if (r < 0)
		return r;
	if (v->log.kind == LOG_DIFF_NONE)
		return 1;
	(void)snprintf(what->text, sizeof(what->text), "%s: %s", log_difference_name(v->log.kind), v->log.sentence);
	return 0;
}

int verify_compare(struct verify *v, const struct observed *ob, struct error *err)
{
	int r, equal;

	equal = compare_status(&v->first.result, &ob->result, &v->status);
	r = compare_stream(v, "stdout", &v->output, err);
	equal &= r;
	if (r >= 0) {
		r = compare_stream(v, "stderr", &v->errors, err);
		equal &= r;
	}
	if (r >= 0) {
		r = compare_changes(v, &v->changes, err);
		equal &= r;
	}
	if (r >= 0) {
		r = compare_events(v, &v->events, err);
		equal &= r;
	}
	return r < 0 ? r : equal;
}
