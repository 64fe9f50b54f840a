/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network namespace that others have made, configured so that less of it has to be rewritten: no wait for duplicate addresses, no addresses
 * that are drawn, and, where that is asked for, MAC addresses of the numbers that links have in a run (netlink/map.h).
 *
 * MAC addresses are left alone otherwise. What made the link may have noted its address (in what it tells of the container, in neighbour tables and
 * programs of an overlay network, in rules against forged ones), and every container would have the same ones: two on one bridge do not work.
 * A guest does not see the difference, since it is shown the numbers' addresses either way. Nor can a link that is there be given another index.
 */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/internal.h"

enum { LINKS_MOST = 1024, MAC_SIZE = 6, IP6_SIZE = 16 };

struct link {
	int index;
	char name[IFNAMSIZ];
	bool loopback, up, pair;
	unsigned char mac[MAC_SIZE];
	bool has_local; /* an IPv6 address of its own scope */
	bool has_other; /* one that was made of the MAC in another scope: it would not follow */
	unsigned char local_bits;
};

struct links {
	struct link items[LINKS_MOST];
	size_t n;
};

/* The namespace of who has started everything on this machine, or in this container: nothing of it is ours to set. */
static bool is_of_the_host(void)
{
	struct stat own, first;

	return stat("/proc/self/ns/net", &own) == 0 && stat("/proc/1/ns/net", &first) == 0 && own.st_dev == first.st_dev &&
	       own.st_ino == first.st_ino;
}

/* ---- looking ---- */

static bool is_pair(const struct nlattr *linkinfo)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, linkinfo)
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			return strncmp(mnl_attr_get_payload(attr), "veth", mnl_attr_get_payload_len(attr)) == 0;
	return false;
}

static int take_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	struct links *links = data;
	struct link *link = &links->items[links->n];
	const struct nlattr *attr;

	if (links->n == LINKS_MOST)
		return MNL_CB_OK;
	*link = (struct link){ .index = info->ifi_index, .loopback = info->ifi_type == ARPHRD_LOOPBACK, .up = info->ifi_flags & IFF_UP };
	mnl_attr_for_each(attr, nlh, sizeof(*info)) {
		size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) == IFLA_IFNAME && len < sizeof(link->name))
			memcpy(link->name, mnl_attr_get_payload(attr), len);
		if (mnl_attr_get_type(attr) == IFLA_ADDRESS && len == MAC_SIZE)
			memcpy(link->mac, mnl_attr_get_payload(attr), len);
		if (mnl_attr_get_type(attr) == IFLA_LINKINFO)
			link->pair = is_pair(attr);
	}
	links->n++;
	return MNL_CB_OK;
}

/* The second half of an IPv6 address that is made of a MAC. */
static void make_identifier(const unsigned char *mac, unsigned char *ret)
{
	memcpy(ret, (const unsigned char[]){ mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5] }, IP6_SIZE / 2);
}

static int take_address(const struct nlmsghdr *nlh, void *data)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(nlh);
	unsigned char identifier[IP6_SIZE / 2];
	struct links *links = data;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(*info)) {
		if (mnl_attr_get_type(attr) != IFA_ADDRESS || mnl_attr_get_payload_len(attr) != IP6_SIZE)
			continue;
		for (size_t i = 0; i < links->n; i++) {
			struct link *link = &links->items[i];
			const unsigned char *address = mnl_attr_get_payload(attr);

			if (link->index != (int)info->ifa_index)
				continue;
			make_identifier(link->mac, identifier);
			if (info->ifa_scope == RT_SCOPE_LINK) {
				link->has_local = true;
				link->local_bits = info->ifa_prefixlen;
			} else if (!memcmp(address + IP6_SIZE / 2, identifier, sizeof(identifier))) {
				link->has_other = true;
			}
		}
	}
	return MNL_CB_OK;
}

/* Loopback first, then by name: the order of numbers. */
static int by_number(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	return x->loopback != y->loopback ? y->loopback - x->loopback : strcmp(x->name, y->name);
}

/* ---- settings ---- */

/* A host without IPv6 has none of these; who may not write them has them as they are. */
static void set(const char *family, const char *link, const char *knob, const char *value)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, link, knob);
	(void)fd_write_file(AT_FDCWD, path, value);
}

