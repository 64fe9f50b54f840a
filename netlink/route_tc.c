/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic control (struct tcmsg): queueing disciplines, classes and filters.
 *
 * What was configured is shown, what has passed through is not. Major numbers that the kernel chose come from a counter
 * of the whole host and are translated by the map. The discipline that a link has when nobody configured one is the
 * host's default and is always shown as "noqueue"; one for each hardware queue below it is not shown.
 */
#include "netlink/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/values.h"
#include "netlink/walk.h"

static const struct nl_rule stats2_rules[] = {
	[TCA_STATS_BASIC] = NL_ROW_ZERO_SIZED("basic", 16),
	[TCA_STATS_RATE_EST] = NL_ROW_DROP("rate_est"),
	[TCA_STATS_QUEUE] = NL_ROW_ZERO_SIZED("queue", 20),
	[TCA_STATS_APP] = NL_ROW_DROP("app"),
	[TCA_STATS_RATE_EST64] = NL_ROW_DROP("rate_est64"),
	[TCA_STATS_PAD] = NL_ROW_DROP("pad"),
	[TCA_STATS_BASIC_HW] = NL_ROW_DROP("basic_hw"),
	[TCA_STATS_PKT64] = NL_ROW_DROP("pkt64"),
};
static const struct nl_ruleset stats2_set = NL_RULESET(stats2_rules);

static int emit_kind(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	if (pass->default_qdisc)
		return nl_emit(attr, "noqueue", sizeof("noqueue"), out);
	return nl_emit(attr, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr), out);
}

static int emit_options(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	if (pass->default_qdisc)
		return 0;
	return nl_emit(attr, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr), out);
}

#define TC_COMMON_ROWS                                                               \
	[TCA_STATS] = NL_ROW_ZERO_SIZED("stats", 36),                                \
	[TCA_XSTATS] = NL_ROW_DROP("xstats"),                                        \
	[TCA_RATE] = NL_ROW_DROP("rate"),                                            \
	[TCA_FCNT] = NL_ROW_DROP("fcnt"),                                            \
	[TCA_STATS2] = NL_ROW_NESTED("stats2", &stats2_set),                         \
	[TCA_STAB] = NL_ROW_KEEP("stab", NL_HEX),                                    \
	[TCA_PAD] = NL_ROW_DROP("pad"),                                              \
	[TCA_DUMP_INVISIBLE] = NL_ROW_DROP("dump_invisible"),                        \
	[TCA_CHAIN] = NL_ROW_KEEP_SIZED("chain", NL_NUMBER, 4),                      \
	[TCA_HW_OFFLOAD] = NL_ROW_FIXED("hw_offload", 1, 0),                         \
	[TCA_INGRESS_BLOCK] = NL_ROW_KEEP_SIZED("ingress_block", NL_NUMBER, 4),      \
	[TCA_EGRESS_BLOCK] = NL_ROW_KEEP_SIZED("egress_block", NL_NUMBER, 4),        \
	[15] = NL_ROW_DROP("dump_flags"),                                            \
	[16] = NL_ROW_DROP("ext_warn_msg")

static const struct nl_rule tc_rules[] = {
	[TCA_KIND] = NL_ROW_CUSTOM("kind", NL_STRING, emit_kind),
	[TCA_OPTIONS] = NL_ROW_CUSTOM("options", NL_HEX, emit_options),
	TC_COMMON_ROWS,
};
static const struct nl_ruleset tc_set = NL_RULESET(tc_rules);

/* Actions of filters, by their order: which there are, not what they have counted and since when. */
static const struct nl_rule action_rules[] = {
	[TCA_ACT_KIND] = NL_ROW_KEEP("kind", NL_STRING),
	[TCA_ACT_OPTIONS] = NL_ROW_DROP("options"),
	[TCA_ACT_INDEX] = NL_ROW_DROP("index"),
	[TCA_ACT_STATS] = NL_ROW_DROP("stats"),
	[TCA_ACT_PAD] = NL_ROW_DROP("pad"),
	[TCA_ACT_COOKIE] = NL_ROW_KEEP("cookie", NL_HEX),
	[TCA_ACT_FLAGS] = NL_ROW_DROP("flags"),
	[TCA_ACT_HW_STATS] = NL_ROW_DROP("hw_stats"),
	[TCA_ACT_USED_HW_STATS] = NL_ROW_DROP("used_hw_stats"),
	[10] = NL_ROW_DROP("in_hw_count"),
};
static const struct nl_ruleset action_set = NL_RULESET(action_rules);

