/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit ci: a verification as a step of a build service. The options of a run are those of hermit run. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "supervisor/explore/ci.h"
#include "supervisor/exit_codes.h"

enum { KEY_RUNS = 0x20000, KEY_ARTIFACTS, KEY_NAME, KEY_ANNOTATIONS };
enum { DEFAULT_RUNS = 5, MAX_RUNS = 1000000 };

struct arguments {
	struct run_arguments run;
	struct ci_request ci;
};

static const struct argp_option own_options[] = {
	{ "runs", KEY_RUNS, "N", 0, "how many runs are compared (default: 5)", 1 },
	{ "artifacts", KEY_ARTIFACTS, "DIR", 0, "where logs and reports go (default: hermit-ci)", 1 },
	{ "name", KEY_NAME, "TEXT", 0, "name of the test suite in the reports (default: the program's)", 1 },
	{ "annotations", KEY_ANNOTATIONS, "KIND", 0, "github, or none (default: github when GITHUB_ACTIONS is true)", 1 },
};

/* What is shown of a run is this command's own business. */
static bool takes_option(const struct option_spec *spec)
{
	static const char *const not[] = { "verify", "verify-json", "verify-dir", "log-events", "report", "summary" };

	return !run_arguments_is_among(spec, not, ARRAY_SIZE(not));
}

static void take_annotations(struct arguments *a, const char *text, struct argp_state *state)
{
	a->ci.annotate = !strcmp(text, "github");
	if (!a->ci.annotate && strcmp(text, "none") != 0)
		argp_error(state, "--annotations: there is no '%s'; known: github, none", text);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_RUNS:
		a->ci.runs = run_arguments_number("runs", arg, 2, MAX_RUNS, state);
		return 0;
	case KEY_ARTIFACTS:
		a->ci.artifacts = arg;
		return 0;
	case KEY_NAME:
		a->ci.name = arg;
		return 0;
	case KEY_ANNOTATIONS:
		take_annotations(a, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		return run_arguments_take_program(&a->run.options, state);
	default:
		return run_arguments_take_option(&a->run.options, takes_option, key, arg, state);
	}
}

static const char doc[] =
	"Runs a program several times, compares the runs exactly, and leaves reports (JUnit, a summary, logs) in one directory. "
	"The options of a run are those of hermit run.\v"
	"The exit status is the program's own when its runs are equal; 123 when they differ, 125 without a result.";

static bool in_github(void)
{
	const char *value = getenv("GITHUB_ACTIONS");

	return value && !strcmp(value, "true");
}

int cmd_ci(int argc, char **argv)
{
	struct arguments a = { .ci = { .runs = DEFAULT_RUNS, .artifacts = "hermit-ci", .annotate = in_github() } };
	struct error err = { 0 };
	int r, status = EXIT_CODE_TOOL;

	command_prepare("hermit", "ci", argv);
	r = run_options_init(&a.run.options);
	if (r == 0)
		r = run_arguments_parse_with(parse_one, doc, takes_option, own_options, ARRAY_SIZE(own_options), argc, argv, &a);
	if (r < 0)
		(void)error_errno(&err, -r, "arguments");
	if (r == 0)
		r = run_arguments_setup_log(&a.run, "hermit", &err);
	if (r == 0 && a.run.options.argv.count == 0)
		r = error_set(&err, EINVAL, "no program was given");
	a.ci.run = &a.run.options;
	if (r < 0)
		log_error("%s", err.text);
	else
		status = run_arguments_end(&a.run, ci_main(&a.ci));
	run_arguments_clear(&a.run);
	return status;
}