static void set_knobs(const struct links *links)
{
	static const struct {
		const char *link, *knob, *value;
	} knobs[] = {
		{ "all", "accept_dad", "0" },	{ "default", "accept_dad", "0" },   { "default", "dad_transmits", "0" },
		{ "all", "use_tempaddr", "0" }, { "default", "use_tempaddr", "0" }, { "default", "addr_gen_mode", "1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		set("ipv6", knobs[i].link, knobs[i].knob, knobs[i].value);
	for (size_t i = 0; i < links->n; i++) {
		set("ipv6", links->items[i].name, "accept_dad", "0");
		set("ipv6", links->items[i].name, "use_tempaddr", "0");
		/* A link that has its address keeps the way to have it again. That of a loopback which is down would have one at once (net.c). */
		if (!links->items[i].has_local && (!links->items[i].loopback || links->items[i].up))
			set("ipv6", links->items[i].name, "addr_gen_mode", "1");
	}
}

/* ---- MAC addresses ---- */

/* fe80:: with the identifier that is made of the MAC: gone, or there. */
static int change_local(struct mnl_socket *socket, const struct link *link, const unsigned char *mac, uint16_t type, uint16_t flags)
{
	unsigned char address[IP6_SIZE] = { 0xfe, 0x80 };
	char buf[256];
	struct nlmsghdr *nlh = net_begin(buf, type, flags);
	struct ifaddrmsg *info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));

	info->ifa_family = AF_INET6;
	info->ifa_prefixlen = link->local_bits;
	info->ifa_scope = RT_SCOPE_LINK;
	info->ifa_flags = IFA_F_NODAD | IFA_F_PERMANENT;
	info->ifa_index = (unsigned)link->index;
	make_identifier(mac, address + IP6_SIZE / 2);
	mnl_attr_put(nlh, IFA_LOCAL, sizeof(address), address);
	mnl_attr_put(nlh, IFA_ADDRESS, sizeof(address), address);
	return net_carry_out(socket, nlh);
}

static int change_mac(struct mnl_socket *socket, const struct link *link, const unsigned char *mac)
{
	char buf[256];
	struct nlmsghdr *nlh = net_begin(buf, RTM_NEWLINK, 0);
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));

	info->ifi_index = link->index;
	mnl_attr_put(nlh, IFLA_ADDRESS, MAC_SIZE, mac);
	return net_carry_out(socket, nlh);
}

/* The link, its IPv6 address, and those who know the old one: they are told (arp_notify). */
static int fix_mac(struct mnl_socket *socket, const struct link *link, uint32_t number, struct error *err)
{
	const unsigned char mac[MAC_SIZE] = { 2, 0, number >> 24, number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff };
	bool follows;
	int r;

	if (!memcmp(mac, link->mac, sizeof(mac)))
		return 0;
	if (link->has_other) {
		log_debug("%s keeps its MAC address: an IPv6 address of another network is made of it", link->name);
		return 0;
	}
	set("ipv4", link->name, "arp_notify", "1");
	set("ipv6", link->name, "ndisc_notify", "1");
	follows = link->has_local && change_local(socket, link, link->mac, RTM_DELADDR, 0) == 0;
	r = change_mac(socket, link, mac);
	if (follows)
		(void)change_local(socket, link, r < 0 ? link->mac : mac, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
	return r < 0 ? error_errno(err, -r, "cannot give %s the MAC address of its number", link->name) : 0;
}

static int configure(struct mnl_socket *socket, struct links *links, bool fixed_macs, struct error *err)
{
	int r;

	r = net_dump(socket, RTM_GETLINK, AF_UNSPEC, take_link, links);
	if (r == 0)
		r = net_dump(socket, RTM_GETADDR, AF_INET6, take_address, links);
	if (r < 0)
		return error_errno(err, -r, "cannot read the links of the network namespace");
	qsort(links->items, links->n, sizeof(links->items[0]), by_number);
	set_knobs(links);
	for (size_t i = 0; fixed_macs && r == 0 && i < links->n; i++)
		if (links->items[i].pair)
			r = fix_mac(socket, &links->items[i], (uint32_t)i + 1, err);
	return r;
}

int net_configure_joined(bool fixed_macs, struct error *err)
{
	_cleanup_free_ struct links *links = NULL;
	struct mnl_socket *socket;
	int r;

	if (is_of_the_host())
		return 0;
	links = calloc(1, sizeof(*links));
	socket = links ? mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC) : NULL;
	if (!socket)
		return error_errno(err, errno, "cannot open a netlink socket");
	r = configure(socket, links, fixed_macs, err);
	(void)mnl_socket_close(socket);
	return r;
}
