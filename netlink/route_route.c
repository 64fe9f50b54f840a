/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes (struct rtmsg), routing rules (struct fib_rule_hdr) and next-hop objects (struct nhmsg).
 *
 * Routes that a router on the host's network has announced are not the container's and are left out. What the carrier
 * and the hardware do to a route is not shown; how often it was used neither.
 */
#include "netlink/objects.h"

#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/values.h"
#include "netlink/walk.h"

/* RTM_F_OFFLOAD, RTM_F_TRAP, RTM_F_OFFLOAD_FAILED, and the flags of the first next hop that follow its carrier. */
#define VOLATILE_FLAGS (0x4000u | 0x8000u | 0x20000000u | RTNH_F_DEAD | RTNH_F_OFFLOAD | RTNH_F_LINKDOWN | RTNH_F_TRAP)

/* struct rta_cacheinfo: only the error says something about the route. */
static int emit_cacheinfo(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	struct rta_cacheinfo real = { 0 }, seen = { 0 };
	size_t len = mnl_attr_get_payload_len(attr);

	memcpy(&real, mnl_attr_get_payload(attr), len < sizeof(real) ? len : sizeof(real));
	seen.rta_error = real.rta_error;
	return nl_emit(attr, &seen, sizeof(seen), out);
}

static const struct nl_rule metrics_rules[] = {
	[RTAX_LOCK] = NL_ROW_KEEP_SIZED("lock", NL_BITS, 4),
	[RTAX_MTU] = NL_ROW_KEEP_SIZED("mtu", NL_NUMBER, 4),
	[RTAX_WINDOW] = NL_ROW_KEEP_SIZED("window", NL_NUMBER, 4),
	[RTAX_RTT] = NL_ROW_KEEP_SIZED("rtt", NL_NUMBER, 4),
	[RTAX_RTTVAR] = NL_ROW_KEEP_SIZED("rttvar", NL_NUMBER, 4),
	[RTAX_SSTHRESH] = NL_ROW_KEEP_SIZED("ssthresh", NL_NUMBER, 4),
	[RTAX_CWND] = NL_ROW_KEEP_SIZED("cwnd", NL_NUMBER, 4),
	[RTAX_ADVMSS] = NL_ROW_KEEP_SIZED("advmss", NL_NUMBER, 4),
	[RTAX_REORDERING] = NL_ROW_KEEP_SIZED("reordering", NL_NUMBER, 4),
	[RTAX_HOPLIMIT] = NL_ROW_KEEP_SIZED("hoplimit", NL_NUMBER, 4),
	[RTAX_INITCWND] = NL_ROW_KEEP_SIZED("initcwnd", NL_NUMBER, 4),
	[RTAX_FEATURES] = NL_ROW_KEEP_SIZED("features", NL_BITS, 4),
	[RTAX_RTO_MIN] = NL_ROW_KEEP_SIZED("rto_min", NL_NUMBER, 4),
	[RTAX_INITRWND] = NL_ROW_KEEP_SIZED("initrwnd", NL_NUMBER, 4),
	[RTAX_QUICKACK] = NL_ROW_KEEP_SIZED("quickack", NL_NUMBER, 4),
	[RTAX_CC_ALGO] = NL_ROW_KEEP("cc_algo", NL_STRING),
	[RTAX_FASTOPEN_NO_COOKIE] = NL_ROW_KEEP_SIZED("fastopen_no_cookie", NL_NUMBER, 4),
};
static const struct nl_ruleset metrics_set = NL_RULESET(metrics_rules);

/* Next hops hold attributes of the same kind as the route around them. */
static const struct nl_ruleset route_set;

