/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours (struct ndmsg), forwarding entries of bridges (the same structure, family AF_BRIDGE) and the tables of
 * neighbours (struct ndtmsg).
 *
 * A neighbour's state decays with the host's clock, after a time that is drawn at random. Entries that were resolved
 * are reachable, those that were not have failed; entries that the kernel makes by itself for addresses that need no
 * resolution (loopback, multicast) and collects by itself are not shown. A link-layer address that is not one of this
 * namespace is made from the address of the neighbour.
 */
#include "netlink/objects.h"

#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/values.h"
#include "netlink/walk.h"

/* Neighbours elsewhere get 02:00 and the last four bytes of their address. */
static int emit_lladdr(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	uint8_t mac[NL_MAC_LEN] = {
		2, 0, pass->neighbour[0], pass->neighbour[1], pass->neighbour[2], pass->neighbour[3]
	};
	uint8_t mapped[NL_MAC_LEN];
	bool known;

	if (mnl_attr_get_payload_len(attr) != NL_MAC_LEN)
		return nl_emit(attr, NULL, mnl_attr_get_payload_len(attr), out);
	memcpy(mapped, mnl_attr_get_payload(attr), sizeof(mapped));
	nl_map_mac(pass->env->map, NL_TO_VIRTUAL, pass->hint_real, mapped, &known);
	return nl_emit(attr, known ? mapped : mac, NL_MAC_LEN, out);
}

static const struct nl_rule neigh_rules[] = {
	[NDA_DST] = NL_ROW_ADDRESS("dst"),
	[NDA_LLADDR] = { .name = "lladdr", .action = NL_MAC, .emit = emit_lladdr },
	[NDA_CACHEINFO] = NL_ROW_ZERO_SIZED("cacheinfo", 16),
	[NDA_PROBES] = NL_ROW_ZERO_SIZED("probes", 4),
	[NDA_VLAN] = NL_ROW_KEEP_SIZED("vlan", NL_NUMBER, 2),
	[NDA_PORT] = NL_ROW_KEEP_SIZED("port", NL_HEX, 2),
	[NDA_VNI] = NL_ROW_KEEP_SIZED("vni", NL_NUMBER, 4),
	[NDA_IFINDEX] = NL_ROW_INDEX("ifindex"),
	[NDA_MASTER] = NL_ROW_INDEX("master"),
	[NDA_LINK_NETNSID] = NL_ROW_DROP("link_netnsid"),
	[NDA_SRC_VNI] = NL_ROW_KEEP_SIZED("src_vni", NL_NUMBER, 4),
	[NDA_PROTOCOL] = NL_ROW_KEEP_SIZED("protocol", NL_NUMBER, 1),
	[NDA_NH_ID] = NL_ROW_KEEP_SIZED("nh_id", NL_NUMBER, 4),
	[NDA_FDB_EXT_ATTRS] = NL_ROW_DROP("fdb_ext_attrs"),
	[NDA_FLAGS_EXT] = NL_ROW_KEEP_SIZED("flags_ext", NL_BITS, 4),
	[16] = NL_ROW_DROP("ndm_state_mask"),
	[17] = NL_ROW_DROP("ndm_flags_mask"),
};
static const struct nl_ruleset neigh_set = NL_RULESET(neigh_rules);

static const struct nl_field neigh_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "ndm_ifindex", 4, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "state", 8, 2, NL_KEEP, NL_BITS, 0 },    { "flags", 10, 1, NL_KEEP, NL_BITS, 0 },
	{ "type", 11, 1, NL_KEEP, NL_NUMBER, 0 },
};

static const struct nl_key_part neigh_key[] = {
	{ .where = 0, .size = 1 },
	{ .where = 4, .size = 4, .is_number = true },
	{ .is_attribute = true, .where = NDA_DST, .size = 16 },
	{ .is_attribute = true, .where = NDA_LLADDR, .size = 6 },
};

/* Learned entries of a bridge come with traffic and go by a timer. */
static bool fdb_wanted(const struct ndmsg *ndm)
{
	return ndm->ndm_state & (NUD_PERMANENT | NUD_NOARP);
}

static bool neigh_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	const struct nlattr *dst = nl_attr_find(attributes, len, NDA_DST);
	struct ndmsg ndm;

	memcpy(&ndm, structure, sizeof(ndm));
	memset(pass->neighbour, 0xff, sizeof(pass->neighbour));
	if (dst && mnl_attr_get_payload_len(dst) >= sizeof(pass->neighbour))
		memcpy(pass->neighbour,
		       (const uint8_t *)mnl_attr_get_payload(dst) + mnl_attr_get_payload_len(dst) -
			       sizeof(pass->neighbour),
		       sizeof(pass->neighbour));
	if (pass->family == AF_BRIDGE)
		return fdb_wanted(&ndm);
	return (ndm.ndm_state & NUD_PERMANENT) || (ndm.ndm_flags & NTF_PROXY) ||
	       (ndm.ndm_state != NUD_NONE && !(ndm.ndm_state & NUD_NOARP));
}

static void neigh_finish(struct nl_pass *pass, void *structure)
{
	const uint16_t resolved = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;
	uint8_t *state = (uint8_t *)structure + offsetof(struct ndmsg, ndm_state);
	uint64_t now = nl_load(state, 2);

	if (pass->family == AF_BRIDGE || (now & NUD_PERMANENT))
		return;
	if (now & resolved)
		nl_store(state, 2, NUD_REACHABLE);
	else if (now)
		nl_store(state, 2, NUD_FAILED);
}

