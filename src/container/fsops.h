/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mount operations on descriptors (the fsopen/open_tree/move_mount family) and path operations that cannot leave a root.
 * Every function that takes err names the object in it.
 */
#ifndef HS_CONTAINER_FSOPS_H
#define HS_CONTAINER_FSOPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/types.h>

#include "base/error.h"

struct fs_option {
	const char *key;
	const char *value; /* NULL: a flag */
};

/*
 * A detached mount of a new file system instance. options ends with a NULL key; attributes are MOUNT_ATTR_*. Returns the
 * descriptor, or -errno with the kernel's own words in err.
 */
int fs_create(const char *type, const char *source, const struct fs_option *options, unsigned attributes, struct error *err);

/* A detached copy of the mount at dirfd/path ("" with AT_EMPTY_PATH semantics: dirfd itself). Returns the descriptor. */
int fs_clone(int dirfd, const char *path, bool recursive, struct error *err);

/* Attaches a detached mount on an open file or directory. `where` is for the message. */
int fs_attach(int mount, int target, const char *where, struct error *err);

/* Changes attributes of the mount that fd is the root of. */
int fs_set_attributes(int fd, uint64_t set, uint64_t clear, bool recursive, const char *where, struct error *err);

/* O_PATH (plus flags) of a path as the container sees it: ".." and symbolic links cannot leave root. -errno, no message. */
int root_open(int root, const char *path, int flags);

/*
 * The same, creating what is missing: parents as directories 0755, the last component as a directory or an empty file.
 * Returns an O_PATH descriptor.
 */
int root_make(int root, const char *path, bool directory, struct error *err);

/* fs_create() + root_make() + fs_attach(). */
int root_mount(int root, const char *path, const char *type, const char *source, const struct fs_option *options,
	       unsigned attributes, struct error *err);

/* fs_clone() of a host path + root_make() + fs_attach(). */
int root_bind(int root, const char *path, int dirfd, const char *source, bool recursive, struct error *err);

#endif
