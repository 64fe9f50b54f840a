/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known about descriptors: a cache of facts that do not change while a descriptor number stays open (kind, identity).
 * Filled on first use, forgotten when a call may change what the number means. The kernel's table stays the truth.
 */
#ifndef HS_ENGINE_FDTABLE_H
#define HS_ENGINE_FDTABLE_H

#include "engine/guest.h"
#include "engine/piece.h"

struct engine;
struct fdtable;
struct task;

struct fdtable *fdtable_new(void);
struct fdtable *fdtable_ref(struct fdtable *table);
struct fdtable *fdtable_copy(const struct fdtable *table);
void fdtable_unref(struct engine *e, struct fdtable *table);

/*
 * The facts about the task's descriptor. *ret_info points into the table, valid until the next call that changes it; its size, nlink and
 * O_NONBLOCK flag may be stale. -EBADF when there is no such descriptor.
 */
int fdtable_info(struct engine *e, struct task *t, int fd, const struct fd_info **ret_info);
/* The facts, if they are known already; NULL otherwise. */
const struct fd_info *fdtable_known(const struct fdtable *table, int fd);
/* The facts as they are now; the table learns nothing. For calls that are about to change what the number means, which has been forgotten. */
int fdtable_look(struct engine *e, struct task *t, int fd, struct fd_info *ret_info);

/* Is its open file O_NONBLOCK now? 1, 0, or -errno. */
int fdtable_nonblocking(struct engine *e, struct task *t, int fd);

/* Sets asks_caller, or edge, of the descriptor's facts. */
int fdtable_mark_asks_caller(struct engine *e, struct task *t, int fd);
int fdtable_mark_edge(struct engine *e, struct task *t, int fd);

/* A directory's listing that readers of this descriptor go through; owned by the table, freed when the number is forgotten. */
struct dir_listing;
struct dir_listing *fdtable_listing(struct fdtable *table, int fd);
/* Takes ownership of `listing`, also when it fails. */
int fdtable_set_listing(struct fdtable *table, int fd, struct dir_listing *listing);

/* The text that readers of this descriptor go through (files of procfs): as a listing. False when there is none. */
bool fdtable_text(struct fdtable *table, int fd, struct piece *ret);
/* Takes ownership of `text`, also when it fails. */
int fdtable_set_text(struct fdtable *table, int fd, char *text, size_t size);

/* What the number means may change: forget it. */
void fdtable_forget(struct fdtable *table, int fd);
void fdtable_forget_range(struct fdtable *table, unsigned first, unsigned last);

#endif
