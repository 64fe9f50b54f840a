/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories for a while. */
#ifndef HS_SUPERVISOR_SCRATCH_H
#define HS_SUPERVISOR_SCRATCH_H

#include <stddef.h>

#include "base/error.h"

/* Makes hermit-NAME-XXXXXX in TMPDIR or, where that is none, /tmp, for this user only, and writes its path. 0 or -errno with a message. */
int scratch_make(char *path, size_t size, const char *name, struct error *err);

/*
 * Removes a directory with all that is in it, also what its modes do not let one into. What cannot be removed stays, unsaid but in debug
 * messages.
 */
void scratch_remove(const char *path);

#endif
