/* SPDX-License-Identifier: BSD-3-Clause */
/* The rewriter: see walk.h. */
#include "netlink/walk.h"

#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/protocols.h"
#include "netlink/request.h"
#include "netlink/values.h"

typedef int (*emit_fn)(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out);

static const struct nl_rule unknown_rule = { .name = NULL, .action = NL_UNKNOWN };

const struct nl_rule *nl_rule_find(const struct nl_ruleset *set, uint16_t type)
{
	if (!set || type >= set->n_rules || set->rules[type].action == NL_UNKNOWN)
		return NULL;
	return &set->rules[type];
}

int nl_emit(const struct nlattr *attr, const void *payload, size_t len, struct nl_buf *out)
{
	struct nlattr header = { .nla_len = (uint16_t)(sizeof(header) + len), .nla_type = attr->nla_type };

	if (len > UINT16_MAX - sizeof(header))
		return 0;
	(void)nl_buf_put(out, &header, sizeof(header));
	(void)nl_buf_put(out, payload, len);
	return nl_buf_align(out);
}

/* Writes the length of an attribute that was begun at `start`; one that has grown too long is taken back. */
static int nest_end(struct nl_pass *pass, size_t start, struct nl_buf *out)
{
	size_t len = out->len - start;

	if (out->status < 0)
		return out->status;
	if (len > UINT16_MAX) {
		pass->env->counters->malformed++;
		nl_buf_truncate(out, start);
		return 0;
	}
	nl_store(out->data + start + offsetof(struct nlattr, nla_len), 2, len);
	return 0;
}

int nl_emit_nested(struct nl_pass *pass, const struct nlattr *attr, const struct nl_ruleset *set, struct nl_buf *out)
{
	struct nlattr header = { .nla_type = attr->nla_type };
	size_t start = out->len;
	int r;

	if (nl_buf_put(out, &header, sizeof(header)) < 0)
		return out->status;
	r = nl_walk(pass, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr), set, out);
	if (r < 0)
		return r;
	return nest_end(pass, start, out);
}

static int emit_unknown(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	pass->env->counters->unknown_attributes++;
	return 0;
}

static int emit_nothing(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	return 0;
}

/* Copies the attribute and lets the action work on the copy. */
static int emit_value(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	size_t len = mnl_attr_get_payload_len(attr), start = out->len;

	if (rule->size && len != rule->size) {
		pass->env->counters->malformed++;
		return 0;
	}
	if (nl_emit(attr, mnl_attr_get_payload(attr), len, out) < 0)
		return out->status;
	return nl_value_apply(pass, NL_TO_VIRTUAL, rule->action, rule->value, out->data + start + MNL_ATTR_HDRLEN, len);
}

static int emit_zero(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	return nl_emit(attr, NULL, rule->size ? rule->size : mnl_attr_get_payload_len(attr), out);
}

static int emit_fixed(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	uint8_t value[sizeof(rule->value)] = { 0 };

	nl_store(value, rule->size, rule->value);
	return nl_emit(attr, value, rule->size, out);
}

static int emit_bytes(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	return nl_emit(attr, rule->bytes, rule->size, out);
}

static int emit_counted(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	size_t start = out->len;

	if (nl_emit(attr, NULL, rule->value * sizeof(uint64_t), out) < 0)
		return out->status;
	nl_store(out->data + start + MNL_ATTR_HDRLEN, sizeof(uint64_t), rule->value);
	return 0;
}

static int emit_nested(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	return nl_emit_nested(pass, attr, rule->nested, out);
}

static int emit_list(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule, struct nl_buf *out)
{
	const void *elements = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr), at = 0, start = out->len;
	struct nlattr header = { .nla_type = attr->nla_type };
	const struct nlattr *element;
	bool broken;
	int r;

	if (nl_buf_put(out, &header, sizeof(header)) < 0)
		return out->status;
	while ((element = nl_attr_at(elements, len, &at, &broken))) {
		r = nl_emit_nested(pass, element, rule->nested, out);
		if (r < 0)
			return r;
	}
	pass->env->counters->malformed += broken;
	return nest_end(pass, start, out);
}

/* One next hop: what the carrier and the hardware do to its flags is left out. */
static int emit_nexthop(struct nl_pass *pass, const struct rtnexthop *hop, const struct nl_rule *rule,
			struct nl_buf *out)
{
	static const uint8_t volatile_flags = RTNH_F_DEAD | RTNH_F_OFFLOAD | RTNH_F_LINKDOWN | RTNH_F_TRAP;
	struct rtnexthop seen = *hop;
	size_t start = out->len;
	int r;

	seen.rtnh_flags &= (uint8_t)~volatile_flags;
	seen.rtnh_ifindex = (int)nl_map_index(pass->env->map, NL_TO_VIRTUAL, (uint32_t)hop->rtnh_ifindex, NULL);
	if (nl_buf_put(out, &seen, sizeof(seen)) < 0)
		return out->status;
	r = nl_walk(pass, hop + 1, hop->rtnh_len - sizeof(*hop), rule->nested, out);
	if (r < 0)
		return r;
	return nest_end(pass, start, out);
}

