/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's netlink sockets, between the kernel and netlink/: one queue for each open socket, one map for the network namespace, which
 * all guests of a run share.
 *
 * A request goes through the guest's own socket, translated, and everything that it causes is read off at once into the queue; all
 * receiving calls are served from there. The kernel's socket is kept readable exactly as long as the queue has something: by a
 * datagram that the socket sends to itself (the token). So poll, select and epoll, asked by whomever, say what is true.
 *
 * Port ids are chosen here and given to the kernel with bind(2): getsockname, /proc/net/netlink and the messages agree by themselves.
 *
 * Sockets are known by their inode. One that is gone is noticed when its port can be had again.
 */
#ifndef HS_ENGINE_NETLINK_SOCKET_H
#define HS_ENGINE_NETLINK_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "netlink/map.h"
#include "netlink/ports.h"
#include "netlink/queue.h"
#include "netlink/walk.h"

struct engine;
struct fd_info;
struct task;

struct netlink_socket {
	struct netlink_socket *next;
	uint64_t ino; /* host's: the key */
	int protocol;
	uint32_t port; /* 0: none yet */
	bool token;    /* the kernel's socket holds one */
	bool listens;  /* has joined groups */
	int task, fd;  /* where it was used last: whether it is still there has to be looked at */
	struct nl_queue queue;
};

struct netlinks {
	bool ready; /* the rest is initialised */
	bool stirred;  /* the kernel may not have finished what a guest has begun (network_rest.h) */
	bool unrouted; /* a guest has taken away a route that the kernel had made for an address */
	bool restless; /* and does not: not waited for any more */
	bool closed; /* the namespace cannot be asked (no privilege): the kernel serves its sockets, which is reported */
	struct nl_map map;
	struct nl_ports ports;
	struct nl_identity identity;
	struct nl_env env;
	struct netlink_socket *sockets; /* owned */
};

void netlinks_deinit(struct netlinks *netlinks);

/* Are netlink sockets ours to serve? */
bool netlinks_usable(struct engine *e, struct task *t);

/*
 * The map as of now, for who translates by it. What was told of links that are gone is read off before they are forgotten. 0 or
 * -errno.
 */
int netlinks_update(struct engine *e, struct task *t);

/* The socket behind a descriptor (of kind FD_NETLINK); made on first sight. 0 or -errno. */
int netlink_socket_get(struct engine *e, struct task *t, int fd, const struct fd_info *info, struct netlink_socket **ret_socket);

/*
 * Binds to port `port` (0: one is chosen) and the groups of the address, as bind(2) does. 0, or the guest's error, negative. A socket that has a port
 * stays as it is.
 */
int netlink_socket_bind(struct engine *e, struct task *t, struct netlink_socket *s, int handle, uint32_t port, uint32_t groups);

/* Reads off what the kernel has for the socket, makes its readiness that of the queue. 0 or -errno. */
int netlink_socket_settle(struct engine *e, struct netlink_socket *s, int handle);

/* The same for the socket with this inode, if it is known. */
int netlink_settle_inode(struct engine *e, uint64_t ino, int handle);

#endif