static const struct nl_rule route_rules[] = {
	[RTA_DST] = NL_ROW_ADDRESS("dst"),
	[RTA_SRC] = NL_ROW_ADDRESS("src"),
	[RTA_IIF] = NL_ROW_INDEX("iif"),
	[RTA_OIF] = NL_ROW_INDEX("oif"),
	[RTA_GATEWAY] = NL_ROW_ADDRESS("gateway"),
	[RTA_PRIORITY] = NL_ROW_KEEP_SIZED("priority", NL_NUMBER, 4),
	[RTA_PREFSRC] = NL_ROW_ADDRESS("prefsrc"),
	[RTA_METRICS] = NL_ROW_NESTED("metrics", &metrics_set),
	[RTA_MULTIPATH] = { .name = "multipath", .action = NL_NEXTHOPS, .nested = &route_set },
	[RTA_PROTOINFO] = NL_ROW_DROP("protoinfo"),
	[RTA_FLOW] = NL_ROW_KEEP_SIZED("flow", NL_NUMBER, 4),
	[RTA_CACHEINFO] = NL_ROW_CUSTOM("cacheinfo", NL_HEX, emit_cacheinfo),
	[RTA_SESSION] = NL_ROW_DROP("session"),
	[RTA_MP_ALGO] = NL_ROW_DROP("mp_algo"),
	[RTA_TABLE] = NL_ROW_KEEP_SIZED("table", NL_NUMBER, 4),
	[RTA_MARK] = NL_ROW_KEEP_SIZED("mark", NL_BITS, 4),
	[RTA_MFC_STATS] = NL_ROW_ZERO("mfc_stats"),
	[RTA_VIA] = { .name = "via", .action = NL_GATEWAY },
	[RTA_NEWDST] = NL_ROW_ADDRESS("newdst"),
	[RTA_PREF] = NL_ROW_KEEP_SIZED("pref", NL_NUMBER, 1),
	[RTA_ENCAP_TYPE] = NL_ROW_KEEP_SIZED("encap_type", NL_NUMBER, 2),
	[RTA_ENCAP] = NL_ROW_KEEP("encap", NL_HEX),
	[RTA_EXPIRES] = NL_ROW_DROP("expires"),
	[RTA_PAD] = NL_ROW_DROP("pad"),
	[RTA_UID] = NL_ROW_KEEP_SIZED("uid", NL_NUMBER, 4),
	[RTA_TTL_PROPAGATE] = NL_ROW_KEEP_SIZED("ttl_propagate", NL_NUMBER, 1),
	[RTA_IP_PROTO] = NL_ROW_KEEP_SIZED("ip_proto", NL_NUMBER, 1),
	[RTA_SPORT] = NL_ROW_KEEP_SIZED("sport", NL_HEX, 2),
	[RTA_DPORT] = NL_ROW_KEEP_SIZED("dport", NL_HEX, 2),
	[RTA_NH_ID] = NL_ROW_KEEP_SIZED("nh_id", NL_NUMBER, 4),
	[31] = NL_ROW_DROP("flowlabel"),
};
static const struct nl_ruleset route_set = NL_RULESET(route_rules);

static const struct nl_field route_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },   { "dst_len", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "src_len", 2, 1, NL_KEEP, NL_NUMBER, 0 },  { "tos", 3, 1, NL_KEEP, NL_BITS, 0 },
	{ "rtm_table", 4, 1, NL_KEEP, NL_NUMBER, 0 }, { "protocol", 5, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "scope", 6, 1, NL_KEEP, NL_NUMBER, 0 },    { "type", 7, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "flags", 8, 4, NL_CLEAR, NL_BITS, VOLATILE_FLAGS },
};

static const struct nl_key_part route_key[] = {
	{ .where = 0, .size = 1 },
	{ .is_attribute = true, .where = RTA_TABLE, .size = 4, .is_number = true },
	{ .is_attribute = true, .where = RTA_DST, .size = 16 },
	{ .where = 1, .size = 1 },
	{ .where = 3, .size = 1 },
	{ .is_attribute = true, .where = RTA_PRIORITY, .size = 4, .is_number = true },
	{ .is_attribute = true, .where = RTA_OIF, .size = 4, .is_number = true },
};