#define NL_ROW_CLASSID(n) { .name = (n), .action = NL_HANDLE, .format = NL_BITS, .size = 4 }

static const struct nl_rule u32_rules[] = {
	[TCA_U32_CLASSID] = NL_ROW_CLASSID("classid"),
	[TCA_U32_HASH] = NL_ROW_KEEP_SIZED("hash", NL_BITS, 4),
	[TCA_U32_LINK] = NL_ROW_KEEP_SIZED("link", NL_BITS, 4),
	[TCA_U32_DIVISOR] = NL_ROW_KEEP_SIZED("divisor", NL_NUMBER, 4),
	[TCA_U32_SEL] = NL_ROW_KEEP("sel", NL_HEX),
	[TCA_U32_POLICE] = NL_ROW_DROP("police"),
	[TCA_U32_ACT] = NL_ROW_LIST("act", &action_set),
	[TCA_U32_INDEV] = NL_ROW_KEEP("indev", NL_STRING),
	[TCA_U32_PCNT] = NL_ROW_DROP("pcnt"),
	[TCA_U32_MARK] = NL_ROW_DROP("mark"), /* counts its hits */
	[TCA_U32_FLAGS] = NL_ROW_DROP("flags"),
	[TCA_U32_PAD] = NL_ROW_DROP("pad"),
};
static const struct nl_rule fw_rules[] = {
	[TCA_FW_CLASSID] = NL_ROW_CLASSID("classid"),
	[TCA_FW_POLICE] = NL_ROW_DROP("police"),
	[TCA_FW_INDEV] = NL_ROW_KEEP("indev", NL_STRING),
	[TCA_FW_ACT] = NL_ROW_LIST("act", &action_set),
	[TCA_FW_MASK] = NL_ROW_KEEP_SIZED("mask", NL_BITS, 4),
};
static const struct nl_rule basic_rules[] = {
	[TCA_BASIC_CLASSID] = NL_ROW_CLASSID("classid"),
	[TCA_BASIC_EMATCHES] = NL_ROW_KEEP("ematches", NL_HEX),
	[TCA_BASIC_ACT] = NL_ROW_LIST("act", &action_set),
	[TCA_BASIC_POLICE] = NL_ROW_DROP("police"),
	[TCA_BASIC_PCNT] = NL_ROW_DROP("pcnt"),
	[TCA_BASIC_PAD] = NL_ROW_DROP("pad"),
};
static const struct nl_rule matchall_rules[] = {
	[TCA_MATCHALL_CLASSID] = NL_ROW_CLASSID("classid"),
	[TCA_MATCHALL_ACT] = NL_ROW_LIST("act", &action_set),
	[TCA_MATCHALL_FLAGS] = NL_ROW_DROP("flags"),
	[TCA_MATCHALL_PCNT] = NL_ROW_DROP("pcnt"),
	[TCA_MATCHALL_PAD] = NL_ROW_DROP("pad"),
};
static const struct nl_ruleset u32_set = NL_RULESET(u32_rules);
static const struct nl_ruleset fw_set = NL_RULESET(fw_rules);
static const struct nl_ruleset basic_set = NL_RULESET(basic_rules);
static const struct nl_ruleset matchall_set = NL_RULESET(matchall_rules);

/* The options of kinds that are not here are not shown. */
static const struct {
	const char *kind;
	const struct nl_ruleset *set;
} filters[] = {
	{ "u32", &u32_set },
	{ "fw", &fw_set },
	{ "basic", &basic_set },
	{ "matchall", &matchall_set },
};

static const struct nl_ruleset *filter_options(const void *siblings, size_t len)
{
	const struct nlattr *kind = nl_attr_find(siblings, len, TCA_KIND);

	for (size_t i = 0; kind && i < ARRAY_SIZE(filters); i++) {
		size_t size = strlen(filters[i].kind) + 1;

		if (mnl_attr_get_payload_len(kind) == size &&
		    memcmp(mnl_attr_get_payload(kind), filters[i].kind, size) == 0)
			return filters[i].set;
	}
	return NULL;
}

static int emit_filter_options(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	if (!pass->options) {
		pass->env->counters->unknown_attributes++;
		return 0;
	}
	return nl_emit_nested(pass, attr, pass->options, out);
}

