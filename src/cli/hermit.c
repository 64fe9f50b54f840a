/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit: the front-end for a person. Options before the command concern the tool's own messages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/commands.h"
#include "supervisor/exit_codes.h"

/* In the order in which a newcomer should read them. */
static const struct command commands[] = {
	{ "run", "run a program so that every run of it is the same run", cmd_run },
	{ "chaos", "run a program under many schedules, to find concurrency bugs", cmd_chaos },
	{ "ci", "verify a program and try other schedules, as a step of a build service", cmd_ci },
	{ "oci", "run an image of a container without an engine", cmd_oci_image },
	{ "doctor", "find out what this host offers and what that means for a run", cmd_doctor },
	{ "log-diff", "find the first difference between two event logs", cmd_log_diff },
	{ "log-print", "print an event log", cmd_log_print },
	{ "log-export", "turn an event log into a Perfetto trace or a page", cmd_log_export },
	{ "netlink-dump", "decode a capture of netlink messages", cmd_netlink_dump },
	{ "instruction-map", "list the instructions of a program that are replaced in a run", cmd_instruction_map },
	{ "syscalls", "list what is done about each system call", cmd_syscalls },
	{ "version", "print the version of this program and of the kernel below it", cmd_version },
};

static const struct command_table table = {
	.program = "hermit",
	.usage = "[--log LEVEL] COMMAND [ARGUMENT...]",
	.purpose = "Runs programs deterministically, in a container of their own.",
	.commands = commands,
	.count = ARRAY_SIZE(commands),
	.trailer = "'hermit help COMMAND' says more about a command, man hermit more about all.\n",
};

/* --log LEVEL and --log=LEVEL; HERMIT_LOG is the default. Returns how many words were used, -1 for a wrong level. */
static int take_log_option(int argc, char **argv, const char **level)
{
	if (argc > 0 && !strncmp(argv[0], "--log=", 6)) {
		*level = argv[0] + 6;
		return 1;
	}
	if (argc > 1 && (!strcmp(argv[0], "--log") || !strcmp(argv[0], "-l"))) {
		*level = argv[1];
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *level = getenv("HERMIT_LOG");
	int used = 1 + take_log_option(argc - 1, argv + 1, &level);
	int parsed = level && *level ? log_level_parse(level) : LOG_LEVEL_WARNING;

	if (fd_reserve_standard() < 0) {
		(void)fprintf(stderr, "hermit: a standard descriptor is closed, and /dev/null cannot be opened for it: %s\n", strerror(errno));
		return EXIT_CODE_TOOL;
	}
	command_watch_output(EXIT_CODE_TOOL);
	if (parsed < 0) {
		(void)fprintf(stderr, "hermit: there is no log level '%s': off, error, warning, info and debug are known\n", level);
		return EXIT_CODE_TOOL;
	}
	arg_log_level = (enum log_level)parsed;
	log_setup(STDERR_FILENO, arg_log_level, false, "hermit");
	return command_dispatch(&table, argc - used, argv + used);
}
