/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor: the OCI runtime. */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"

static const struct command commands[] = {
	{ "version", "print the version of this program and of what it works with", cmd_version },
};

static const struct command_table table = {
	.program = "hermit-supervisor",
	.usage = "--config FILE [OPTION...] [ID]\n       hermit-supervisor COMMAND [ARGUMENT...]",
	.purpose = "Runs OCI containers deterministically.",
	.commands = commands,
	.count = ARRAY_SIZE(commands),
	.trailer = "'hermit-supervisor --config FILE --help' lists the options of a run.\n",
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

int main(int argc, char **argv)
{
	log_setup(STDERR_FILENO, LOG_LEVEL_WARNING, false, "hermit-supervisor");
	if (argc > 1 && asks_for_run(argv[1]))
		return cmd_oci_direct(argc, argv);
	return command_dispatch(&table, argc - 1, argv + 1);
}
