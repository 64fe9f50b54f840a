/* SPDX-License-Identifier: BSD-3-Clause */
/* Where links stand in what socket calls take and give: ip(7), ipv6(7), netdevice(7), linux/in.h, linux/in6.h. */
#ifndef HS_ENGINE_LINK_SHAPES_H
#define HS_ENGINE_LINK_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

#include "netlink/map.h"

enum { LINK_SHAPE_MAX = 264 /* struct group_source_req */, LINK_SHAPE_FIELDS = 3 };

enum link_field_kind {
	LINK_FIELD_NONE = 0,
	LINK_FIELD_INDEX,     /* int */
	LINK_FIELD_INDEX_BE,  /* 32 bits in network order */
	LINK_FIELD_IP6,       /* struct in6_addr */
	LINK_FIELD_ADDRESS,   /* struct sockaddr of any family */
};

struct link_shape {
	size_t size;  /* no more bytes than these matter */
	size_t least; /* with less it is something else, or an error */
	struct {
		enum link_field_kind kind;
		size_t at;
	} fields[LINK_SHAPE_FIELDS];
};

/* Who says what is in an option's memory. */
enum {
	LINK_SET = 1 << 0,      /* the guest, to setsockopt(2) */
	LINK_ANSWER = 1 << 1,   /* the kernel, by getsockopt(2) */
	LINK_QUESTION = 1 << 2, /* the guest, to getsockopt(2) */
};

const struct link_shape *link_shape_of_address(void);

/* NULL: there is no link in it. Requests are those of IPv6 sockets (struct in6_ifreq, struct in6_rtmsg); others go by names. */
const struct link_shape *link_shape_of_request(unsigned request);
const struct link_shape *link_shape_of_control(int level, int type);
const struct link_shape *link_shape_of_option(int level, int name, unsigned use);

/* Is the answer of getsockopt(2) a run of control messages? */
bool link_option_is_control(int level, int name);

/* Translates in place. True if something was named that has numbers of its own, whether or not they are equal. */
bool link_shape_translate(const struct nl_map *map, enum nl_direction direction, const struct link_shape *shape,
			  unsigned char *bytes, size_t len);

/*
 * The same for what the kernel has given less of than `least`, because there was no room for more: whole fields are translated to the
 * guest's; a part of an index, or of the half of an address that may be made from a MAC, says nothing that the guest could know, and is
 * made zero.
 */
bool link_shape_translate_cut(const struct nl_map *map, const struct link_shape *shape, unsigned char *bytes, size_t len);

#endif
