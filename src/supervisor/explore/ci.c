/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step of a build service: see ci.h. The verification writes its verdict to a file, and that is read here: what is reported is what
 * is on record.
 */
#include "supervisor/explore/ci.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/exit_codes.h"
#include "supervisor/evidence/verify.h"
#include "trace/log_export.h"

enum { MAX_TIMELINE_EVENTS = 200000, MAX_VERDICT_BYTES = 16 << 20, PATH_SIZE = 4096 };

struct ci {
	const struct ci_request *request;
	bool equal, different;
	int status; /* what verify_main() has returned */
	json_t *verdict;
	char *why; /* what is to be said of runs that are not equal; "" when they are */
	const char *suite;
	char *command;
	char scratch[PATH_SIZE]; /* where everything is until the runs are over: a guest may look at the artifacts' directory */
};

DEFINE_CLEANUP(log_reader, struct log_reader, log_reader_free)

/* ---- files ---- */

static int path_of(const struct ci *ci, const char *name, char **ret, struct error *err)
{
	if (asprintf(ret, "%s/%s", ci->request->artifacts, name) >= 0)
		return 0;
	*ret = NULL;
	return error_errno(err, ENOMEM, "--artifacts");
}

static FILE *create(const struct ci *ci, const char *name, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	FILE *f;

	if (path_of(ci, name, &path, err) < 0)
		return NULL;
	f = fopen(path, "we");
	if (!f)
		(void)error_errno(err, errno, "%s", path);
	return f;
}

static int finish(FILE *f, const char *name, struct error *err)
{
	bool bad = ferror(f) != 0;

	if (fclose(f) != 0 || bad)
		return error_errno(err, errno ? errno : EIO, "%s", name);
	return 0;
}

static int make_artifacts(const struct ci *ci, struct error *err)
{
	if (mkdir(ci->request->artifacts, 0777) < 0 && errno != EEXIST)
		return error_errno(err, errno, "--artifacts: %s", ci->request->artifacts);
	return 0;
}