const struct nl_object nl_object_neigh = {
	.name = "neigh",
	.base_type = RTM_NEWNEIGH,
	.header = sizeof(struct ndmsg),
	.by_bytes = true,
	.fields = neigh_fields,
	.n_fields = ARRAY_SIZE(neigh_fields),
	.attributes = &neigh_set,
	.key = neigh_key,
	.n_key = ARRAY_SIZE(neigh_key),
	.wanted = neigh_wanted,
	.finish = neigh_finish,
};

/* QUEUE_LEN is QUEUE_LENBYTES in packets of a size that depends on the kernel's build. */
static const struct nl_rule parms_rules[] = {
	[NDTPA_IFINDEX] = NL_ROW_INDEX("ifindex"),
	[NDTPA_REFCNT] = NL_ROW_FIXED("refcnt", 4, 1),
	[NDTPA_REACHABLE_TIME] = NL_ROW_FIXED("reachable_time", 8, 30000),
	[NDTPA_BASE_REACHABLE_TIME] = NL_ROW_KEEP_SIZED("base_reachable_time", NL_NUMBER, 8),
	[NDTPA_RETRANS_TIME] = NL_ROW_KEEP_SIZED("retrans_time", NL_NUMBER, 8),
	[NDTPA_GC_STALETIME] = NL_ROW_KEEP_SIZED("gc_staletime", NL_NUMBER, 8),
	[NDTPA_DELAY_PROBE_TIME] = NL_ROW_KEEP_SIZED("delay_probe_time", NL_NUMBER, 8),
	[NDTPA_QUEUE_LEN] = NL_ROW_FIXED("queue_len", 4, 101),
	[NDTPA_APP_PROBES] = NL_ROW_KEEP_SIZED("app_probes", NL_NUMBER, 4),
	[NDTPA_UCAST_PROBES] = NL_ROW_KEEP_SIZED("ucast_probes", NL_NUMBER, 4),
	[NDTPA_MCAST_PROBES] = NL_ROW_KEEP_SIZED("mcast_probes", NL_NUMBER, 4),
	[NDTPA_ANYCAST_DELAY] = NL_ROW_KEEP_SIZED("anycast_delay", NL_NUMBER, 8),
	[NDTPA_PROXY_DELAY] = NL_ROW_KEEP_SIZED("proxy_delay", NL_NUMBER, 8),
	[NDTPA_PROXY_QLEN] = NL_ROW_KEEP_SIZED("proxy_qlen", NL_NUMBER, 4),
	[NDTPA_LOCKTIME] = NL_ROW_KEEP_SIZED("locktime", NL_NUMBER, 8),
	[NDTPA_QUEUE_LENBYTES] = NL_ROW_FIXED("queue_lenbytes", 4, 212992),
	[NDTPA_MCAST_REPROBES] = NL_ROW_KEEP_SIZED("mcast_reprobes", NL_NUMBER, 4),
	[NDTPA_PAD] = NL_ROW_DROP("pad"),
	[19] = NL_ROW_DROP("interval_probe_time_ms"), /* from Linux 6.0 */
};
static const struct nl_ruleset parms_set = NL_RULESET(parms_rules);

static const struct nl_rule neightbl_rules[] = {
	[NDTA_NAME] = NL_ROW_KEEP("name", NL_STRING),
	[NDTA_THRESH1] = NL_ROW_FIXED("thresh1", 4, 128),
	[NDTA_THRESH2] = NL_ROW_FIXED("thresh2", 4, 512),
	[NDTA_THRESH3] = NL_ROW_FIXED("thresh3", 4, 1024),
	/* struct ndt_config: sizes of the kernel's build, ages, and the seed of the hash table. */
	[NDTA_CONFIG] = NL_ROW_ZERO_SIZED("config", 32),
	[NDTA_PARMS] = NL_ROW_NESTED("parms", &parms_set),
	[NDTA_STATS] = NL_ROW_ZERO_SIZED("stats", 88),
	[NDTA_GC_INTERVAL] = NL_ROW_FIXED("gc_interval", 8, 30000),
	[NDTA_PAD] = NL_ROW_DROP("pad"),
};
static const struct nl_ruleset neightbl_set = NL_RULESET(neightbl_rules);

static const struct nl_field neightbl_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
};

static const struct nl_key_part neightbl_key[] = {
	{ .where = 0, .size = 1 },
	{ .is_attribute = true, .where = NDTA_NAME, .size = 16 },
	/* The table's own parameters name no link: they are first. */
	{ .is_attribute = true, .where = NDTA_PARMS, .inside = NDTPA_IFINDEX, .size = 4, .is_number = true },
};

static bool neightbl_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	return pass->family == AF_INET || pass->family == AF_INET6;
}

const struct nl_object nl_object_neightbl = {
	.name = "neightbl",
	.base_type = RTM_NEWNEIGHTBL,
	.header = sizeof(struct ndtmsg),
	.distinct = true,
	.by_bytes = true,
	.fields = neightbl_fields,
	.n_fields = ARRAY_SIZE(neightbl_fields),
	.attributes = &neightbl_set,
	.key = neightbl_key,
	.n_key = ARRAY_SIZE(neightbl_key),
	.wanted = neightbl_wanted,
};
