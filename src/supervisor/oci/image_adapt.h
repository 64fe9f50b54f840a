/* SPDX-License-Identifier: BSD-3-Clause */
/* What a person changes of an image's own configuration, in the words of podman and docker. */
#ifndef HS_SUPERVISOR_IMAGE_ADAPT_H
#define HS_SUPERVISOR_IMAGE_ADAPT_H

#include "base/error.h"
#include "base/strv.h"
#include "supervisor/oci/bundle.h"
#include "supervisor/oci/image.h"
#include "supervisor/options/options.h"

struct image_changes {
	const struct run_options *options; /* env, workdir, user, hostname, network, bind, mount */
	const char *entrypoint;            /* NULL: the image's; a word, or a list of them as JSON */
	char **command;                    /* NULL-terminated; empty: the image's, but not behind another entry point */
};

/* In the document, which umoci has made from the image's configuration. After image_mount(). */
int image_adapt(const struct image *image, const struct image_changes *changes, struct oci_config *cfg, struct error *err);

/* In the request that was made of it; the strings are stored in `texts`. */
int image_adapt_container(const struct image_changes *changes, struct bundle *b, struct strv *texts, struct error *err);

#endif
