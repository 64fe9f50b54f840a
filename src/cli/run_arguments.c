/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a run: see run_arguments.h. */
#include "cli/run_arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "supervisor/exit_codes.h"

enum { KEY_FIRST = 0x100 /* + 2 * index of an option, + 1 for its alias */ };

/* ---- the table as argp wants it ---- */

/* "words (default: 1GB)"; NULL when out of memory. */
static char *option_doc(const struct option_spec *spec)
{
	char *doc;

	if (!spec->preset || spec->kind == OPTION_FLAG)
		return strdup(spec->help);
	return asprintf(&doc, "%s (default: %s)", spec->help, spec->preset) < 0 ? NULL : doc;
}

void run_arguments_argp_free(struct argp_option *options)
{
	for (size_t i = 0; options && options[i].name; i++)
		if (run_arguments_spec(options[i].key))
			free((char *)options[i].doc);
	free(options);
}

struct argp_option *run_arguments_argp(bool (*wanted)(const struct option_spec *spec), const struct argp_option *own,
				       size_t n_own)
{
	const struct option_spec *specs;
	struct argp_option *options, *to;
	size_t n;

	specs = option_specs(&n);
	options = calloc(2 * n + n_own + 1, sizeof(*options));
	to = options;
	for (size_t i = 0; options && i < n; i++) {
		int key = specs[i].letter ? specs[i].letter : KEY_FIRST + 2 * (int)i;
		int flags = specs[i].implied ? OPTION_ARG_OPTIONAL : 0;

		if (wanted && !wanted(&specs[i]))
			continue;
		*to = (struct argp_option){ specs[i].name, key, specs[i].arg, flags, option_doc(&specs[i]), 0 };
		if (!to->doc) {
			run_arguments_argp_free(options);
			return NULL;
		}
		to++;
		if (specs[i].alias)
			*to++ = (struct argp_option){ specs[i].alias, KEY_FIRST + 2 * (int)i + 1, NULL, OPTION_ALIAS, NULL, 0 };
	}
	if (options && n_own)
		memcpy(to, own, n_own * sizeof(*own));
	return options;
}

const struct option_spec *run_arguments_spec(int key)
{
	char letter[2] = { (char)key, '\0' };
	const struct option_spec *specs;
	size_t n;

	specs = option_specs(&n);
	if (key > ' ' && key < KEY_FIRST)
		return option_find(letter);
	return key >= KEY_FIRST && (size_t)(key - KEY_FIRST) / 2 < n ? &specs[(key - KEY_FIRST) / 2] : NULL;
}

bool run_arguments_is_among(const struct option_spec *spec, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(spec->name, names[i]))
			return true;
	return false;
}

/* ---- parsing ---- */

struct parsing {
	struct run_arguments *a;
	const struct run_command *command;
	void *input; /* the command's own */
};

/* The program and everything behind it, word by word. */
static error_t take_program(struct run_options *o, struct argp_state *state)
{
	strv_clear(&o->argv);
	for (int i = state->next - 1; i < state->argc; i++)
		if (strv_add(&o->argv, state->argv[i]) < 0)
			return ENOMEM;
	state->next = state->argc;
	return 0;
}

/* What is wrong with the argument of an option ends the process with a message. */
static error_t take_option(const struct parsing *p, int key, const char *arg, struct argp_state *state)
{
	const struct option_spec *spec = run_arguments_spec(key);
	struct error err = { 0 };
	int r;

	if (!spec || (p->command->wanted && !p->command->wanted(spec)))
		return ARGP_ERR_UNKNOWN;
	r = run_options_set(&p->a->options, spec, arg, &err);
	if (r < 0 && err.code)
		argp_failure(state, argp_err_exit_status, 0, "%s", err.text);
	return -r;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	const struct parsing *p = state->input;
	error_t r = ARGP_ERR_UNKNOWN;

	if (key == ARGP_KEY_ARG)
		return take_program(&p->a->options, state);
	if (p->command->take)
		r = p->command->take(key, arg, state, p->a, p->input);
	return r == ARGP_ERR_UNKNOWN ? take_option(p, key, arg, state) : r;
}

static int parse(struct parsing *p, int argc, char **argv)
{
	struct argp_option *options = run_arguments_argp(p->command->wanted, p->command->own, p->command->n_own);
	struct argp argp = { options, parse_one, "[--] PROGRAM [ARGUMENT...]", p->command->doc, NULL, NULL, NULL };
	int r;

	if (!options)
		return -ENOMEM;
	r = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, p);
	run_arguments_argp_free(options);
	return -r;
}

static int set_presets(struct run_arguments *a, const struct run_command *command)
{
	int r;

	r = run_options_init(&a->options);
	for (size_t i = 0; r == 0 && command->presets && command->presets[i][0]; i++)
		r = run_options_set(&a->options, option_find(command->presets[i][0]), command->presets[i][1], NULL);
	return r;
}

int run_arguments_setup_log(struct run_arguments *a, const char *program, struct error *err)
{
	const struct run_options *o = &a->options;
	int level = o->log ? log_level_parse(o->log) : (int)arg_log_level;
	int fd = STDERR_FILENO;

	if (level < 0)
		return error_set(err, EINVAL, "--log: there is no level '%s'; known: off, error, warning, info, debug", o->log);
	if (o->log_file) {
		fd = open(o->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (fd < 0)
			return error_errno(err, errno, "--log-file: %s", o->log_file);
		a->log_fd = fd;
	}
	log_setup(fd, (enum log_level)level, false, program);
	return 0;
}

int run_arguments_end(const struct run_arguments *a, int status)
{
	int failure = log_failure();

	if (a->log_fd <= 0 || !failure)
		return status;
	log_setup(STDERR_FILENO, arg_log_level, false, NULL);
	log_error("--log-file: cannot write %s: %s; messages are missing from it. This is a failure of the tool; by itself the status was %d",
		  a->options.log_file, strerrordesc_np(-failure), status);
	return EXIT_CODE_TOOL;
}

int run_arguments_parse(struct run_arguments *a, const struct run_command *command, int argc, char **argv, void *input)
{
	struct parsing p = { .a = a, .command = command, .input = input };
	struct error err = { 0 };
	int r;

	command_prepare("hermit", command->name, argv);
	*a = (struct run_arguments){ 0 };
	r = set_presets(a, command);
	if (r == 0)
		r = parse(&p, argc, argv);
	if (r < 0)
		(void)error_errno(&err, -r, "arguments");
	if (r == 0)
		r = run_arguments_setup_log(a, "hermit", &err);
	if (r == 0)
		r = run_options_draw_seed(&a->options, &err);
	if (r == 0)
		r = run_options_validate(&a->options, &err);
	if (r < 0)
		log_error("%s", err.text);
	return r;
}

void run_arguments_clear(struct run_arguments *a)
{
	run_options_clear(&a->options);
	if (a->log_fd > 0)
		(void)close(a->log_fd);
	*a = (struct run_arguments){ 0 };
}
