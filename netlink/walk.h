/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rewriter: real messages in, the messages that the guest may see out.
 *
 * A pass handles one message. It looks up the object (link, address, ...), copies the fields of its structure and its
 * attributes through the rule table, and recomputes all lengths. What the kernel would not send is not passed on: a
 * message whose length is wrong ends the datagram, an attribute past its container or of a wrong size is left out, and
 * both are counted. Attribute types are compared without NLA_F_NESTED and NLA_F_NET_BYTEORDER, which are kept as they
 * came.
 *
 * Frame: NLM_F_DUMP_INTR and NLM_F_ACK_TLVS are cleared; port ids are virtual, in nlmsg_pid and in the request that
 * NLMSG_ERROR repeats; the payload of NLMSG_DONE is its 4-byte status, extended acknowledgements (whose text is the
 * kernel version's) are cut. Sequence numbers are never touched: they come from the request.
 *
 * All input must be 4-aligned, as a receive buffer of the allocator is.
 */
#ifndef HS_NETLINK_WALK_H
#define HS_NETLINK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netlink/buffer.h"
#include "netlink/frame.h"
#include "netlink/map.h"
#include "netlink/ports.h"
#include "netlink/rules.h"

struct nlmsghdr;

/* What was done, for reports and tests. */
struct nl_counters {
	uint64_t messages;
	uint64_t attributes;
	uint64_t unknown_messages;
	uint64_t unknown_attributes;
	uint64_t malformed;       /* wrong lengths of messages and attributes */
	uint64_t hidden_messages; /* a rule says that the guest does not see them */
	uint64_t unknown_indexes; /* references to links that the map does not hold */
	uint64_t interrupted;     /* messages with NLM_F_DUMP_INTR: the real dump was not consistent */
};

/* Translations that are not the network's own; either may be NULL: inodes become 0, cookies "none". */
struct nl_identity {
	void *user;
	uint64_t (*inode)(void *user, enum nl_direction direction, uint64_t inode);
	uint64_t (*cookie)(void *user, enum nl_direction direction, uint64_t cookie);
};

/* What all sockets of a network namespace share. Everything is borrowed; map and counters must be there. */
struct nl_env {
	struct nl_map *map;
	const struct nl_ports *ports;
	const struct nl_identity *identity;
	struct nl_counters *counters;
};

/* State of one message on its way. */
struct nl_pass {
	struct nl_env *env;
	int protocol;
	uint16_t type;
	const struct nl_object *object;
	uint8_t family;
	uint32_t hint_real; /* the link that the message is about, real index */
	unsigned depth;     /* of nesting */
	bool in_dump;
	bool loopback;      /* the message is about a link that is a loopback, */
	bool up;            /* that is up, */
	bool foreign_link;  /* whose other end is in another namespace */
	bool default_qdisc; /* the message is about a queueing discipline that nobody has asked for */
	const struct nl_ruleset *options; /* of the filter that the message is about */
	uint8_t neighbour[4]; /* last bytes of the address that a link-layer address belongs to */
};

/* Where nesting ends: deeper attributes count as malformed. */
enum { NL_MAX_DEPTH = 12 };

/* Rewrites all messages of a datagram and appends them to `out`, each padded to four. 0 or -ENOMEM. */
int nl_canonicalise(struct nl_env *env, int protocol, const void *messages, size_t len, struct nl_buf *out);

/* The same for one complete message; nothing is appended for one that is hidden. */
int nl_canonicalise_message(struct nl_env *env, int protocol, const struct nlmsghdr *nlh, struct nl_buf *out);

/* The row for an attribute, or NULL. `set` may be NULL. */
const struct nl_rule *nl_rule_find(const struct nl_ruleset *set, uint16_t type);

/* For the tables' own functions: attributes through a table, one attribute with another payload. 0 or -errno. */
int nl_walk(struct nl_pass *pass, const void *attributes, size_t len, const struct nl_ruleset *set, struct nl_buf *out);
int nl_emit(const struct nlattr *attr, const void *payload, size_t len, struct nl_buf *out);
int nl_emit_nested(struct nl_pass *pass, const struct nlattr *attr, const struct nl_ruleset *set, struct nl_buf *out);

#endif
