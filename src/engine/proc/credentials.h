/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task may do, where the engine answers in the kernel's place. */
#ifndef HS_ENGINE_CREDENTIALS_H
#define HS_ENGINE_CREDENTIALS_H

#include <stdint.h>

struct engine;
struct task;

/* Has the task one of these effective capabilities (bits)? 1, 0, or -errno. Where nobody can tell: 1. */
int credentials_has(struct engine *e, struct task *t, unsigned long long capabilities);

/* The task's real user, as its own user namespace counts. Where nobody can tell: 0. 0 or -errno. */
int credentials_uid(struct engine *e, const struct task *t, uint32_t *ret);

/* May the task's user have one more process or thread (RLIMIT_NPROC)? Only those of this guest count. 1, 0, or -errno. */
int credentials_may_clone(struct engine *e, struct task *t);

#endif
