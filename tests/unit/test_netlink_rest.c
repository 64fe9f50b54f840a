/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a network namespace is at rest, from messages as the kernel writes them (netlink/rest.h). */
#include <errno.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <sys/socket.h>

#include "netlink/peer.h"
#include "netlink/rest.h"
#include "netlink_test.h"

enum { CARRIES = IFF_UP | IFF_LOWER_UP, RUNS = CARRIES | IFF_RUNNING };

struct dumps {
	struct nl_buf links, addresses, routes;
};

static struct dumps d;

static void start(void)
{
	d = (struct dumps){ 0 };
}

static void stop(void)
{
	nl_buf_deinit(&d.links);
	nl_buf_deinit(&d.addresses);
	nl_buf_deinit(&d.routes);
}

TestSuite(netlink_rest, .init = start, .fini = stop);
TestSuite(netlink_peer, .init = start, .fini = stop);

static void put(struct nl_buf *to, uint16_t type, const void *info, size_t info_len, const struct nlattr *attributes, size_t len)
{
	const struct nlmsghdr header = { .nlmsg_len = (uint32_t)(sizeof(header) + info_len + len), .nlmsg_type = type };

	cr_assert(nl_buf_put(to, &header, sizeof(header)) == 0 && nl_buf_put(to, info, info_len) == 0 && nl_buf_put(to, attributes, len) == 0);
}

static void link_is(int index, unsigned flags)
{
	put(&d.links, RTM_NEWLINK, &(struct ifinfomsg){ .ifi_index = index, .ifi_flags = flags }, sizeof(struct ifinfomsg), NULL, 0);
}

/* With one of its settings; others are 0. */
static void link_has(int index, unsigned flags, unsigned which, int32_t value)
{
	struct {
		struct nlattr families, family, conf;
		int32_t values[DEVCONF_KEEP_ADDR_ON_DOWN + 1];
	} attributes = { { sizeof(attributes), IFLA_AF_SPEC }, { sizeof(attributes) - 4, AF_INET6 }, { sizeof(attributes) - 8, IFLA_INET6_CONF }, { 0 } };

	attributes.values[which] = value;
	put(&d.links, RTM_NEWLINK, &(struct ifinfomsg){ .ifi_index = index, .ifi_flags = flags }, sizeof(struct ifinfomsg), &attributes.families,
	    sizeof(attributes));
}

/* fd00::N */
struct address {
	struct nlattr header;
	unsigned char bytes[16];
};

static struct address address_of(uint16_t type, unsigned char last)
{
	return (struct address){ { sizeof(struct address), type }, { 0xfd, [15] = last } };
}

static void address_is(unsigned index, uint16_t type, unsigned char last, unsigned char flags)
{
	const struct ifaddrmsg info = { .ifa_family = AF_INET6, .ifa_index = index, .ifa_flags = flags };
	const struct address address = address_of(type, last);

	put(&d.addresses, RTM_NEWADDR, &info, sizeof(info), &address.header, sizeof(address));
}

static void route_is(uint32_t index, unsigned char last, unsigned char kind)
{
	const struct rtmsg info = { .rtm_family = AF_INET6, .rtm_type = kind };
	const struct {
		struct address to;
		struct nlattr header;
		uint32_t index;
	} attributes = { address_of(RTA_DST, last), { 8, RTA_OIF }, index };

	put(&d.routes, RTM_NEWROUTE, &info, sizeof(info), &attributes.to.header, sizeof(attributes));
}

static int at_rest(void)
{
	const void *routes = d.routes.data ? (const void *)d.routes.data : ""; /* an answer without a message is no missing one */

	return nl_is_at_rest((struct nl_answer){ d.links.data, d.links.len }, (struct nl_answer){ d.addresses.data, d.addresses.len },
			     (struct nl_answer){ routes, d.routes.len });
}

Test(netlink_rest, nothing_is_at_rest)
{
	cr_expect_eq(at_rest(), 1);
}

