/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parents and children. A parent's children stand in the order in which the kernel has them and in which its waits find them: by
 * birth, orphans behind all who were there when they came, in the order that they had before (kernel/exit.c, forget_original_parent()).
 * When several parents end at the same moment, the kernel has their orphans in the order of the real ends; ours is that of the events.
 */
#ifndef HS_ENGINE_FAMILY_H
#define HS_ENGINE_FAMILY_H

struct engine;
struct process;

/* parent: NULL for one whose parent is not one of ours. */
void family_join(struct process *parent, struct process *p);
void family_leave(struct process *p);

/* The children of a dead process find their new parent, or end with it. 0 or -errno. */
int family_orphan(struct engine *e, struct process *dead);
/* A zombie's parent is to hear of it. It may be gone afterwards: reaped by nobody of ours, or by a kernel whose parent wants no zombies. */
int family_death(struct engine *e, struct process *p);
/* As that, of a stop or a continuation. */
int family_change(struct engine *e, struct process *p);

#endif
