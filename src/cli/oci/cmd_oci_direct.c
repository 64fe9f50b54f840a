/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor --config FILE: a bundle is run in the foreground, from beginning to end, without a state directory. */
#include <argp.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "supervisor/oci/bundle.h"
#include "supervisor/exit_codes.h"

enum { KEY_CONFIG = 'c', KEY_BUNDLE = 'b' };

struct arguments {
	const char *config, *bundle, *id;
	struct strv given; /* options of a run, names and values two by two: they are set after the document was read */
};

static const struct argp_option own_options[] = {
	{ "config", KEY_CONFIG, "FILE", 0, "the document (default: config.json in the bundle)", 1 },
	{ "bundle", KEY_BUNDLE, "DIR", 0, "directory that relative paths of the document start from (default: where the "
					  "document is, or the current directory)", 1 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	const struct option_spec *spec;

	switch (key) {
	case KEY_CONFIG:
		a->config = arg;
		return 0;
	case KEY_BUNDLE:
		a->bundle = arg;
		return 0;
	case ARGP_KEY_ARG:
		command_take_only(&a->id, arg, "container", state);
		return 0;
	default:
		spec = run_arguments_spec(key);
		if (!spec)
			return ARGP_ERR_UNKNOWN;
		if (strv_add(&a->given, spec->name) < 0 || strv_add(&a->given, arg ?: spec->implied ?: "true") < 0)
			return ENOMEM;
		return 0;
	}
}

static const char doc[] =
	"Runs the container of an OCI bundle deterministically, in the foreground.\v"
	"Annotations org.hermit.OPTION of the document set the options that are about what the container sees; the command line is "
	"stronger. The exit status is that of the container's process; hermit-supervisor(1) has a table of all others.";

static int parse(struct arguments *a, int argc, char **argv)
{
	struct argp_option *options = run_arguments_argp(bundle_takes_argument, own_options, ARRAY_SIZE(own_options));
	struct argp argp = { options, parse_one, "[ID]", doc, NULL, NULL, NULL };
	int r;

	if (!options)
		return -ENOMEM;
	r = argp_parse(&argp, argc, argv, 0, NULL, a);
	run_arguments_argp_free(options);
	return -r;
}

static int set_given(struct run_options *o, const struct strv *given, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i + 1 < given->count && r == 0; i += 2)
		r = run_options_set(o, option_find(given->items[i]), given->items[i + 1], err);
	return r;
}

/* Where the document and its bundle are; *path and *directory are the caller's. */
static int find_bundle(const struct arguments *a, char **path, char **directory, struct error *err)
{
	_cleanup_free_ char *copy = a->config ? strdup(a->config) : NULL;
	const char *where = a->bundle ? a->bundle : copy ? dirname(copy) : ".";

	*directory = realpath(where, NULL);
	if (!*directory)
		return error_errno(err, errno, "bundle %s", where);
	if (a->config)
		*path = strdup(a->config);
	else if (asprintf(path, "%s/config.json", *directory) < 0)
		*path = NULL;
	return *path ? 0 : error_errno(err, ENOMEM, "bundle");
}

/* For reports: what is run, and how it is run again. */
static int name_command(struct run_options *o, const char *path, const char *directory, const struct oci_strings *args, struct error *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	int r;

	r = strv_add(&o->front, "hermit-supervisor");
	if (r == 0)
		r = strv_addf(&o->front, "--config=%s", real ?: path);
	if (r == 0)
		r = strv_addf(&o->front, "--bundle=%s", directory);
	for (size_t i = 0; r == 0 && i < args->count; i++)
		r = strv_add(&o->argv, args->items[i]);
	return r < 0 ? error_errno(err, ENOMEM, "%s", path) : 0;
}

static int prepare(const struct arguments *a, struct run_arguments *run_arguments, struct bundle *bundle, struct error *err)
{
	_cleanup_free_ char *path = NULL, *directory = NULL;
	struct run_options *o = &run_arguments->options;
	int r;

	r = find_bundle(a, &path, &directory, err);
	if (r == 0)
		r = bundle_load(bundle, path, o, err);
	if (r == 0)
		r = set_given(o, &a->given, err);
	if (r == 0)
		r = run_arguments_setup_log(run_arguments, "hermit-supervisor", err);
	if (r == 0)
		r = run_options_draw_seed(o, err);
	if (r == 0)
		r = name_command(o, path, directory, &bundle->config.process.args, err);
	return r == 0 ? bundle_prepare(bundle, directory, o, err) : r;
}

int cmd_oci_direct(int argc, char **argv)
{
	_cleanup_run_arguments_ struct run_arguments run_arguments = { 0 };
	_cleanup_bundle_ struct bundle bundle = { 0 };
	struct arguments arguments = { 0 };
	struct error err = { 0 };
	int r;

	command_prepare("hermit-supervisor", NULL, argv);
	r = run_options_init(&run_arguments.options);
	if (r == 0)
		r = parse(&arguments, argc, argv);
	if (r < 0)
		(void)error_errno(&err, -r, "arguments");
	else
		r = prepare(&arguments, &run_arguments, &bundle, &err);
	strv_clear(&arguments.given);
	if (r == 0)
		return run_arguments_end(&run_arguments, bundle_run(&bundle, &run_arguments.options, NULL));
	log_error("%s", err.text);
	return EXIT_CODE_TOOL;
}