static int emit_nexthops(struct nl_pass *pass, const struct nlattr *attr, const struct nl_rule *rule,
			 struct nl_buf *out)
{
	const uint8_t *hops = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr), at = 0, start = out->len;
	struct nlattr header = { .nla_type = attr->nla_type };
	int r;

	if (nl_buf_put(out, &header, sizeof(header)) < 0)
		return out->status;
	while (len - at >= sizeof(struct rtnexthop)) {
		const struct rtnexthop *hop = (const struct rtnexthop *)(hops + at);

		if (hop->rtnh_len < sizeof(*hop) || hop->rtnh_len > len - at)
			break;
		r = emit_nexthop(pass, hop, rule, out);
		if (r < 0)
			return r;
		at += MNL_ALIGN((size_t)hop->rtnh_len) < len - at ? MNL_ALIGN((size_t)hop->rtnh_len) : len - at;
	}
	pass->env->counters->malformed += at < len;
	return nest_end(pass, start, out);
}

static const emit_fn emitters[NL_ACTION_COUNT] = {
	[NL_UNKNOWN] = emit_unknown,
	[NL_KEEP] = emit_value,
	[NL_DROP] = emit_nothing,
	[NL_ZERO] = emit_zero,
	[NL_FIXED] = emit_fixed,
	[NL_BYTES] = emit_bytes,
	[NL_COUNTED] = emit_counted,
	[NL_CLEAR] = emit_value,
	[NL_INDEX] = emit_value,
	[NL_MAC] = emit_value,
	[NL_ADDRESS] = emit_value,
	[NL_GATEWAY] = emit_value,
	[NL_HANDLE] = emit_value,
	[NL_INODE] = emit_value,
	[NL_COOKIE] = emit_value,
	[NL_PORT] = emit_value,
	[NL_NESTED] = emit_nested,
	[NL_LIST] = emit_list,
	[NL_NEXTHOPS] = emit_nexthops,
	[NL_CUSTOM] = emit_nothing, /* has its own function */
};

int nl_walk(struct nl_pass *pass, const void *attributes, size_t len, const struct nl_ruleset *set, struct nl_buf *out)
{
	struct nl_counters *counters = pass->env->counters;
	const struct nlattr *attr;
	size_t at = 0;
	bool broken = false;
	int r = 0;

	if (pass->depth >= NL_MAX_DEPTH) {
		counters->malformed++;
		return 0;
	}
	pass->depth++;
	while (r >= 0 && (attr = nl_attr_at(attributes, len, &at, &broken))) {
		const struct nl_rule *rule = nl_rule_find(set, mnl_attr_get_type(attr)) ?: &unknown_rule;

		counters->attributes++;
		r = rule->emit ? rule->emit(pass, attr, out) : emitters[rule->action](pass, attr, rule, out);
	}
	counters->malformed += broken;
	pass->depth--;
	return r < 0 ? r : out->status;
}

static uint32_t port_to_virtual(const struct nl_pass *pass, uint32_t port)
{
	return nl_ports_to_virtual(pass->env->ports, pass->protocol, port);
}

/* The header as the guest may see it; the length is written when the message is complete. */
static struct nlmsghdr frame(const struct nl_pass *pass, const struct nlmsghdr *nlh)
{
	struct nlmsghdr seen = *nlh;

	seen.nlmsg_pid = port_to_virtual(pass, nlh->nlmsg_pid);
	/* NLM_F_ACK_TLVS has the value of another flag in requests and notifications. */
	if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE)
		seen.nlmsg_flags &= (uint16_t)~NLM_F_ACK_TLVS;
	if (nlh->nlmsg_flags & NLM_F_MULTI)
		seen.nlmsg_flags &= (uint16_t)~NLM_F_DUMP_INTR;
	return seen;
}

static int message_end(size_t start, struct nl_buf *out)
{
	if (out->status < 0)
		return out->status;
	nl_store(out->data + start + offsetof(struct nlmsghdr, nlmsg_len), 4, out->len - start);
	return nl_buf_align(out);
}

static int message_done(struct nl_pass *pass, const struct nlmsghdr *nlh, struct nl_buf *out)
{
	struct nlmsghdr seen = frame(pass, nlh);
	size_t start = out->len;
	int32_t status = 0;

	if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(status))
		memcpy(&status, mnl_nlmsg_get_payload(nlh), sizeof(status));
	(void)nl_buf_put(out, &seen, sizeof(seen));
	(void)nl_buf_put(out, &status, sizeof(status));
	return message_end(start, out);
}

/* An acknowledgement or an error: the repeated request is told in the guest's numbers again. */
static int message_error(struct nl_pass *pass, const struct nlmsghdr *nlh, struct nl_buf *out)
{
	struct nlmsghdr seen = frame(pass, nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh), start = out->len, echo_len = sizeof(struct nlmsghdr);
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(nlh);
	int r;

	if (len < sizeof(*error)) {
		pass->env->counters->malformed++;
		return 0;
	}
	/* A capped one, and every plain acknowledgement, repeats the header only. */
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && error->error && error->msg.nlmsg_len > echo_len)
		echo_len = error->msg.nlmsg_len;
	if (echo_len > len - offsetof(struct nlmsgerr, msg))
		echo_len = len - offsetof(struct nlmsgerr, msg);

	(void)nl_buf_put(out, &seen, sizeof(seen));
	(void)nl_buf_put(out, &error->error, sizeof(error->error));
	if (nl_buf_put(out, &error->msg, echo_len) < 0)
		return out->status;
	r = nl_translate(pass->env, pass->protocol, NL_TO_VIRTUAL, out->data + out->len - echo_len, echo_len, NULL);
	if (r < 0)
		return r;
	return message_end(start, out);
}

