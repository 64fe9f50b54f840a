/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel does by itself after a change of links, addresses or routes (netlink/rest.h) is over before a guest's next call: it would
 * else find an address that cannot be used yet, a route that is not there, or a file of /proc/net that changes while it is read.
 */
#ifndef HS_ENGINE_NETWORK_REST_H
#define HS_ENGINE_NETWORK_REST_H

struct engine;
struct fd_info;
struct task;

/* The task's call, which the kernel runs next, may change what the network namespace is made of. */
void network_stirred(struct engine *e);

/* It writes to the descriptor: to a setting of the network in /proc or /sys, perhaps. 0 or -errno. */
int network_note_write(struct engine *e, struct task *t, int fd, const struct fd_info *info);

/*
 * Waits, if something was stirred, until the task's network namespace is at rest. What takes more than some seconds of real time (a link
 * of the host's that looks for duplicates of an address) is reported as uncontrolled once, and not waited for any more. 0 or -errno.
 */
int network_rest(struct engine *e, struct task *t);

#endif
