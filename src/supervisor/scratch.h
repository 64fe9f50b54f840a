/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories for a while. */
#ifndef HS_SUPERVISOR_SCRATCH_H
#define HS_SUPERVISOR_SCRATCH_H

#include <stddef.h>

#include "base/error.h"

/*
 * Makes hermit-NAME-XXXXXX in TMPDIR or, where that is none, /tmp, for this user only, and writes its path. 0 or -errno with a message.
 *
 * A file in it is locked as long as this process lives, or a child that it has forked. One that is killed cannot clear up: its directories are those
 * whose lock nobody holds, and are removed here, before the new one is made; but not where anything is mounted below. One that was killed before it
 * had locked anything has left .hermit-new-XXXXXX, which goes the same way when it is empty.
 */
int scratch_make(char *path, size_t size, const char *name, struct error *err);

/* The same in a directory of the caller's choice. */
int scratch_make_in(const char *base, char *path, size_t size, const char *name, struct error *err);

/* Of a directory that scratch_make() has made, or of any other: from now on it is the user's, and stays. */
void scratch_keep(const char *path);

/*
 * What standard input has, until its end, becomes the contents of a new file; from a terminal, or one that cannot be read, nothing is read. 0 or
 * -errno with a message.
 */
int scratch_capture_stdin(const char *path, struct error *err);

/*
 * Removes a directory with all that is in it, also what its modes do not let one into. What cannot be removed stays, unsaid but in debug
 * messages.
 */
void scratch_remove(const char *path);

#endif
