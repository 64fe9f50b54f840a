/* SPDX-License-Identifier: BSD-3-Clause */
/* What hermit ci says: JUnit, a summary, annotations, pages. See ci_internal.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/explore/ci_internal.h"
#include "trace/log_export.h"

enum { MAX_TIMELINE_EVENTS = 200000, CASES_MAX = 3 };

DEFINE_CLEANUP(log_reader, struct log_reader, log_reader_free)

/* ---- test cases ---- */

enum outcome { PASSED, FAILURE, ERROR, SKIPPED };

/* Strings are borrowed from the step; `room` is for one that is made up. */
struct test_case {
	const char *name;
	enum outcome outcome;
	const char *type, *text;
	char room[64];
};

/* Whether the program itself did well can be said of equal runs only. */
static void program_case(const struct ci *ci, struct test_case *c)
{
	c->name = "program";
	if (!ci->equal) {
		c->outcome = SKIPPED;
		c->type = "unknown";
		c->text = "its runs are not equal";
	} else if (ci_program_status(ci) != 0) {
		c->outcome = FAILURE;
		c->type = "status";
		(void)snprintf(c->room, sizeof(c->room), "exit status %d", ci_program_status(ci));
		c->text = c->room;
	}
}

static void deterministic_case(const struct ci *ci, struct test_case *c)
{
	c->name = "deterministic";
	c->outcome = ci->equal ? PASSED : ci->different ? FAILURE : ERROR;
	c->type = ci->different ? "difference" : "no-result";
	c->text = ci->why;
}

static void schedules_case(const struct ci *ci, struct test_case *c)
{
	c->name = "schedules";
	if (ci->unexplored) {
		c->outcome = ERROR;
		c->type = "no-result";
		c->text = ci->chaos_why;
	} else if (!ci->explored) {
		c->outcome = SKIPPED;
		c->type = "not-explored";
		c->text = "the program does not do well under the default schedule";
	} else if (ci->chaos_why) {
		c->outcome = FAILURE;
		c->type = "schedule";
		c->text = ci->chaos_why;
	}
}

