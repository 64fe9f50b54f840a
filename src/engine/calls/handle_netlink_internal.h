/* SPDX-License-Identifier: BSD-3-Clause */
/* What handle_netlink.c (ports, sending) and handle_netlink_receive.c share. */
#ifndef HS_ENGINE_HANDLE_NETLINK_INTERNAL_H
#define HS_ENGINE_HANDLE_NETLINK_INTERNAL_H

#include <stdint.h>
#include <sys/socket.h>

struct engine;
struct fd_info;
struct netlink_socket;
struct span;
struct task;
struct verdict;

/* An open netlink socket while a call is at work on it; .handle is -1 before and after. */
struct netlink_use {
	struct engine *e;
	struct task *t;
	struct netlink_socket *socket;
	int handle;
};

/* The socket of the call's first argument, or of another descriptor of the task. 0 or -errno; netlink_use_end() in any case. */
int netlink_use_begin_at(struct engine *e, struct task *t, int fd, const struct fd_info *info, struct netlink_use *use);
int netlink_use_begin(struct engine *e, struct task *t, const struct fd_info *info, struct netlink_use *use);
void netlink_use_end(struct netlink_use *use);

/* The value of an option of the socket, 0 where it has none. */
int netlink_option(const struct netlink_use *use, int level, int name);

/* A struct msghdr of the guest and the memory that it is about. 0 or -errno. */
int netlink_read_message(struct engine *e, struct task *t, uint64_t addr, struct msghdr *ret, struct span *ret_span);

/* Notes how long the message was in its struct mmsghdr. */
int netlink_write_length(struct engine *e, struct task *t, uint64_t addr, int64_t length);

#endif
