/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoder: see print.h. */
#include "netlink/print.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/protocols.h"
#include "netlink/values.h"
#include "netlink/walk.h"

static const char *const verbs[] = {
	[NL_VERB_NEW] = "new",
	[NL_VERB_DEL] = "del",
	[NL_VERB_GET] = "get",
	[NL_VERB_SET] = "set",
};

static const char *const control[] = {
	[NLMSG_NOOP] = "noop",
	[NLMSG_ERROR] = "error",
	[NLMSG_DONE] = "done",
	[NLMSG_OVERRUN] = "overrun",
};

void nl_printer_init(struct nl_printer *printer, FILE *out, int protocol)
{
	*printer = (struct nl_printer){ .out = out, .protocol = protocol };
}

/* Appends to the path; returns its former length, for path_cut(). A path that would be too long is cut. */
__attribute__((format(printf, 2, 3))) static size_t path_add(struct nl_printer *printer, const char *format, ...)
{
	size_t before = printer->path_len, left = sizeof(printer->path) - before;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(printer->path + before, left, format, ap);
	va_end(ap);
	if (n > 0)
		printer->path_len += (size_t)n < left ? (size_t)n : left - 1;
	return before;
}

static void path_cut(struct nl_printer *printer, size_t len)
{
	printer->path[len] = '\0';
	printer->path_len = len;
}

static void print_hex(FILE *out, const uint8_t *value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(out, "%02x", value[i]);
}

/* Text in quotes, what is not printable as \xNN; one NUL at the end is not shown. */
static void print_string(FILE *out, const uint8_t *value, size_t len)
{
	if (len && value[len - 1] == '\0')
		len--;
	fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (value[i] >= ' ' && value[i] <= '~' && value[i] != '"' && value[i] != '\\')
			fputc(value[i], out);
		else
			fprintf(out, "\\x%02x", value[i]);
	}
	fputc('"', out);
}

static void print_ip(FILE *out, const uint8_t *value, size_t len)
{
	char text[INET6_ADDRSTRLEN];

	if ((len == 4 && inet_ntop(AF_INET, value, text, sizeof(text))) ||
	    (len == 16 && inet_ntop(AF_INET6, value, text, sizeof(text))))
		fputs(text, out);
	else
		print_hex(out, value, len);
}

static int64_t sign_extend(uint64_t number, size_t len)
{
	unsigned shift = (unsigned)(64 - 8 * len);

	return (int64_t)(number << shift) >> shift;
}

static void print_value(FILE *out, enum nl_format format, const uint8_t *value, size_t len)
{
	bool integer = len == 1 || len == 2 || len == 4 || len == 8;

	if (!integer && (format == NL_NUMBER || format == NL_SIGNED || format == NL_BITS))
		format = NL_HEX;
	switch (format) {
	case NL_HEX:
		print_hex(out, value, len);
		break;
	case NL_NUMBER:
		fprintf(out, "%" PRIu64, nl_load(value, len));
		break;
	case NL_SIGNED:
		fprintf(out, "%" PRId64, sign_extend(nl_load(value, len), len));
		break;
	case NL_BITS:
		fprintf(out, "0x%" PRIx64, nl_load(value, len));
		break;
	case NL_STRING:
		print_string(out, value, len);
		break;
	case NL_IP:
		print_ip(out, value, len);
		break;
	}
}

static void print_line(struct nl_printer *printer, enum nl_format format, const void *value, size_t len)
{
	fprintf(printer->out, "%s: ", printer->path);
	print_value(printer->out, format, value, len);
	fputc('\n', printer->out);
}

static void print_broken(struct nl_printer *printer, const char *what, size_t len)
{
	fprintf(printer->out, "%s: broken off: %zu bytes are no %s\n", printer->path, len, what);
}

static void print_attributes(struct nl_printer *printer, const void *attributes, size_t len,
			     const struct nl_ruleset *set);

static void print_nexthops(struct nl_printer *printer, const uint8_t *hops, size_t len, const struct nl_ruleset *set)
{
	size_t at = 0;

	for (unsigned i = 0; len - at >= sizeof(struct rtnexthop); i++) {
		const struct rtnexthop *hop = (const struct rtnexthop *)(hops + at);
		size_t before = path_add(printer, "[%u]", i);

		if (hop->rtnh_len < sizeof(*hop) || hop->rtnh_len > len - at) {
			print_broken(printer, "next hop", len - at);
			path_cut(printer, before);
			return;
		}
		fprintf(printer->out, "%s.flags: 0x%x\n", printer->path, hop->rtnh_flags);
		fprintf(printer->out, "%s.hops: %u\n", printer->path, hop->rtnh_hops);
		fprintf(printer->out, "%s.ifindex: %d\n", printer->path, hop->rtnh_ifindex);
		print_attributes(printer, hop + 1, hop->rtnh_len - sizeof(*hop), set);
		path_cut(printer, before);
		at += MNL_ALIGN((size_t)hop->rtnh_len) < len - at ? MNL_ALIGN((size_t)hop->rtnh_len) : len - at;
	}
}

/* Numbered elements that each have the same table. */
static void print_list(struct nl_printer *printer, const void *elements, size_t len, const struct nl_ruleset *set)
{
	const struct nlattr *element;
	size_t at = 0;
	bool broken;

	while ((element = nl_attr_at(elements, len, &at, &broken))) {
		size_t before = path_add(printer, "[%u]", mnl_attr_get_type(element));

		print_attributes(printer, mnl_attr_get_payload(element), mnl_attr_get_payload_len(element), set);
		path_cut(printer, before);
	}
}

