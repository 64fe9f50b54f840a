/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of the two programs: one file cmd_<name>.c each, one row in the program's table. Here is what the programs
 * share: finding a command, suggesting one, help.
 */
#ifndef HS_CLI_COMMANDS_H
#define HS_CLI_COMMANDS_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"

/* From --log before the command, or HERMIT_LOG. */
extern enum log_level arg_log_level;

/* argv[0] is the command's name; the result is the exit status of the program. */
typedef int command_fn(int argc, char **argv);

struct command {
	const char *name;
	const char *help; /* one line */
	command_fn *run;
};

struct command_table {
	const char *program;
	const char *usage;   /* what follows the program's name */
	const char *purpose; /* one sentence */
	const struct command *commands;
	size_t count;
	const char *trailer; /* printed at the end of --help; may be NULL */
	int unknown;         /* exit status where there is no such command; 0: EXIT_CODE_TOOL */
};

/* NULL when there is none. */
const struct command *command_find(const struct command_table *table, const char *name);

/*
 * The commands whose names are nearest to a mistyped one (few edits, or the beginning of a name), nearest first. Returns how
 * many were stored.
 */
size_t command_nearest(const struct command_table *table, const char *name, const struct command **ret, size_t max);

void command_print_help(const struct command_table *table, FILE *to);

/* Says on stderr that there is no such command and which were perhaps meant; returns the exit status for that. */
int command_unknown(const struct command_table *table, const char *name);

/*
 * Runs the command argv[0], or what --help, --version and help [CMD] ask for. Options of the program itself have been
 * consumed by the caller.
 */
int command_dispatch(const struct command_table *table, int argc, char **argv);

/*
 * From now on what cannot be written to standard output is said at the end of the process, which then gives `failure`; one that gives it anyway has
 * said why.
 */
void command_watch_output(int failure);

/*
 * Prepares argp: the name in front of messages ("hermit run"; command is NULL where the program has none), exit status of usage
 * errors, --version.
 */
void command_prepare(const char *program, const char *command, char **argv);

/* The only argument of a command; a second one ends the process with a message. `what` is what it names. */
void command_take_only(const char **to, const char *arg, const char *what, struct argp_state *state);

/* The argument of an option, from `least` to `most`; else the process ends with a message. */
uint64_t command_number(const char *option, const char *text, uint64_t least, uint64_t most, struct argp_state *state);

/* The same for a time, in ns. */
uint64_t command_duration(const char *option, const char *text, struct argp_state *state);

command_fn cmd_hook;
command_fn cmd_instruction_map;
command_fn cmd_chaos;
command_fn cmd_agent;
command_fn cmd_ci;
command_fn cmd_doctor;
command_fn cmd_log_diff;
command_fn cmd_log_export;
command_fn cmd_log_print;
command_fn cmd_netlink_dump;
command_fn cmd_oci_checkpoint;
command_fn cmd_oci_create;
command_fn cmd_oci_delete;
command_fn cmd_oci_events;
command_fn cmd_oci_exec;
command_fn cmd_oci_features;
command_fn cmd_oci_image;
command_fn cmd_oci_kill;
command_fn cmd_oci_list;
command_fn cmd_oci_pause;
command_fn cmd_oci_ps;
command_fn cmd_oci_restore;
command_fn cmd_oci_resume;
command_fn cmd_oci_run;
command_fn cmd_oci_spec;
command_fn cmd_oci_start;
command_fn cmd_oci_state;
command_fn cmd_oci_update;
command_fn cmd_oci_direct; /* not in a table: what hermit-supervisor does without a command */
command_fn cmd_run;
command_fn cmd_syscalls;
command_fn cmd_version;

#endif
