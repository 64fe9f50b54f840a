/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Smaller objects: settings of links (struct netconfmsg), ids of other namespaces (struct rtgenmsg) and statistics
 * (struct if_stats_msg).
 */
#include "netlink/objects.h"

#include <sys/socket.h>

#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/walk.h"

/* rp_filter of a new namespace is the host's setting of the moment. */
static const struct nl_rule netconf_rules[] = {
	[NETCONFA_IFINDEX] = NL_ROW_INDEX("ifindex"),
	[NETCONFA_FORWARDING] = NL_ROW_KEEP_SIZED("forwarding", NL_SIGNED, 4),
	[NETCONFA_RP_FILTER] = NL_ROW_FIXED("rp_filter", 4, 0),
	[NETCONFA_MC_FORWARDING] = NL_ROW_KEEP_SIZED("mc_forwarding", NL_SIGNED, 4),
	[NETCONFA_PROXY_NEIGH] = NL_ROW_KEEP_SIZED("proxy_neigh", NL_SIGNED, 4),
	[NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN] = NL_ROW_KEEP_SIZED("ignore_routes_with_linkdown", NL_SIGNED, 4),
	[NETCONFA_INPUT] = NL_ROW_KEEP_SIZED("input", NL_SIGNED, 4),
	[NETCONFA_BC_FORWARDING] = NL_ROW_KEEP_SIZED("bc_forwarding", NL_SIGNED, 4),
	[9] = NL_ROW_DROP("force_forwarding"),
};
static const struct nl_ruleset netconf_set = NL_RULESET(netconf_rules);

static const struct nl_field family_field[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
};

static const struct nl_key_part netconf_key[] = {
	{ .where = 0, .size = 1 },
	{ .is_attribute = true, .where = NETCONFA_IFINDEX, .size = 4, .is_number = true },
};

static bool netconf_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	return pass->family == AF_INET || pass->family == AF_INET6;
}

const struct nl_object nl_object_netconf = {
	.name = "netconf",
	.base_type = RTM_NEWNETCONF,
	.header = sizeof(struct netconfmsg),
	.by_bytes = true,
	.fields = family_field,
	.n_fields = ARRAY_SIZE(family_field),
	.attributes = &netconf_set,
	.key = netconf_key,
	.n_key = ARRAY_SIZE(netconf_key),
	.wanted = netconf_wanted,
};

/* Ids are given when a dump first meets the other namespace: a namespace is always one without an id (-1). */
static const struct nl_rule nsid_rules[] = {
	[NETNSA_NSID] = NL_ROW_FIXED("nsid", 4, UINT32_MAX),
	[NETNSA_PID] = NL_ROW_DROP("pid"),
	[NETNSA_FD] = NL_ROW_DROP("fd"),
	[NETNSA_TARGET_NSID] = NL_ROW_DROP("target_nsid"),
	[NETNSA_CURRENT_NSID] = NL_ROW_DROP("current_nsid"),
};
static const struct nl_ruleset nsid_set = NL_RULESET(nsid_rules);

/* The answer to one question is shown; a list of the namespaces that have ids is empty. */
static bool nsid_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	return !pass->in_dump;
}

const struct nl_object nl_object_nsid = {
	.name = "nsid",
	.base_type = RTM_NEWNSID,
	.header = sizeof(struct rtgenmsg),
	.quiet = true,
	.fields = family_field,
	.n_fields = ARRAY_SIZE(family_field),
	.attributes = &nsid_set,
	.wanted = nsid_wanted,
};

static const struct nl_rule stats_rules[] = {
	[IFLA_STATS_LINK_64] = NL_ROW_ZERO_SIZED("link_64", 200),
	[IFLA_STATS_LINK_XSTATS] = NL_ROW_DROP("link_xstats"),
	[IFLA_STATS_LINK_XSTATS_SLAVE] = NL_ROW_DROP("link_xstats_slave"),
	[IFLA_STATS_LINK_OFFLOAD_XSTATS] = NL_ROW_DROP("link_offload_xstats"),
	[IFLA_STATS_AF_SPEC] = NL_ROW_DROP("af_spec"),
};
static const struct nl_ruleset stats_set = NL_RULESET(stats_rules);

static const struct nl_field stats_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "ifindex", 4, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "filter_mask", 8, 4, NL_KEEP, NL_BITS, 0 },
};

static const struct nl_key_part stats_key[] = {
	{ .where = 4, .size = 4, .is_number = true },
};

const struct nl_object nl_object_stats = {
	.name = "stats",
	.base_type = RTM_NEWSTATS,
	.header = sizeof(struct if_stats_msg),
	.by_bytes = true,
	.fields = stats_fields,
	.n_fields = ARRAY_SIZE(stats_fields),
	.attributes = &stats_set,
	.key = stats_key,
	.n_key = ARRAY_SIZE(stats_key),
};
