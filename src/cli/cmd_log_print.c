/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit log-print: an event log for a reader. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/log_arguments.h"
#include "trace/log_print.h"

enum { KEY_JSON = LOG_KEY_OWN };

struct arguments {
	const char *path;
	struct log_input input;
	struct log_print_options print;
};

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "print the lines of the log themselves (uncompressed, filtered)", 0 },
	LOG_COLOR_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		log_color_parse("auto", &a->print.color, state);
		return 0;
	case KEY_JSON:
		a->print.json = true;
		return 0;
	case LOG_KEY_COLOR:
		log_color_parse(arg, &a->print.color, state);
		return 0;
	case ARGP_KEY_ARG:
		log_take_path(&a->path, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!a->path)
			argp_error(state, "which log? ('-': standard input)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { LOG_INPUT_CHILD, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "LOG",
	.doc = "Prints an event log (--log-events of hermit run), one line for each event: turn, virtual time, thread, event.\v"
	       "The log can be compressed; '-' is standard input. hermit-log-print(1) says more.",
	.children = children,
};

static int print_log(void *arguments, struct error *err)
{
	const struct arguments *a = arguments;
	_cleanup_(cleanup_log_reader) struct log_reader *r = NULL;
	uint64_t records;
	int ret, closed;

	ret = log_input_open(&a->input, a->path, &r, err);
	if (ret < 0)
		return ret;
	ret = log_print(r, &a->print, stdout, &records, err);
	closed = log_close_output(stdout);
	if (closed < 0)
		return error_errno(err, -closed, "standard output");
	if (ret == 0)
		log_input_say_damage(r);
	return ret;
}

int cmd_log_print(int argc, char **argv)
{
	struct arguments a = { 0 };

	a.input.filter = &a.print.filter;
	return log_command("log-print", &argp, argc, argv, &a, print_log);
}
