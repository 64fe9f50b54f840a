/* SPDX-License-Identifier: BSD-3-Clause */
/* From an OCI bundle to a run: see bundle.h. */
#include "supervisor/oci/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/cache_directory.h"
#include "supervisor/evidence/observed.h"
#include "supervisor/evidence/verify.h"
#include "supervisor/oci/bind_order.h"
#include "supervisor/launch.h"
#include "supervisor/oci/host_name.h"

/* What podman run --group-add=keep-groups asks for. */
#define KEEP_GROUPS_ANNOTATION "run.oci.keep_original_groups"

bool bundle_takes_annotation(const struct option_spec *spec)
{
	return spec->bundle == BUNDLE_ANNOTATION;
}

static bool takes_default(const struct option_spec *spec)
{
	return spec->bundle >= BUNDLE_DEFAULTS;
}

bool bundle_takes_argument(const struct option_spec *spec)
{
	return spec->bundle >= BUNDLE_COMMAND;
}

static int take_annotation(struct run_options *o, const struct oci_pair *pair, struct error *err)
{
	const size_t prefix = strlen(BUNDLE_ANNOTATION_PREFIX);
	const struct option_spec *spec;
	int r;

	if (!strcmp(pair->key, BUNDLE_OFF_ANNOTATION) || !strcmp(pair->key, BUNDLE_FIXED_MACS_ANNOTATION))
		return 0; /* bundle_is_untrapped(), bundle_prepare() */

	if (strncmp(pair->key, BUNDLE_ANNOTATION_PREFIX, prefix) != 0)
		return 0;
	spec = option_find(pair->key + prefix);
	/* Other parts of this program have annotations too; an unknown one is not an error, as the specification demands. */
	if (!spec || !spec->bundle) {
		log_warning("annotation %s is not an option of a run", pair->key);
		return 0;
	}
	if (!bundle_takes_annotation(spec))
		return error_set(err, EPERM, "annotations.%s: is not for annotations: %s", pair->key,
				 takes_default(spec) ? "it names a file of the host, which only the defaults file and a command line may do"
						     : "it is for the command line of a run in the foreground");
	r = run_options_set(o, spec, pair->value, err);
	if (r < 0)
		error_prefix(err, "annotations.%s", pair->key);
	return r;
}

int bundle_load(struct bundle *b, const char *path, struct run_options *o, struct error *err)
{
	int r;

	r = oci_config_load(AT_FDCWD, path, &b->config, err);
	for (size_t i = 0; r == 0 && i < b->config.annotations.count; i++)
		r = take_annotation(o, &b->config.annotations.items[i], err);
	return r;
}

static int parse_truth(const char *text)
{
	if (!strcmp(text, "true") || !strcmp(text, "1"))
		return 1;
	return strcmp(text, "false") != 0 && strcmp(text, "0") != 0 ? -EINVAL : 0;
}

/* 0, 1, or -EINVAL with words; 0 where there is no such annotation. */
static int truth_of(const struct bundle *b, const char *key, struct error *err)
{
	const char *text = oci_annotation(&b->config, key);
	int r = text ? parse_truth(text) : 0;

	return r < 0 ? error_set(err, EINVAL, "annotations.%s: '%s' is neither true nor false", key, text) : r;
}

/* What pods of podman have as their first container, which no annotation marks: programs that wait, and do nothing else. */
static bool is_pause_program(const struct oci_strings *args)
{
	static const char *const programs[][2] = { { "/pause", NULL }, { "/catatonit", "-P" } };

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		size_t n = programs[i][1] ? 2 : 1;

		if (args->count == n && !strcmp(args->items[0], programs[i][0]) && (n == 1 || !strcmp(args->items[1], programs[i][1])))
			return true;
	}
	return false;
}

