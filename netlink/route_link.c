/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links (RTM_NEWLINK and its relatives; struct ifinfomsg).
 *
 * What a guest sees of a link is what it, or the container's configuration, has made of it: name, MTU, queue length,
 * group, kind, master, administrative state. Everything that the hardware, the driver, the number of processors,
 * traffic or the kernel's asynchronous link watch contribute is fixed. A link that is up has its carrier and is
 * running: the kernel would say so up to a second later.
 */
#include "netlink/objects.h"

#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/values.h"
#include "netlink/walk.h"

/* inet6 device flag: addresses may be configured. */
#define INET6_READY 0x80000000u

/* sizeof(struct rtnl_link_stats64) from Linux 5.19 on; older kernels send 192 bytes. */
enum { STATS64_SIZE = 200, STATS_SIZE = 96 };

/* The sysctls that a fresh namespace has: net.ipv4.conf.* in the order of IPV4_DEVCONF_*, from 1. */
static const uint32_t inet_conf[33] = {
	[3] = 1,       /* accept_redirects */
	[4] = 1,       /* secure_redirects */
	[5] = 1,       /* send_redirects */
	[6] = 1,       /* shared_media */
	[8] = 1,       /* accept_source_route */
	[26] = 10000,  /* igmpv2_unsolicited_report_interval, ms */
	[27] = 1000,   /* igmpv3_unsolicited_report_interval, ms */
	[32] = 1,      /* arp_evict_nocarrier */
};

/* net.ipv6.conf.*, in the order of DEVCONF_*, from 0; -1 are "not for this link". */
#define INET6_CONF(mtu, tempaddr, dad)                                                            \
	{                                                                                         \
		[1] = 64, [2] = (mtu), [3] = 1, [4] = 1, [5] = 1, [6] = 1, [7] = UINT32_MAX,       \
		[8] = 4000, [9] = 1000, [10] = (tempaddr), [11] = 604800, [12] = 86400, [13] = 3,  \
		[14] = 600, [15] = 16, [17] = 1, [18] = 1, [19] = 1, [20] = 60000,                 \
		[27] = (dad), [30] = 10000, [31] = 1000, [32] = 1, [35] = 1, [38] = 1,             \
		[43] = 3600000, [46] = 1, [52] = 1024, [54] = 0xffff, [55] = UINT32_MAX, [56] = 1, \
	}

static const uint32_t inet6_conf_loopback[60] = INET6_CONF(65536, UINT32_MAX, UINT32_MAX);
static const uint32_t inet6_conf_other[60] = INET6_CONF(1500, 0, 1);

/* struct ifla_cacheinfo: max_reasm_len, tstamp, reachable_time (ms, drawn at random natively), retrans_time. */
static const uint32_t inet6_cacheinfo[4] = { 65535, 0, 30000, 1000 };

static int emit_u8(const struct nlattr *attr, uint8_t value, struct nl_buf *out)
{
	return nl_emit(attr, &value, sizeof(value), out);
}

static int emit_u32(const struct nlattr *attr, uint32_t value, struct nl_buf *out)
{
	return nl_emit(attr, &value, sizeof(value), out);
}

static int emit_inet6_flags(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	return emit_u32(attr, pass->up ? INET6_READY : 0, out);
}

static int emit_inet6_conf(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	if (pass->loopback)
		return nl_emit(attr, inet6_conf_loopback, sizeof(inet6_conf_loopback), out);
	return nl_emit(attr, inet6_conf_other, sizeof(inet6_conf_other), out);
}

static const struct nl_rule inet_rules[] = {
	[1] = NL_ROW_BYTES("conf", inet_conf),
};
static const struct nl_ruleset inet_set = NL_RULESET(inet_rules);

