/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands on event logs have in common: options that choose events, colours, standard output. */
#ifndef HS_CLI_LOG_ARGUMENTS_H
#define HS_CLI_LOG_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "trace/log_filter.h"

/* For struct argp_child; its input is a struct log_filter. */
extern const struct argp log_filter_argp;

/* Every command on logs has --color=WHEN under this key. */
enum { LOG_KEY_COLOR = 0x1000, LOG_KEY_OWN };

#define LOG_COLOR_OPTION { "color", LOG_KEY_COLOR, "WHEN", 0, "colours: auto (on a terminal), always, never", 0 }

/* -1 for a word that is none of auto, always, never. */
int log_color_parse(const char *when, bool *ret_color);

/* Closes output, so that a full disk is noticed: 0 or -errno. `f` may be stdout. */
int log_close_output(FILE *f);

#endif
