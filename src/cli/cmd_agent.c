/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor agent: supervises containers of stock runtimes. */
#include <argp.h>

#include "cli/commands.h"
#include "supervisor/agent/agent.h"
#include "supervisor/agent/agent_paths.h"
#include "supervisor/exit_codes.h"

enum { KEY_LISTEN = 0x20000, KEY_DIRECTORY };

static const struct argp_option options[] = {
	{ "listen", KEY_LISTEN, "SOCKET", 0, "where runtimes connect (default: the socket that systemd has handed over)", 0 },
	{ "directory", KEY_DIRECTORY, "DIR", 0, "logs, reports and metrics (default: " AGENT_DIRECTORY ")", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct agent_request *request = state->input;

	switch (key) {
	case KEY_LISTEN:
		request->socket = arg;
		return 0;
	case KEY_DIRECTORY:
		request->directory = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "there is nothing to be named: '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_one,
	.doc = "Supervises containers of runc or crun, which send the listeners of their filters to a socket "
	       "(linux.seccomp.listenerPath of config.json; the hook of hermit-supervisor puts it there).",
};

int cmd_agent(int argc, char **argv)
{
	struct agent_request request = { .directory = AGENT_DIRECTORY };

	command_prepare("hermit-supervisor", "agent", argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
		return EXIT_CODE_TOOL;
	return agent_main(&request);
}
