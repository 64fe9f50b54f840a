/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes through a pseudo-terminal is passed on by the kernel in its own time: lines, echoes and signals of keys come sooner or later after
 * the write that makes them. Who looks next finds all of it: everything is passed on before anybody is considered.
 */
#ifndef HS_ENGINE_TERMINALS_H
#define HS_ENGINE_TERMINALS_H

#include <stdbool.h>

struct engine;
struct task;

/* Something is put on its way through a terminal of the guest's own; echoes: it may come back. */
void terminals_moved(struct engine *e, bool echoes);

/* The kernel is about to run the task's call: notes whether that may move something through a terminal of the guest's own. */
void terminals_note(struct engine *e, struct task *t);

/* Waits until all of it is passed on, if something may be under way. */
int terminals_settle(struct engine *e);

#endif
