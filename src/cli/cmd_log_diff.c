/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit log-diff: the first difference between two event logs. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/log_arguments.h"
#include "supervisor/exit_codes.h"
#include "trace/log_diff.h"

enum { KEY_JSON = LOG_KEY_OWN, KEY_CONTEXT, KEY_FOLLOW, KEY_IGNORE_TIME, KEY_IGNORE_TURN, KEY_IGNORE_BYTES, KEY_ANY_CONFIG };

enum { FOLLOW_SECONDS = 300, FOLLOW_STEP_MS = 50 };

struct arguments {
	const char *paths[2];
	size_t n_paths;
	bool json, color, follow;
	struct log_input input;
	uint64_t follow_ns; /* 0: for ever */
	struct timespec start;
	struct log_diff_options diff;
};

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "print the result as one JSON object", 0 },
	{ "context", KEY_CONTEXT, "N", 0, "show N equal events before the difference (default: 5, at most 1000)", 0 },
	{ "follow", KEY_FOLLOW, "SECONDS", OPTION_ARG_OPTIONAL, "wait for logs that are still being written, at most so long "
								"(default: 300, 0: for ever)", 0 },
	LOG_COLOR_OPTION,
	{ NULL, 0, NULL, 0, "Comparing less (equality is then said to be under these options):", 5 },
	{ "ignore-time", KEY_IGNORE_TIME, NULL, 0, "virtual times may differ", 0 },
	{ "ignore-turn", KEY_IGNORE_TURN, NULL, 0, "numbers of turns may differ", 0 },
	{ "ignore-bytes", KEY_IGNORE_BYTES, NULL, 0, "hashes of payloads may differ", 0 },
	{ "any-config", KEY_ANY_CONFIG, NULL, 0, "compare logs of different configurations or versions", 0 },
	{ 0 },
};

static void parse_follow(struct arguments *a, const char *arg, struct argp_state *state)
{
	a->follow = true;
	a->follow_ns = arg ? command_duration("follow", arg, state) : FOLLOW_SECONDS * 1000000000ull;
}

static void add_path(struct arguments *a, const char *arg, struct argp_state *state)
{
	if (a->n_paths == 2)
		argp_error(state, "'%s' is a third log: two are compared", arg);
	a->paths[a->n_paths++] = arg;
}

static error_t parse_end(const struct arguments *a, struct argp_state *state)
{
	if (a->n_paths < 2)
		argp_error(state, "name the two logs that are compared");
	if (!strcmp(a->paths[0], "-") && !strcmp(a->paths[1], "-"))
		argp_error(state, "only one of the logs can be standard input");
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		log_color_parse("auto", &a->color, state);
		return 0;
	case KEY_JSON:
		a->json = true;
		return 0;
	case KEY_CONTEXT:
		a->diff.context = (unsigned)command_number("context", arg, 0, LOG_DIFF_CONTEXT_MAX, state);
		return 0;
	case KEY_FOLLOW:
		parse_follow(a, arg, state);
		return 0;
	case KEY_IGNORE_TIME:
		a->diff.ignore_time = true;
		return 0;
	case KEY_IGNORE_TURN:
		a->diff.ignore_turn = true;
		return 0;
	case KEY_IGNORE_BYTES:
		a->diff.ignore_bytes = true;
		return 0;
	case KEY_ANY_CONFIG:
		a->diff.any_config = true;
		return 0;
	case LOG_KEY_COLOR:
		log_color_parse(arg, &a->color, state);
		return 0;
	case ARGP_KEY_ARG:
		add_path(a, arg, state);
		return 0;
	case ARGP_KEY_END:
		return parse_end(a, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { LOG_INPUT_CHILD, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "LOG-A LOG-B",
	.doc = "Finds the first difference between two event logs (--log-events of hermit run) and says of what kind it is.\v"
	       "Exit status: 0 equal, 123 different, 124 the time of --follow is over, 125 not comparable: unreadable, damaged, "
	       "cut off, without events. hermit-log-diff(1) says more.",
	.children = children,
};

/* Sleeps a little while the time allowed for following lasts. */
static bool wait_for_more(void *arg)
{
	static const struct timespec step = { .tv_nsec = FOLLOW_STEP_MS * 1000000 };
	const struct arguments *a = arg;
	struct timespec now;
	int64_t waited_ns;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	waited_ns = (now.tv_sec - a->start.tv_sec) * 1000000000 + now.tv_nsec - a->start.tv_nsec;
	if (a->follow_ns && waited_ns >= (int64_t)a->follow_ns)
		return false;
	(void)nanosleep(&step, NULL);
	return true;
}

static void print_equal(const struct log_diff_result *result)
{
	(void)printf("equal: %llu events%s\n", (unsigned long long)result->events,
		     result->narrowed ? ", as far as the options compare" : "");
}

static int show(const struct arguments *a, const struct log_diff_result *result, struct error *err)
{
	int r;

	if (a->json) {
		log_diff_json(stdout, result);
		(void)putchar('\n');
	} else if (result->kind == LOG_DIFF_NONE) {
		print_equal(result);
	} else {
		log_diff_print(stdout, result, &a->diff, a->color);
	}
	r = log_close_output(stdout);
	return r < 0 ? error_errno(err, -r, "standard output") : 0;
}

static int compare(struct arguments *a, struct log_diff_result *result, struct error *err)
{
	_cleanup_(cleanup_log_reader) struct log_reader *left = NULL;
	_cleanup_(cleanup_log_reader) struct log_reader *right = NULL;
	int r;

	r = log_input_open(&a->input, a->paths[0], &left, err);
	if (r == 0)
		r = log_input_open(&a->input, a->paths[1], &right, err);
	if (r < 0)
		return r;
	if (a->follow) {
		a->diff.wait = wait_for_more;
		a->diff.wait_arg = a;
	}
	r = log_diff(left, right, &a->diff, result, err);
	if (r < 0)
		return r;
	if (result->kind == LOG_DIFF_NONE && result->events == 0)
		return error_set(err, EINVAL, "nothing was compared: no events in the logs%s",
				 result->narrowed ? " that the options choose" : "");
	log_input_say_damage(left);
	log_input_say_damage(right);
	return show(a, result, err);
}

int cmd_log_diff(int argc, char **argv)
{
	struct arguments a = { .diff = { .labels = { "log A", "log B" }, .context = 5 } };
	struct log_diff_result result = { 0 };
	struct error err = { 0 };
	bool different;
	int r;

	a.input.filter = &a.diff.filter;
	command_prepare("hermit", "log-diff", argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return EXIT_CODE_TOOL;
	(void)clock_gettime(CLOCK_MONOTONIC, &a.start);
	r = compare(&a, &result, &err);
	different = result.kind != LOG_DIFF_NONE;
	log_diff_result_deinit(&result);
	if (r < 0) {
		log_error("%s", err.text);
		return r == -ETIMEDOUT ? EXIT_CODE_TIMEOUT : EXIT_CODE_TOOL;
	}
	return different ? EXIT_CODE_DIFFERENCE : 0;
}