static const struct nl_rule inet6_rules[] = {
	[IFLA_INET6_FLAGS] = NL_ROW_CUSTOM("flags", NL_BITS, emit_inet6_flags),
	[IFLA_INET6_CONF] = NL_ROW_CUSTOM("conf", NL_HEX, emit_inet6_conf),
	[IFLA_INET6_STATS] = NL_ROW_COUNTED("stats", 38),
	[IFLA_INET6_MCAST] = NL_ROW_DROP("mcast"),
	[IFLA_INET6_CACHEINFO] = NL_ROW_BYTES("cacheinfo", inet6_cacheinfo),
	[IFLA_INET6_ICMP6STATS] = NL_ROW_COUNTED("icmp6stats", 7),
	[IFLA_INET6_TOKEN] = NL_ROW_KEEP_SIZED("token", NL_IP, 16),
	[IFLA_INET6_ADDR_GEN_MODE] = NL_ROW_KEEP_SIZED("addr_gen_mode", NL_NUMBER, 1),
	[9] = NL_ROW_DROP("ra_mtu"),
};
static const struct nl_ruleset inet6_set = NL_RULESET(inet6_rules);

/* What a bridge says of its port in messages of family AF_BRIDGE: its settings, not its timers and random ids. */
static const struct nl_rule brport_rules[] = {
	[IFLA_BRPORT_STATE] = NL_ROW_FIXED("state", 1, 3), /* forwarding, where the forward delay leads to */
	[IFLA_BRPORT_PRIORITY] = NL_ROW_KEEP_SIZED("priority", NL_NUMBER, 2),
	[IFLA_BRPORT_COST] = NL_ROW_KEEP_SIZED("cost", NL_NUMBER, 4),
	[IFLA_BRPORT_MODE] = NL_ROW_KEEP_SIZED("mode", NL_NUMBER, 1),
	[IFLA_BRPORT_GUARD] = NL_ROW_KEEP_SIZED("guard", NL_NUMBER, 1),
	[IFLA_BRPORT_PROTECT] = NL_ROW_KEEP_SIZED("protect", NL_NUMBER, 1),
	[IFLA_BRPORT_FAST_LEAVE] = NL_ROW_KEEP_SIZED("fast_leave", NL_NUMBER, 1),
	[IFLA_BRPORT_LEARNING] = NL_ROW_KEEP_SIZED("learning", NL_NUMBER, 1),
	[IFLA_BRPORT_UNICAST_FLOOD] = NL_ROW_KEEP_SIZED("unicast_flood", NL_NUMBER, 1),
	[IFLA_BRPORT_PROXYARP] = NL_ROW_KEEP_SIZED("proxyarp", NL_NUMBER, 1),
	[IFLA_BRPORT_LEARNING_SYNC] = NL_ROW_DROP("learning_sync"),
	[IFLA_BRPORT_PROXYARP_WIFI] = NL_ROW_KEEP_SIZED("proxyarp_wifi", NL_NUMBER, 1),
	[IFLA_BRPORT_ROOT_ID] = NL_ROW_DROP("root_id"),
	[IFLA_BRPORT_BRIDGE_ID] = NL_ROW_DROP("bridge_id"),
	[IFLA_BRPORT_DESIGNATED_PORT] = NL_ROW_DROP("designated_port"),
	[IFLA_BRPORT_DESIGNATED_COST] = NL_ROW_DROP("designated_cost"),
	[IFLA_BRPORT_ID] = NL_ROW_DROP("id"),
	[IFLA_BRPORT_NO] = NL_ROW_DROP("no"),
	[IFLA_BRPORT_TOPOLOGY_CHANGE_ACK] = NL_ROW_DROP("topology_change_ack"),
	[IFLA_BRPORT_CONFIG_PENDING] = NL_ROW_DROP("config_pending"),
	[IFLA_BRPORT_MESSAGE_AGE_TIMER] = NL_ROW_DROP("message_age_timer"),
	[IFLA_BRPORT_FORWARD_DELAY_TIMER] = NL_ROW_DROP("forward_delay_timer"),
	[IFLA_BRPORT_HOLD_TIMER] = NL_ROW_DROP("hold_timer"),
	[IFLA_BRPORT_FLUSH] = NL_ROW_DROP("flush"),
	[IFLA_BRPORT_MULTICAST_ROUTER] = NL_ROW_KEEP_SIZED("multicast_router", NL_NUMBER, 1),
	[IFLA_BRPORT_PAD] = NL_ROW_DROP("pad"),
	[IFLA_BRPORT_MCAST_FLOOD] = NL_ROW_KEEP_SIZED("mcast_flood", NL_NUMBER, 1),
	[IFLA_BRPORT_MCAST_TO_UCAST] = NL_ROW_KEEP_SIZED("mcast_to_ucast", NL_NUMBER, 1),
	[IFLA_BRPORT_VLAN_TUNNEL] = NL_ROW_KEEP_SIZED("vlan_tunnel", NL_NUMBER, 1),
	[IFLA_BRPORT_BCAST_FLOOD] = NL_ROW_KEEP_SIZED("bcast_flood", NL_NUMBER, 1),
	[IFLA_BRPORT_GROUP_FWD_MASK] = NL_ROW_KEEP_SIZED("group_fwd_mask", NL_NUMBER, 2),
	[IFLA_BRPORT_NEIGH_SUPPRESS] = NL_ROW_KEEP_SIZED("neigh_suppress", NL_NUMBER, 1),
	[IFLA_BRPORT_ISOLATED] = NL_ROW_KEEP_SIZED("isolated", NL_NUMBER, 1),
	[IFLA_BRPORT_BACKUP_PORT] = NL_ROW_INDEX("backup_port"),
	[IFLA_BRPORT_MRP_RING_OPEN] = NL_ROW_DROP("mrp_ring_open"),
	[IFLA_BRPORT_MRP_IN_OPEN] = NL_ROW_DROP("mrp_in_open"),
	[37] = NL_ROW_DROP("mcast_eht_hosts_limit"),
	[38] = NL_ROW_DROP("mcast_eht_hosts_cnt"),
	[39] = NL_ROW_DROP("locked"),
	[40] = NL_ROW_DROP("mab"),
	[41] = NL_ROW_DROP("mcast_n_groups"),
	[42] = NL_ROW_DROP("mcast_max_groups"),
	[43] = NL_ROW_DROP("neigh_vlan_suppress"),
	[44] = NL_ROW_DROP("backup_nhid"),
};
static const struct nl_ruleset brport_set = NL_RULESET(brport_rules);

