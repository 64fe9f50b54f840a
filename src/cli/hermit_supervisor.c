/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor: the OCI runtime. */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"

static const struct command commands[] = {
	{ "version", "print the version of this program and of what it works with", cmd_version },
};

static const struct command_table table = {
	.program = "hermit-supervisor",
	.usage = "COMMAND [ARGUMENT...]",
	.purpose = "Runs OCI containers deterministically.",
	.commands = commands,
	.count = ARRAY_SIZE(commands),
};

int main(int argc, char **argv)
{
	log_setup(STDERR_FILENO, LOG_LEVEL_WARNING, false, "hermit-supervisor");
	return command_dispatch(&table, argc - 1, argv + 1);
}
