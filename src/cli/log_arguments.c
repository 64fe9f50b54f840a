/* SPDX-License-Identifier: BSD-3-Clause */
/* Common arguments of the commands on event logs: see log_arguments.h. */
#include "cli/log_arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option filter_options[] = {
	{ "thread", 't', "TID", 0, "only events of this thread; can be given several times, as --call and --kind can", 10 },
	{ "call", 'c', "NAME", 0, "only this system call", 10 },
	{ "kind", 'k', "KIND", 0, "only events of this kind: call, return, signal, birth, exec, exit, stop, continue, choice, trap, "
				  "outside, uncontrolled, end", 10 },
	{ "skip-kind", 'x', "KIND", 0, "no events of this kind", 10 },
	{ "turns", 'n', "A..B", 0, "only these turns; either end can be left out", 10 },
	{ 0 },
};

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	struct log_filter *filter = state->input;
	struct error err = { 0 };
	int r;

	switch (key) {
	case 't':
		r = log_filter_add_thread(filter, arg, &err);
		break;
	case 'c':
		r = log_filter_add_call(filter, arg, &err);
		break;
	case 'k':
	case 'x':
		r = log_filter_add_kind(filter, arg, key == 'x', &err);
		break;
	case 'n':
		r = log_filter_set_turns(filter, arg, &err);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (r < 0)
		argp_failure(state, argp_err_exit_status, 0, "%s", err.text);
	return -r;
}

const struct argp log_filter_argp = { filter_options, parse_filter, NULL, NULL, NULL, NULL, NULL };

static bool terminal_has_colors(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && (!no_color || !*no_color);
}

int log_color_parse(const char *when, bool *ret_color)
{
	if (!strcmp(when, "auto"))
		*ret_color = terminal_has_colors();
	else if (!strcmp(when, "always") || !strcmp(when, "never"))
		*ret_color = when[0] == 'a';
	else
		return -1;
	return 0;
}

int log_close_output(FILE *f)
{
	bool failed = ferror(f);

	errno = 0;
	if ((f == stdout ? fflush(f) : fclose(f)) != 0)
		failed = true;
	return failed ? -(errno ? errno : EIO) : 0;
}
