/* SPDX-License-Identifier: BSD-3-Clause */
/* Where links stand: see link_shapes.h. */
#include "engine/net/link_shapes.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif
#ifndef SCM_TIMESTAMPING_PKTINFO
#define SCM_TIMESTAMPING_PKTINFO 58
#endif

enum {
	IN6_PKTINFO_2292 = 2, /* IPV6_2292PKTINFO */
	IN6_PKTOPTIONS_2292 = 6,
	OFFENDER = 16, /* of struct sock_extended_err: the address behind it */
};

#define INDEX_ONLY { LINK_FIELD_INDEX, 0 }

static const struct link_shape address = { sizeof(struct sockaddr_in6), sizeof(struct sockaddr_in6), { { LINK_FIELD_ADDRESS, 0 } } };
static const struct link_shape index_host = { 4, 4, { INDEX_ONLY } };
static const struct link_shape index_network = { 4, 4, { { LINK_FIELD_INDEX_BE, 0 } } };
/* struct in6_pktinfo and struct ipv6_mreq */
static const struct link_shape ip6_index = { 20, 20, { { LINK_FIELD_INDEX, 16 }, { LINK_FIELD_IP6, 0 } } };
static const struct link_shape in6_ifreq = { 24, 24, { { LINK_FIELD_INDEX, 20 }, { LINK_FIELD_IP6, 0 } } };
/* with the destination, whose link is not said, and the gateway */
static const struct link_shape in6_rtmsg = { 80, 80, { { LINK_FIELD_INDEX, 76 }, { LINK_FIELD_IP6, 0 }, { LINK_FIELD_IP6, 32 } } };
/* shorter ones (struct ip_mreq, struct in_addr) name a link by its address */
static const struct link_shape ip_mreqn = { 12, 12, { { LINK_FIELD_INDEX, 8 } } };
static const struct link_shape ip_pktinfo = { 12, 12, { INDEX_ONLY } };
static const struct link_shape group_req = { 136, 136, { INDEX_ONLY, { LINK_FIELD_ADDRESS, 8 } } };
static const struct link_shape group_source = { 264, 264, { INDEX_ONLY, { LINK_FIELD_ADDRESS, 8 }, { LINK_FIELD_ADDRESS, 136 } } };
static const struct link_shape extended_error = { OFFENDER + 28, OFFENDER + 28, { { LINK_FIELD_ADDRESS, OFFENDER } } };

_Static_assert(sizeof(struct group_source_req) == LINK_SHAPE_MAX && sizeof(struct group_req) == 136, "layout");

struct named_shape {
	int level, name;
	unsigned uses; /* LINK_SET... */
	const struct link_shape *shape;
};

enum { SET = LINK_SET, BOTH = LINK_SET | LINK_ANSWER, ASKED = LINK_SET | LINK_QUESTION };

static const struct named_shape options[] = {
	{ SOL_SOCKET, SO_BINDTOIFINDEX, BOTH, &index_host },
	{ IPPROTO_IP, IP_MULTICAST_IF, SET, &ip_mreqn },
	{ IPPROTO_IP, IP_ADD_MEMBERSHIP, SET, &ip_mreqn },
	{ IPPROTO_IP, IP_DROP_MEMBERSHIP, SET, &ip_mreqn },
	{ IPPROTO_IP, IP_UNICAST_IF, BOTH, &index_network },
	{ IPPROTO_IP, MCAST_JOIN_GROUP, SET, &group_req },
	{ IPPROTO_IP, MCAST_LEAVE_GROUP, SET, &group_req },
	{ IPPROTO_IP, MCAST_MSFILTER, ASKED, &group_req },
	{ IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, SET, &group_source },
	{ IPPROTO_IP, MCAST_LEAVE_SOURCE_GROUP, SET, &group_source },
	{ IPPROTO_IP, MCAST_BLOCK_SOURCE, SET, &group_source },
	{ IPPROTO_IP, MCAST_UNBLOCK_SOURCE, SET, &group_source },
	{ IPPROTO_IPV6, IPV6_MULTICAST_IF, BOTH, &index_host },
	{ IPPROTO_IPV6, IPV6_UNICAST_IF, BOTH, &index_network },
	{ IPPROTO_IPV6, IPV6_JOIN_GROUP, SET, &ip6_index },
	{ IPPROTO_IPV6, IPV6_LEAVE_GROUP, SET, &ip6_index },
	{ IPPROTO_IPV6, IPV6_JOIN_ANYCAST, SET, &ip6_index },
	{ IPPROTO_IPV6, IPV6_LEAVE_ANYCAST, SET, &ip6_index },
	{ IPPROTO_IPV6, IPV6_PKTINFO, SET, &ip6_index },
	{ IPPROTO_IPV6, MCAST_JOIN_GROUP, SET, &group_req },
	{ IPPROTO_IPV6, MCAST_LEAVE_GROUP, SET, &group_req },
	{ IPPROTO_IPV6, MCAST_MSFILTER, ASKED, &group_req },
	{ IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, SET, &group_source },
	{ IPPROTO_IPV6, MCAST_LEAVE_SOURCE_GROUP, SET, &group_source },
	{ IPPROTO_IPV6, MCAST_BLOCK_SOURCE, SET, &group_source },
	{ IPPROTO_IPV6, MCAST_UNBLOCK_SOURCE, SET, &group_source },
};

