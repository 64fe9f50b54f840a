/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments of `hermit run`, and of each command that runs a program the same way: the table of supervisor/options/options_table.c as
 * options of a command line, plus files of options.
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

/* Directs the tool's messages as --log and --log-file say. Opened on the host: in the container the name may mean another file. */
int run_arguments_setup_log(struct run_arguments *a, const char *program, struct error *err);

/*
 * The exit status of the program when everything else has ended with `status`: where messages could not be written to --log-file, that is
 * said on standard error, and the tool has failed.
 */
int run_arguments_end(const struct run_arguments *a, int status);

/*
 * The options of a run (those that are wanted; NULL: all) as argp wants them, followed by `own`. The caller frees with
 * run_arguments_argp_free(). run_arguments_spec() finds the option of a key that argp hands out, NULL for other keys. Keys of
 * `own` options are letters that no option of a run has, or above 0x10000.
 */
struct argp_option *run_arguments_argp(bool (*wanted)(const struct option_spec *spec), const struct argp_option *own,
				       size_t n_own);
void run_arguments_argp_free(struct argp_option *options);
const struct option_spec *run_arguments_spec(int key);

/* For the parsers of such commands. Is the option among those that the command has no use for? */
bool run_arguments_is_among(const struct option_spec *spec, const char *const *names, size_t n);
/* ARGP_KEY_ARG: the program and everything behind it, word by word. 0 or ENOMEM. */
error_t run_arguments_take_program(struct run_options *o, struct argp_state *state);
/* Any other key: an option of a run. What is wrong with its argument ends the process with a message. */
error_t run_arguments_take_option(struct run_options *o, bool (*wanted)(const struct option_spec *spec), int key, const char *arg,
				  struct argp_state *state);
/* The argument of an option of the command's own, from `least` to `most`; else the process ends with a message. */
uint64_t run_arguments_number(const char *option, const char *text, uint64_t least, uint64_t most, struct argp_state *state);
/* Parses "[--] PROGRAM [ARGUMENT...]" with the options of a run that are wanted, and `own`. 0 or -errno. */
int run_arguments_parse_with(argp_parser_t parser, const char *doc, bool (*wanted)(const struct option_spec *spec),
			     const struct argp_option *own, size_t n_own, int argc, char **argv, void *input);

void run_arguments_clear(struct run_arguments *a);
#define _cleanup_run_arguments_ __attribute__((cleanup(run_arguments_clear)))

#endif
