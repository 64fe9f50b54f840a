/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the commands of hermit-supervisor share: the options before the command, and how a failure is said. Names and forms are those
 * that container engines use.
 */
#ifndef HS_CLI_OCI_ARGUMENTS_H
#define HS_CLI_OCI_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>

#include "base/error.h"
#include "cli/commands.h"
#include "supervisor/oci/lifecycle.h"

enum { OCI_EXIT_FAILURE = 1, OCI_EXIT_EXEC_FAILURE = 255 };

/* From the options before the command. */
struct oci_global {
	struct runtime runtime;
	char *default_root;
	const char *log;   /* file, NULL: none */
	bool log_json;
	bool debug;
};
extern struct oci_global arg_oci;

/*
 * Takes the options before the command. Returns the index of the command in argv (argc when there is none), or a negative exit status
 * minus one when the program shall end at once.
 */
int oci_arguments_parse(int argc, char **argv);

/* With --debug and --log: the command, as a line of the log. */
void oci_note_command(int argc, char **argv);

/* There is no such command: said, also in the log; the exit status. */
int oci_unknown_command(const struct command_table *table, const char *name);

/* Says what went wrong, on standard error and as one line of the log; returns the exit status. */
int oci_fail(const struct error *err, int exit_status);

/*
 * A command whose arguments are a container's id and nothing else. *ret_id is borrowed from argv. Does not return on a usage
 * error.
 */
void oci_parse_id(int argc, char **argv, const char *doc, const char **ret_id);

/* For struct argp.children: the id of a container, which has to be given (input: const char **, NULL at first). */
extern const struct argp oci_id_argp;

/* For struct argp.children: what every process that is started can be given (input: struct process_request *). */
extern const struct argp oci_process_argp;

/* As argp_parse() for a command of this program; `options` may be NULL. Usage errors end the program with OCI_EXIT_FAILURE. */
void oci_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The id of a container that a command needs; without one the process ends with a message. */
void oci_need_id(const char *id, struct argp_state *state);

/* --format of lists, "table" or "json": true for json. Else a usage error. */
#define OCI_FORMAT_OPTION { "format", 'f', "FORM", 0, "table or json", 0 }
bool oci_format_is_json(const char *text, struct argp_state *state);

#endif
