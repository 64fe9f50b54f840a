/* SPDX-License-Identifier: BSD-3-Clause */
/* Families and their objects: see protocols.h. */
#include "netlink/protocols.h"

#include <errno.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>

#include "base/cleanup.h"
#include "netlink/objects.h"

#define REFUSED(n, text) [n] = { .number = (n), .name = (text), .refusal = EPROTONOSUPPORT }
#define MODELLED(n, text) [n] = { .number = (n), .name = (text), .modelled = true }

/* Numbers of families that are gone from the headers, or were never in them, are written out. */
static const struct nl_protocol protocols[] = {
	MODELLED(NETLINK_ROUTE, "route"),
	REFUSED(NETLINK_UNUSED, "unused"),
	REFUSED(NETLINK_USERSOCK, "usersock"),
	REFUSED(NETLINK_FIREWALL, "firewall"),
	MODELLED(NETLINK_SOCK_DIAG, "sock_diag"),
	REFUSED(NETLINK_NFLOG, "nflog"),
	REFUSED(NETLINK_XFRM, "xfrm"),
	REFUSED(NETLINK_SELINUX, "selinux"),
	REFUSED(NETLINK_ISCSI, "iscsi"),
	REFUSED(NETLINK_AUDIT, "audit"),
	REFUSED(NETLINK_FIB_LOOKUP, "fib_lookup"),
	REFUSED(NETLINK_CONNECTOR, "connector"),
	REFUSED(NETLINK_NETFILTER, "netfilter"),
	REFUSED(NETLINK_IP6_FW, "ip6_fw"),
	REFUSED(NETLINK_DNRTMSG, "dnrtmsg"),
	REFUSED(NETLINK_KOBJECT_UEVENT, "kobject_uevent"),
	REFUSED(NETLINK_GENERIC, "generic"),
	REFUSED(17, "dm"),
	REFUSED(NETLINK_SCSITRANSPORT, "scsitransport"),
	REFUSED(NETLINK_ECRYPTFS, "ecryptfs"),
	REFUSED(NETLINK_RDMA, "rdma"),
	REFUSED(NETLINK_CRYPTO, "crypto"),
	REFUSED(22, "smc"),
};

static const struct nl_protocol unknown_protocol = { .number = -1, .name = "unknown", .refusal = EPROTONOSUPPORT };

/* By (type of NEW - 16) / 4. A kind that is not here is refused as a whole. */
static const struct nl_object *const route_objects[] = {
	[(RTM_NEWLINK - RTM_BASE) / 4] = &nl_object_link,
	[(RTM_NEWADDR - RTM_BASE) / 4] = &nl_object_addr,
	[(RTM_NEWROUTE - RTM_BASE) / 4] = &nl_object_route,
	[(RTM_NEWNEIGH - RTM_BASE) / 4] = &nl_object_neigh,
	[(RTM_NEWRULE - RTM_BASE) / 4] = &nl_object_rule,
	[(RTM_NEWQDISC - RTM_BASE) / 4] = &nl_object_qdisc,
	[(RTM_NEWTCLASS - RTM_BASE) / 4] = &nl_object_tclass,
	[(RTM_NEWTFILTER - RTM_BASE) / 4] = &nl_object_tfilter,
	[(56 - RTM_BASE) / 4] = &nl_object_multicast, /* only GET has a name before Linux 6.15 */
	[(60 - RTM_BASE) / 4] = &nl_object_anycast,
	[(RTM_NEWNEIGHTBL - RTM_BASE) / 4] = &nl_object_neightbl,
	[(RTM_NEWADDRLABEL - RTM_BASE) / 4] = &nl_object_addrlabel,
	[(RTM_NEWNETCONF - RTM_BASE) / 4] = &nl_object_netconf,
	[(RTM_NEWNSID - RTM_BASE) / 4] = &nl_object_nsid,
	[(RTM_NEWSTATS - RTM_BASE) / 4] = &nl_object_stats,
	[(RTM_NEWNEXTHOP - RTM_BASE) / 4] = &nl_object_nexthop,
};

static const struct nl_object *const diag_objects[] = {
	[AF_UNIX] = &nl_object_unix_diag,
	[AF_INET] = &nl_object_inet_diag,
	[AF_INET6] = &nl_object_inet_diag,
	[AF_NETLINK] = &nl_object_netlink_diag,
	[AF_PACKET] = &nl_object_packet_diag,
};

const struct nl_protocol *nl_protocol_get(int number)
{
	if (number < 0 || (size_t)number >= ARRAY_SIZE(protocols))
		return &unknown_protocol;
	return &protocols[number];
}

const struct nl_protocol *nl_protocol_at(size_t i)
{
	return i < ARRAY_SIZE(protocols) ? &protocols[i] : NULL;
}

const struct nl_object *nl_object_find(int protocol, uint16_t type, uint8_t first_byte)
{
	size_t i;

	if (protocol == NETLINK_SOCK_DIAG) {
		if (type != SOCK_DIAG_BY_FAMILY && type != SOCK_DESTROY)
			return NULL;
		return first_byte < ARRAY_SIZE(diag_objects) ? diag_objects[first_byte] : NULL;
	}
	if (protocol != NETLINK_ROUTE || type < RTM_BASE)
		return NULL;
	i = (type - RTM_BASE) / 4u;
	return i < ARRAY_SIZE(route_objects) ? route_objects[i] : NULL;
}

int nl_request_refusal(int protocol, uint16_t type, uint8_t first_byte)
{
	const struct nl_object *object = nl_object_find(protocol, type, first_byte);

	if (type < NLMSG_MIN_TYPE)
		return 0;
	if (!object)
		return protocol == NETLINK_SOCK_DIAG ? ENOENT : EOPNOTSUPP;
	if (protocol == NETLINK_ROUTE && nl_route_verb(type) == NL_VERB_GET)
		return object->refuse_get;
	return 0;
}
