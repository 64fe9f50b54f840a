/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit ci: a verification and an exploration of schedules as a step of a build service. The options of a run are those of hermit run. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "supervisor/explore/ci.h"
#include "supervisor/exit_codes.h"

enum { KEY_RUNS = 0x20000, KEY_CHAOS_SEEDS, KEY_CHAOS_TIME, KEY_ARTIFACTS, KEY_NAME, KEY_ANNOTATIONS };
enum { DEFAULT_RUNS = 5, DEFAULT_SEEDS = 10, MAX_RUNS = 1000000 };

static const struct argp_option own_options[] = {
	{ "runs", KEY_RUNS, "N", 0, "how many runs are compared (default: 5)", 1 },
	{ "chaos-seeds", KEY_CHAOS_SEEDS, "N", 0, "how many other schedules are tried, at most (default: 10; 0: none)", 1 },
	{ "chaos-time", KEY_CHAOS_TIME, "TIME", 0, "begin no further schedule after so much real time (default: 0, no limit)", 1 },
	{ "artifacts", KEY_ARTIFACTS, "DIR", 0, "where logs and reports go (default: hermit-ci)", 1 },
	{ "name", KEY_NAME, "TEXT", 0, "name of the test suite in the reports (default: the program's)", 1 },
	{ "annotations", KEY_ANNOTATIONS, "KIND", 0, "github, or none (default: github when GITHUB_ACTIONS is true)", 1 },
};

/* What is shown of a run is this command's own business. */
static bool takes_option(const struct option_spec *spec)
{
	static const char *const not[] = { "verify", "verify-json", "verify-dir", "log-events", "report", "summary",
					   "record-schedule", "replay-schedule" };

	return !run_arguments_is_among(spec, not, ARRAY_SIZE(not));
}

static void take_annotations(struct ci_request *ci, const char *text, struct argp_state *state)
{
	ci->annotate = !strcmp(text, "github");
	if (!ci->annotate && strcmp(text, "none") != 0)
		argp_error(state, "--annotations: there is no '%s'; known: github, none", text);
}

static error_t take(int key, char *arg, struct argp_state *state, struct run_arguments *run, void *input)
{
	struct ci_request *ci = input;

	switch (key) {
	case KEY_RUNS:
		ci->runs = command_number("runs", arg, 2, MAX_RUNS, state);
		return 0;
	case KEY_CHAOS_SEEDS:
		ci->chaos_seeds = command_number("chaos-seeds", arg, 0, MAX_RUNS, state);
		return 0;
	case KEY_CHAOS_TIME:
		ci->chaos_time_ns = command_duration("chaos-time", arg, state);
		return 0;
	case KEY_ARTIFACTS:
		ci->artifacts = arg;
		return 0;
	case KEY_NAME:
		ci->name = arg;
		return 0;
	case KEY_ANNOTATIONS:
		take_annotations(ci, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct run_command command = {
	.name = "ci",
	.doc = "Runs a program several times, compares the runs exactly, runs it under other schedules, and leaves reports (JUnit, a summary, logs, "
	       "schedules) in one directory. The options of a run are those of hermit run.\v"
	       "The exit status is the program's own when its runs are equal, and that of the first schedule that makes it fail; 123 when "
	       "runs differ, 125 without a result.",
	.wanted = takes_option,
	.own = own_options,
	.n_own = ARRAY_SIZE(own_options),
	.take = take,
};

static bool in_github(void)
{
	const char *value = getenv("GITHUB_ACTIONS");

	return value && !strcmp(value, "true");
}

int cmd_ci(int argc, char **argv)
{
	_cleanup_run_arguments_ struct run_arguments run = { 0 };
	struct ci_request ci = {
		.run = &run.options, .runs = DEFAULT_RUNS, .chaos_seeds = DEFAULT_SEEDS, .artifacts = "hermit-ci", .annotate = in_github(),
	};

	if (run_arguments_parse(&run, &command, argc, argv, &ci) < 0)
		return EXIT_CODE_TOOL;
	return run_arguments_end(&run, ci_main(&ci));
}
