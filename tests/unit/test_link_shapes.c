/* SPDX-License-Identifier: BSD-3-Clause */
/* Where links stand in what socket calls take and give: bytes of each shape, both ways. The link 2 of the guest is 7 of the kernel's. */
#include <criterion/criterion.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/net/link_shapes.h"

enum { REAL = 7, VIRTUAL = 2, NOBODY = 77 };

static struct nl_map map;

/* lo and a link with a MAC that was drawn. */
static void start(void)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
		struct nlattr name;
		char name_text[4];
		struct nlattr mac;
		unsigned char mac_bytes[8];
	} links[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		links[i].header = (struct nlmsghdr){ .nlmsg_len = sizeof(links[i]), .nlmsg_type = RTM_NEWLINK };
		links[i].info = (struct ifinfomsg){ .ifi_type = i ? ARPHRD_ETHER : ARPHRD_LOOPBACK, .ifi_index = i ? REAL : 1 };
		links[i].name = (struct nlattr){ 4 + 3, IFLA_IFNAME };
		memcpy(links[i].name_text, i ? "e0" : "lo", 3);
		links[i].mac = (struct nlattr){ 4 + 6, IFLA_ADDRESS };
	}
	memcpy(links[1].mac_bytes, (unsigned char[]){ 0x5e, 1, 2, 3, 4, 5 }, 6);
	nl_map_init(&map);
	cr_assert_eq(nl_map_fill(&map, links, sizeof(links)), 0);
	cr_assert(nl_map_has_links(&map));
}

static void stop(void)
{
	nl_map_deinit(&map);
}

TestSuite(link_shapes, .init = start, .fini = stop);

static const unsigned char real_ip6[16] = { 0xfe, 0x80, [8] = 0x5c, 1, 2, 0xff, 0xfe, 3, 4, 5 };
static const unsigned char virtual_ip6[16] = { 0xfe, 0x80, [8] = 0, 0, 0, 0xff, 0xfe, 0, 0, 2 };