/* What a bridge says of itself where other links have their address families. */
static const struct nl_rule bridge_rules[] = {
	[0] = NL_ROW_KEEP("flags", NL_BITS), /* IFLA_BRIDGE_FLAGS */
	[1] = NL_ROW_KEEP("mode", NL_NUMBER),
	[2] = NL_ROW_KEEP("vlan_info", NL_HEX),
};
static const struct nl_ruleset bridge_set = NL_RULESET(bridge_rules);

static const struct nl_rule af_spec_rules[] = {
	[AF_INET] = NL_ROW_NESTED("inet", &inet_set),
	[AF_INET6] = NL_ROW_NESTED("inet6", &inet6_set),
	[28] = NL_ROW_DROP("mpls"),
	[45] = NL_ROW_DROP("mctp"),
};
static const struct nl_ruleset af_spec_set = NL_RULESET(af_spec_rules);

/* Nested by address family, except in a bridge's messages, where it is the vlan table. */
static int emit_af_spec(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	return pass->family == AF_BRIDGE ? 0 : nl_emit_nested(pass, attr, &af_spec_set, out);
}

/* What a protocol says in a link message of its own family. */
static int emit_protinfo(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	if (pass->family == AF_INET6)
		return nl_emit_nested(pass, attr, &inet6_set, out);
	if (pass->family == AF_BRIDGE)
		return nl_emit_nested(pass, attr, &brport_set, out);
	return 0;
}

static int emit_operstate(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	if (pass->loopback)
		return emit_u8(attr, IF_OPER_UNKNOWN, out);
	return emit_u8(attr, pass->up ? IF_OPER_UP : IF_OPER_DOWN, out);
}

/* The loopback has a carrier even when it is down. */
static int emit_carrier(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	return emit_u8(attr, pass->up || pass->loopback, out);
}

static int emit_min_mtu(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	return emit_u32(attr, pass->loopback ? 0 : 68, out);
}

static int emit_max_mtu(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	return emit_u32(attr, pass->loopback ? 0 : 65535, out);
}

