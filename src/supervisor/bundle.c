/* SPDX-License-Identifier: BSD-3-Clause */
/* From an OCI bundle to a run: see bundle.h. */
#include "supervisor/bundle.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "supervisor/launch.h"

static const char *const taken[] = {
	"seed", "epoch", "uptime", "quantum", "cpus", "memory", "mtime", "strict", "allow-uncontrolled", "timeout", "no-pin",
	"quiet", "log", "log-file",
};

bool bundle_takes_option(const struct option_spec *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (!strcmp(taken[i], spec->name))
			return true;
	return false;
}

static int take_annotation(struct run_options *o, const struct oci_pair *pair, struct error *err)
{
	const size_t prefix = strlen(BUNDLE_ANNOTATION_PREFIX);
	const struct option_spec *spec;
	int r;

	if (strncmp(pair->key, BUNDLE_ANNOTATION_PREFIX, prefix) != 0)
		return 0;
	spec = option_find(pair->key + prefix);
	/* Other parts of this program have annotations too; an unknown one is not an error, as the specification demands. */
	if (!spec || !bundle_takes_option(spec)) {
		log_debug("annotation %s is not an option of a run", pair->key);
		return 0;
	}
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

int bundle_prepare(struct bundle *b, const char *directory, const struct run_options *o, struct error *err)
{
	int r;

	r = container_from_oci(&b->config, directory, &b->container, err);
	if (r < 0)
		return r;
	launch_engine_options(o, &b->request.engine);
	b->request.engine.hostname = b->container.spec.hostname;
	b->request.spec = &b->container.spec;
	b->request.timeout_ns = o->timeout_ns;
	b->request.no_pin = o->no_pin;
	b->request.quiet = o->quiet;
	return 0;
}

void bundle_clear(struct bundle *b)
{
	container_bundle_free(&b->container);
	oci_config_free(&b->config);
	*b = (struct bundle){ 0 };
}
