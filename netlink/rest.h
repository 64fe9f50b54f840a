/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a network namespace at rest? After a change of links and addresses the kernel goes on by itself, on its work queues:
 *
 *   link watch   a link that has got or lost its carrier becomes running or not (net/core/link_watch.c), and routes through it with it;
 *   addrconf     an IPv6 address is usable, and its local route there, when the work queued by its making has run
 *                (net/ipv6/addrconf.c: addrconf_dad_work; with NODAD, too).
 *
 * Until then it depends on the host's load what a guest sees or can bind to.
 */
#ifndef HS_NETLINK_REST_H
#define HS_NETLINK_REST_H

#include <stddef.h>

/* An answer: messages, one after the other. */
struct nl_answer {
	const void *bytes;
	size_t len;
};

/*
 * From dumps of links, of IPv6 addresses and of IPv6 routes (other families in them are no harm): 1, 0, or -ENOMEM. A link that waits for
 * somebody (dormant), and an address that another host has (DADFAILED), that is to be looked for (accept_dad) on a link without a carrier,
 * or that its link keeps while it is down (keep_addr_on_down of the link itself) do not change by themselves.
 * Without routes (NULL) it is enough that an address is not looked for any more: for who has seen that routes were taken away by hand.
 */
int nl_is_at_rest(struct nl_answer links, struct nl_answer addresses, struct nl_answer routes);

#endif
