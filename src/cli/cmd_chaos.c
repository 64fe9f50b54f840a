/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit chaos: one program under many schedules. The options of a run are those of hermit run. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "supervisor/exit_codes.h"
#include "supervisor/explore/explore.h"

enum { KEY_RUNS = 0x20000, KEY_UNTIL, KEY_JOBS, KEY_EXPECT, KEY_REGEX, KEY_SHARD, KEY_KEEP };
enum { DEFAULT_RUNS = 100, MAX_RUNS = 100000000 };

struct arguments {
	struct explore x;
	regex_t regex;
};

static const struct argp_option own_options[] = {
	{ "runs", KEY_RUNS, "N", 0, "how many seeds, at most (default: 100)", 1 },
	{ "until", KEY_UNTIL, "WHAT", 0, "stop early: fail, at the first run that fails; both, when one has failed and one has passed", 1 },
	{ "jobs", KEY_JOBS, "J", 0, "how many runs go on at a time (default: the number of processors)", 1 },
	{ "expect-exit", KEY_EXPECT, "N[,N...]", 0, "exit statuses of runs that pass (default: 0)", 1 },
	{ "stdout-regex", KEY_REGEX, "REGEX", 0, "what standard output of runs that pass matches, as for grep -E", 1 },
	{ "shard", KEY_SHARD, "I/N", 0, "only each N-th seed, beginning with the I-th (from 1): for several machines", 1 },
	{ "keep", KEY_KEEP, "DIR", 0, "where schedule and output of the first failing and the nearest passing run are kept (default: a new "
				      "directory in TMPDIR)", 1 },
};

/* What is this command's own business, or is made for one run. */
static bool takes_option(const struct option_spec *spec)
{
	static const char *const not[] = { "verify", "verify-json", "verify-dir", "log-events", "report", "summary", "chaos",
					   "record-schedule", "replay-schedule", "stop-at-turn", "stacktrace-at", "terminal" };

	return !run_arguments_is_among(spec, not, ARRAY_SIZE(not));
}

static void take_until(struct arguments *a, const char *text, struct argp_state *state)
{
	a->x.until = !strcmp(text, "fail") ? EXPLORE_FAIL : EXPLORE_BOTH;
	if (strcmp(text, "fail") != 0 && strcmp(text, "both") != 0)
		argp_error(state, "--until: there is no '%s'; known: fail, both", text);
}

static void take_expected(struct arguments *a, char *text, struct argp_state *state)
{
	char *word;

	while ((word = strsep(&text, ","))) {
		if (a->x.n_expected == EXPECTED_MAX)
			argp_error(state, "--expect-exit: at most %d statuses", EXPECTED_MAX);
		a->x.expected[a->x.n_expected++] = (int)command_number("expect-exit", word, 0, 255, state);
	}
}

static void take_regex(struct arguments *a, const char *text, struct argp_state *state)
{
	char message[128];
	int r = regcomp(&a->regex, text, REG_EXTENDED | REG_NEWLINE | REG_NOSUB);

	if (r != 0) {
		(void)regerror(r, &a->regex, message, sizeof(message));
		argp_error(state, "--stdout-regex: '%s': %s", text, message);
	}
	a->x.out_regex = &a->regex;
}

static void take_shard(struct arguments *a, char *text, struct argp_state *state)
{
	char *slash = strchr(text, '/');

	if (!slash)
		argp_error(state, "--shard: '%s' is not I/N", text);
	*slash = '\0';
	a->x.shards = (unsigned)command_number("shard", slash + 1, 1, 1 << 20, state);
	a->x.shard = (unsigned)command_number("shard", text, 1, a->x.shards, state) - 1;
}

static error_t take(int key, char *arg, struct argp_state *state, struct run_arguments *run, void *input)
{
	struct arguments *a = input;

	switch (key) {
	case KEY_RUNS:
		a->x.runs = command_number("runs", arg, 1, MAX_RUNS, state);
		return 0;
	case KEY_UNTIL:
		take_until(a, arg, state);
		return 0;
	case KEY_JOBS:
		a->x.jobs = (unsigned)command_number("jobs", arg, 1, EXPLORE_JOBS_MAX, state);
		return 0;
	case KEY_EXPECT:
		take_expected(a, arg, state);
		return 0;
	case KEY_REGEX:
		take_regex(a, arg, state);
		return 0;
	case KEY_SHARD:
		take_shard(a, arg, state);
		return 0;
	case KEY_KEEP:
		a->x.keep = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *const presets[][2] = { { "fs", "overlay" }, { "chaos", "true" }, { NULL, NULL } };

static const struct run_command command = {
	.name = "chaos",
	.doc = "Runs a program under many schedules, one for each seed of the scheduler, and shows how each of them ended. What the program writes to "
	       "files is thrown away after each run, unless --fs says otherwise. The options of a run are those of hermit run.\v"
	       "The exit status is 0 when all runs passed, 1 when one failed, 125 when the tool itself did; 126 and 127 when the program cannot be "
	       "executed or does not exist, 128+n when signal n has ended the exploration early.",
	.wanted = takes_option,
	.presets = presets,
	.own = own_options,
	.n_own = ARRAY_SIZE(own_options),
	.take = take,
};

int cmd_chaos(int argc, char **argv)
{
	_cleanup_run_arguments_ struct run_arguments run = { 0 };
	struct arguments a = { .x = { .runs = DEFAULT_RUNS, .jobs = explore_default_jobs(), .shards = 1, .o = &run.options, .table = stdout } };
	int status = EXIT_CODE_TOOL;

	if (run_arguments_parse(&run, &command, argc, argv, &a) == 0) {
		a.x.only_failing = run.options.quiet;
		status = run_arguments_end(&run, explore_main(&a.x));
	}
	if (a.x.out_regex)
		regfree(&a.regex);
	return status;
}