/* An index at one place, an address made from the MAC at another (-1: none of the kind). */
static const struct {
	const char *name;
	int level, option; /* 0, 0: an address */
	bool control;
	int index_at, ip6_at;
	bool network_order;
	size_t size;
} cases[] = {
	{ "sockaddr_in6", 0, 0, false, 24, 8, false, 28 },
	{ "SO_BINDTOIFINDEX", SOL_SOCKET, 62, false, 0, -1, false, 4 },
	{ "IP_MULTICAST_IF", IPPROTO_IP, IP_MULTICAST_IF, false, 8, -1, false, 12 },
	{ "IP_ADD_MEMBERSHIP", IPPROTO_IP, IP_ADD_MEMBERSHIP, false, 8, -1, false, 12 },
	{ "IP_DROP_MEMBERSHIP", IPPROTO_IP, IP_DROP_MEMBERSHIP, false, 8, -1, false, 12 },
	{ "IP_UNICAST_IF", IPPROTO_IP, IP_UNICAST_IF, false, 0, -1, true, 4 },
	{ "MCAST_JOIN_GROUP", IPPROTO_IP, MCAST_JOIN_GROUP, false, 0, -1, false, 136 },
	{ "MCAST_LEAVE_SOURCE_GROUP", IPPROTO_IP, MCAST_LEAVE_SOURCE_GROUP, false, 0, -1, false, 264 },
	{ "MCAST_MSFILTER", IPPROTO_IP, MCAST_MSFILTER, false, 0, -1, false, 144 },
	{ "IPV6_MULTICAST_IF", IPPROTO_IPV6, IPV6_MULTICAST_IF, false, 0, -1, false, 4 },
	{ "IPV6_UNICAST_IF", IPPROTO_IPV6, IPV6_UNICAST_IF, false, 0, -1, true, 4 },
	{ "IPV6_JOIN_GROUP", IPPROTO_IPV6, IPV6_JOIN_GROUP, false, 16, 0, false, 20 },
	{ "IPV6_JOIN_ANYCAST", IPPROTO_IPV6, IPV6_JOIN_ANYCAST, false, 16, 0, false, 20 },
	{ "IPV6_PKTINFO", IPPROTO_IPV6, IPV6_PKTINFO, false, 16, 0, false, 20 },
	{ "MCAST_JOIN_GROUP, IPv6", IPPROTO_IPV6, MCAST_JOIN_GROUP, false, 0, -1, false, 136 },
	{ "MCAST_BLOCK_SOURCE, IPv6", IPPROTO_IPV6, MCAST_BLOCK_SOURCE, false, 0, -1, false, 264 },
	{ "cmsg IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, true, 0, -1, false, 12 },
	{ "cmsg IPV6_PKTINFO", IPPROTO_IPV6, IPV6_PKTINFO, true, 16, 0, false, 20 },
	{ "cmsg IPV6_2292PKTINFO", IPPROTO_IPV6, 2, true, 16, 0, false, 20 },
	{ "cmsg SCM_TIMESTAMPING_PKTINFO", SOL_SOCKET, 58, true, 0, -1, false, 16 },
};

static const struct link_shape *shape_of(size_t i)
{
	if (!cases[i].option)
		return link_shape_of_address();
	return cases[i].control ? link_shape_of_control(cases[i].level, cases[i].option) :
				  link_shape_of_option(cases[i].level, cases[i].option, LINK_SET);
}

static void make(size_t i, uint32_t index, const unsigned char *ip6, unsigned char *bytes)
{
	uint32_t stored = cases[i].network_order ? htonl(index) : index;

	memset(bytes, 0, LINK_SHAPE_MAX);
	memcpy(bytes + cases[i].index_at, &stored, sizeof(stored));
	if (cases[i].ip6_at >= 0)
		memcpy(bytes + cases[i].ip6_at, ip6, 16);
	if (!cases[i].option)
		bytes[0] = AF_INET6;
}

Test(link_shapes, both_ways)
{
	unsigned char bytes[LINK_SHAPE_MAX], expected[LINK_SHAPE_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct link_shape *shape = shape_of(i);

		cr_assert_not_null(shape, "%s", cases[i].name);
		make(i, VIRTUAL, virtual_ip6, bytes);
		make(i, REAL, real_ip6, expected);
		cr_expect(link_shape_translate(&map, NL_TO_REAL, shape, bytes, cases[i].size), "%s", cases[i].name);
		cr_expect_arr_eq(bytes, expected, LINK_SHAPE_MAX, "%s, to the kernel's", cases[i].name);
		make(i, VIRTUAL, virtual_ip6, expected);
		cr_expect(link_shape_translate(&map, NL_TO_VIRTUAL, shape, bytes, cases[i].size), "%s", cases[i].name);
		cr_expect_arr_eq(bytes, expected, LINK_SHAPE_MAX, "%s, to the guest's", cases[i].name);
		/* A number that is nobody's is nobody's for the kernel, too, and comes back as it was. */
		make(i, NOBODY, bytes, bytes);
		cr_expect(link_shape_translate(&map, NL_TO_REAL, shape, bytes, cases[i].size), "%s", cases[i].name);
		make(i, NL_INDEX_MIRROR - NOBODY, expected, expected);
		cr_expect_arr_eq(bytes + cases[i].index_at, expected + cases[i].index_at, 4, "%s", cases[i].name);
	}
}

Test(link_shapes, cut_short)
{
	unsigned char bytes[LINK_SHAPE_MAX], before[LINK_SHAPE_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct link_shape *shape = shape_of(i);

		make(i, VIRTUAL, virtual_ip6, bytes);
		memcpy(before, bytes, sizeof(before));
		for (size_t len = 0; len < shape->least; len++)
			cr_expect_not(link_shape_translate(&map, NL_TO_REAL, shape, bytes, len), "%s", cases[i].name);
		cr_expect_arr_eq(bytes, before, sizeof(before), "%s", cases[i].name);
	}
}

/* What the kernel gives of it when there is room for `len` bytes: nothing that follows the kernel's number or the MAC is seen. */
Test(link_shapes, answers_cut_short)
{
	unsigned char bytes[LINK_SHAPE_MAX], expected[LINK_SHAPE_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct link_shape *shape = shape_of(i);
		size_t index = (size_t)cases[i].index_at, identifier = (size_t)cases[i].ip6_at + 8;

		for (size_t len = 0; len < shape->least; len++) {
			make(i, REAL, real_ip6, bytes);
			make(i, VIRTUAL, virtual_ip6, expected);
			if (len < index + 4 && len > index)
				memset(expected + index, 0, len - index);
			if (cases[i].ip6_at >= 0 && len < identifier + 8 && len > identifier)
				memset(expected + identifier, 0, len - identifier);
			memset(bytes + len, 0x77, sizeof(bytes) - len);
			memset(expected + len, 0x77, sizeof(expected) - len);
			(void)link_shape_translate_cut(&map, shape, bytes, len);
			cr_expect_arr_eq(bytes, expected, sizeof(bytes), "%s, %zu bytes", cases[i].name, len);
		}
	}
}

Test(link_shapes, answers_cut_short_of_ipv4)
{
	unsigned char bytes[LINK_SHAPE_MAX], before[LINK_SHAPE_MAX];

	memset(bytes, 0x77, sizeof(bytes));
	bytes[0] = AF_INET;
	bytes[1] = 0;
	memcpy(before, bytes, sizeof(before));
	for (size_t len = 0; len < 28; len++)
		cr_expect_not(link_shape_translate_cut(&map, link_shape_of_address(), bytes, len));
	cr_expect_arr_eq(bytes, before, sizeof(before));
}

Test(link_shapes, no_link_in_it)
{
	unsigned char bytes[LINK_SHAPE_MAX] = { AF_INET, 0, 1, 2, 10, 0, 0, 1, 7, 7, 7, 7, [24] = 7 };
	const unsigned char before = bytes[24];

	cr_expect_not(link_shape_translate(&map, NL_TO_VIRTUAL, link_shape_of_address(), bytes, 28));
	cr_expect_eq(bytes[24], before, "an IPv4 address has no scope");
	memset(bytes, 0, sizeof(bytes));
	bytes[0] = AF_INET6;
	cr_expect_not(link_shape_translate(&map, NL_TO_REAL, link_shape_of_address(), bytes, 28), "no scope, any address");
	cr_expect_null(link_shape_of_option(SOL_SOCKET, SO_RCVBUF, LINK_SET));
	cr_expect_null(link_shape_of_option(IPPROTO_IP, IP_MULTICAST_IF, LINK_ANSWER), "its answer is an address");
	cr_expect_null(link_shape_of_control(SOL_SOCKET, SCM_RIGHTS));
	cr_expect_not_null(link_shape_of_option(IPPROTO_IPV6, MCAST_MSFILTER, LINK_QUESTION));
	cr_expect(link_option_is_control(IPPROTO_IPV6, 6));
	cr_expect_not(link_option_is_control(IPPROTO_IPV6, IPV6_PKTINFO));
}

/* An error's offender, a group with its address, both of struct group_source_req. */
Test(link_shapes, addresses_inside)
{
	unsigned char bytes[LINK_SHAPE_MAX] = { 0 };
	const struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_scope_id = VIRTUAL };
	const size_t scope = 24;

	memcpy(bytes + 8, &in, sizeof(in));
	memcpy(bytes + 136, &in, sizeof(in));
	cr_expect(link_shape_translate(&map, NL_TO_REAL, link_shape_of_option(IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, LINK_SET), bytes, 264));
	cr_expect_eq(bytes[8 + scope], REAL);
	cr_expect_eq(bytes[136 + scope], REAL);
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes + 16, &in, sizeof(in));
	bytes[16 + scope] = REAL;
	cr_expect(link_shape_translate(&map, NL_TO_VIRTUAL, link_shape_of_control(IPPROTO_IPV6, IPV6_RECVERR), bytes, 44));
	cr_expect_eq(bytes[16 + scope], VIRTUAL);
	memset(bytes, 0, sizeof(bytes));
	bytes[20] = VIRTUAL;
	cr_expect(link_shape_translate(&map, NL_TO_REAL, link_shape_of_request(SIOCSIFADDR), bytes, 24), "struct in6_ifreq");
	cr_expect_eq(bytes[20], REAL);
	memset(bytes, 0, sizeof(bytes));
	bytes[76] = VIRTUAL;
	memcpy(bytes + 32, virtual_ip6, 16);
	cr_expect(link_shape_translate(&map, NL_TO_REAL, link_shape_of_request(SIOCADDRT), bytes, 80), "struct in6_rtmsg");
	cr_expect_eq(bytes[76], REAL);
	cr_expect_arr_eq(bytes + 32, real_ip6, 16);
	cr_expect_null(link_shape_of_request(SIOCGIFINDEX));
}
