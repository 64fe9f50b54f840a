/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands on event logs have in common: the log that is read, options that choose events, colours, standard output. */
#ifndef HS_CLI_LOG_ARGUMENTS_H
#define HS_CLI_LOG_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "trace/log_filter.h"
#include "trace/log_reader.h"

/* How logs are read: the common options fill it in. */
struct log_input {
	struct log_filter *filter; /* the command's own */
	bool unchecked;            /* logs whose check sums do not match are read too */
};

/* For struct argp_child; its input is a struct log_input. */
extern const struct argp log_input_argp;
#define LOG_INPUT_CHILD { &log_input_argp, 0, NULL, 0 }

DEFINE_CLEANUP(log_reader, struct log_reader, log_reader_free)

/* "-" is standard input. The reader is the caller's. */
int log_input_open(const struct log_input *in, const char *path, struct log_reader **ret, struct error *err);

/* Warns of what is wrong with a log that was read in spite of it. */
void log_input_say_damage(const struct log_reader *reader);

/* Takes the only argument of a command; argp_error() if there is a second one. */
void log_take_path(const char **path, const char *arg, struct argp_state *state);

/* Every command on logs that prints has --color=WHEN under this key. */
enum { LOG_KEY_COLOR = 0x1000, LOG_KEY_UNCHECKED, LOG_KEY_OWN };

#define LOG_COLOR_OPTION { "color", LOG_KEY_COLOR, "WHEN", 0, "colours: auto (on a terminal), always, never", 0 }

/* argp_error() for a word that is none of auto, always, never. */
void log_color_parse(const char *when, bool *ret_color, struct argp_state *state);

/* A command of one log: reads its arguments, does its work (0 or -errno with a message), and says what went wrong. The exit status. */
int log_command(const char *name, const struct argp *argp, int argc, char **argv, void *arguments, int (*work)(void *arguments, struct error *err));

/* Closes output, so that a full disk is noticed: 0 or -errno. `f` may be stdout. */
int log_close_output(FILE *f);

#endif
