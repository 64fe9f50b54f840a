/* SPDX-License-Identifier: BSD-3-Clause */
/* Common arguments of the commands on event logs: see log_arguments.h. */
#include "cli/log_arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "engine/policy/policy.h"
#include "supervisor/exit_codes.h"

static const struct argp_option options[] = {
	{ "unchecked", LOG_KEY_UNCHECKED, NULL, 0, "read logs whose check sums do not match", 0 },
	{ NULL, 0, NULL, 0, "Choosing events:", 10 },
	{ "thread", 't', "TID", 0, "only events of this thread; can be given several times, as --call and --kind can", 10 },
	{ "call", 'c', "NAME", 0, "only this system call", 10 },
	{ "kind", 'k', "KIND", 0, "only events of this kind: call, return, signal, birth, exec, exit, stop, continue, choice, trap, "
				  "preempt, fault, outside, uncontrolled, end", 10 },
	{ "skip-kind", 'x', "KIND", 0, "no events of this kind", 10 },
	{ "turns", 'n', "A..B", 0, "only these turns; either end can be left out", 10 },
	{ 0 },
};

static error_t parse_input(int key, char *arg, struct argp_state *state)
{
	struct log_input *in = state->input;
	struct log_filter *filter = in->filter;
	struct error err = { 0 };
	int r;

	switch (key) {
	case LOG_KEY_UNCHECKED:
		in->unchecked = true;
		return 0;
	case 't':
		r = log_filter_add_thread(filter, arg, &err);
		break;
	case 'c':
		r = policy_number(arg) < 0 && strcmp(arg, "unknown") != 0 ? error_set(&err, EINVAL, "'%s' is no system call: 'hermit syscalls' lists them", arg)
					   : log_filter_add_call(filter, arg, &err);
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

const struct argp log_input_argp = { options, parse_input, NULL, NULL, NULL, NULL, NULL };

int log_input_open(const struct log_input *in, const char *path, struct log_reader **ret, struct error *err)
{
	int r = log_reader_open(path, ret, err);

	if (r == 0 && in->unchecked)
		log_reader_tolerate(*ret);
	return r;
}

void log_input_say_damage(const struct log_reader *reader)
{
	if (log_reader_damage(reader))
		log_warning("%s: %s", log_reader_name(reader), log_reader_damage(reader));
}

void log_take_path(const char **path, const char *arg, struct argp_state *state)
{
	command_take_only(path, arg, "log", state);
}

static bool terminal_has_colors(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && (!no_color || !*no_color);
}

void log_color_parse(const char *when, bool *ret_color, struct argp_state *state)
{
	if (!strcmp(when, "auto"))
		*ret_color = terminal_has_colors();
	else if (!strcmp(when, "always") || !strcmp(when, "never"))
		*ret_color = when[0] == 'a';
	else
		argp_error(state, "--color: there is no '%s'; known: auto, always, never", when);
}

int log_command(const char *name, const struct argp *argp, int argc, char **argv, void *arguments, int (*work)(void *arguments, struct error *err))
{
	struct error err = { 0 };

	command_prepare("hermit", name, argv);
	if (argp_parse(argp, argc, argv, 0, NULL, arguments) != 0)
		return EXIT_CODE_TOOL;
	if (work(arguments, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_CODE_TOOL;
	}
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
