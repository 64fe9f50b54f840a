/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on netlink sockets: what the handlers of sockets hand on when the descriptor is one. All of them make the verdict and return 0, or
 * -errno when the run cannot go on.
 */
#ifndef HS_ENGINE_HANDLE_NETLINK_H
#define HS_ENGINE_HANDLE_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/files/readers.h"

struct engine;
struct fd_info;
struct span;
struct task;
struct verdict;

/* Is the task's descriptor a netlink socket that is ours to serve? *ret_info is written then. */
bool netlink_serves(struct engine *e, struct task *t, int fd, const struct fd_info **ret_info);

/* bind(2) and connect(2) with the address of the call. */
int netlink_bind(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);
int netlink_connect(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);

/* write, writev, send without an address. */
int netlink_write(struct engine *e, struct task *t, const struct fd_info *info, const struct span *span, struct verdict *v);
int netlink_sendto(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);
int netlink_sendmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);
int netlink_sendmmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);

reader_fn netlink_read;
int netlink_recvfrom(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);
int netlink_recvmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);
int netlink_recvmmsg(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);

/*
 * What calls without a buffer of the guest's (splice, sendfile) move: one datagram out of `bytes`, or the next one into `buf`, cut to its size. Its
 * length, or -errno: the guest's, or one that netlink_answer_error() lets end the run. -EAGAIN: there is none to get.
 */
int64_t netlink_put(struct engine *e, struct task *t, int fd, const struct fd_info *info, const void *bytes, size_t len);
int64_t netlink_get(struct engine *e, struct task *t, int fd, const struct fd_info *info, void *buf, size_t size);

/* Errors of ours end the run; what is the guest's becomes its answer. */
int netlink_answer_error(int r, struct verdict *v);

/* Takes note of what an option asks for; the kernel sets it. */
int netlink_setsockopt(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v);

#endif
