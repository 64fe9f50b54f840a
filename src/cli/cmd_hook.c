/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor hook STAGE: called by an engine around a container. */
#include <argp.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "supervisor/agent/agent_paths.h"
#include "supervisor/exit_codes.h"
#include "supervisor/agent/hook_command.h"

enum { KEY_SOCKET = 0x20000, KEY_DIRECTORY, KEY_LIMIT };
enum { DEFAULT_LIMIT_S = 8, MAX_LIMIT_S = 3600 };

static const struct argp_option options[] = {
	{ "socket", KEY_SOCKET, "SOCKET", 0, "where the agent listens (default: " AGENT_SOCKET ")", 0 },
	{ "directory", KEY_DIRECTORY, "DIR", 0, "where the agent's reports are (default: " AGENT_DIRECTORY ")", 0 },
	{ "limit", KEY_LIMIT, "SECONDS", 0, "fail after that time (default: 8)", 0 },
	{ 0 },
};

static void take_stage(struct hook_request *request, const char *stage, struct argp_state *state)
{
	static const char *const known[] = { "precreate", "createRuntime", "poststop" };

	if (request->stage)
		argp_error(state, "'%s' comes after '%s': a hook is called for one stage", stage, request->stage);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(stage, known[i]))
			request->stage = known[i];
	if (!request->stage)
		argp_error(state, "there is no stage '%s'; known: precreate, createRuntime, poststop", stage);
}

static void take_limit(struct hook_request *request, const char *text, struct argp_state *state)
{
	request->limit_s = (unsigned)command_number("limit", text, 1, MAX_LIMIT_S, state);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct hook_request *request = state->input;

	switch (key) {
	case KEY_SOCKET:
		request->socket = arg;
		return 0;
	case KEY_DIRECTORY:
		request->directory = arg;
		return 0;
	case KEY_LIMIT:
		take_limit(request, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		take_stage(request, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!request->stage)
			argp_error(state, "which stage? (precreate, createRuntime, poststop)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_one,
	.args_doc = "STAGE",
	.doc = "Called by an engine around a container: reads config.json (precreate) or the container's state from standard input. Only "
	       "containers with the annotation " HOOK_ANNOTATION "=true are changed.",
};

int cmd_hook(int argc, char **argv)
{
	struct hook_request request = { .socket = AGENT_SOCKET, .directory = AGENT_DIRECTORY, .limit_s = DEFAULT_LIMIT_S };

	command_prepare("hermit-supervisor", "hook", argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
		return EXIT_CODE_TOOL;
	return hook_main(&request);
}
