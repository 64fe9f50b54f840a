/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing by us instead of by the kernel, for handlers of calls that write or send. */
#ifndef HS_ENGINE_HANDLE_WRITE_H
#define HS_ENGINE_HANDLE_WRITE_H

#include <stdbool.h>

struct engine;
struct fd_info;
struct msghdr;
struct span;
struct task;
struct verdict;

/*
 * Writes the rest of the span (call.progress counts) to the descriptor that the task waits for, piece by piece, as far as it goes now: then
 * the task is parked, or with MSG_DONTWAIT the verdict is what has gone. MSG_NOSIGNAL: no SIGPIPE. 0, or -errno when the run cannot go on.
 */
int write_pieces(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, int msg_flags, struct verdict *v);

/*
 * The same without what follows from it: *ret_end is 0 when all has gone, or the -errno for which no more does. -ECONNRESET behind a part of it: an error is
 * there for the next call.
 */
int write_on(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, int msg_flags, int *ret_end);

/* SIGPIPE for the thread, as the kernel raises it. 0 or -errno. */
int write_raise_broken(struct engine *e, struct task *t);

/* Are these flags for sending ones that pieces go by? */
bool write_knows(int msg_flags);

/* Does the task's call send a message to a TCP stream, whose control data makes no difference? */
bool write_ignores_control(struct engine *e, struct task *t, const struct msghdr *message);

#endif
