/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing by us instead of by the kernel, for handlers of calls that write or send. */
#ifndef HS_ENGINE_HANDLE_WRITE_H
#define HS_ENGINE_HANDLE_WRITE_H

struct engine;
struct fd_info;
struct span;
struct task;
struct verdict;

/*
 * Writes the rest of the span (call.progress counts) to the descriptor that the task waits for, piece by piece, as far as it goes now: then
 * the task is parked, or with MSG_DONTWAIT the verdict is what has gone. MSG_NOSIGNAL: no SIGPIPE. 0, or -errno when the run cannot go on.
 */
int write_pieces(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, int msg_flags, struct verdict *v);

#endif