/* The other end of a pair, or the lower device; its index means nothing here when it is in another namespace. */
static int emit_link(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	const void *payload = mnl_attr_get_payload(attr);
	uint32_t index;

	if (pass->foreign_link || mnl_attr_get_payload_len(attr) != sizeof(index))
		return 0;
	index = nl_map_index(pass->env->map, NL_TO_VIRTUAL, (uint32_t)nl_load(payload, sizeof(index)), NULL);
	return index ? emit_u32(attr, index, out) : 0;
}

/* The peer that a veth is made with is a whole link message inside. */
static const struct nl_ruleset peer_set;
static const struct nl_ruleset *request_peer(const void *siblings, size_t len)
{
	return &peer_set;
}

static const struct nl_rule veth_rules[] = {
	[1] = { .name = "peer", .action = NL_KEEP, .request = request_peer },
};
static const struct nl_rule lower_first_rules[] = {
	[1] = NL_ROW_INDEX("link"), /* IFLA_IPTUN_LINK, IFLA_GRE_LINK, IFLA_VTI_LINK */
};
static const struct nl_rule vxlan_rules[] = {
	[3] = NL_ROW_INDEX("link"), /* IFLA_VXLAN_LINK */
};
static const struct nl_ruleset veth_set = NL_RULESET(veth_rules);
static const struct nl_ruleset lower_first_set = NL_RULESET(lower_first_rules);
static const struct nl_ruleset vxlan_set = NL_RULESET(vxlan_rules);

/* Which kinds of link name another link in their data. */
static const struct {
	const char *kind;
	const struct nl_ruleset *set;
} kinds[] = {
	{ "veth", &veth_set },         { "vxlan", &vxlan_set },         { "ipip", &lower_first_set },
	{ "sit", &lower_first_set },   { "ip6tnl", &lower_first_set },  { "gre", &lower_first_set },
	{ "gretap", &lower_first_set }, { "ip6gre", &lower_first_set }, { "ip6gretap", &lower_first_set },
	{ "vti", &lower_first_set },   { "vti6", &lower_first_set },
};

static const struct nl_ruleset *request_linkinfo_data(const void *siblings, size_t len)
{
	const struct nlattr *kind = nl_attr_find(siblings, len, IFLA_INFO_KIND);

	for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++) {
		size_t n = strlen(kinds[i].kind);
		uint16_t size = mnl_attr_get_payload_len(kind);

		if ((size == n || size == n + 1) && strncmp(mnl_attr_get_payload(kind), kinds[i].kind, size) == 0)
			return kinds[i].set;
	}
	return NULL;
}

static const struct nl_rule linkinfo_rules[] = {
	[IFLA_INFO_KIND] = NL_ROW_KEEP("kind", NL_STRING),
	[IFLA_INFO_DATA] = { .name = "data", .action = NL_DROP, .request = request_linkinfo_data },
	[IFLA_INFO_XSTATS] = NL_ROW_DROP("xstats"),
	[IFLA_INFO_SLAVE_KIND] = NL_ROW_KEEP("slave_kind", NL_STRING),
	[IFLA_INFO_SLAVE_DATA] = NL_ROW_DROP("slave_data"),
};
static const struct nl_ruleset linkinfo_set = NL_RULESET(linkinfo_rules);