static int make_scratch(struct ci *ci, struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(ci->scratch, sizeof(ci->scratch), "%.3800s/hermit-ci-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (mkdtemp(ci->scratch))
		return 0;
	ci->scratch[0] = '\0';
	return error_errno(err, errno, "a temporary directory in %s", tmp && *tmp == '/' ? tmp : "/tmp");
}

static const char *scratch_path(const struct ci *ci, const char *name, char path[PATH_SIZE])
{
	(void)snprintf(path, PATH_SIZE, "%.3800s/%.200s", ci->scratch, name);
	return path;
}

static int copy_fd(int from, int to)
{
	char buf[65536];
	ssize_t n;
	int r;

	do {
		n = fd_read_full(from, buf, sizeof(buf));
		r = n < 0 ? (int)n : fd_write_full(to, buf, (size_t)n);
	} while (n > 0 && r == 0);
	return r;
}

/* A file of the scratch directory becomes an artifact. */
static int keep_file(const struct ci *ci, const char *name, struct error *err)
{
	char from_path[PATH_SIZE];
	_cleanup_close_ int from = open(scratch_path(ci, name, from_path), O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = -1;
	_cleanup_free_ char *path = NULL;
	int r;

	if (from < 0)
		return error_errno(err, errno, "%s", from_path);
	r = path_of(ci, name, &path, err);
	if (r < 0)
		return r;
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (to < 0)
		return error_errno(err, errno, "%s", path);
	r = copy_fd(from, to);
	return r < 0 ? error_errno(err, -r, "%s", path) : 0;
}

/* Calls `each` for every file of a directory of files. */
static int for_each_file(const char *path, int (*each)(struct ci *ci, const char *name, struct error *err), struct ci *ci, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = each(ci, entry->d_name, err);
	(void)closedir(dir);
	return r;
}

static int keep_run_file(struct ci *ci, const char *name, struct error *err)
{
	char relative[300];

	(void)snprintf(relative, sizeof(relative), "runs/%s", name);
	return keep_file(ci, relative, err);
}

static int forget_run_file(struct ci *ci, const char *name, struct error *err)
{
	char path[PATH_SIZE];
	char relative[300];

	(void)err;
	(void)snprintf(relative, sizeof(relative), "runs/%s", name);
	(void)unlink(scratch_path(ci, relative, path));
	return 0;
}

static int forget_artifact(struct ci *ci, const char *name, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	char relative[300];
	int r;

	(void)snprintf(relative, sizeof(relative), "runs/%s", name);
	r = path_of(ci, relative, &path, err);
	if (r == 0 && unlink(path) < 0)
		return error_errno(err, errno, "%s", path);
	return r;
}

/* The runs of an earlier step go, those of this one come. */
static int keep_runs(struct ci *ci, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	char from[PATH_SIZE];
	int r;

	r = path_of(ci, "runs", &path, err);
	if (r == 0)
		r = for_each_file(path, forget_artifact, ci, err);
	if (r < 0)
		return r;
	(void)rmdir(path);
	if (!ci->different)
		return 0;
	if (mkdir(path, 0777) < 0)
		return error_errno(err, errno, "%s", path);
	return for_each_file(scratch_path(ci, "runs", from), keep_run_file, ci, err);
}

static void remove_scratch(struct ci *ci)
{
	static const char *const files[] = { "stdout", "stderr", "verify.json" };
	char path[PATH_SIZE];
	struct error err = { 0 };

	if (!ci->scratch[0])
		return;
	(void)for_each_file(scratch_path(ci, "runs", path), forget_run_file, ci, &err);
	(void)rmdir(scratch_path(ci, "runs", path));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlink(scratch_path(ci, files[i], path));
	(void)rmdir(ci->scratch);
}

/* ---- the verification, its output in files ---- */

static int pass_on(const struct ci *ci, const char *name, int to, struct error *err)
{
	char path[PATH_SIZE];
	_cleanup_close_ int fd = open(scratch_path(ci, name, path), O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	r = copy_fd(fd, to);
	return r < 0 ? error_errno(err, -r, "passing on %s", path) : keep_file(ci, name, err);
}

/* Directs a standard descriptor to a file; *ret_old is a copy of what it was. */
static int redirect(const struct ci *ci, const char *name, int fd, int *ret_old, struct error *err)
{
	char path[PATH_SIZE];
	_cleanup_close_ int file = open(scratch_path(ci, name, path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (file < 0)
		return error_errno(err, errno, "%s", path);
	*ret_old = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (*ret_old < 0 || dup2(file, fd) < 0)
		return error_errno(err, errno, "%s", path);
	return 0;
}

static void restore(int *old, int fd)
{
	if (*old < 0)
		return;
	(void)dup2(*old, fd);
	cleanup_close(old);
}

static int verify_quietly(struct ci *ci, struct error *err)
{
	int out = -1, error = -1, r;

	r = redirect(ci, "stdout", STDOUT_FILENO, &out, err);
	if (r == 0)
		r = redirect(ci, "stderr", STDERR_FILENO, &error, err);
	if (r == 0)
		ci->status = verify_main(ci->request->run);
	(void)fflush(stdout);
	(void)fflush(stderr);
	restore(&out, STDOUT_FILENO);
	restore(&error, STDERR_FILENO);
	if (r == 0)
		r = pass_on(ci, "stdout", STDOUT_FILENO, err);
	return r == 0 ? pass_on(ci, "stderr", STDERR_FILENO, err) : r;
}

static int set_path(char **to, const struct ci *ci, const char *name, struct error *err)
{
	char path[PATH_SIZE];

	free(*to);
	*to = strdup(scratch_path(ci, name, path));
	return *to ? 0 : error_errno(err, ENOMEM, "verification");
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
	return finish(f, "verdict", err);
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

/* ---- JUnit ---- */

/* Text of XML 1.0: what it cannot express becomes a question mark. */
static void put_xml(FILE *f, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '&' || *c == '<' || *c == '>' || *c == '"' || *c == '\n' || *c == '\t')
			(void)fprintf(f, "&#%d;", *c);
		else
			(void)fputc(*c < ' ' || *c == 0x7f ? '?' : *c, f);
	}
}

static void put_case(FILE *f, const struct ci *ci, const char *name, const char *problem, const char *type, const char *text)
{
	(void)fputs("    <testcase classname=\"", f);
	put_xml(f, ci->suite);
	(void)fprintf(f, "\" name=\"%s\"%s>\n", name, problem ? "" : "/");
	if (!problem)
		return;
	(void)fprintf(f, "      <%s type=\"%s\" message=\"", problem, type);
	put_xml(f, text);
	(void)fputs("\">", f);
	put_xml(f, text);
	(void)fprintf(f, "</%s>\n    </testcase>\n", problem);
}

static int program_status(const struct ci *ci)
{
	return (int)json_integer_value(json_object_get(ci->verdict, "exit_code"));
}

/* Whether the program itself did well can be said of equal runs only. */
static void put_program_case(FILE *f, const struct ci *ci)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "exit status %d", program_status(ci));
	if (!ci->equal)
		put_case(f, ci, "program", "skipped", "unknown", "its runs are not equal");
	else if (program_status(ci) != 0)
		put_case(f, ci, "program", "failure", "status", text);
	else
		put_case(f, ci, "program", NULL, NULL, NULL);
}

static int write_junit(const struct ci *ci, struct error *err)
{
	bool bad_program = ci->equal && program_status(ci) != 0;
	FILE *f = create(ci, "junit.xml", err);

	if (!f)
		return -err->code;
	(void)fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"");
	put_xml(f, ci->suite);
	(void)fprintf(f, "\" tests=\"2\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n", (int)bad_program + (int)ci->different,
		      (int)(!ci->equal && !ci->different), (int)!ci->equal);
	put_program_case(f, ci);
	if (ci->equal)
		put_case(f, ci, "deterministic", NULL, NULL, NULL);
	else
		put_case(f, ci, "deterministic", ci->different ? "failure" : "error", ci->different ? "difference" : "no-result", ci->why);
	(void)fprintf(f, "    <system-out>");
	put_xml(f, ci->command);
	(void)fprintf(f, "</system-out>\n  </testsuite>\n</testsuites>\n");
	return finish(f, "junit.xml", err);
}

/* ---- a build service's own forms ---- */

static void put_summary(FILE *f, const struct ci *ci)
{
	const char *word = ci->equal ? "runs are equal" : ci->different ? "runs differ" : "no result";

	(void)fprintf(f, "### %s: %s\n\n", ci->suite, word);
	(void)fprintf(f, "| runs | events | changed files | exit status |\n|---|---|---|---|\n| %lld | %lld | %lld | %d |\n\n",
		      (long long)json_integer_value(json_object_get(ci->verdict, "runs")),
		      (long long)json_integer_value(json_object_get(ci->verdict, "events")),
		      (long long)json_integer_value(json_object_get(ci->verdict, "changed_files")), ci->status);
	if (*ci->why)
		(void)fprintf(f, "~~~\n%s~~~\n\n", ci->why);
	(void)fprintf(f, "~~~\n%s\n~~~\n", ci->command);
}

static int write_summary(const struct ci *ci, struct error *err)
{
	const char *extra = ci->request->annotate ? getenv("GITHUB_STEP_SUMMARY") : NULL;
	FILE *f = create(ci, "summary.md", err);
	int r;

	if (!f)
		return -err->code;
	put_summary(f, ci);
	r = finish(f, "summary.md", err);
	if (r < 0 || !extra || !*extra)
		return r;
	f = fopen(extra, "ae");
	if (!f)
		return error_errno(err, errno, "GITHUB_STEP_SUMMARY: %s", extra);
	put_summary(f, ci);
	return finish(f, extra, err);
}

/* The text of a workflow command: its own signs are written as %XX; in a property the comma and the colon, too. */
static void put_annotation_text(const char *text, bool property)
{
	for (; *text; text++) {
		if (*text == '%' || *text == '\r' || *text == '\n' || (property && (*text == ':' || *text == ',')))
			(void)printf("%%%02X", (unsigned char)*text);
		else
			(void)putchar(*text);
	}
}

static void annotate(const struct ci *ci)
{
	char text[64];

	if (!ci->request->annotate || (ci->equal && ci->status == 0))
		return;
	(void)snprintf(text, sizeof(text), "equal runs, exit status %d", ci->status);
	(void)fputs("::error title=", stdout);
	put_annotation_text(ci->suite, true);
	(void)fputs("::", stdout);
	put_annotation_text(ci->equal ? text : ci->why, false);
	(void)putchar('\n');
	(void)fflush(stdout);
}

/* ---- the page ---- */

static int write_timeline(const struct ci *ci, struct error *err)
{
	const struct log_export_options options = { .max_events = MAX_TIMELINE_EVENTS };
	_cleanup_(cleanup_log_reader) struct log_reader *reader = NULL;
	_cleanup_free_ char *log = NULL;
	bool cut;
	FILE *f;
	int r;

	if (!ci->different)
		return 0;
	r = path_of(ci, "runs/run1.log.jsonl.zst", &log, err);
	if (r == 0)
		r = log_reader_open(log, &reader, err);
	if (r < 0)
		return r;
	f = create(ci, "runs/timeline.html", err);
	if (!f)
		return -err->code;
	r = log_export_html(reader, &options, ci->suite, f, &cut, err);
	if (r < 0) {
		(void)fclose(f);
		return r;
	}
	return finish(f, "timeline.html", err);
}

static int report(struct ci *ci, struct error *err)
{
	int r;

	r = read_verdict(ci, err);
	if (r == 0)
		r = keep_file(ci, "verify.json", err);
	if (r == 0)
		r = keep_runs(ci, err);
	if (r == 0)
		r = write_junit(ci, err);
	if (r == 0)
		r = write_summary(ci, err);
	if (r == 0)
		r = write_timeline(ci, err);
	if (r == 0)
		annotate(ci);
	return r;
}

int ci_main(struct ci_request *request)
{
	struct ci ci = { .request = request, .status = EXIT_CODE_TOOL };
	struct error err = { 0 };
	int r;

	ci.suite = request->name ? request->name : request->run->argv.items[0];
	ci.command = run_options_command_line(request->run);
	r = ci.command ? make_artifacts(&ci, &err) : error_errno(&err, ENOMEM, "hermit ci");
	if (r == 0)
		r = make_scratch(&ci, &err);
	if (r == 0)
		r = verify(&ci, &err);
	if (r == 0)
		r = report(&ci, &err);
	if (r < 0)
		log_error("%s", err.text);
	if (r == 0 && ci.status == EXIT_CODE_TOOL && !ci.equal)
		doctor_log_missing();
	remove_scratch(&ci);
	json_decref(ci.verdict);
	free(ci.why);
	free(ci.command);
	return r < 0 ? EXIT_CODE_TOOL : ci.status;
}
