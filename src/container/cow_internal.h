/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files cow*.c share: cow.c says what becomes of which path, cow_overlay.c makes overlays, cow_files.c copies what is beside
 * them.
 */
#ifndef HS_CONTAINER_COW_INTERNAL_H
#define HS_CONTAINER_COW_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"
#include "container/internal.h"

#define COW_UPPER "upper"
#define COW_WORK "work"

struct cow {
	struct stage *stage;
	const char *source;    /* host path of the tree's root */
	char layers[PATH_MAX]; /* directory of upper/ and work/ */
	char kept[PATH_MAX];   /* overlay_dir resolved, or "" */
	off_t copied;	       /* bytes of files that were copied instead of overlaid */
};

/* ---- cow.c ---- */

/* The path as the container sees it. */
const char *cow_inner_path(const struct cow *cow, const char *path);

/* Is the directory unfit as a lower layer? */
bool cow_must_open_up(const struct cow *cow, const char *path);

/* ---- cow_overlay.c ---- */

/* A detached overlay over the directory, or -errno. */
int cow_create_overlay(struct cow *cow, const char *path, const struct stat *st, struct error *err);

/* A detached mount of a copy of a regular file. */
int cow_create_copy(struct cow *cow, const char *path, const struct stat *st, struct error *err);

/* ---- cow_files.c ---- */

int cow_copy_symlink(struct cow *cow, const char *path, const struct stat *st, struct error *err);

/* A single file cannot be overlaid. A small one is copied, so that it can be written, replaced and removed; -EFBIG: it is not. */
int cow_copy_file(struct cow *cow, const char *path, const struct stat *st, struct error *err);

/* A FIFO or a socket becomes the view's own, as an overlay's are: whom the host has at it is not reached. -ENOTSUP: it is neither. */
int cow_copy_special(struct cow *cow, const char *path, const struct stat *st, struct error *err);

/* One of the description's host_files, where no overlay shows it. */
int cow_copy_host_file(struct cow *cow, const char *path, struct error *err);

#endif