static const struct named_shape controls[] = {
	{ SOL_SOCKET, SCM_TIMESTAMPING_PKTINFO, BOTH, &index_host },
	{ IPPROTO_IP, IP_PKTINFO, BOTH, &ip_pktinfo },
	{ IPPROTO_IP, IP_RECVERR, BOTH, &extended_error },
	{ IPPROTO_IPV6, IPV6_PKTINFO, BOTH, &ip6_index },
	{ IPPROTO_IPV6, IN6_PKTINFO_2292, BOTH, &ip6_index },
	{ IPPROTO_IPV6, IPV6_RECVERR, BOTH, &extended_error },
	{ IPPROTO_IPV6, IPV6_ORIGDSTADDR, BOTH, &address },
};

const struct link_shape *link_shape_of_address(void)
{
	return &address;
}

const struct link_shape *link_shape_of_request(unsigned request)
{
	switch (request) {
	case SIOCSIFADDR:
	case SIOCDIFADDR:
		return &in6_ifreq;
	case SIOCADDRT:
	case SIOCDELRT:
		return &in6_rtmsg;
	default:
		return NULL;
	}
}

const struct link_shape *link_shape_of_control(int level, int type)
{
	for (size_t i = 0; i < ARRAY_SIZE(controls); i++)
		if (controls[i].level == level && controls[i].name == type)
			return controls[i].shape;
	return NULL;
}

const struct link_shape *link_shape_of_option(int level, int name, unsigned use)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].level == level && options[i].name == name && (options[i].uses & use))
			return options[i].shape;
	return NULL;
}

bool link_option_is_control(int level, int name)
{
	return (level == IPPROTO_IP && name == IP_PKTOPTIONS) || (level == IPPROTO_IPV6 && name == IN6_PKTOPTIONS_2292);
}

/* Is it made from a MAC, or the group of one that is (netlink/map.h)? */
static bool follows_mac(const unsigned char *ip6)
{
	static const unsigned char solicited[13] = { 0xff, 2, [11] = 1, [12] = 0xff };

	return memcmp(ip6, solicited, sizeof(solicited)) == 0 || (ip6[11] == 0xff && ip6[12] == 0xfe);
}

/* *real, if it is not 0, is the link that an address beside it belongs to. */
static bool translate_index(const struct nl_map *map, enum nl_direction direction, unsigned char *bytes, uint32_t *real)
{
	uint32_t before, index;

	memcpy(&before, bytes, sizeof(before));
	index = nl_map_index(map, direction, before, NULL);
	memcpy(bytes, &index, sizeof(index));
	*real = direction == NL_TO_REAL ? index : before;
	return before != 0;
}

static bool translate_ip6(const struct nl_map *map, enum nl_direction direction, unsigned char *bytes, uint32_t real)
{
	bool follows = follows_mac(bytes);

	if (follows)
		nl_map_ip6(map, direction, real, bytes);
	return follows;
}

static bool translate_address(const struct nl_map *map, enum nl_direction direction, unsigned char *bytes)
{
	sa_family_t family;
	uint32_t real;
	bool found;

	memcpy(&family, bytes, sizeof(family));
	if (family != AF_INET6)
		return false;
	found = translate_index(map, direction, bytes + offsetof(struct sockaddr_in6, sin6_scope_id), &real);
	return translate_ip6(map, direction, bytes + offsetof(struct sockaddr_in6, sin6_addr), real) || found;
}

