/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which netlink families a guest may open, and which objects their messages are about. socket(AF_NETLINK, ...,
 * protocol) for a family that is not modelled is refused with the table's errno, the one that a kernel without it
 * gives.
 */
#ifndef HS_NETLINK_PROTOCOLS_H
#define HS_NETLINK_PROTOCOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_object;

struct nl_protocol {
	int number; /* NETLINK_* */
	const char *name;
	bool modelled;
	int refusal; /* errno for socket(2), 0 when modelled */
};

/* The row of a family; families that no kernel knew when this was written have one that refuses them. Never NULL. */
const struct nl_protocol *nl_protocol_get(int number);

/* The rows one by one, for tests and listings; NULL after the last. */
const struct nl_protocol *nl_protocol_at(size_t i);

/*
 * The object of a message, or NULL when its messages are not modelled. first_byte is the first of the payload (the
 * address family, by which SOCK_DIAG tells its objects apart); 0 for an empty payload.
 */
const struct nl_object *nl_object_find(int protocol, uint16_t type, uint8_t first_byte);

/* The errno with which requests of this type are refused without asking the kernel, or 0. */
int nl_request_refusal(int protocol, uint16_t type, uint8_t first_byte);

enum nl_verb { NL_VERB_NEW, NL_VERB_DEL, NL_VERB_GET, NL_VERB_SET };

/* What a message of the ROUTE family does to its object. */
static inline enum nl_verb nl_route_verb(uint16_t type)
{
	return (enum nl_verb)(type & 3);
}

#endif
