/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes through a pseudo-terminal is passed on by the kernel in its own time: lines, echoes and signals of keys come sooner or later after
 * the write that makes them. Who looks next finds all of it: everything is passed on before anybody is considered.
 */
#ifndef HS_ENGINE_TERMINALS_H
#define HS_ENGINE_TERMINALS_H

#include <stdbool.h>

struct engine;
struct fd_info;
struct task;

/* As much as one piece of a write to a terminal is to be. */
enum { TERMINAL_PIECE = 1024 };

/*
 * A terminal of the guest's own: how much fits depends on what the kernel has passed on meanwhile, unless that is waited for after each piece.
 * What is behind /dev/tty is known, unless it has been hung up.
 */
bool terminals_is_own(const struct fd_info *info);

/*
 * Would the kernel stop the task, rather than let it read or (TOSTOP of termios(3)) write in the background? Only the kernel can do that,
 * and it does not sleep then.
 */
bool terminals_stop(struct engine *e, struct task *t, const struct fd_info *info, int handle, bool writes);

/* A piece was written to the terminal; more: another one follows, which is to find what that has set going. */
int terminals_moved_piece(struct engine *e, bool master, bool more);
bool terminals_is_master(const struct fd_info *info);

/* Something is put on its way through a terminal of the guest's own; echoes: it may come back. */
void terminals_moved(struct engine *e, bool echoes);

/* The kernel is about to run the task's call: notes whether that may move something through a terminal of the guest's own. */
void terminals_note(struct engine *e, struct task *t);

/* Waits until all of it is passed on, if something may be under way. */
int terminals_settle(struct engine *e);

#endif
