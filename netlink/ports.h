/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Netlink port ids of one network namespace, decided here and not by the kernel's random rover.
 *
 * bind(2) with nl_pid 0, connect(2) and the first send of an unbound socket take a port: the thread-group id of the
 * process if no socket of this protocol has it, else -4097, -4098, ... (where the kernel would start at a random
 * negative number). The caller binds the real socket to the port that comes out, or to another one that it remembers as
 * `real`; then getsockname, nlmsg_pid, /proc/net/netlink and SOCK_DIAG are answered with `virtual`.
 */
#ifndef HS_NETLINK_PORTS_H
#define HS_NETLINK_PORTS_H

#include <stddef.h>
#include <stdint.h>

struct nl_port {
	int protocol; /* NETLINK_ROUTE, ... */
	uint32_t virtual_id;
	uint32_t real_id;
};

struct nl_rover {
	int protocol;
	uint32_t next;
};

struct nl_ports {
	struct nl_port *ports; /* owned, in order of binding */
	size_t n_ports;
	struct nl_rover *rovers; /* owned, one for each protocol that needed one */
	size_t n_rovers;
};

void nl_ports_init(struct nl_ports *ports);
void nl_ports_deinit(struct nl_ports *ports);

/* Takes a port for a socket that names none. tgid is the virtual one of its process. 0 or -ENOMEM. */
int nl_ports_autobind(struct nl_ports *ports, int protocol, uint32_t tgid, uint32_t *ret_virtual);

/* Takes the port that bind(2) names. 0, -ENOMEM, or -EADDRINUSE, which is the guest's answer. */
int nl_ports_bind(struct nl_ports *ports, int protocol, uint32_t virtual_id);

/* Notes which port the kernel's socket has, where it is not the virtual one. */
void nl_ports_set_real(struct nl_ports *ports, int protocol, uint32_t virtual_id, uint32_t real_id);

/* Gives a port back when its socket is gone. A port that nobody has is no error. */
void nl_ports_release(struct nl_ports *ports, int protocol, uint32_t virtual_id);

/* Translates between the two; 0 (the kernel) and unknown ports are themselves. `ports` may be NULL. */
uint32_t nl_ports_to_virtual(const struct nl_ports *ports, int protocol, uint32_t real_id);
uint32_t nl_ports_to_real(const struct nl_ports *ports, int protocol, uint32_t virtual_id);

#endif
