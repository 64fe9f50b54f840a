/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step of a build service: see ci.h. The verification writes its verdict to a file, and that is read here: what is reported is what
 * is on record.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/exit_codes.h"
#include "supervisor/scratch.h"
#include "supervisor/explore/ci_internal.h"
#include "supervisor/evidence/verify.h"

enum { MAX_VERDICT_BYTES = 16 << 20 };

int ci_program_status(const struct ci *ci)
{
	return (int)json_integer_value(json_object_get(ci->verdict, "exit_code"));
}

/* ---- the verification, its output in files ---- */

static int pass_on(const struct ci *ci, const char *name, int to, struct error *err)
{
	char path[CI_PATH_SIZE], target[FD_NAME_SIZE];
	_cleanup_close_ int fd = open(ci_scratch_path(ci, name, path), O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	r = fd_copy(fd, to);
	return r < 0 ? error_errno(err, -r, "passing on %s to %s", path, fd_name(to, target)) : ci_keep_file(ci, name, err);
}

static int verify_quietly(struct ci *ci, struct error *err)
{
	_cleanup_free_ char *kept = NULL, *verdict = NULL;
	struct error failure = { 0 };
	int out = -1, error = -1, r;

	r = ci_artifact_path(ci, "runs", &kept, err);
	if (r == 0)
		r = ci_artifact_path(ci, "verify.json", &verdict, err);
	if (r < 0)
		return r;
	r = ci_redirect(ci, "stdout", STDOUT_FILENO, &out, err);
	if (r == 0)
		r = ci_redirect(ci, "stderr", STDERR_FILENO, &error, err);
	if (r == 0)
		ci->status = verify_program(ci->request->run, &(struct verify_names){ kept, verdict }, &failure);
	(void)fflush(stdout);
	(void)fflush(stderr);
	ci_restore(&out, STDOUT_FILENO);
	ci_restore(&error, STDERR_FILENO);
	if (r == 0)
		r = pass_on(ci, "stdout", STDOUT_FILENO, err);
	if (r == 0)
		r = pass_on(ci, "stderr", STDERR_FILENO, err);
	return failure.code ? error_set(err, failure.code, "%s", failure.text) : r; /* what else went wrong comes from it */
}

static int set_path(char **to, const struct ci *ci, const char *name, struct error *err)
{
	char path[CI_PATH_SIZE];

	free(*to);
	*to = strdup(ci_scratch_path(ci, name, path));
	return *to ? 0 : error_errno(err, ENOMEM, "verification");
}

/* All runs read the same: standard input is a file from now on. */
static int capture_stdin(const struct ci *ci, struct error *err)
{
	char path[CI_PATH_SIZE];
	int r;

	r = scratch_capture_stdin(ci_scratch_path(ci, "stdin", path), err);
	if (r < 0)
		return r;
	r = fd_redirect(path, O_RDONLY, STDIN_FILENO);
	return r < 0 ? error_errno(err, -r, "%s", path) : 0;
}

static int verify(struct ci *ci, struct error *err)
{
	struct run_options *run = ci->request->run;
	int r;

	run->verify = ci->request->runs;
	r = set_path(&run->verify_json, ci, "verify.json", err);
	if (r == 0)
		r = set_path(&run->verify_dir, ci, "runs", err);
	if (r == 0)
		r = run_options_validate(run, err);
	if (r == 0)
		r = capture_stdin(ci, err);
	return r == 0 ? verify_quietly(ci, err) : r;
}

/* ---- the verdict ---- */

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void add_part(FILE *f, const json_t *difference, const char *key, const char *title)
{
	const char *text = text_at(difference, key);

	if (*text)
		(void)fprintf(f, "%s: %s\n", title, text);
}

static int explain(struct ci *ci, struct error *err)
{
	static const char *const parts[][2] = {
		{ "end", "end" }, { "stdout", "standard output" }, { "stderr", "standard error" }, { "files", "files" },
		{ "events", "events" },
	};
	const json_t *difference = json_object_get(ci->verdict, "difference");
	size_t size;
	FILE *f;

	f = open_memstream(&ci->why, &size);
	if (!f)
		return error_errno(err, errno, "verdict");
	if (ci->different)
		(void)fprintf(f, "run %lld differs from run 1\n", (long long)json_integer_value(json_object_get(difference, "run")));
	for (size_t i = 0; ci->different && i < ARRAY_SIZE(parts); i++)
		add_part(f, difference, parts[i][0], parts[i][1]);
	if (!ci->different && !ci->equal)
		(void)fprintf(f, "no result: %s\n", text_at(ci->verdict, "reason"));
	return ci_finish_file(f, "verdict", err);
}

static int read_verdict(struct ci *ci, struct error *err)
{
	const char *path = ci->request->run->verify_json;
	_cleanup_free_ char *text = NULL;
	const char *word;
	size_t len;
	int r;

	r = fd_read_file(AT_FDCWD, path, MAX_VERDICT_BYTES, &text, &len);
	if (r < 0)
		return error_errno(err, -r, "%s", path);
	ci->verdict = json_loadb(text, len, 0, NULL);
	word = text_at(ci->verdict, "verdict");
	if (!*word)
		return error_set(err, EBADMSG, "%s has no verdict", path);
	ci->equal = !strcmp(word, "equal");
	ci->different = !strcmp(word, "different");
	return explain(ci, err);
}

/* ---- the exploration ---- */

/* As the verification ran it, but for the schedule: nothing is written for real, what belongs to the verification is gone. */
static int chaos_options(const struct ci *ci, struct run_options *ret, struct error *err)
{
	int r;

	r = run_options_copy(ci->request->run, ret, err);
	if (r < 0)
		return r;
	ret->verify = 0;
	free(ret->verify_json);
	free(ret->verify_dir);
	ret->verify_json = ret->verify_dir = NULL;
	ret->chaos = true;
	ret->terminal = false;
	strv_clear(&ret->writable);
	r = run_options_set(ret, option_find("fs"), "overlay", err);
	return r == 0 ? run_options_validate(ret, err) : r;
}

/* What there is to say of the first failing run. */
static int explain_chaos(struct ci *ci, struct error *err)
{
	const struct explore_result *chaos = &ci->chaos;

	if (!chaos->has_fail)
		return 0;
	if (asprintf(&ci->chaos_why,
		     "the schedule of seed %" PRIu64 " makes the program fail (%s; %" PRIu64 " of %" PRIu64 " schedules do)\n"
		     "the same again: %s\n",
		     chaos->first_fail, chaos->how, chaos->failed, chaos->done, chaos->fail_command ? chaos->fail_command : "") >= 0)
		return 0;
	ci->chaos_why = NULL;
	return error_errno(err, ENOMEM, "hermit ci");
}

static int explore_into(struct ci *ci, const struct run_options *o, FILE *table, struct error *err)
{
	char keep[CI_PATH_SIZE], input[CI_PATH_SIZE];
	_cleanup_free_ char *shown = NULL;
	struct explore x = {
		.o = o, .runs = ci->request->chaos_seeds, .budget_ns = ci->request->chaos_time_ns, .until = EXPLORE_BOTH,
		.jobs = explore_default_jobs(), .shards = 1, .log_fail = true, .table = table,
		.input = ci_scratch_path(ci, "stdin", input), .keep = ci_scratch_path(ci, "chaos", keep),
	};
	int r;

	r = ci_artifact_path(ci, "chaos", &shown, err);
	if (r < 0)
		return r;
	x.shown = shown;
	r = explore_all(&x, &ci->chaos, err);
	ci->status = r < 0 ? ci->chaos.tool_status : ci->status;
	if (r < 0)
		return r;
	if (ci->chaos.interrupted && !ci->chaos.has_fail)
		return error_set(err, EINTR, "interrupted after %" PRIu64 " run%s", ci->chaos.done, ci->chaos.done == 1 ? "" : "s");
	ci->explored = true;
	if (ci->chaos.has_fail)
		ci->status = ci->chaos.fail_status;
	return explain_chaos(ci, err);
}

static int try_schedules(struct ci *ci, struct error *err)
{
	struct run_options o __attribute__((cleanup(run_options_clear))) = { 0 };
	char path[CI_PATH_SIZE];
	FILE *table;
	int r;

	if (mkdir(ci_scratch_path(ci, "chaos", path), 0700) < 0)
		return error_errno(err, errno, "%s", path);
	table = fopen(ci_scratch_path(ci, "chaos/table.txt", path), "we");
	if (!table)
		return error_errno(err, errno, "%s", path);
	r = chaos_options(ci, &o, err);
	if (r == 0)
		r = explore_into(ci, &o, table, err);
	if (r < 0) {
		(void)fclose(table);
		return r;
	}
	return ci_finish_file(table, "chaos/table.txt", err);
}

/* Of a program that does well under the default schedule. A failure is the step's, and does not keep the rest from being reported. */
static int explore(struct ci *ci, struct error *err)
{
	struct error failure = { 0 };

	if (!ci->request->chaos_seeds || !ci->equal || ci->status != 0)
		return 0;
	if (try_schedules(ci, &failure) < 0) {
		ci->unexplored = true;
		if (ci->status == 0)
			ci->status = EXIT_CODE_TOOL;
		free(ci->chaos_why);
		if (asprintf(&ci->chaos_why, "other schedules could not be tried: %s\n", failure.text) < 0) {
			ci->chaos_why = NULL;
			return error_errno(err, ENOMEM, "hermit ci");
		}
	}
	if (ci->chaos_why)
		(void)fputs(ci->chaos_why, stderr);
	else
		(void)fprintf(stderr, "explored: %" PRIu64 " seed%s, %zu distinct schedule%s, none makes the program fail\n", ci->chaos.done,
			      ci->chaos.done == 1 ? "" : "s", ci->chaos.schedules, ci->chaos.schedules == 1 ? "" : "s");
	return 0;
}

/* ---- the step ---- */

static int report(struct ci *ci, struct error *err)
{
	int r;

	r = ci_keep_file(ci, "verify.json", err);
	if (r == 0)
		r = ci_keep_directory(ci, "runs", ci->different, err);
	if (r == 0)
		r = ci_keep_directory(ci, "chaos", ci->explored, err);
	if (r == 0)
		r = ci_write_junit(ci, err);
	if (r == 0)
		r = ci_write_summary(ci, err);
	if (r == 0 && ci->different)
		r = ci_write_timeline(ci, "runs/run1.log.jsonl.zst", "runs/timeline.html", err);
	if (r == 0 && ci->explored && ci->chaos.has_fail)
		r = ci_write_timeline(ci, "chaos/fail.log.jsonl.zst", "chaos/timeline.html", err);
	if (r == 0)
		ci_annotate(ci);
	return r;
}

static void clear(struct ci *ci)
{
	ci_remove_scratch(ci);
	json_decref(ci->verdict);
	explore_result_clear(&ci->chaos);
	free(ci->why);
	free(ci->chaos_why);
	free(ci->command);
}

int ci_main(struct ci_request *request)
{
	struct ci ci = { .request = request, .status = EXIT_CODE_TOOL };
	struct error err = { 0 };
	int r, status;

	ci.suite = request->name ? request->name : request->run->argv.items[0];
	ci.command = run_options_command_line(request->run);
	r = ci.command ? ci_make_artifacts(&ci, &err) : error_errno(&err, ENOMEM, "hermit ci");
	if (r == 0)
		r = ci_make_scratch(&ci, &err);
	if (r == 0)
		r = verify(&ci, &err);
	if (r == 0)
		r = read_verdict(&ci, &err);
	if (r == 0)
		r = explore(&ci, &err);
	if (r == 0)
		r = report(&ci, &err);
	if (r < 0)
		log_error("%s", err.text);
	if (r == 0 && ci.status == EXIT_CODE_TOOL && !ci.equal)
		doctor_log_missing();
	status = r < 0 ? EXIT_CODE_TOOL : ci.status;
	clear(&ci);
	return status;
}
