/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit oci run IMAGE: an image is run without an engine. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "oci/config.h"
#include "supervisor/oci/bundle.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/image.h"
#include "supervisor/oci/image_adapt.h"

struct arguments {
	const char *image;
	struct run_options *options;
	struct image_changes changes;
};

enum { KEY_ENTRYPOINT = 0x20000, KEY_RM };

/* Words of podman and docker; those of `hermit run` are there too. */
static const struct argp_option own_options[] = {
	{ "volume", 'v', "SRC:DST[:ro]", 0, "the same as --bind", 0 },
	{ "entrypoint", KEY_ENTRYPOINT, "COMMAND", 0, "what to run instead of the image's entry point, a word or a list of words as JSON", 0 },
	{ "rm", KEY_RM, NULL, 0, "accepted: nothing of a run is kept", 0 },
};

static bool takes_option(const struct option_spec *spec)
{
	static const char *const others[] = { "hostname", "env", "workdir", "user", "network", "bind", "mount" };

	return bundle_takes_argument(spec) || run_arguments_is_among(spec, others, ARRAY_SIZE(others));
}

/* An option of a run, by the name that it has there. */
static void set_option(struct arguments *a, const struct option_spec *spec, const char *arg, struct argp_state *state)
{
	struct error err = { 0 };

	if (!strcmp(spec->name, "network") && arg && !strcmp(arg, "none"))
		arg = "local"; /* as engines call it */
	if (run_options_set(a->options, spec, arg, &err) < 0)
		argp_failure(state, argp_err_exit_status, 0, "%s", err.text);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	const struct option_spec *spec;

	switch (key) {
	case ARGP_KEY_INIT:
		a->changes.options = a->options;
		return 0;
	case 'v':
		set_option(a, option_find("bind"), arg, state);
		return 0;
	case KEY_ENTRYPOINT:
		a->changes.entrypoint = arg;
		return 0;
	case KEY_RM:
		return 0;
	case ARGP_KEY_ARG:
		a->image = arg;
		a->changes.command = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!a->image)
			argp_error(state, "name an image: an OCI layout, or a file of docker save");
		return 0;
	default:
		spec = run_arguments_spec(key);
		if (!spec)
			return ARGP_ERR_UNKNOWN;
		set_option(a, spec, arg, state);
		return 0;
	}
}

static const char doc[] =
	"Runs an image without a container engine, deterministically.\v"
	"IMAGE is DIR[:TAG] of an OCI layout, a directory of 'skopeo copy ... dir:DIR', or a file of 'docker save'. umoci unpacks it, once "
	"for each digest; skopeo converts what is no OCI layout. Each run has the image as it is: what it writes is thrown away. COMMAND "
	"replaces the image's command, its entry point stays.";

/* For reports: what is run, and how it is run again. */
static int name_command(const struct arguments *a, const struct oci_strings *args, struct error *err)
{
	struct run_options *o = a->options;
	int r = strv_add(&o->front, "hermit");

	if (r == 0)
		r = strv_add(&o->front, "oci");
	if (r == 0)
		r = strv_add(&o->front, "run");
	if (r == 0 && a->changes.entrypoint)
		r = strv_addf(&o->front, "--entrypoint=%s", a->changes.entrypoint);
	if (r == 0)
		r = strv_add(&o->back, a->image);
	for (char **word = a->changes.command; r == 0 && *word; word++)
		r = strv_add(&o->back, *word);
	for (size_t i = 0; r == 0 && i < args->count; i++)
		r = strv_add(&o->argv, args->items[i]);
	return r < 0 ? error_errno(err, ENOMEM, "%s", a->image) : 0;
}

static int prepare(const struct arguments *a, struct image *image, struct bundle *bundle, struct strv *texts, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	int r;

	r = image_open(a->image, image, err);
	if (r == 0)
		r = image_mount(image, err);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/config.json", image->bundle) < 0) {
		path = NULL;
		return error_set(err, ENOMEM, "out of memory");
	}
	r = oci_config_load(AT_FDCWD, path, &bundle->config, err);
	if (r == 0)
		r = image_adapt(image, &a->changes, &bundle->config, err);
	if (r == 0)
		r = name_command(a, &bundle->config.process.args, err);
	if (r == 0)
		r = run_options_draw_seed(a->options, err);
	if (r == 0)
		r = bundle_prepare(bundle, image->bundle, a->options, err);
	return r == 0 ? image_adapt_container(&a->changes, bundle, texts, err) : r;
}

static int run_image(int argc, char **argv)
{
	_cleanup_run_arguments_ struct run_arguments run_arguments = { 0 };
	_cleanup_bundle_ struct bundle bundle = { 0 };
	_cleanup_strv_ struct strv texts = { 0 }; /* that the request points to */
	struct argp_option *options = run_arguments_argp(takes_option, own_options, ARRAY_SIZE(own_options));
	struct argp argp = { options, parse_one, "IMAGE [COMMAND [ARGUMENT...]]", doc, NULL, NULL, NULL };
	struct arguments a = { .options = &run_arguments.options };
	struct image image = { 0 };
	struct error err = { 0 };
	int status = EXIT_CODE_TOOL, r;

	command_prepare("hermit", "oci run", argv);
	r = options ? run_options_init(&run_arguments.options) : -ENOMEM;
	if (r == 0)
		r = -argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
	run_arguments_argp_free(options);
	if (r == 0)
		r = run_arguments_setup_log(&run_arguments, "hermit", &err);
	if (r == 0)
		r = prepare(&a, &image, &bundle, &texts, &err);
	if (r == 0)
		status = run_arguments_end(&run_arguments, bundle_run(&bundle, &run_arguments.options, image.digest));
	else
		log_error("%s", err.text);
	image_close(&image);
	return status;
}

int cmd_oci_image(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "run"))
		return run_image(argc - 1, argv + 1);
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "--usage")))
		return run_image(argc, argv);
	log_error("oci: say 'hermit oci run IMAGE'; 'hermit oci run --help' says more");
	return EXIT_CODE_TOOL;
}