static bool route_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	const struct nlattr *oif = nl_attr_find(attributes, len, RTA_OIF);

	/* The structure names no link: the one that the route goes through says whose identifiers are in it. */
	if (oif && mnl_attr_get_payload_len(oif) == 4)
		pass->hint_real = mnl_attr_get_u32(oif);
	return ((const uint8_t *)structure)[offsetof(struct rtmsg, rtm_protocol)] != RTPROT_RA;
}

const struct nl_object nl_object_route = {
	.name = "route",
	.base_type = RTM_NEWROUTE,
	.header = sizeof(struct rtmsg),
	.by_bytes = true,
	.fields = route_fields,
	.n_fields = ARRAY_SIZE(route_fields),
	.attributes = &route_set,
	.key = route_key,
	.n_key = ARRAY_SIZE(route_key),
	.wanted = route_wanted,
};

static const struct nl_rule rule_rules[] = {
	[FRA_DST] = NL_ROW_ADDRESS("dst"),
	[FRA_SRC] = NL_ROW_ADDRESS("src"),
	[FRA_IIFNAME] = NL_ROW_KEEP("iifname", NL_STRING),
	[FRA_GOTO] = NL_ROW_KEEP_SIZED("goto", NL_NUMBER, 4),
	[FRA_PRIORITY] = NL_ROW_KEEP_SIZED("priority", NL_NUMBER, 4),
	[FRA_FWMARK] = NL_ROW_KEEP_SIZED("fwmark", NL_BITS, 4),
	[FRA_FLOW] = NL_ROW_KEEP_SIZED("flow", NL_NUMBER, 4),
	[FRA_TUN_ID] = NL_ROW_KEEP_SIZED("tun_id", NL_HEX, 8),
	[FRA_SUPPRESS_IFGROUP] = NL_ROW_KEEP_SIZED("suppress_ifgroup", NL_SIGNED, 4),
	[FRA_SUPPRESS_PREFIXLEN] = NL_ROW_KEEP_SIZED("suppress_prefixlen", NL_SIGNED, 4),
	[FRA_TABLE] = NL_ROW_KEEP_SIZED("table", NL_NUMBER, 4),
	[FRA_FWMASK] = NL_ROW_KEEP_SIZED("fwmask", NL_BITS, 4),
	[FRA_OIFNAME] = NL_ROW_KEEP("oifname", NL_STRING),
	[FRA_PAD] = NL_ROW_DROP("pad"),
	[FRA_L3MDEV] = NL_ROW_KEEP_SIZED("l3mdev", NL_NUMBER, 1),
	[FRA_UID_RANGE] = NL_ROW_KEEP_SIZED("uid_range", NL_HEX, 8),
	[FRA_PROTOCOL] = NL_ROW_KEEP_SIZED("protocol", NL_NUMBER, 1),
	[FRA_IP_PROTO] = NL_ROW_KEEP_SIZED("ip_proto", NL_NUMBER, 1),
	[FRA_SPORT_RANGE] = NL_ROW_KEEP_SIZED("sport_range", NL_HEX, 4),
	[FRA_DPORT_RANGE] = NL_ROW_KEEP_SIZED("dport_range", NL_HEX, 4),
	[25] = NL_ROW_DROP("dscp"),
	[26] = NL_ROW_DROP("flowlabel"),
	[27] = NL_ROW_DROP("flowlabel_mask"),
	[28] = NL_ROW_DROP("sport_mask"),
	[29] = NL_ROW_DROP("dport_mask"),
	[30] = NL_ROW_DROP("dscp_mask"),
};
static const struct nl_ruleset rule_set = NL_RULESET(rule_rules);

static const struct nl_field rule_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },  { "dst_len", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "src_len", 2, 1, NL_KEEP, NL_NUMBER, 0 }, { "tos", 3, 1, NL_KEEP, NL_BITS, 0 },
	{ "frh_table", 4, 1, NL_KEEP, NL_NUMBER, 0 }, { "action", 7, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "flags", 8, 4, NL_KEEP, NL_BITS, 0 },
};

