/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests in the kernel's numbers: see request.h. */
#include "netlink/request.h"

#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/objects.h"
#include "netlink/protocols.h"
#include "netlink/values.h"

static int translate_attributes(struct nl_pass *pass, enum nl_direction direction, uint8_t *bytes, size_t len,
				const struct nl_ruleset *set);

/* The next hops of a route: an index in each structure, attributes behind it. */
static int translate_nexthops(struct nl_pass *pass, enum nl_direction direction, uint8_t *bytes, size_t len,
			      const struct nl_ruleset *set)
{
	const size_t index_at = offsetof(struct rtnexthop, rtnh_ifindex);
	size_t at = 0;
	int r;

	while (len - at >= sizeof(struct rtnexthop)) {
		size_t hop_len = nl_load(bytes + at, 2);

		if (hop_len < sizeof(struct rtnexthop) || hop_len > len - at)
			return 0;
		r = nl_value_apply(pass, direction, NL_INDEX, 0, bytes + at + index_at, 4);
		if (r < 0)
			return r;
		r = translate_attributes(pass, direction, bytes + at + sizeof(struct rtnexthop),
					 hop_len - sizeof(struct rtnexthop), set);
		if (r < 0)
			return r;
		at += MNL_ALIGN(hop_len) < len - at ? MNL_ALIGN(hop_len) : len - at;
	}
	return 0;
}

/* Attributes behind a structure that a set describes. */
static int translate_nest(struct nl_pass *pass, enum nl_direction direction, uint8_t *bytes, size_t len,
			  const struct nl_ruleset *set)
{
	int r;

	if (len < set->header)
		return 0;
	if (set->index_at) {
		r = nl_value_apply(pass, direction, NL_INDEX, 0, bytes + set->index_at - 1, 4);
		if (r < 0)
			return r;
	}
	return translate_attributes(pass, direction, bytes + set->header, len - set->header, set);
}

static int translate_attribute(struct nl_pass *pass, enum nl_direction direction, uint8_t *payload, size_t len,
			       const struct nl_rule *rule, const struct nl_ruleset *nested)
{
	if (rule->action == NL_NEXTHOPS)
		return translate_nexthops(pass, direction, payload, len, nested);
	if (nested)
		return translate_nest(pass, direction, payload, len, nested);
	if (nl_action_translates(rule->action))
		return nl_value_apply(pass, direction, rule->action, rule->value, payload, len);
	return 0;
}

static int translate_attributes(struct nl_pass *pass, enum nl_direction direction, uint8_t *bytes, size_t len,
				const struct nl_ruleset *set)
{
	const struct nlattr *attr;
	size_t at = 0, start = 0;
	bool broken;
	int r = 0;

	if (pass->depth >= NL_MAX_DEPTH)
		return 0;
	pass->depth++;
	for (; r >= 0 && (attr = nl_attr_at(bytes, len, &at, &broken)); start = at) {
		const struct nl_rule *rule = nl_rule_find(set, mnl_attr_get_type(attr));

		if (!rule)
			continue;
		r = translate_attribute(pass, direction, bytes + start + MNL_ATTR_HDRLEN,
					mnl_attr_get_payload_len(attr), rule,
					rule->request ? rule->request(bytes, len) : rule->nested);
	}
	pass->depth--;
	return r;
}

