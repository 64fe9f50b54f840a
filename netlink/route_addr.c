/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses (struct ifaddrmsg), the multicast and anycast addresses of links, and address labels.
 *
 * Lifetimes are for ever and time stamps zero: both run with the host's clock. Duplicate address detection, which waits
 * a random time, is over.
 */
#include "netlink/objects.h"

#include <linux/if_addr.h>
#include <linux/if_addrlabel.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/walk.h"

#define DAD_FLAGS (IFA_F_TENTATIVE | IFA_F_OPTIMISTIC | IFA_F_DADFAILED)

/* struct ifa_cacheinfo: preferred and valid for ever; created and updated at 0. */
static const uint32_t addr_cacheinfo[4] = { UINT32_MAX, UINT32_MAX, 0, 0 };

static const struct nl_rule addr_rules[] = {
	[IFA_ADDRESS] = NL_ROW_ADDRESS("address"),
	[IFA_LOCAL] = NL_ROW_ADDRESS("local"),
	[IFA_LABEL] = NL_ROW_KEEP("label", NL_STRING),
	[IFA_BROADCAST] = NL_ROW_KEEP("broadcast", NL_IP),
	[IFA_ANYCAST] = NL_ROW_ADDRESS("anycast"),
	[IFA_CACHEINFO] = NL_ROW_BYTES("cacheinfo", addr_cacheinfo),
	[IFA_MULTICAST] = NL_ROW_ADDRESS("multicast"),
	[IFA_FLAGS] = NL_ROW_CLEAR("flags", 4, DAD_FLAGS),
	[IFA_RT_PRIORITY] = NL_ROW_KEEP_SIZED("rt_priority", NL_NUMBER, 4),
	[IFA_TARGET_NETNSID] = NL_ROW_FIXED("target_netnsid", 4, 0),
	[11] = NL_ROW_DROP("proto"), /* from Linux 5.18 */
};
static const struct nl_ruleset addr_set = NL_RULESET(addr_rules);

static const struct nl_field addr_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "prefixlen", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "ifa_flags", 2, 1, NL_CLEAR, NL_BITS, DAD_FLAGS }, { "scope", 3, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "index", 4, 4, NL_INDEX, NL_NUMBER, 0 },
};

/* A primary address goes before the secondary ones of its link. */
static const struct nl_key_part addr_key[] = {
	{ .where = 0, .size = 1 },
	{ .where = 4, .size = 4, .is_number = true },
	{ .where = 2, .size = 1, .is_number = true, .mask = IFA_F_SECONDARY },
	{ .is_attribute = true, .where = IFA_ADDRESS, .size = 16 },
	{ .where = 1, .size = 1 },
};

static const struct nl_key_part multicast_key[] = {
	{ .where = 0, .size = 1 },
	{ .where = 4, .size = 4, .is_number = true },
	{ .is_attribute = true, .where = IFA_MULTICAST, .size = 16 },
	{ .is_attribute = true, .where = IFA_ANYCAST, .size = 16 },
};

#define ADDR_OBJECT(text, type, the_key)                                                                      \
	{                                                                                                     \
		.name = (text), .base_type = (type), .header = sizeof(struct ifaddrmsg), .by_bytes = true,    \
		.fields = addr_fields, .n_fields = ARRAY_SIZE(addr_fields), .attributes = &addr_set,          \
		.key = (the_key), .n_key = ARRAY_SIZE(the_key),                                               \
	}

const struct nl_object nl_object_addr = ADDR_OBJECT("addr", RTM_NEWADDR, addr_key);
const struct nl_object nl_object_multicast = ADDR_OBJECT("multicast", 56, multicast_key);
const struct nl_object nl_object_anycast = ADDR_OBJECT("anycast", 60, multicast_key);

static const struct nl_rule addrlabel_rules[] = {
	[IFAL_ADDRESS] = NL_ROW_KEEP("address", NL_IP),
	[IFAL_LABEL] = NL_ROW_KEEP_SIZED("label", NL_NUMBER, 4),
};
static const struct nl_ruleset addrlabel_set = NL_RULESET(addrlabel_rules);

static const struct nl_field addrlabel_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "prefixlen", 2, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "flags", 3, 1, NL_KEEP, NL_BITS, 0 },
	{ "index", 4, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "seq", 8, 4, NL_ZERO, NL_NUMBER, 0 },
};

/* The order is the order of matching: it stays. */
const struct nl_object nl_object_addrlabel = {
	.name = "addrlabel",
	.base_type = RTM_NEWADDRLABEL,
	.header = sizeof(struct ifaddrlblmsg),
	.fields = addrlabel_fields,
	.n_fields = ARRAY_SIZE(addrlabel_fields),
	.attributes = &addrlabel_set,
};
