/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor kill: a signal for a container. */
#include <argp.h>
#include <errno.h>
#include <signal.h>

#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

struct arguments {
	const char *id, *signal;
	bool all;
};

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "to all processes, not only to the first one", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'a':
		a->all = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "'%s' is too much: kill takes an id and one signal", arg);
		*(state->arg_num ? &a->signal : &a->id) = arg;
		return 0;
	case ARGP_KEY_END:
		oci_need_id(a->id, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_oci_kill(int argc, char **argv)
{
	static const struct argp argp = { options, parse_one, "ID [SIGNAL]", "Sends a signal (a number, TERM, SIGTERM; default TERM) to "
									     "the first process of a container.", NULL, NULL, NULL };
	struct arguments arguments = { .signal = "TERM" };
	struct error err = { 0 };
	int signo;

	oci_parse(&argp, argc, argv, 0, &arguments);
	signo = signal_parse(arguments.signal);
	if (signo < 0)
		(void)error_set(&err, EINVAL, "unknown signal '%s'", arguments.signal);
	else
		(void)lifecycle_kill(&arg_oci.runtime, arguments.id, signo, arguments.all, &err);
	return err.code ? oci_fail(&err, OCI_EXIT_FAILURE) : 0;
}