static void print_attribute(struct nl_printer *printer, const struct nlattr *attr, const struct nl_rule *rule,
			    const struct nl_ruleset *nested)
{
	const void *payload = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);

	if (rule && rule->action == NL_NEXTHOPS)
		print_nexthops(printer, payload, len, nested);
	else if (rule && rule->action == NL_LIST)
		print_list(printer, payload, len, nested);
	else if (nested && len >= nested->header)
		print_attributes(printer, (const uint8_t *)payload + nested->header, len - nested->header, nested);
	else
		print_line(printer, rule ? rule->format : NL_HEX, payload, len);
}

static const struct nl_ruleset *nested_set(const struct nl_printer *printer, const struct nl_rule *rule,
					   const void *siblings, size_t len)
{
	if (rule->request)
		return rule->request(siblings, len);
	return rule->bridge && printer->family == AF_BRIDGE ? rule->bridge : rule->nested;
}

static void print_attributes(struct nl_printer *printer, const void *attributes, size_t len,
			     const struct nl_ruleset *set)
{
	const struct nlattr *attr;
	size_t at = 0;
	bool broken = false;

	if (printer->depth >= NL_MAX_DEPTH) {
		print_broken(printer, "attribute that deep", len);
		return;
	}
	printer->depth++;
	while ((attr = nl_attr_at(attributes, len, &at, &broken))) {
		const struct nl_rule *rule = nl_rule_find(set, mnl_attr_get_type(attr));
		const struct nl_ruleset *nested = rule ? nested_set(printer, rule, attributes, len) : NULL;
		size_t before = rule && rule->name ? path_add(printer, ".%s", rule->name) :
						     path_add(printer, ".%u", mnl_attr_get_type(attr));

		print_attribute(printer, attr, rule, nested);
		path_cut(printer, before);
	}
	if (broken)
		print_broken(printer, "attribute", len - at);
	printer->depth--;
}

static void print_fields(struct nl_printer *printer, const struct nl_field *fields, size_t n, const uint8_t *structure,
			 size_t len)
{
	for (size_t i = 0; i < n; i++) {
		size_t before = path_add(printer, ".%s", fields[i].name), size = fields[i].size;

		/* An IPv4 address in a field for either family. */
		if (fields[i].format == NL_IP && size == 16 && structure[0] == AF_INET)
			size = 4;
		if ((size_t)fields[i].offset + size <= len)
			print_line(printer, fields[i].format, structure + fields[i].offset, size);
		path_cut(printer, before);
	}
}

/*
 * A request has its own structure where the object says so; answers of SOCK_DIAG are told by NLM_F_REQUEST being
 * absent.
 */
static void print_object(struct nl_printer *printer, const struct nl_object *object, const struct nlmsghdr *nlh)
{
	bool request = object->request_header && (nlh->nlmsg_flags & NLM_F_REQUEST);
	const uint8_t *structure = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh), attributes_at;

	print_fields(printer, request ? object->request_fields : object->fields,
		     request ? object->n_request_fields : object->n_fields, structure, len);
	attributes_at = MNL_ALIGN((size_t)(request ? object->request_header : object->header));
	if (len > attributes_at)
		print_attributes(printer, structure + attributes_at, len - attributes_at,
				 request ? NULL : object->attributes);
}

static void print_control(struct nl_printer *printer, const struct nlmsghdr *nlh)
{
	const uint8_t *payload = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh);

	if (len >= sizeof(int32_t))
		fprintf(printer->out, "%s.status: %" PRId64 "\n", printer->path, sign_extend(nl_load(payload, 4), 4));
	if (len > sizeof(int32_t)) {
		fprintf(printer->out, "%s.payload: ", printer->path);
		print_hex(printer->out, payload + sizeof(int32_t), len - sizeof(int32_t));
		fputc('\n', printer->out);
	}
}

static void path_begin(struct nl_printer *printer, const struct nlmsghdr *nlh, const struct nl_object *object)
{
	uint16_t type = nlh->nlmsg_type;
	unsigned *count = &printer->counts[type < NL_PRINT_TYPES ? type : NL_PRINT_TYPES - 1];

	path_cut(printer, 0);
	if (object && printer->protocol == NETLINK_ROUTE)
		(void)path_add(printer, "%s%s[%u]", verbs[nl_route_verb(type)], object->name, *count);
	else if (object)
		(void)path_add(printer, "%s[%u]", object->name, *count);
	else if (type < ARRAY_SIZE(control) && control[type])
		(void)path_add(printer, "%s[%u]", control[type], *count);
	else
		(void)path_add(printer, "type%u[%u]", type, *count);
	++*count;
}

static void print_message(struct nl_printer *printer, const struct nlmsghdr *nlh)
{
	size_t len = mnl_nlmsg_get_payload_len(nlh);
	const uint8_t *payload = mnl_nlmsg_get_payload(nlh);
	const struct nl_object *object = nl_object_find(printer->protocol, nlh->nlmsg_type, len ? payload[0] : 0);

	printer->family = len ? payload[0] : 0;
	path_begin(printer, nlh, object);
	fprintf(printer->out, "%s len %u flags 0x%x seq %u pid %d\n", printer->path, nlh->nlmsg_len, nlh->nlmsg_flags,
		nlh->nlmsg_seq, (int)nlh->nlmsg_pid);
	if (object)
		print_object(printer, object, nlh);
	else if (nlh->nlmsg_type < NLMSG_MIN_TYPE)
		print_control(printer, nlh);
	else if (len)
		print_line(printer, NL_HEX, payload, len);
}

size_t nl_print_messages(struct nl_printer *printer, const void *messages, size_t len)
{
	const struct nlmsghdr *nlh;
	size_t at = 0, n = 0;

	while ((nlh = nl_message_at(messages, len, &at))) {
		print_message(printer, nlh);
		n++;
	}
	if (at < len)
		fprintf(printer->out, "broken off: %zu bytes are no message\n", len - at);
	return n;
}
