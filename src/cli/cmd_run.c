/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit run: one program, deterministically. Its options are made from the table in supervisor/options/options_table.c, and can be kept in files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "supervisor/exit_codes.h"
#include "supervisor/evidence/observed.h"
#include "supervisor/evidence/verify.h"

enum { KEY_CONFIG_FILE = 0x10000, KEY_SAVE_CONFIG, KEY_PRINT_CONFIG, MAX_CONFIG_BYTES = 16 << 20 };

/* Borrowed from the command line. */
struct config_arguments {
	const char *save; /* FILE, "-": standard output; NULL: nowhere */
	const char *print; /* "json", "command", "fingerprint"; NULL: not asked for */
};

static const struct argp_option own_options[] = {
	{ "config-file", KEY_CONFIG_FILE, "FILE", 0, "take options and program from a file of --save-config; options that "
						     "follow change them, a program given here replaces it", 1 },
	{ "save-config", KEY_SAVE_CONFIG, "FILE", 0, "write the options in effect to a file ('-': standard output), then run", 1 },
	{ "print-config", KEY_PRINT_CONFIG, "FORM", 0, "print the options in effect as json, as a command line that "
						       "reproduces the run (command), or as their fingerprint, and do not run", 1 },
};

static int load_config(struct run_options *o, const char *path, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	r = fd_read_file(AT_FDCWD, path, MAX_CONFIG_BYTES, &text, &len);
	if (r < 0)
		return error_errno(err, -r, "--config-file: %s", path);
	if (strlen(text) != len)
		return error_set(err, EINVAL, "--config-file: %s is not text", path);
	return run_options_from_json(o, text, path, err);
}

static error_t take(int key, char *arg, struct argp_state *state, struct run_arguments *a, void *input)
{
	struct config_arguments *config = input;
	struct error err = { 0 };

	switch (key) {
	case KEY_CONFIG_FILE:
		if (load_config(&a->options, arg, &err) < 0)
			argp_failure(state, argp_err_exit_status, 0, "%s", err.text);
		return 0;
	case KEY_SAVE_CONFIG:
		config->save = arg;
		return 0;
	case KEY_PRINT_CONFIG:
		config->print = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int write_text(const char *option, const char *path, const char *text, struct error *err)
{
	bool standard = !strcmp(path, "-");
	FILE *f = standard ? stdout : fopen(path, "we");
	int r = 0;

	if (!f)
		return error_errno(err, errno, "%s: %s", option, path);
	if (fprintf(f, "%s\n", text) < 0)
		r = -errno;
	if ((standard ? fflush(f) : fclose(f)) != 0)
		r = -errno;
	return r < 0 ? error_errno(err, -r, "%s: %s", option, standard ? "standard output" : path) : 0;
}

static int save_config(const struct run_options *o, const char *path, struct error *err)
{
	_cleanup_free_ char *text = run_options_to_json(o);

	return text ? write_text("--save-config", path, text, err) : error_errno(err, ENOMEM, "--save-config");
}

static int print_config(const struct run_options *o, const char *form, struct error *err)
{
	_cleanup_free_ char *text = NULL;

	if (!strcmp(form, "json"))
		text = run_options_to_json(o);
	else if (!strcmp(form, "command"))
		text = run_options_command_line(o);
	else if (!strcmp(form, "fingerprint")) {
		text = malloc(HASH_HEX_SIZE);
		if (text && run_options_fingerprint(o, text) < 0)
			return error_errno(err, ENOMEM, "--print-config");
	} else
		return error_set(err, EINVAL, "--print-config: there is no '%s'; known: json, command, fingerprint", form);
	return text ? write_text("--print-config", "-", text, err) : error_errno(err, ENOMEM, "--print-config");
}

static const struct run_command command = {
	.name = "run",
	.doc = "Runs a program in a container of its own, in which time, random numbers, the order of threads and everything else "
	       "that differs from run to run is decided by the options below.\v"
	       "The exit status is the program's own; 128+n when signal n ended it. hermit(1) has a table of all others.",
	.own = own_options,
	.n_own = ARRAY_SIZE(own_options),
	.take = take,
};

/* Options that say how something is done that is not done: seed after seed the same schedule, and no bug. */
static void warn_of_idle_options(const struct run_options *o)
{
	if (o->chaos || o->interrupts.count > 0)
		return;
	if (strcmp(o->sched_heuristic, option_find("sched-heuristic")->preset) != 0)
		log_warning("--sched-heuristic=%s does nothing without --chaos", o->sched_heuristic);
	if (o->preempt > PREEMPT_CALLS)
		log_warning("--preempt=%s does nothing without --chaos", option_find("preempt")->choices[o->preempt]);
}

int cmd_run(int argc, char **argv)
{
	_cleanup_run_arguments_ struct run_arguments a = { 0 };
	struct config_arguments config = { 0 };
	struct error err = { 0 };
	int r;

	if (run_arguments_parse(&a, &command, argc, argv, &config) < 0)
		return EXIT_CODE_TOOL;
	r = config.save ? save_config(&a.options, config.save, &err) : 0;
	if (r == 0 && config.print)
		r = print_config(&a.options, config.print, &err);
	if (r < 0)
		log_error("%s", err.text);
	if (r < 0 || config.print)
		return r < 0 ? EXIT_CODE_TOOL : 0;
	warn_of_idle_options(&a.options);
	return run_arguments_end(&a, a.options.verify ? verify_main(&a.options) : observed_main(&a.options));
}
