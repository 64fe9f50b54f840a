/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments of `hermit run`, and of each command that runs a program the same way: the table of supervisor/options/options_table.c as
 * options of a command line, and what the command adds to them.
 */
#ifndef HS_CLI_RUN_ARGUMENTS_H
#define HS_CLI_RUN_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "supervisor/options/options.h"

struct run_arguments {
	struct run_options options;
	int log_fd; /* of --log-file; 0: none */
};

/* A command that runs programs. */
struct run_command {
	const char *name;
	const char *doc; /* as argp wants it */
	bool (*wanted)(const struct option_spec *spec); /* the options of a run that it has; NULL: all */
	const char *const (*presets)[2]; /* options of a run that have another default, and which; ended by NULLs; NULL: none */
	const struct argp_option *own; /* options of its own; their keys are letters that no option of a run has, or above 0x10000 */
	size_t n_own;
	/* Takes one of those; ARGP_ERR_UNKNOWN for other keys. Messages as argp_error() makes them. */
	error_t (*take)(int key, char *arg, struct argp_state *state, struct run_arguments *a, void *input);
};

/* Directs the tool's messages as --log and --log-file say. Opened on the host: in the container the name may mean another file. */
int run_arguments_setup_log(struct run_arguments *a, const char *program, struct error *err);

/*
 * The exit status of the program when everything else has ended with `status`: where messages could not be written to --log-file, that is
 * said on standard error, and the tool has failed.
 */
int run_arguments_end(const struct run_arguments *a, int status);

/*
 * "[OPTION...] [--] PROGRAM [ARGUMENT...]", parsed, checked, and messages directed. 0, or -errno: the reason was printed. Usage errors and
 * --help end the process, as argp does it. *a is the caller's to clear in any case.
 */
int run_arguments_parse(struct run_arguments *a, const struct run_command *command, int argc, char **argv, void *input);

void run_arguments_clear(struct run_arguments *a);
#define _cleanup_run_arguments_ __attribute__((cleanup(run_arguments_clear)))

/* Is the option among those? For `wanted`. */
bool run_arguments_is_among(const struct option_spec *spec, const char *const *names, size_t n);

/*
 * The options of a run (those that are wanted; NULL: all) as argp wants them, followed by `own`. The caller frees with
 * run_arguments_argp_free(). run_arguments_spec() finds the option of a key that argp hands out, NULL for other keys.
 */
struct argp_option *run_arguments_argp(bool (*wanted)(const struct option_spec *spec), const struct argp_option *own,
				       size_t n_own);
void run_arguments_argp_free(struct argp_option *options);
const struct option_spec *run_arguments_spec(int key);

#endif