static size_t field_size(enum link_field_kind kind)
{
	switch (kind) {
	case LINK_FIELD_NONE:
		break;
	case LINK_FIELD_INDEX:
	case LINK_FIELD_INDEX_BE:
		return sizeof(uint32_t);
	case LINK_FIELD_IP6:
		return sizeof(struct in6_addr);
	case LINK_FIELD_ADDRESS:
		return sizeof(struct sockaddr_in6);
	}
	return 0;
}

static bool translate_network_order(const struct nl_map *map, enum nl_direction direction, unsigned char *bytes)
{
	uint32_t index, real;
	bool found;

	memcpy(&index, bytes, sizeof(index));
	index = ntohl(index);
	found = translate_index(map, direction, (unsigned char *)&index, &real);
	index = htonl(index);
	memcpy(bytes, &index, sizeof(index));
	return found;
}

static bool translate_fields(const struct nl_map *map, enum nl_direction direction, const struct link_shape *shape,
			     unsigned char *bytes, size_t len)
{
	uint32_t real = 0;
	bool found = false;

	for (size_t i = 0; i < LINK_SHAPE_FIELDS; i++) {
		enum link_field_kind kind = shape->fields[i].kind;
		unsigned char *at = bytes + shape->fields[i].at;

		if (shape->fields[i].at + field_size(kind) > len)
			continue;
		if (kind == LINK_FIELD_INDEX)
			found |= translate_index(map, direction, at, &real);
		else if (kind == LINK_FIELD_INDEX_BE)
			found |= translate_network_order(map, direction, at);
		else if (kind == LINK_FIELD_IP6)
			found |= translate_ip6(map, direction, at, real);
		else if (kind == LINK_FIELD_ADDRESS)
			found |= translate_address(map, direction, at);
	}
	return found;
}

bool link_shape_translate(const struct nl_map *map, enum nl_direction direction, const struct link_shape *shape,
			  unsigned char *bytes, size_t len)
{
	return len >= shape->least && translate_fields(map, direction, shape, bytes, len);
}

/* Of the bytes from `from` to `end` only those before `len` are there: then they are nothing. */
static bool blank_part(unsigned char *bytes, size_t from, size_t end, size_t len)
{
	if (from >= len || end <= len)
		return false;
	memset(bytes + from, 0, len - from);
	return true;
}

/* The second half of an IPv6 address, which may be made from a MAC. */
static bool blank_identifier(unsigned char *bytes, size_t at, size_t len)
{
	return blank_part(bytes, at + sizeof(struct in6_addr) / 2, at + sizeof(struct in6_addr), len);
}

static bool blank_address(const struct nl_map *map, unsigned char *bytes, size_t at, size_t len)
{
	size_t ip6 = at + offsetof(struct sockaddr_in6, sin6_addr), scope = at + offsetof(struct sockaddr_in6, sin6_scope_id);
	sa_family_t family = AF_UNSPEC;

	if (at + sizeof(struct sockaddr_in6) > len && at + sizeof(family) <= len)
		memcpy(&family, bytes + at, sizeof(family));
	if (family != AF_INET6)
		return false;
	if (scope <= len) {
		(void)translate_ip6(map, NL_TO_VIRTUAL, bytes + ip6, 0);
		(void)blank_part(bytes, scope, scope + sizeof(uint32_t), len);
		return true;
	}
	return blank_identifier(bytes, ip6, len);
}

bool link_shape_translate_cut(const struct nl_map *map, const struct link_shape *shape, unsigned char *bytes, size_t len)
{
	bool found = translate_fields(map, NL_TO_VIRTUAL, shape, bytes, len);

	for (size_t i = 0; i < LINK_SHAPE_FIELDS; i++) {
		enum link_field_kind kind = shape->fields[i].kind;
		size_t at = shape->fields[i].at;

		if (kind == LINK_FIELD_ADDRESS)
			found |= blank_address(map, bytes, at, len);
		else if (kind == LINK_FIELD_IP6)
			found |= blank_identifier(bytes, at, len);
		else
			found |= blank_part(bytes, at, at + field_size(kind), len);
	}
	return found;
}
