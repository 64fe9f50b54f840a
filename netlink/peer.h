/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is at the other end of a socket of the family AF_UNIX, by sock_diag(7). */
#ifndef HS_NETLINK_PEER_H
#define HS_NETLINK_PEER_H

#include <linux/netlink.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <stdint.h>

struct nl_peer_request {
	struct nlmsghdr header;
	struct unix_diag_req body;
};

/* What is asked of NETLINK_SOCK_DIAG. */
struct nl_peer_request nl_peer_request(uint32_t ino);

/*
 * Several may be asked at once, numbered by nlmsg_seq, up to NL_PEERS_MAX: their answers fit into a socket's buffer. Those of them that the kernel
 * says are not there (any more), as bits.
 */
enum { NL_PEERS_MAX = 64 };
uint64_t nl_peers_gone(const void *answer, size_t len);

/* From the (first) answer: the inode of the peer, or 0: there is none, it was not accepted yet, or the kernel does not say. */
uint32_t nl_peer(const void *answer, size_t len);

#endif
