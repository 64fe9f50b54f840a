/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps over messages and attributes: see frame.h. */
#include "netlink/frame.h"

#include <libmnl/libmnl.h>

/* How far it is to the next: `size` and its padding, as far as that is there. */
static size_t step(size_t size, size_t left)
{
	return MNL_ALIGN(size) < left ? MNL_ALIGN(size) : left;
}

const struct nlmsghdr *nl_message_at(const void *messages, size_t len, size_t *at)
{
	const struct nlmsghdr *nlh;
	size_t left = len - *at;

	if (left < sizeof(*nlh))
		return NULL;
	nlh = (const struct nlmsghdr *)((const uint8_t *)messages + *at);
	if (nlh->nlmsg_len < sizeof(*nlh) || nlh->nlmsg_len > left)
		return NULL;
	*at += step(nlh->nlmsg_len, left);
	return nlh;
}

const struct nlattr *nl_attr_at(const void *attributes, size_t len, size_t *at, bool *ret_broken)
{
	const struct nlattr *attr;
	size_t left = len - *at;

	*ret_broken = false;
	if (left < sizeof(*attr))
		return NULL;
	attr = (const struct nlattr *)((const uint8_t *)attributes + *at);
	if (!mnl_attr_ok(attr, left > INT32_MAX ? INT32_MAX : (int)left)) {
		*ret_broken = true;
		return NULL;
	}
	*at += step(attr->nla_len, left);
	return attr;
}

const struct nlattr *nl_attr_find(const void *attributes, size_t len, uint16_t type)
{
	const struct nlattr *attr;
	size_t at = 0;
	bool broken;

	while ((attr = nl_attr_at(attributes, len, &at, &broken)))
		if (mnl_attr_get_type(attr) == type)
			return attr;
	return NULL;
}
