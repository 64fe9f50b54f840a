/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images without an engine: an OCI layout, a directory of skopeo's, or an archive of docker's becomes a bundle. skopeo(1) converts,
 * umoci(1) unpacks, once for each digest, into the user's cache; every run has a fresh copy-on-write layer above that, in memory.
 */
#ifndef HS_SUPERVISOR_IMAGE_H
#define HS_SUPERVISOR_IMAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strv.h"

struct image {
	char *digest;            /* of the manifest: "sha256:..." */
	char *bundle;            /* directory with config.json and, below rootfs, the files */
	char *root;              /* of image_mount() */
	struct strv entrypoint;  /* what stays when the command is another one */
	char *layout, *scratch;  /* own: where the layout is; a temporary directory, or NULL */
	char *tag;
	bool nested;   /* in a user namespace, as of an ordinary user */
	bool rootless; /* who has no other user inside (subuid(5)): umoci's word for it */
};

/*
 * name: DIR[:TAG] of an OCI layout, DIR of skopeo's "dir:", or FILE of docker save. 0, or -errno with a message: what it is not, or
 * which program is missing. An ordinary user becomes root of a user namespace here, for good; see
 * container_enter_userns_of_many().
 */
int image_open(const char *name, struct image *image, struct error *err);

/* Leaves the host's mount namespace and puts the fresh layer at image->root: it is gone with this process. */
int image_mount(struct image *image, struct error *err);

/* Removes what was temporary. */
void image_close(struct image *image);

#endif
