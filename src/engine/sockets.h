/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that the kernel would choose by chance: ports of bind(2) to port 0 and of sockets that are used unbound, abstract names of UNIX
 * sockets that bind to nothing. They come from allocators of the run instead, in order of the calls that need them.
 */
#ifndef HS_ENGINE_SOCKETS_H
#define HS_ENGINE_SOCKETS_H

#include <stdint.h>
#include <sys/socket.h>

struct engine;
struct fd_info;
struct task;

struct port_allocator {
	uint32_t next_port; /* 0: not used yet */
	uint32_t next_name;
};

/* The socket behind the task's descriptor gets a port when it has none yet. 0, or -errno of ours; what the guest did wrong is ignored here. */
int socket_give_port(struct engine *e, struct task *t, int fd);

/* True for AF_INET and AF_INET6 addresses with port 0. */
int address_port(const struct sockaddr_storage *address, socklen_t len);

#endif