/* Copies the listed fields of the structure into zeroes. */
static int put_structure(struct nl_pass *pass, const uint8_t *structure, struct nl_buf *out)
{
	const struct nl_object *object = pass->object;
	size_t start = out->len;
	int r;

	if (nl_buf_put(out, NULL, MNL_ALIGN(object->header)) < 0)
		return out->status;
	for (size_t i = 0; i < object->n_fields; i++) {
		const struct nl_field *field = &object->fields[i];
		uint8_t *value = out->data + start + field->offset;

		memcpy(value, structure + field->offset, field->size);
		r = nl_value_apply(pass, NL_TO_VIRTUAL, field->action, field->value, value, field->size);
		if (r < 0)
			return r;
	}
	if (object->finish)
		object->finish(pass, out->data + start);
	return 0;
}

/* Which link the message is about: MACs and interface identifiers are looked up there first. */
static uint32_t message_hint(const struct nl_object *object, const uint8_t *structure)
{
	for (size_t i = 0; i < object->n_fields; i++)
		if (object->fields[i].action == NL_INDEX)
			return (uint32_t)nl_load(structure + object->fields[i].offset, object->fields[i].size);
	return 0;
}

static int message_object(struct nl_pass *pass, const struct nlmsghdr *nlh, struct nl_buf *out)
{
	const struct nl_object *object = pass->object;
	const uint8_t *structure = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh), attributes_at = MNL_ALIGN(object->header), start = out->len;
	struct nlmsghdr seen = frame(pass, nlh);
	const void *attributes = structure + attributes_at;
	size_t attributes_len = len > attributes_at ? len - attributes_at : 0;
	int r;

	if (len < object->header) {
		pass->env->counters->malformed++;
		return 0;
	}
	pass->family = structure[0];
	pass->in_dump = nlh->nlmsg_flags & NLM_F_MULTI;
	pass->hint_real = message_hint(object, structure);
	if (object->wanted && !object->wanted(pass, structure, attributes, attributes_len)) {
		pass->env->counters->hidden_messages++;
		return 0;
	}
	if (nl_buf_put(out, &seen, sizeof(seen)) < 0)
		return out->status;
	r = put_structure(pass, structure, out);
	if (r < 0)
		return r;
	r = nl_walk(pass, attributes, attributes_len, object->attributes, out);
	if (r < 0)
		return r;
	return message_end(start, out);
}

int nl_canonicalise_message(struct nl_env *env, int protocol, const struct nlmsghdr *nlh, struct nl_buf *out)
{
	struct nl_pass pass = { .env = env, .protocol = protocol, .type = nlh->nlmsg_type };
	uint8_t first_byte = mnl_nlmsg_get_payload_len(nlh) ? *(const uint8_t *)mnl_nlmsg_get_payload(nlh) : 0;

	env->counters->messages++;
	if ((nlh->nlmsg_flags & NLM_F_MULTI) && (nlh->nlmsg_flags & NLM_F_DUMP_INTR))
		env->counters->interrupted++;

	if (nlh->nlmsg_type == NLMSG_DONE)
		return message_done(&pass, nlh, out);
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return message_error(&pass, nlh, out);
	pass.object = nl_object_find(protocol, nlh->nlmsg_type, first_byte);
	if (!pass.object) {
		env->counters->unknown_messages++;
		return 0;
	}
	return message_object(&pass, nlh, out);
}

/* Lets the objects of a datagram take their numbers. A datagram holds messages about one object. */
static int prepare(struct nl_env *env, int protocol, const void *messages, size_t len)
{
	const struct nlmsghdr *nlh = messages;
	const struct nl_object *object;

	if (len < sizeof(*nlh) || nlh->nlmsg_len <= sizeof(*nlh) || nlh->nlmsg_len > len)
		return 0;
	object = nl_object_find(protocol, nlh->nlmsg_type, *(const uint8_t *)mnl_nlmsg_get_payload(nlh));
	return object && object->prepare ? object->prepare(env, messages, len) : 0;
}

int nl_canonicalise(struct nl_env *env, int protocol, const void *messages, size_t len, struct nl_buf *out)
{
	const struct nlmsghdr *nlh;
	size_t at = 0;
	int r;

	r = prepare(env, protocol, messages, len);
	if (r < 0)
		return r;
	while ((nlh = nl_message_at(messages, len, &at))) {
		r = nl_canonicalise_message(env, protocol, nlh, out);
		if (r < 0)
			return r;
	}
	env->counters->malformed += len - at >= sizeof(*nlh);
	return out->status;
}
