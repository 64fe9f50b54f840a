/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments of `hermit run`, and of each command that runs a program the same way: the table of supervisor/options.c as
 * options of a command line, plus files of options.
 */
#ifndef HS_CLI_RUN_ARGUMENTS_H
#define HS_CLI_RUN_ARGUMENTS_H

#include "supervisor/options.h"

struct run_arguments {
	struct run_options options;
	char *save_config; /* FILE, "-": standard output */
	char *print_config; /* "json", "command", "fingerprint" */
	int log_fd; /* of --log-file; 0: none */
};

/*
 * Parses, checks and carries out what concerns the tool itself: messages go where --log-file says, --save-config is written.
 * 0: run the program; 1: there is nothing to run, all that was asked for is done; -errno: the reason was printed. Usage
 * errors and --help end the process, as argp does it.
 */
int run_arguments_parse(struct run_arguments *a, const char *command, int argc, char **argv);
void run_arguments_clear(struct run_arguments *a);
#define _cleanup_run_arguments_ __attribute__((cleanup(run_arguments_clear)))

#endif