int bundle_is_untrapped(const struct bundle *b, bool *ret, struct error *err)
{
	static const struct {
		const char *key, *value;
	} sandboxes[] = {
		{ "io.kubernetes.cri.container-type", "sandbox" },
		{ "io.kubernetes.cri-o.ContainerType", "sandbox" },
	};
	int r = truth_of(b, BUNDLE_OFF_ANNOTATION, err);

	if (r < 0)
		return r;
	*ret = r == 1 || is_pause_program(&b->config.process.args);
	for (size_t i = 0; i < ARRAY_SIZE(sandboxes); i++) {
		const char *value = oci_annotation(&b->config, sandboxes[i].key);

		*ret = *ret || (value && !strcmp(value, sandboxes[i].value));
	}
	return 0;
}

int bundle_load_defaults(struct run_options *o, const char *path, struct error *err)
{
	const char *name = path ? path : BUNDLE_DEFAULTS_FILE;
	_cleanup_free_ char *text = NULL;
	int r;

	r = fd_read_file(AT_FDCWD, name, 1 << 20, &text, NULL);
	if (r == -ENOENT && !path)
		return 0;
	return r < 0 ? error_errno(err, -r, "%s", name) : run_options_from_defaults(o, text, name, takes_default, err);
}

int bundle_prepare(struct bundle *b, const char *directory, const struct run_options *o, struct error *err)
{
	bool untrapped;
	int r;

	r = run_options_check(o, err);
	if (r == 0)
		r = bundle_is_untrapped(b, &untrapped, err);
	if (r == 0)
		r = container_from_oci(&b->config, directory, &b->container, err);
	if (r == 0 && !untrapped)
		r = bind_order_apply(&b->container.spec, b->container.arena, err);
	if (r < 0)
		return r;
	r = truth_of(b, BUNDLE_FIXED_MACS_ANNOTATION, err);
	if (r < 0)
		return r;
	b->container.spec.fixed_macs = r == 1;
	b->container.spec.keep_groups = oci_annotation(&b->config, KEEP_GROUPS_ANNOTATION) != NULL;
	launch_request_options(o, &b->request);
	if (host_name_by_document(&b->config))
		b->request.engine.hostname = host_name_by_document(&b->config);
	b->request.spec = &b->container.spec;
	b->request.cache_dir = b->cache_dir = cache_directory();
	return 0;
}

/* What a run writes to a bind the next one finds: such changes are looked for when runs differ. */
static int add_sources(void *arg, struct strv *list, struct error *err)
{
	const struct container_spec *spec = &((const struct bundle *)arg)->container.spec;
	int r;

	r = strv_add(list, spec->root_path);
	for (size_t i = 0; i < spec->n_mounts && r == 0; i++)
		if ((spec->mounts[i].flags & MS_BIND) && !(spec->mounts[i].flags & MS_RDONLY) && spec->mounts[i].source)
			r = strv_add(list, spec->mounts[i].source);
	return r < 0 ? error_errno(err, ENOMEM, "--verify") : 0;
}

/* Every run has the root and what is mounted from the host as they are, and layers above them. */
static int make_run(void *arg, const char *layer, struct run_request **ret, struct container_spec **ret_spec, struct error *err)
{
	struct bundle *b = arg;

	b->container.spec.root_cow = b->container.spec.cow_binds = true;
	b->container.spec.overlay_dir = layer;
	*ret = &b->request;
	*ret_spec = &b->container.spec;
	return 0;
}

static void unmake_run(void *arg)
{
	struct bundle *b = arg;

	b->container.spec.overlay_dir = NULL;
}

int bundle_run(struct bundle *b, const struct run_options *o, const char *image)
{
	const struct verify_maker maker = { .sources = add_sources, .make = make_run, .unmake = unmake_run, .arg = b };
	struct error err = { 0 };
	int status;

	if (!o->verify)
		return observed_request(o, &b->request, image);
	status = verify_with(o, &maker, &err);
	if (err.code)
		log_error("%s", err.text);
	return status;
}

void bundle_clear(struct bundle *b)
{
	container_bundle_free(&b->container);
	oci_config_free(&b->config);
	free(b->cache_dir);
	*b = (struct bundle){ 0 };
}