static const struct nl_rule link_rules[] = {
	[IFLA_ADDRESS] = NL_ROW_MAC("address"),
	[IFLA_BROADCAST] = NL_ROW_KEEP("broadcast", NL_HEX),
	[IFLA_IFNAME] = NL_ROW_KEEP("ifname", NL_STRING),
	[IFLA_MTU] = NL_ROW_KEEP_SIZED("mtu", NL_NUMBER, 4),
	[IFLA_LINK] = { .name = "link", .action = NL_INDEX, .format = NL_NUMBER, .size = 4, .emit = emit_link },
	[IFLA_QDISC] = { .name = "qdisc", .action = NL_BYTES, .format = NL_STRING, .size = 8, .bytes = "noqueue" },
	[IFLA_STATS] = NL_ROW_ZERO_SIZED("stats", STATS_SIZE),
	[IFLA_COST] = NL_ROW_DROP("cost"),
	[IFLA_PRIORITY] = NL_ROW_DROP("priority"),
	[IFLA_MASTER] = NL_ROW_INDEX("master"),
	[IFLA_WIRELESS] = NL_ROW_DROP("wireless"),
	[IFLA_PROTINFO] = { .name = "protinfo", .action = NL_CUSTOM, .nested = &inet6_set, .bridge = &brport_set,
			    .emit = emit_protinfo },
	[IFLA_TXQLEN] = NL_ROW_KEEP_SIZED("txqlen", NL_NUMBER, 4),
	[IFLA_MAP] = NL_ROW_ZERO_SIZED("map", 32),
	[IFLA_WEIGHT] = NL_ROW_DROP("weight"),
	[IFLA_OPERSTATE] = NL_ROW_CUSTOM("operstate", NL_NUMBER, emit_operstate),
	[IFLA_LINKMODE] = NL_ROW_KEEP_SIZED("linkmode", NL_NUMBER, 1),
	[IFLA_LINKINFO] = NL_ROW_NESTED("linkinfo", &linkinfo_set),
	[IFLA_NET_NS_PID] = NL_ROW_DROP("net_ns_pid"),
	[IFLA_IFALIAS] = NL_ROW_DROP("ifalias"),
	[IFLA_NUM_VF] = NL_ROW_DROP("num_vf"),
	[IFLA_VFINFO_LIST] = NL_ROW_DROP("vfinfo_list"),
	[IFLA_STATS64] = NL_ROW_ZERO_SIZED("stats64", STATS64_SIZE),
	[IFLA_VF_PORTS] = NL_ROW_DROP("vf_ports"),
	[IFLA_PORT_SELF] = NL_ROW_DROP("port_self"),
	[IFLA_AF_SPEC] = { .name = "af_spec", .action = NL_CUSTOM, .nested = &af_spec_set, .bridge = &bridge_set,
			   .emit = emit_af_spec },
	[IFLA_GROUP] = NL_ROW_KEEP_SIZED("group", NL_NUMBER, 4),
	[IFLA_NET_NS_FD] = NL_ROW_DROP("net_ns_fd"),
	[IFLA_EXT_MASK] = NL_ROW_DROP("ext_mask"),
	[IFLA_PROMISCUITY] = NL_ROW_FIXED("promiscuity", 4, 0),
	[IFLA_NUM_TX_QUEUES] = NL_ROW_FIXED("num_tx_queues", 4, 1),
	[IFLA_NUM_RX_QUEUES] = NL_ROW_FIXED("num_rx_queues", 4, 1),
	[IFLA_CARRIER] = NL_ROW_CUSTOM("carrier", NL_NUMBER, emit_carrier),
	[IFLA_PHYS_PORT_ID] = NL_ROW_DROP("phys_port_id"),
	[IFLA_CARRIER_CHANGES] = NL_ROW_FIXED("carrier_changes", 4, 0),
	[IFLA_PHYS_SWITCH_ID] = NL_ROW_DROP("phys_switch_id"),
	[IFLA_LINK_NETNSID] = NL_ROW_DROP("link_netnsid"),
	[IFLA_PHYS_PORT_NAME] = NL_ROW_DROP("phys_port_name"),
	[IFLA_PROTO_DOWN] = NL_ROW_KEEP_SIZED("proto_down", NL_NUMBER, 1),
	[IFLA_GSO_MAX_SEGS] = NL_ROW_FIXED("gso_max_segs", 4, 65535),
	[IFLA_GSO_MAX_SIZE] = NL_ROW_FIXED("gso_max_size", 4, 65536),
	[IFLA_PAD] = NL_ROW_DROP("pad"),
	[IFLA_XDP] = NL_ROW_DROP("xdp"),
	[IFLA_EVENT] = NL_ROW_DROP("event"),
	[IFLA_NEW_NETNSID] = NL_ROW_FIXED("new_netnsid", 4, 0),
	[IFLA_TARGET_NETNSID] = NL_ROW_FIXED("target_netnsid", 4, 0),
	[IFLA_CARRIER_UP_COUNT] = NL_ROW_FIXED("carrier_up_count", 4, 0),
	[IFLA_CARRIER_DOWN_COUNT] = NL_ROW_FIXED("carrier_down_count", 4, 0),
	[IFLA_NEW_IFINDEX] = NL_ROW_INDEX("new_ifindex"),
	[IFLA_MIN_MTU] = NL_ROW_CUSTOM("min_mtu", NL_NUMBER, emit_min_mtu),
	[IFLA_MAX_MTU] = NL_ROW_CUSTOM("max_mtu", NL_NUMBER, emit_max_mtu),
	[IFLA_PROP_LIST] = NL_ROW_DROP("prop_list"),
	[IFLA_ALT_IFNAME] = NL_ROW_DROP("alt_ifname"),
	[IFLA_PERM_ADDRESS] = NL_ROW_DROP("perm_address"),
	[IFLA_PROTO_DOWN_REASON] = NL_ROW_DROP("proto_down_reason"),
	[56] = NL_ROW_DROP("parent_dev_name"),
	[57] = NL_ROW_DROP("parent_dev_bus_name"),
	[58] = NL_ROW_DROP("gro_max_size"),
	[59] = NL_ROW_DROP("tso_max_size"),
	[60] = NL_ROW_DROP("tso_max_segs"),
	[61] = NL_ROW_DROP("allmulti"),
	[62] = NL_ROW_DROP("devlink_port"),
	[63] = NL_ROW_DROP("gso_ipv4_max_size"),
	[64] = NL_ROW_DROP("gro_ipv4_max_size"),
	[65] = NL_ROW_DROP("dpll_pin"),
	[66] = NL_ROW_DROP("max_pacing_offload_horizon"),
	[67] = NL_ROW_DROP("netns_immutable"),
	[68] = NL_ROW_DROP("headroom"),
	[69] = NL_ROW_DROP("tailroom"),
};
static const struct nl_ruleset link_set = NL_RULESET(link_rules);

