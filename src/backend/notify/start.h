/* SPDX-License-Identifier: BSD-3-Clause */
/* What the beginnings of a run share: start.c has that of a guest of our own, start_adopted.c that of another runtime's, start_joined.c those of later ones. */
#ifndef HS_BACKEND_NOTIFY_START_H
#define HS_BACKEND_NOTIFY_START_H

#include <sys/types.h>

#include "backend/backend.h"

struct notify;
struct notify_task;

/* NULL: out of memory. backend_close() ends it. */
struct notify *start_new(const struct backend_options *options);

int start_open_proc(struct notify *n, struct error *err);

/* Takes what it needs of the caller's surroundings, and traces the guest, unless that is done already or the first one is outside yet. */
int start_attach(struct notify *n, const struct backend_options *options, pid_t guest_pid, struct error *err);

/* What is asked about paths and files begins at this task's root and its mounts; `whose` is for the message. */
int start_look_around(struct notify *n, const struct notify_task *t, const char *whose, struct error *err);

/* Waits for the task's listener and takes it over; the task stays stopped. -ECHILD: it is dead and buried. */
int start_take_listener(struct notify *n, struct notify_task *t, struct error *err);

#endif
