/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that move several messages: sendmmsg(2), recvmmsg(2). One that sleeps in the middle and is woken for our sake returns early, and recvmmsg
 * leaves the reason to the next call on the socket (net/socket.c: do_recvmmsg). So each is made in parts: the kernel moves what goes without
 * sleep, the call comes back with the arguments of the rest, and at the end the guest has its own arguments and the sum.
 *
 * What is known of a call in parts is in struct task (messages). All functions: 0, 1 where that is said, or -errno.
 */
#ifndef HS_ENGINE_CALLS_MESSAGES_H
#define HS_ENGINE_CALLS_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct task;
struct verdict;

/* Arguments of both calls; more than UIO_MAXIOV messages count as that many. */
enum { AT_MESSAGES = 1, AT_COUNT, AT_FLAGS, AT_TIMEOUT };

/* The call is the next part of the one that is under way. */
bool parts_is_one(const struct task *t);

/* The call is the first part of a new one. */
void parts_begin(struct task *t);

/* The arguments of what is still to be moved: nothing, before all of the last message is gone. */
void parts_rest(const struct task *t, uint64_t args[6]);

/* The kernel gets these. -EBUSY: a signal is on its way to the task. */
int parts_set_args(struct engine *e, struct task *t, const uint64_t args[6]);

/* A part is over, the guest's code is next: it sees its own arguments, and this result. */
int parts_finish(struct engine *e, struct task *t, int64_t result, struct verdict *v);

/* A part is over, and the call comes back for the next. */
int parts_next(struct engine *e, struct task *t, struct verdict *v);

/* The kernel is asked once more, so that the guest gets its arguments back; it gives up instead of sleep. */
int parts_last(struct task *t, struct verdict *v);

/* Is one of these events (of poll(2)) so of the call's descriptor now? 1 or 0. */
int parts_socket_is(struct engine *e, struct task *t, short events);

#endif