static const struct nl_ruleset peer_set = {
	.rules = link_rules,
	.n_rules = ARRAY_SIZE(link_rules),
	.header = sizeof(struct ifinfomsg),
	.index_at = offsetof(struct ifinfomsg, ifi_index) + 1,
};

static const struct nl_field link_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "type", 2, 2, NL_KEEP, NL_NUMBER, 0 },
	{ "index", 4, 4, NL_INDEX, NL_NUMBER, 0 },
	/* Who listens on the host is not seen; running and carrier are set in link_finish(). */
	{ "flags", 8, 4, NL_CLEAR, NL_BITS, IFF_PROMISC | IFF_ALLMULTI | IFF_DORMANT },
	{ "change", 12, 4, NL_ZERO, NL_BITS, 0 },
};

static const struct nl_key_part link_key[] = {
	{ .where = 0, .size = 1 },
	{ .where = 4, .size = 4, .is_number = true },
};

static bool link_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	struct ifinfomsg info;

	memcpy(&info, structure, sizeof(info));
	pass->loopback = info.ifi_type == ARPHRD_LOOPBACK;
	pass->up = info.ifi_flags & IFF_UP;
	pass->foreign_link = nl_attr_find(attributes, len, IFLA_LINK_NETNSID);
	return true;
}

static void link_finish(struct nl_pass *pass, void *structure)
{
	const uint32_t follows_carrier = IFF_RUNNING | IFF_LOWER_UP;
	uint8_t *flags = (uint8_t *)structure + offsetof(struct ifinfomsg, ifi_flags);
	uint64_t now = nl_load(flags, 4);

	nl_store(flags, 4, pass->up ? now | follows_carrier : now & ~(uint64_t)follows_carrier);
}

static int link_prepare(struct nl_env *env, const void *messages, size_t len)
{
	return nl_map_learn(env->map, messages, len);
}

const struct nl_object nl_object_link = {
	.name = "link",
	.base_type = RTM_NEWLINK,
	.header = sizeof(struct ifinfomsg),
	.by_bytes = true,
	.fields = link_fields,
	.n_fields = ARRAY_SIZE(link_fields),
	.attributes = &link_set,
	.key = link_key,
	.n_key = ARRAY_SIZE(link_key),
	.prepare = link_prepare,
	.wanted = link_wanted,
	.finish = link_finish,
};
