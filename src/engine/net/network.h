/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of the loopback network are delivered by the kernel in its own time, sooner or later after the call that sent them. What a call
 * finds - how much can be read, whether there is room, who is connected - is the same each time when everything has arrived before.
 */
#ifndef HS_ENGINE_NETWORK_H
#define HS_ENGINE_NETWORK_H

#include <stdbool.h>

struct engine;
struct task;

/* May the task's call move packets, or find ones that others have sent? Never before the run has had a socket of the Internet's families. */
bool network_concerns(struct engine *e, struct task *t);

/* The kernel runs the task's call next. Of what it may hold back for more to come, note is taken. */
void network_note_call(struct engine *e, struct task *t);
void network_deinit(struct engine *e);

/* What is held back is sent. Waits until everything has arrived, if something may be under way. */
int network_settle(struct engine *e);

/* We have moved a piece of what a call moves: others may be ready, and the next piece finds what that has set going. */
int network_moved_piece(struct engine *e);

#endif
