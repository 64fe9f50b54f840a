/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor: the OCI runtime. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"
#include "container/protect.h"

/* In the order of a container's life. */
static const struct command commands[] = {
	{ "spec", "write a config.json to start from", cmd_oci_spec },
	{ "create", "create a container that waits for its start", cmd_oci_create },
	{ "start", "let the program of a created container run", cmd_oci_start },
	{ "run", "create, start, wait and delete in one", cmd_oci_run },
	{ "exec", "run one more process in a container", cmd_oci_exec },
	{ "state", "print the state of a container", cmd_oci_state },
	{ "list", "list the containers", cmd_oci_list },
	{ "ps", "show the processes of a container", cmd_oci_ps },
	{ "events", "print what a container uses", cmd_oci_events },
	{ "kill", "send a signal to a container", cmd_oci_kill },
	{ "pause", "stop all processes of a container", cmd_oci_pause },
	{ "resume", "let a paused container go on", cmd_oci_resume },
	{ "update", "change the limits of a container", cmd_oci_update },
	{ "delete", "remove a container", cmd_oci_delete },
	{ "features", "print what this runtime can do", cmd_oci_features },
	{ "checkpoint", "not supported", cmd_oci_checkpoint },
	{ "restore", "not supported", cmd_oci_restore },
	{ "agent", "supervise containers of a stock runtime", cmd_agent },
	{ "hook", "what an engine calls around a container of a stock runtime", cmd_hook },
	{ "version", "print the version of this program and of the kernel below it", cmd_version },
};

static const struct command_table table = {
	.program = "hermit-supervisor",
	.usage = "[GLOBAL-OPTION...] COMMAND [ARGUMENT...]\n       hermit-supervisor --config FILE [OPTION...] [ID]",
	.purpose = "Runs OCI containers deterministically.",
	.commands = commands,
	.count = ARRAY_SIZE(commands),
	.unknown = 3, /* as runc */
	.trailer = "'hermit-supervisor --usage' lists the global options, 'hermit-supervisor help COMMAND' says more about a "
		   "command,\n'hermit-supervisor --config FILE --help' lists the options of a run.\n",
};

/* Without a command, options that name a bundle ask for a run in the foreground. */
static bool asks_for_run(const char *word)
{
	static const char *const beginnings[] = { "--config", "--bundle", "-c", "-b" };

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(word, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* Commands whose process, or a child of it, is seen from inside a container before it executes the container's program. */
static bool enters_a_container(const char *command)
{
	return !strcmp(command, "create") || !strcmp(command, "run") || !strcmp(command, "exec");
}

static bool asks_for_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static bool is_unknown(const char *word)
{
	return word[0] != '-' && strcmp(word, "help") != 0 && !command_find(&table, word);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int command;

	if (fd_reserve_standard() < 0) {
		(void)fprintf(stderr, "hermit-supervisor: a standard descriptor is closed, and /dev/null cannot be opened for it: %s\n", strerror(errno));
		return OCI_EXIT_FAILURE;
	}
	command_watch_output(OCI_EXIT_FAILURE);
	log_setup(STDERR_FILENO, LOG_LEVEL_WARNING, false, "hermit-supervisor");
	if (argc < 2 || asks_for_help(argv[1]))
		return command_dispatch(&table, argc - 1, argv + 1);
	if (asks_for_run(argv[1]))
		return cmd_oci_direct(argc, argv);
	command = oci_arguments_parse(argc, argv);
	if (command < 0)
		return -1 - command;
	if (command < argc && enters_a_container(argv[command]) && container_protect_program(argv, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	oci_note_command(argc - command, argv + command);
	if (command < argc && is_unknown(argv[command]))
		return oci_unknown_command(&table, argv[command]);
	return command_dispatch(&table, argc - command, argv + command);
}
