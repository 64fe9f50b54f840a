/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others have changed on the host while runs went on: such runs did not have equal starting points. Runs of a verification write
 * nothing for real, so whatever has a younger status change time (inode(7)) is somebody else's doing.
 */
#ifndef HS_SUPERVISOR_HOST_CHANGES_H
#define HS_SUPERVISOR_HOST_CHANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/strv.h"

struct host_changes {
	struct timespec start; /* by the clock of the file systems */
	uint64_t n;
	char first[4096]; /* "" or the first in the order of names; a file before a directory */
	bool is_directory; /* `first` */
};

/* From now on. mark: a directory of ours, whose time is set. */
int host_changes_start(struct host_changes *c, const char *mark, struct error *err);

/*
 * Looks through these files and directories of the host, but not through those in `but` (ended by NULL), nor at our own standard output and
 * error. Very large trees are looked through in part; what cannot be read is passed over.
 */
void host_changes_find(struct host_changes *c, const struct strv *sources, const char *const *but);

#endif