/*
 * Rules of multicast routing exist where a kernel was built with it (families 128 and 129): they are not shown, so that
 * the list is the same on all kernels. Rules of one family are in the order in which they are asked; that order stays.
 */
static bool rule_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	return pass->family == AF_INET || pass->family == AF_INET6;
}

static const struct nl_key_part rule_key[] = {
	{ .where = 0, .size = 1 },
};

const struct nl_object nl_object_rule = {
	.name = "rule",
	.base_type = RTM_NEWRULE,
	.header = sizeof(struct fib_rule_hdr),
	.fields = rule_fields,
	.n_fields = ARRAY_SIZE(rule_fields),
	.attributes = &rule_set,
	.key = rule_key,
	.n_key = ARRAY_SIZE(rule_key),
	.wanted = rule_wanted,
};

static const struct nl_rule res_group_rules[] = {
	[NHA_RES_GROUP_BUCKETS] = NL_ROW_KEEP_SIZED("buckets", NL_NUMBER, 2),
	[NHA_RES_GROUP_IDLE_TIMER] = NL_ROW_KEEP_SIZED("idle_timer", NL_NUMBER, 4),
	[NHA_RES_GROUP_UNBALANCED_TIMER] = NL_ROW_KEEP_SIZED("unbalanced_timer", NL_NUMBER, 4),
	[NHA_RES_GROUP_UNBALANCED_TIME] = NL_ROW_ZERO_SIZED("unbalanced_time", 8),
};
static const struct nl_ruleset res_group_set = NL_RULESET(res_group_rules);

static const struct nl_rule nexthop_rules[] = {
	[NHA_ID] = NL_ROW_KEEP_SIZED("id", NL_NUMBER, 4),
	[NHA_GROUP] = NL_ROW_KEEP("group", NL_HEX),
	[NHA_GROUP_TYPE] = NL_ROW_KEEP_SIZED("group_type", NL_NUMBER, 2),
	[NHA_BLACKHOLE] = NL_ROW_KEEP("blackhole", NL_HEX),
	[NHA_OIF] = NL_ROW_INDEX("oif"),
	[NHA_GATEWAY] = NL_ROW_ADDRESS("gateway"),
	[NHA_ENCAP_TYPE] = NL_ROW_KEEP_SIZED("encap_type", NL_NUMBER, 2),
	[NHA_ENCAP] = NL_ROW_KEEP("encap", NL_HEX),
	[NHA_GROUPS] = NL_ROW_KEEP("groups", NL_HEX),
	[NHA_MASTER] = NL_ROW_INDEX("master"),
	[NHA_FDB] = NL_ROW_KEEP("fdb", NL_HEX),
	[NHA_RES_GROUP] = NL_ROW_NESTED("res_group", &res_group_set),
	[NHA_RES_BUCKET] = NL_ROW_DROP("res_bucket"),
	[14] = NL_ROW_DROP("op_flags"),
	[15] = NL_ROW_DROP("group_stats"),
	[16] = NL_ROW_DROP("hw_stats_enable"),
	[17] = NL_ROW_DROP("hw_stats_used"),
};
static const struct nl_ruleset nexthop_set = NL_RULESET(nexthop_rules);

static const struct nl_field nexthop_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "scope", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "protocol", 2, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "flags", 4, 4, NL_CLEAR, NL_BITS, VOLATILE_FLAGS },
};

static const struct nl_key_part nexthop_key[] = {
	{ .is_attribute = true, .where = NHA_ID, .size = 4, .is_number = true },
};

const struct nl_object nl_object_nexthop = {
	.name = "nexthop",
	.base_type = RTM_NEWNEXTHOP,
	.header = sizeof(struct nhmsg),
	.by_bytes = true,
	.fields = nexthop_fields,
	.n_fields = ARRAY_SIZE(nexthop_fields),
	.attributes = &nexthop_set,
	.key = nexthop_key,
	.n_key = ARRAY_SIZE(nexthop_key),
};
