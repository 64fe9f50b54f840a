/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a run: see run_arguments.h. */
#include "cli/run_arguments.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "supervisor/exit_codes.h"

enum {
	KEY_FIRST = 0x100, /* + 2 * index of an option, + 1 for its alias */
	KEY_CONFIG_FILE = 0x10000,
	KEY_SAVE_CONFIG,
	KEY_PRINT_CONFIG,
	MAX_CONFIG_BYTES = 16 << 20,
};

static const struct argp_option own_options[] = {
	{ "config-file", KEY_CONFIG_FILE, "FILE", 0, "take options and program from a file of --save-config; options that "
						     "follow change them, a program given here replaces it", 1 },
	{ "save-config", KEY_SAVE_CONFIG, "FILE", 0, "write the options in effect to a file ('-': standard output), then run", 1 },
	{ "print-config", KEY_PRINT_CONFIG, "FORM", 0, "print the options in effect as json, as a command line that "
						       "reproduces the run (command), or as their fingerprint, and do not run", 1 },
};

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
	if (options)
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

static int load_config(struct run_arguments *a, const char *path, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	r = fd_read_file(AT_FDCWD, path, MAX_CONFIG_BYTES, &text, &len);
	if (r < 0)
		return error_errno(err, -r, "--config-file: %s", path);
	if (strlen(text) != len)
		return error_set(err, EINVAL, "--config-file: %s is not text", path);
	return run_options_from_json(&a->options, text, path, err);
}

static int replace(char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

error_t run_arguments_take_program(struct run_options *o, struct argp_state *state)
{
	strv_clear(&o->argv);
	for (int i = state->next - 1; i < state->argc; i++)
		if (strv_add(&o->argv, state->argv[i]) < 0)
			return ENOMEM;
	state->next = state->argc;
	return 0;
}

bool run_arguments_is_among(const struct option_spec *spec, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(spec->name, names[i]))
			return true;
	return false;
}

error_t run_arguments_take_option(struct run_options *o, bool (*wanted)(const struct option_spec *spec), int key, const char *arg,
				  struct argp_state *state)
{
	const struct option_spec *spec = run_arguments_spec(key);
	struct error err = { 0 };
	int r;

	if (!spec || (wanted && !wanted(spec)))
		return ARGP_ERR_UNKNOWN;
	r = run_options_set(o, spec, arg, &err);
	if (r < 0 && err.code)
		argp_failure(state, argp_err_exit_status, 0, "%s", err.text);
	return r < 0 ? -r : 0;
}

uint64_t run_arguments_number(const char *option, const char *text, uint64_t least, uint64_t most, struct argp_state *state)
{
	uint64_t value;

	if (parse_u64(text, &value) < 0 || value < least || value > most)
		argp_error(state, "--%s: '%s' is not a number from %llu to %llu", option, text, (unsigned long long)least,
			   (unsigned long long)most);
	return value;
}

int run_arguments_parse_with(argp_parser_t parser, const char *doc, bool (*wanted)(const struct option_spec *spec),
			     const struct argp_option *own, size_t n_own, int argc, char **argv, void *input)
{
	struct argp_option *options = run_arguments_argp(wanted, own, n_own);
	struct argp argp = { options, parser, "[--] PROGRAM [ARGUMENT...]", doc, NULL, NULL, NULL };
	int r;

	if (!options)
		return -ENOMEM;
	r = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, input);
	run_arguments_argp_free(options);
	return -r;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct run_arguments *a = state->input;
	struct error err = { 0 };
	int r;

	switch (key) {
	case KEY_CONFIG_FILE:
		r = load_config(a, arg, &err);
		break;
	case KEY_SAVE_CONFIG:
		r = replace(&a->save_config, arg);
		break;
	case KEY_PRINT_CONFIG:
		r = replace(&a->print_config, arg);
		break;
	case ARGP_KEY_ARG:
		return run_arguments_take_program(&a->options, state);
	default:
		return run_arguments_take_option(&a->options, NULL, key, arg, state);
	}
	if (r < 0 && err.code)
		argp_failure(state, argp_err_exit_status, 0, "%s", err.text);
	return r < 0 ? -r : 0;
}

static const char doc[] =
	"Runs a program in a container of its own, in which time, random numbers, the order of threads and everything else "
	"that differs from run to run is decided by the options below.\v"
	"The exit status is the program's own; 128+n when signal n ended it. hermit(1) has a table of all others.";

/* ---- what concerns the tool itself ---- */

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

static int write_text(const char *path, const char *text, struct error *err)
{
	bool standard = !strcmp(path, "-");
	FILE *f = standard ? stdout : fopen(path, "we");
	int r = 0;

	if (!f)
		return error_errno(err, errno, "--save-config: %s", path);
	if (fprintf(f, "%s\n", text) < 0)
		r = -errno;
	if ((standard ? fflush(f) : fclose(f)) != 0)
		r = -errno;
	return r < 0 ? error_errno(err, -r, "--save-config: %s", path) : 0;
}

static int save_config(const struct run_arguments *a, struct error *err)
{
	_cleanup_free_ char *text = run_options_to_json(&a->options);

	return text ? write_text(a->save_config, text, err) : error_errno(err, ENOMEM, "--save-config");
}

static int print_config(const struct run_arguments *a, struct error *err)
{
	_cleanup_free_ char *text = NULL;

	if (!strcmp(a->print_config, "json"))
		text = run_options_to_json(&a->options);
	else if (!strcmp(a->print_config, "command"))
		text = run_options_command_line(&a->options);
	else if (!strcmp(a->print_config, "fingerprint")) {
		text = malloc(HASH_HEX_SIZE);
		if (text && run_options_fingerprint(&a->options, text) < 0)
			return error_errno(err, ENOMEM, "--print-config");
	} else
		return error_set(err, EINVAL, "--print-config: there is no '%s'; known: json, command, fingerprint",
				 a->print_config);
	return text ? write_text("-", text, err) : error_errno(err, ENOMEM, "--print-config");
}

static int carry_out(struct run_arguments *a, struct error *err)
{
	int r;

	r = run_arguments_setup_log(a, "hermit", err);
	if (r == 0)
		r = run_options_draw_seed(&a->options, err);
	if (r == 0)
		r = run_options_validate(&a->options, err);
	if (r == 0 && a->save_config)
		r = save_config(a, err);
	if (r == 0 && a->print_config)
		r = print_config(a, err);
	return r;
}

int run_arguments_parse(struct run_arguments *a, const char *command, int argc, char **argv)
{
	struct error err = { 0 };
	int r;

	command_prepare("hermit", command, argv);
	*a = (struct run_arguments){ 0 };
	r = run_options_init(&a->options);
	if (r == 0)
		r = run_arguments_parse_with(parse_one, doc, NULL, own_options, ARRAY_SIZE(own_options), argc, argv, a);
	if (r < 0) {
		log_error("%s", strerrordesc_np(-r));
		return r;
	}
	r = carry_out(a, &err);
	if (r < 0)
		log_error("%s", err.text);
	return r < 0 ? r : a->print_config != NULL;
}

void run_arguments_clear(struct run_arguments *a)
{
	run_options_clear(&a->options);
	free(a->save_config);
	free(a->print_config);
	if (a->log_fd > 0)
		(void)close(a->log_fd);
	*a = (struct run_arguments){ 0 };
}
