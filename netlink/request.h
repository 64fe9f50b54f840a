/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: what a guest sends is put into the kernel's numbers before it goes to the kernel, in place and without a
 * change of length, through the same tables as the answers. Whatever is malformed stays as it is: the kernel's own
 * error is the right answer. Requests about objects that are not modelled never reach the kernel: they get one fixed
 * error.
 */
#ifndef HS_NETLINK_REQUEST_H
#define HS_NETLINK_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netlink/buffer.h"
#include "netlink/map.h"
#include "netlink/walk.h"

/* What the caller must know about a datagram that it sends for a guest. */
struct nl_request_report {
	unsigned messages;
	unsigned refused;
	bool dump;       /* a dump begins: the answer ends with NLMSG_DONE */
	bool changes;    /* NEW, DEL or SET: links may have come or gone; fill the map again when it is done */
	bool unroutes;   /* takes away a route that the kernel has made for an address: there may be addresses without one */
	bool names_task; /* an attribute holds a pid or a descriptor of the guest, which only means something in the
			    guest */
};

/*
 * Takes a datagram as the guest has sent it. Appends to `real` what is to be sent to the kernel (nothing when every
 * message was refused) and to `answers` one NLMSG_ERROR for each refused message, as the guest is to receive them (each
 * its own datagram: cut them by nlmsg_len). port is the guest's virtual port; cap_ack whether it has set
 * NETLINK_CAP_ACK. 0 or -ENOMEM.
 */
int nl_request_prepare(struct nl_env *env, int protocol, uint32_t port, bool cap_ack, const void *datagram, size_t len,
		       struct nl_buf *real, struct nl_buf *answers, struct nl_request_report *ret_report);

/*
 * Translates one message in place, in either direction. `len` is how much of it is there: a repeated request may be
 * cut. report may be NULL. 0 or -ENOMEM.
 */
int nl_translate(struct nl_env *env, int protocol, enum nl_direction direction, void *message, size_t len,
		 struct nl_request_report *report);

#endif