static const struct nl_rule tfilter_rules[] = {
	[TCA_KIND] = NL_ROW_KEEP("kind", NL_STRING),
	[TCA_OPTIONS] = { .name = "options", .action = NL_CUSTOM, .request = filter_options,
			  .emit = emit_filter_options },
	TC_COMMON_ROWS,
};
static const struct nl_ruleset tfilter_set = NL_RULESET(tfilter_rules);

/* tcm_info is a reference count here, that follows the number of hardware queues. */
static const struct nl_field qdisc_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "ifindex", 4, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "handle", 8, 4, NL_HANDLE, NL_BITS, 0 }, { "parent", 12, 4, NL_HANDLE, NL_BITS, 0 },
	{ "info", 16, 4, NL_FIXED, NL_BITS, 2 },
};

/* ... the handle of the discipline below here, */
static const struct nl_field tclass_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "ifindex", 4, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "handle", 8, 4, NL_HANDLE, NL_BITS, 0 }, { "parent", 12, 4, NL_HANDLE, NL_BITS, 0 },
	{ "info", 16, 4, NL_HANDLE, NL_BITS, 0 },
};

/* ... and priority and protocol here, where the handle is the filter's own. */
static const struct nl_field tfilter_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "ifindex", 4, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "handle", 8, 4, NL_KEEP, NL_BITS, 0 },   { "parent", 12, 4, NL_HANDLE, NL_BITS, 0 },
	{ "info", 16, 4, NL_KEEP, NL_BITS, 0 },
};

/* Within a link the kernel's order is that of the configuration, except for classes, which are in a hash table. */
static const struct nl_key_part link_key[] = {
	{ .where = 4, .size = 4, .is_number = true },
};
static const struct nl_key_part tclass_key[] = {
	{ .where = 4, .size = 4, .is_number = true },
	{ .where = 8, .size = 4, .is_number = true },
};

static bool qdisc_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	struct tcmsg tcm;

	memcpy(&tcm, structure, sizeof(tcm));
	pass->default_qdisc = tcm.tcm_handle == 0;
	return !pass->default_qdisc || tcm.tcm_parent == TC_H_ROOT;
}

static bool tfilter_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	pass->options = filter_options(attributes, len);
	return true;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * The host's counter gives automatic handles in the order of their making, whatever their order in the dump: that is
 * the order in which they get their virtual numbers.
 */
static int qdisc_prepare(struct nl_env *env, const void *messages, size_t len)
{
	_cleanup_free_ uint32_t *handles = NULL;
	const struct nlmsghdr *nlh;
	size_t n = 0, at = 0;
	int r = 0;

	handles = calloc(len / sizeof(*nlh) + 1, sizeof(*handles));
	if (!handles)
		return -ENOMEM;
	while ((nlh = nl_message_at(messages, len, &at))) {
		const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

		if (nlh->nlmsg_type == RTM_NEWQDISC && mnl_nlmsg_get_payload_len(nlh) >= sizeof(*tcm))
			handles[n++] = tcm->tcm_handle;
	}
	qsort(handles, n, sizeof(*handles), compare_u32);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = nl_map_handle(env->map, NL_TO_VIRTUAL, &handles[i]);
	return r;
}

const struct nl_object nl_object_qdisc = {
	.name = "qdisc",
	.base_type = RTM_NEWQDISC,
	.header = sizeof(struct tcmsg),
	.fields = qdisc_fields,
	.n_fields = ARRAY_SIZE(qdisc_fields),
	.attributes = &tc_set,
	.key = link_key,
	.n_key = ARRAY_SIZE(link_key),
	.prepare = qdisc_prepare,
	.wanted = qdisc_wanted,
};

const struct nl_object nl_object_tclass = {
	.name = "tclass",
	.base_type = RTM_NEWTCLASS,
	.header = sizeof(struct tcmsg),
	.fields = tclass_fields,
	.n_fields = ARRAY_SIZE(tclass_fields),
	.attributes = &tc_set,
	.key = tclass_key,
	.n_key = ARRAY_SIZE(tclass_key),
};

const struct nl_object nl_object_tfilter = {
	.name = "tfilter",
	.base_type = RTM_NEWTFILTER,
	.header = sizeof(struct tcmsg),
	.fields = tfilter_fields,
	.n_fields = ARRAY_SIZE(tfilter_fields),
	.attributes = &tfilter_set,
	.key = link_key,
	.n_key = ARRAY_SIZE(link_key),
	.wanted = tfilter_wanted,
};
