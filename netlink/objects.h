/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of the modelled families, one file for each group of them. Read through nl_object_find() only. */
#ifndef HS_NETLINK_OBJECTS_H
#define HS_NETLINK_OBJECTS_H

#include "netlink/rules.h"

/* route_link.c */
extern const struct nl_object nl_object_link;
/* route_addr.c */
extern const struct nl_object nl_object_addr;
extern const struct nl_object nl_object_multicast;
extern const struct nl_object nl_object_anycast;
extern const struct nl_object nl_object_addrlabel;
/* route_route.c */
extern const struct nl_object nl_object_route;
extern const struct nl_object nl_object_rule;
extern const struct nl_object nl_object_nexthop;
/* route_neigh.c */
extern const struct nl_object nl_object_neigh;
extern const struct nl_object nl_object_neightbl;
/* route_tc.c */
extern const struct nl_object nl_object_qdisc;
extern const struct nl_object nl_object_tclass;
extern const struct nl_object nl_object_tfilter;
/* route_misc.c */
extern const struct nl_object nl_object_netconf;
extern const struct nl_object nl_object_nsid;
extern const struct nl_object nl_object_stats;
/* sock_diag.c */
extern const struct nl_object nl_object_inet_diag;
extern const struct nl_object nl_object_unix_diag;
extern const struct nl_object nl_object_netlink_diag;
extern const struct nl_object nl_object_packet_diag;

#endif
