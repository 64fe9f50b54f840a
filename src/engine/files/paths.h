/* SPDX-License-Identifier: BSD-3-Clause */
/* What the file families share: paths of guests, and noting that files changed. */
#ifndef HS_ENGINE_PATHS_H
#define HS_ENGINE_PATHS_H

#include <limits.h>

#include "engine/guest.h"
#include "engine/task.h"

struct engine;

/* A path argument together with the descriptor it is relative to. */
struct guest_path {
	int dirfd;
	char text[PATH_MAX];
};

/* Reads it. -EFAULT, -ENAMETOOLONG: the guest's mistake. */
int path_read(struct engine *e, struct task *t, int dirfd, uint64_t addr, struct guest_path *ret);

/* The host's stat of it; as guest_ops.path_stat. */
int path_stat(struct engine *e, struct task *t, const struct guest_path *path, int flags, struct file_stat *ret);

/* Virtual wall clock now. */
struct timespec file_now(struct engine *e);

/* The contents (and status) of the object changed now; or only its status. Objects that cannot be found are left alone. */
int file_changed(struct engine *e, uint64_t dev, uint64_t ino);
int file_status_changed(struct engine *e, uint64_t dev, uint64_t ino);

/* The directory that holds the path's last component was changed now. */
int path_parent_changed(struct engine *e, struct task *t, const struct guest_path *path);

/* The path names an object that was created just now. */
int path_created(struct engine *e, struct task *t, const struct guest_path *path);

#endif
