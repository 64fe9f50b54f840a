/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel has not finished yet: see rest.h. */
#include "netlink/rest.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* What IPv6 addresses and routes are found by: the bytes are compared, so all of them are set. */
struct owner {
	uint32_t link;
	struct in6_addr address;
};

struct owners {
	struct owner *list; /* owned, sorted by compare() */
	size_t n;
};

struct view {
	struct owners movers;   /* links whose addresses do not stay tentative, without addresses */
	struct owners keepers;  /* links that are down and keep their addresses */
	struct owners routes;   /* local ones */
	bool need_routes;
	bool at_rest;
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct owner));
}

static bool has(const struct owners *owners, const struct owner *what)
{
	return owners->n && bsearch(what, owners->list, owners->n, sizeof(*what), compare);
}

static int add(struct owners *owners, struct owner what)
{
	struct owner *grown = reallocarray(owners->list, owners->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	owners->list = grown;
	grown[owners->n++] = what;
	return 0;
}

/* The first attribute of that type behind a header of `size` bytes that holds `len` bytes or more; NULL if there is none. */
static const struct nlattr *attribute(const struct nlmsghdr *nlh, size_t size, unsigned type, size_t len)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, size)
		if (mnl_attr_get_type(attr) == type && mnl_attr_get_payload_len(attr) >= len)
			return attr;
	return NULL;
}

/* The attribute inside of another one; NULL if there is none. */
static const struct nlattr *inner(const struct nlattr *outer, unsigned type)
{
	const struct nlattr *attr;

	if (outer)
		mnl_attr_for_each_nested(attr, outer)
			if (mnl_attr_get_type(attr) == type)
				return attr;
	return NULL;
}

/* One of IPv6's settings of the link; `unsaid` where the kernel does not say. */
static int32_t setting(const struct nlmsghdr *nlh, unsigned which, int32_t unsaid)
{
	const struct nlattr *families = attribute(nlh, sizeof(struct ifinfomsg), IFLA_AF_SPEC, 0);
	const struct nlattr *conf = inner(inner(families, AF_INET6), IFLA_INET6_CONF);
	int32_t value = unsaid;

	if (conf && mnl_attr_get_payload_len(conf) >= (which + 1) * sizeof(value))
		memcpy(&value, (const int32_t *)mnl_attr_get_payload(conf) + which, sizeof(value));
	return value;
}

/* ip-sysctl, accept_dad: without it an address is given at once, carrier or not. Where the kernel does not say, it looks for duplicates. */
static bool looks_for_duplicates(const struct nlmsghdr *nlh)
{
	return setting(nlh, DEVCONF_ACCEPT_DAD, 1) > 0;
}

/* ip-sysctl, keep_addr_on_down: addresses lose their routes, and may be tentative, until the link comes up. */
static bool keeps_addresses(const struct nlmsghdr *nlh)
{
	return setting(nlh, DEVCONF_KEEP_ADDR_ON_DOWN, 0) > 0;
}

/* netdevice(7): IFF_LOWER_UP is the carrier, IFF_RUNNING what the link watch has made of it (RFC 2863's operational state). */
static int look_at_link(struct view *view, const struct nlmsghdr *nlh)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	bool up = info->ifi_flags & IFF_UP && !(info->ifi_flags & IFF_DORMANT), carries = info->ifi_flags & IFF_LOWER_UP;

	if (up && carries != !!(info->ifi_flags & IFF_RUNNING))
		view->at_rest = false;
	if (!(info->ifi_flags & IFF_UP) && keeps_addresses(nlh))
		return add(&view->keepers, (struct owner){ .link = (uint32_t)info->ifi_index });
	if ((up && carries) || !looks_for_duplicates(nlh))
		return add(&view->movers, (struct owner){ .link = (uint32_t)info->ifi_index });
	return 0;
}

static int look_at_route(struct view *view, const struct nlmsghdr *nlh)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *link = attribute(nlh, sizeof(*info), RTA_OIF, sizeof(uint32_t));
	const struct nlattr *to = attribute(nlh, sizeof(*info), RTA_DST, sizeof(struct in6_addr));
	struct owner owner = { 0 };

	if (info->rtm_family != AF_INET6 || info->rtm_type != RTN_LOCAL || !link || !to)
		return 0;
	memcpy(&owner.link, mnl_attr_get_payload(link), sizeof(owner.link));
	memcpy(&owner.address, mnl_attr_get_payload(to), sizeof(owner.address));
	return add(&view->routes, owner);
}

/* The address of one end of a point-to-point link is IFA_LOCAL; otherwise there is IFA_ADDRESS alone. */
static int look_at_address(struct view *view, const struct nlmsghdr *nlh)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *address = attribute(nlh, sizeof(*info), IFA_LOCAL, sizeof(struct in6_addr));
	struct owner owner = { .link = info->ifa_index };

	if (!address)
		address = attribute(nlh, sizeof(*info), IFA_ADDRESS, sizeof(struct in6_addr));
	if (info->ifa_family != AF_INET6 || !address || info->ifa_flags & IFA_F_DADFAILED || has(&view->keepers, &owner))
		return 0;
	if (info->ifa_flags & IFA_F_TENTATIVE) {
		view->at_rest = view->at_rest && !has(&view->movers, &owner);
		return 0;
	}
	memcpy(&owner.address, mnl_attr_get_payload(address), sizeof(owner.address));
	view->at_rest = view->at_rest && (!view->need_routes || has(&view->routes, &owner));
	return 0;
}

static int look(struct view *view, struct nl_answer answer, uint16_t type, size_t size,
		int (*look_at)(struct view *view, const struct nlmsghdr *nlh))
{
	const struct nlmsghdr *nlh = answer.bytes;
	int left = (int)answer.len, r = 0;

	for (; r == 0 && mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		if (nlh->nlmsg_type == type && mnl_nlmsg_get_payload_len(nlh) >= size)
			r = look_at(view, nlh);
	return r;
}

static void sort(struct owners *owners)
{
	if (owners->n)
		qsort(owners->list, owners->n, sizeof(*owners->list), compare);
}

int nl_is_at_rest(struct nl_answer links, struct nl_answer addresses, struct nl_answer routes)
{
	struct view view = { .at_rest = true, .need_routes = routes.bytes };
	int r;

	r = look(&view, links, RTM_NEWLINK, sizeof(struct ifinfomsg), look_at_link);
	if (r == 0)
		r = look(&view, routes, RTM_NEWROUTE, sizeof(struct rtmsg), look_at_route);
	sort(&view.movers);
	sort(&view.keepers);
	sort(&view.routes);
	if (r == 0)
		r = look(&view, addresses, RTM_NEWADDR, sizeof(struct ifaddrmsg), look_at_address);
	free(view.movers.list);
	free(view.keepers.list);
	free(view.routes.list);
	return r < 0 ? r : view.at_rest;
}