Test(netlink_rest, links)
{
	static const struct {
		unsigned flags;
		int rest;
	} rows[] = {
		{ 0, 1 }, { IFF_LOWER_UP, 1 }, { IFF_UP, 1 }, { RUNS, 1 }, { CARRIES, 0 }, { IFF_UP | IFF_RUNNING, 0 }, { CARRIES | IFF_DORMANT, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		stop();
		start();
		link_is(1, RUNS);
		link_is(2, rows[i].flags);
		cr_expect_eq(at_rest(), rows[i].rest, "flags 0x%x", rows[i].flags);
	}
}

Test(netlink_rest, an_address_has_its_local_route)
{
	link_is(2, RUNS);
	address_is(2, IFA_ADDRESS, 7, IFA_F_PERMANENT);
	cr_expect_eq(at_rest(), 0, "there is none");
	route_is(3, 7, RTN_LOCAL);
	route_is(2, 8, RTN_LOCAL);
	route_is(2, 7, RTN_UNICAST);
	cr_expect_eq(at_rest(), 0, "another link's, another address's, another kind");
	route_is(2, 7, RTN_LOCAL);
	route_is(2, 6, RTN_LOCAL);
	cr_expect_eq(at_rest(), 1);
	address_is(2, IFA_LOCAL, 9, IFA_F_PERMANENT | IFA_F_NODAD);
	cr_expect_eq(at_rest(), 0, "one end of a link of two");
	route_is(2, 9, RTN_LOCAL);
	cr_expect_eq(at_rest(), 1);
}

Test(netlink_rest, addresses_that_a_link_keeps_while_it_is_down)
{
	link_has(2, 0, DEVCONF_KEEP_ADDR_ON_DOWN, 1);
	link_has(3, IFF_UP, DEVCONF_KEEP_ADDR_ON_DOWN, 1);
	link_has(4, 0, DEVCONF_KEEP_ADDR_ON_DOWN, 0);
	address_is(2, IFA_ADDRESS, 7, IFA_F_PERMANENT | IFA_F_NODAD);
	address_is(2, IFA_ADDRESS, 8, IFA_F_PERMANENT | IFA_F_TENTATIVE);
	cr_expect_eq(at_rest(), 1, "have no route, and may be tentative");
	address_is(3, IFA_ADDRESS, 9, IFA_F_PERMANENT);
	cr_expect_eq(at_rest(), 0, "one of a link that is up has a route");
	route_is(3, 9, RTN_LOCAL);
	cr_expect_eq(at_rest(), 1);
	address_is(4, IFA_ADDRESS, 10, IFA_F_PERMANENT | IFA_F_NODAD);
	cr_expect_eq(at_rest(), 0, "so has one that was given while the link is down");
}

Test(netlink_rest, without_routes)
{
	const struct nl_answer none = { 0 };

	link_is(2, RUNS);
	address_is(2, IFA_ADDRESS, 7, IFA_F_PERMANENT);
	cr_expect_eq(nl_is_at_rest(none, (struct nl_answer){ d.addresses.data, d.addresses.len }, none), 1);
	address_is(2, IFA_ADDRESS, 7, IFA_F_TENTATIVE);
	cr_expect_eq(nl_is_at_rest((struct nl_answer){ d.links.data, d.links.len }, (struct nl_answer){ d.addresses.data, d.addresses.len }, none), 0);
}

Test(netlink_rest, addresses_that_are_looked_for)
{
	link_is(2, RUNS);
	link_is(3, IFF_UP);
	address_is(3, IFA_ADDRESS, 1, IFA_F_TENTATIVE);
	address_is(2, IFA_ADDRESS, 2, IFA_F_TENTATIVE | IFA_F_DADFAILED);
	cr_expect_eq(at_rest(), 1, "without a carrier, and one that is somebody else's");
	link_has(4, IFF_UP, DEVCONF_ACCEPT_DAD, 1);
	address_is(4, IFA_ADDRESS, 4, IFA_F_TENTATIVE);
	cr_expect_eq(at_rest(), 1, "to be looked for, without a carrier");
	link_has(5, 0, DEVCONF_ACCEPT_DAD, 0);
	cr_expect_eq(at_rest(), 1, "not to be looked for, but without an address");
	address_is(5, IFA_ADDRESS, 5, IFA_F_TENTATIVE);
	cr_expect_eq(at_rest(), 0, "not to be looked for");
	d.addresses.len = 0;
	route_is(2, 3, RTN_LOCAL);
	address_is(2, IFA_ADDRESS, 3, IFA_F_TENTATIVE);
	cr_expect_eq(at_rest(), 0);
}

Test(netlink_rest, other_families_and_short_messages)
{
	const struct ifaddrmsg info = { .ifa_family = AF_INET, .ifa_index = 2 };
	const struct address address = address_of(IFA_ADDRESS, 1);

	put(&d.addresses, RTM_NEWADDR, &info, sizeof(info), &address.header, sizeof(address));
	put(&d.addresses, RTM_NEWADDR, &info, 4, NULL, 0);
	put(&d.links, RTM_NEWLINK, &info, 4, NULL, 0);
	put(&d.routes, RTM_NEWROUTE, &info, 4, NULL, 0);
	address_is(2, IFA_LABEL, 1, 0);
	cr_expect_eq(at_rest(), 1);
}

/* ---- peers of sockets ---- */

Test(netlink_peer, answers)
{
	const struct unix_diag_msg info = { .udiag_family = AF_UNIX, .udiag_ino = 7 };
	const struct {
		struct nlattr header;
		uint32_t ino;
	} attribute = { { 8, UNIX_DIAG_PEER }, 9 };

	put(&d.links, SOCK_DIAG_BY_FAMILY, &info, sizeof(info), &attribute.header, sizeof(attribute));
	cr_expect_eq(nl_peer(d.links.data, d.links.len), 9);
	cr_expect_eq(nl_peer(d.links.data, d.links.len - 1), 0, "cut");
	put(&d.routes, SOCK_DIAG_BY_FAMILY, &info, sizeof(info), NULL, 0);
	cr_expect_eq(nl_peer(d.routes.data, d.routes.len), 0, "no peer");
	put(&d.addresses, NLMSG_ERROR, &info, sizeof(info), NULL, 0);
	cr_expect_eq(nl_peer(d.addresses.data, d.addresses.len), 0, "an error");
	cr_expect_eq(nl_peer(NULL, 0), 0);
}

Test(netlink_peer, gone)
{
	const struct unix_diag_msg info = { .udiag_family = AF_UNIX, .udiag_ino = 7 };
	struct nlmsgerr error = { -ENOENT, { .nlmsg_len = 44, .nlmsg_seq = 5 } };

	put(&d.links, SOCK_DIAG_BY_FAMILY, &info, sizeof(info), NULL, 0);
	put(&d.links, NLMSG_ERROR, &error, sizeof(error), NULL, 0);
	error.error = -EPERM;
	error.msg.nlmsg_seq = 6;
	put(&d.links, NLMSG_ERROR, &error, sizeof(error), NULL, 0);
	error.error = -ENOENT;
	error.msg.nlmsg_seq = 63;
	put(&d.links, NLMSG_ERROR, &error, sizeof(error), NULL, 0);
	error.msg.nlmsg_seq = 64;
	put(&d.links, NLMSG_ERROR, &error, sizeof(error), NULL, 0);
	cr_expect_eq(nl_peers_gone(d.links.data, d.links.len), UINT64_C(1) << 63 | 1 << 5);
	cr_expect_eq(nl_peers_gone(NULL, 0), 0);
}