/* Returns how many there are. */
static size_t make_cases(const struct ci *ci, struct test_case cases[CASES_MAX])
{
	memset(cases, 0, CASES_MAX * sizeof(*cases));
	program_case(ci, &cases[0]);
	deterministic_case(ci, &cases[1]);
	if (!ci->request->chaos_seeds)
		return 2;
	schedules_case(ci, &cases[2]);
	return 3;
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

static void put_case(FILE *f, const struct ci *ci, const struct test_case *c)
{
	static const char *const elements[] = { [FAILURE] = "failure", [ERROR] = "error", [SKIPPED] = "skipped" };
	const char *element = elements[c->outcome];

	(void)fputs("    <testcase classname=\"", f);
	put_xml(f, ci->suite);
	(void)fprintf(f, "\" name=\"%s\"%s>\n", c->name, c->outcome == PASSED ? "/" : "");
	if (c->outcome == PASSED)
		return;
	(void)fprintf(f, "      <%s type=\"%s\" message=\"", element, c->type);
	put_xml(f, c->text);
	(void)fputs("\">", f);
	put_xml(f, c->text);
	(void)fprintf(f, "</%s>\n    </testcase>\n", element);
}

int ci_write_junit(const struct ci *ci, struct error *err)
{
	struct test_case cases[CASES_MAX];
	size_t n = make_cases(ci, cases), count[SKIPPED + 1] = { 0 };
	FILE *f = ci_create_artifact(ci, "junit.xml", err);

	if (!f)
		return -err->code;
	for (size_t i = 0; i < n; i++)
		count[cases[i].outcome]++;
	(void)fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"");
	put_xml(f, ci->suite);
	(void)fprintf(f, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", n, count[FAILURE], count[ERROR], count[SKIPPED]);
	for (size_t i = 0; i < n; i++)
		put_case(f, ci, &cases[i]);
	(void)fprintf(f, "    <system-out>");
	put_xml(f, ci->command);
	(void)fprintf(f, "</system-out>\n  </testsuite>\n</testsuites>\n");
	return ci_finish_file(f, "junit.xml", err);
}

/* ---- a build service's own forms ---- */

static int64_t verdict_number(const struct ci *ci, const char *key)
{
	return json_integer_value(json_object_get(ci->verdict, key));
}

static void put_summary(FILE *f, const struct ci *ci)
{
	const char *word = ci->equal ? "runs are equal" : ci->different ? "runs differ" : "no result";
	const char *failing = ci->chaos_why ? ", a schedule makes it fail" : "";
	const char *others = ci->unexplored ? ", other schedules could not be tried" : failing;

	(void)fprintf(f, "### %s: %s%s\n\n", ci->suite, word, others);
	(void)fprintf(f, "| runs | events | changed files | exit status |\n|---|---|---|---|\n| %" PRId64 " | %" PRId64 " | %" PRId64 " | %d |\n\n",
		      verdict_number(ci, "runs"), verdict_number(ci, "events"), verdict_number(ci, "changed_files"),
		      ci->equal ? ci_program_status(ci) : ci->status);
	if (ci->explored)
		(void)fprintf(f, "| seeds | distinct schedules | failed | deadlocks |\n|---|---|---|---|\n| %" PRIu64 " | %zu | %" PRIu64 " | %" PRIu64 " |\n\n",
			      ci->chaos.done, ci->chaos.schedules, ci->chaos.failed, ci->chaos.deadlocks);
	if (*ci->why)
		(void)fprintf(f, "~~~\n%s~~~\n\n", ci->why);
	if (ci->chaos_why)
		(void)fprintf(f, "~~~\n%s~~~\n\n", ci->chaos_why);
	(void)fprintf(f, "~~~\n%s\n~~~\n", ci->command);
}

int ci_write_summary(const struct ci *ci, struct error *err)
{
	const char *extra = ci->request->annotate ? getenv("GITHUB_STEP_SUMMARY") : NULL;
	FILE *f = ci_create_artifact(ci, "summary.md", err);
	int r;

	if (!f)
		return -err->code;
	put_summary(f, ci);
	r = ci_finish_file(f, "summary.md", err);
	if (r < 0 || !extra || !*extra)
		return r;
	f = fopen(extra, "ae");
	if (!f)
		return error_errno(err, errno, "GITHUB_STEP_SUMMARY: %s", extra);
	put_summary(f, ci);
	return ci_finish_file(f, extra, err);
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

void ci_annotate(const struct ci *ci)
{
	char text[64];

	if (!ci->request->annotate || (ci->equal && ci->status == 0))
		return;
	(void)snprintf(text, sizeof(text), "equal runs, exit status %d", ci->status);
	(void)fputs("::error title=", stdout);
	put_annotation_text(ci->suite, true);
	(void)fputs("::", stdout);
	put_annotation_text(!ci->equal ? ci->why : ci->chaos_why ? ci->chaos_why : text, false);
	(void)putchar('\n');
	(void)fflush(stdout);
}

/* ---- pages ---- */

int ci_write_timeline(const struct ci *ci, const char *log, const char *page, struct error *err)
{
	const struct log_export_options options = { .max_events = MAX_TIMELINE_EVENTS };
	_cleanup_(cleanup_log_reader) struct log_reader *reader = NULL;
	_cleanup_free_ char *path = NULL;
	bool cut;
	FILE *f;
	int r;

	r = ci_artifact_path(ci, log, &path, err);
	if (r == 0)
		r = log_reader_open(path, &reader, err);
	if (r < 0)
		return r;
	f = ci_create_artifact(ci, page, err);
	if (!f)
		return -err->code;
	r = log_export_html(reader, &options, ci->suite, f, &cut, err);
	if (r < 0) {
		(void)fclose(f);
		return r;
	}
	return ci_finish_file(f, page, err);
}
