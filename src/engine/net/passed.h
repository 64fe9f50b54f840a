/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that are passed in messages (SCM_RIGHTS, unix(7)).
 *
 * Sockets that are passed to each other and closed by everybody are garbage: only messages that nobody can receive refer to them. The kernel
 * collects it on a work queue (net/unix/garbage.c), and what else was in those messages, the last end of a pipe, is closed then, some
 * milliseconds after the call that closed the last descriptor. That is over before anybody looks whether a descriptor is ready.
 */
#ifndef HS_ENGINE_PASSED_H
#define HS_ENGINE_PASSED_H

#include <stdbool.h>

struct engine;
struct msghdr;
struct task;

/* The task sends a message: its control data is looked at before it is on its way. 0 or -errno; -EFAULT is the guest's, and none. */
int passed_note_message(struct engine *e, struct task *t, const struct msghdr *message);

/*
 * Is all of a message's control data what a TCP stream has no use for: of other levels, or descriptors and credentials (net/core/sock.c: __sock_cmsg_send)?
 */
bool passed_is_ignored(struct engine *e, struct task *t, const struct msghdr *message);

/*
 * Something is taken out of the queue of the task's socket. Descriptors that come with it and that nobody has asked for, or has room for, are closed
 * by that: the socket that nobody else has, and with it what waits in its queue.
 */
void passed_note_taken(struct engine *e, struct task *t, int fd);

/* The kernel runs the task's call next; descriptors of the task were closed otherwise (it ends, it executes a program). */
void passed_note_call(struct engine *e, struct task *t);
void passed_note_closed(struct engine *e);

/* Waits until garbage is collected, if there can be any. 0 or -errno. */
int passed_settle(struct engine *e);

#endif