/* The fields of the structure that are there: many requests send only its first byte. */
static int translate_structure(struct nl_pass *pass, enum nl_direction direction, uint8_t *structure, size_t len)
{
	const struct nl_object *object = pass->object;
	const struct nl_field *fields = object->request_fields ?: object->fields;
	size_t n = object->request_fields ? object->n_request_fields : object->n_fields;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (!nl_action_translates(fields[i].action) || (size_t)fields[i].offset + fields[i].size > len)
			continue;
		r = nl_value_apply(pass, direction, fields[i].action, fields[i].value, structure + fields[i].offset,
				   fields[i].size);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool names_task(const struct nl_object *object, const void *attributes, size_t len)
{
	if (object == &nl_object_link)
		return nl_attr_find(attributes, len, IFLA_NET_NS_PID) || nl_attr_find(attributes, len, IFLA_NET_NS_FD);
	if (object == &nl_object_nsid)
		return nl_attr_find(attributes, len, NETNSA_PID) || nl_attr_find(attributes, len, NETNSA_FD);
	return false;
}

/* Which link a request is about, as a real index: a MAC in it is looked up there first. */
static uint32_t request_hint(const struct nl_pass *pass, enum nl_direction direction, const uint8_t *structure,
			     size_t len)
{
	const struct nl_object *object = pass->object;

	for (size_t i = 0; i < object->n_fields; i++) {
		const struct nl_field *field = &object->fields[i];
		uint32_t index;

		if (object->request_fields || field->action != NL_INDEX || (size_t)field->offset + field->size > len)
			continue;
		index = (uint32_t)nl_load(structure + field->offset, field->size);
		return direction == NL_TO_VIRTUAL ? index : nl_map_index(pass->env->map, NL_TO_REAL, index, NULL);
	}
	return 0;
}

int nl_translate(struct nl_env *env, int protocol, enum nl_direction direction, void *message, size_t len,
		 struct nl_request_report *report)
{
	struct nl_pass pass = { .env = env, .protocol = protocol };
	struct nlmsghdr *nlh = message;
	uint8_t *structure = (uint8_t *)message + sizeof(*nlh);
	size_t attributes_at;
	int r;

	if (len < sizeof(*nlh))
		return 0;
	r = nl_value_apply(&pass, direction, NL_PORT, 0, (uint8_t *)&nlh->nlmsg_pid, sizeof(nlh->nlmsg_pid));
	len -= sizeof(*nlh);
	pass.type = nlh->nlmsg_type;
	pass.object = len ? nl_object_find(protocol, nlh->nlmsg_type, structure[0]) : NULL;
	if (r < 0 || !pass.object)
		return r;

	pass.family = structure[0];
	pass.hint_real = request_hint(&pass, direction, structure, len);
	r = translate_structure(&pass, direction, structure, len);
	attributes_at = MNL_ALIGN(pass.object->request_header ?: pass.object->header);
	if (r < 0 || len < attributes_at)
		return r;
	if (report && names_task(pass.object, structure + attributes_at, len - attributes_at))
		report->names_task = true;
	return translate_attributes(&pass, direction, structure + attributes_at, len - attributes_at,
				    pass.object->attributes);
}

/* The answer to a request that is not passed on. */
static int put_refusal(const struct nlmsghdr *nlh, int error, uint32_t port, bool cap_ack, struct nl_buf *answers)
{
	size_t echo_len = cap_ack ? sizeof(*nlh) : nlh->nlmsg_len;
	struct nlmsghdr header = {
		.nlmsg_len = (uint32_t)(sizeof(header) + sizeof(int32_t) + echo_len),
		.nlmsg_type = NLMSG_ERROR,
		.nlmsg_flags = cap_ack ? NLM_F_CAPPED : 0,
		.nlmsg_seq = nlh->nlmsg_seq,
		.nlmsg_pid = port,
	};
	int32_t status = -error;

	(void)nl_buf_put(answers, &header, sizeof(header));
	(void)nl_buf_put(answers, &status, sizeof(status));
	(void)nl_buf_put(answers, nlh, echo_len);
	return nl_buf_align(answers);
}

/* Such routes are in a table of their own unless the kernel has a single one; an attribute that names a table comes before the header's. */
static bool removes_local_route(const struct nlmsghdr *nlh)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	uint32_t table;

	if (nlh->nlmsg_type != RTM_DELROUTE || mnl_nlmsg_get_payload_len(nlh) < sizeof(*info))
		return false;
	table = info->rtm_table;
	mnl_attr_for_each(attr, nlh, sizeof(*info))
		if (mnl_attr_get_type(attr) == RTA_TABLE && mnl_attr_get_payload_len(attr) >= sizeof(table))
			table = mnl_attr_get_u32(attr);
	return info->rtm_type == RTN_LOCAL || table == RT_TABLE_LOCAL;
}

static void report_message(int protocol, const struct nlmsghdr *nlh, struct nl_request_report *report)
{
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE || !(nlh->nlmsg_flags & NLM_F_REQUEST))
		return;
	if (protocol == NETLINK_ROUTE && nl_route_verb(nlh->nlmsg_type) != NL_VERB_GET) {
		report->changes = true;
		report->unroutes = report->unroutes || removes_local_route(nlh);
	} else if ((nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP)
		report->dump = true;
}

/* One message of the datagram, `padded` bytes with what separates it from the next. */
static int prepare_message(struct nl_env *env, int protocol, uint32_t port, bool cap_ack, const struct nlmsghdr *nlh,
			   size_t padded, struct nl_buf *real, struct nl_buf *answers, struct nl_request_report *report)
{
	size_t start = real->len;
	uint8_t first_byte = nlh->nlmsg_len > sizeof(*nlh) ? *(const uint8_t *)mnl_nlmsg_get_payload(nlh) : 0;
	int refusal = 0;

	report->messages++;
	if (nlh->nlmsg_flags & NLM_F_REQUEST)
		refusal = nl_request_refusal(protocol, nlh->nlmsg_type, first_byte);
	if (refusal) {
		report->refused++;
		return put_refusal(nlh, refusal, port, cap_ack, answers);
	}
	report_message(protocol, nlh, report);
	if (nl_buf_put(real, nlh, padded) < 0)
		return real->status;
	return nl_translate(env, protocol, NL_TO_REAL, real->data + start, nlh->nlmsg_len, report);
}

int nl_request_prepare(struct nl_env *env, int protocol, uint32_t port, bool cap_ack, const void *datagram, size_t len,
		       struct nl_buf *real, struct nl_buf *answers, struct nl_request_report *ret_report)
{
	_cleanup_(nl_buf_deinit) struct nl_buf copy = { 0 };
	struct nl_request_report report = { 0 };
	const struct nlmsghdr *nlh;
	size_t at = 0;
	int r;

	/* The copy is aligned, whatever the guest's buffer was. */
	if (nl_buf_put(&copy, datagram, len) < 0)
		return copy.status;
	for (size_t start = 0; (nlh = nl_message_at(copy.data, len, &at)); start = at) {
		r = prepare_message(env, protocol, port, cap_ack, nlh, at - start, real, answers, &report);
		if (r < 0)
			return r;
	}
	/* The kernel passes over a tail that is no message; a datagram of nothing else is sent for its own error. */
	if (nl_buf_put(real, at < len ? copy.data + at : NULL, len - at) < 0)
		return real->status;
	*ret_report = report;
	return 0;
}
