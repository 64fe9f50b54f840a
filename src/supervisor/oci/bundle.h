/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From an OCI bundle to a run. What a config.json cannot say (seed, epoch, ...) comes from annotations org.hermit.OPTION and,
 * above them, from the caller; only options that do not contradict the document are taken: see enum option_bundle.
 */
#ifndef HS_SUPERVISOR_BUNDLE_H
#define HS_SUPERVISOR_BUNDLE_H

#include <stdbool.h>

#include "base/error.h"
#include "container/from_oci.h"
#include "oci/config.h"
#include "supervisor/options/options.h"
#include "supervisor/run.h"

#define BUNDLE_ANNOTATION_PREFIX "org.hermit."
#define BUNDLE_OFF_ANNOTATION BUNDLE_ANNOTATION_PREFIX "off"
#define BUNDLE_FIXED_MACS_ANNOTATION BUNDLE_ANNOTATION_PREFIX "fixed-macs"
#define BUNDLE_DEFAULTS_FILE SYSCONFDIR "/hermit/defaults.json"

/* Zeroed, then bundle_load() and bundle_prepare(). */
struct bundle {
	struct oci_config config;
	struct container_bundle container;
	struct run_request request;
	char *cache_dir;
};

/* Whether an option can be set by an annotation, by the command line of a run in the foreground. */
bool bundle_takes_annotation(const struct option_spec *spec);
bool bundle_takes_argument(const struct option_spec *spec);

/* Reads the document and sets in *o what its annotations say. `directory` is the bundle, `path` the document. */
int bundle_load(struct bundle *b, const char *path, struct run_options *o, struct error *err);

/*
 * True for a container that shall run as it is: annotation org.hermit.off, or the sandbox of a Kubernetes pod, which does nothing
 * but hold namespaces.
 */
int bundle_is_untrapped(const struct bundle *b, bool *ret, struct error *err);

/* Sets in *o what the file of defaults says; NULL: BUNDLE_DEFAULTS_FILE, which need not exist. */
int bundle_load_defaults(struct run_options *o, const char *path, struct error *err);

/* Makes the request from the document and the options, both of which stay borrowed. */
int bundle_prepare(struct bundle *b, const char *directory, const struct run_options *o, struct error *err);

/*
 * In the foreground, as `hermit run` does it: with log, report and summary, or verified. `image` is the digest of the image that is run, for
 * the report, or NULL. Returns the exit status; messages go to the log.
 */
int bundle_run(struct bundle *b, const struct run_options *o, const char *image);

void bundle_clear(struct bundle *b);
#define _cleanup_bundle_ __attribute__((cleanup(bundle_clear)))

#endif
