/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dump: taken from the kernel as a whole, rewritten, sorted, and cut again.
 *
 *   collecting   nl_dump_add() takes real messages, up to NLMSG_DONE;
 *   served       nl_dump_finish() has made of them what the guest may see; nl_dump_cut() decides how much of it the
 *                next datagram holds, nl_dump_advance() goes behind that.
 *
 * A datagram's border is decided when it is first looked at, and stays until it is consumed: a guest that peeks at the
 * length gets that length. The limit is a matter of the socket: see queue.h.
 */
#ifndef HS_NETLINK_DUMP_H
#define HS_NETLINK_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netlink/buffer.h"

struct nl_env;
struct nlmsghdr;

struct nl_dump {
	int protocol;
	struct nl_buf real; /* while collecting; each message is padded to four */
	struct nl_buf seen; /* while served */
	size_t at;          /* where the next datagram begins */
	size_t cut;         /* how long it is; 0: not decided */
};

void nl_dump_init(struct nl_dump *dump, int protocol);
void nl_dump_deinit(struct nl_dump *dump);

/* Takes one complete message. 0 or -ENOMEM. */
int nl_dump_add(struct nl_dump *dump, const struct nlmsghdr *nlh);

/* Rewrites and sorts what was collected. Links of a dump of links are learnt by the map first. 0 or -ENOMEM. */
int nl_dump_finish(struct nl_dump *dump, struct nl_env *env);

/*
 * The length of the next datagram: as many messages as fit into `limit` bytes, at least one; 0 when nothing is left.
 * Its bytes are at dump->seen.data + dump->at.
 */
size_t nl_dump_cut(struct nl_dump *dump, size_t limit);

/* Consumes the datagram that was cut. */
void nl_dump_advance(struct nl_dump *dump);

bool nl_dump_is_done(const struct nl_dump *dump);

#endif
