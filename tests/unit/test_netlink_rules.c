/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rule and each edge of the rewriting: payload in, payload out. Lengths and padding are part of what is compared. */
#include "netlink_test.h"

#define MULTI NLM_F_MULTI

/* struct ifinfomsg of eth0, up, and of the loopback, down; as sent and as seen. */
#define ETH0	  "0000 0100" REAL_ETH0 "43100100 00000000"
#define ETH0_SEEN "0000 0100" SEEN_ETH0 "43100100 00000000"
#define LO_DOWN	  "0000 0403" REAL_LO "08000000 00000000"
#define LO_SEEN	  "0000 0403" SEEN_LO "08000000 00000000"

/* Twenty zero bytes, for statistics. */
#define Z20  "0000000000 0000000000 0000000000 0000000000"
#define Z100 Z20 Z20 Z20 Z20 Z20

struct row {
	const char *what;
	uint16_t type;
	uint16_t flags;
	const char *in;
	const char *out; /* NULL: the message is not seen */
	unsigned unknown;
	unsigned malformed;
};

static const struct row route_rows[] = {
	/* links: structure */
	{ "index of the link is virtual", RTM_NEWLINK, 0, ETH0, ETH0_SEEN, 0, 0 },
	{ "a link that is up runs and has its carrier", RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 "03100000 00000000", ETH0_SEEN, 0, 0 },
	{ "a link that is down does not", RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 "42100100 00000000",
	  "0000 0100" SEEN_ETH0 "02100000 00000000", 0, 0 },
	{ "promiscuous, allmulti, dormant and change are cleared", RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 "43130300 ffffffff",
	  ETH0_SEEN, 0, 0 },
	{ "padding of the structure is zero", RTM_NEWLINK, 0, "00ff 0100" REAL_ETH0 "43100100 00000000", ETH0_SEEN, 0, 0 },
	/* links: attributes, one action each */
	{ "keep", RTM_NEWLINK, 0, ETH0 "0900 0300 6574683000", ETH0_SEEN "0900 0300 6574683000 000000", 0, 0 },
	{ "padding of an attribute is zero", RTM_NEWLINK, 0, ETH0 "0900 0300 6574683000 a1b2c3 0800 0400 dc050000",
	  ETH0_SEEN "0900 0300 6574683000 000000 0800 0400 dc050000", 0, 0 },
	{ "mac", RTM_NEWLINK, 0, ETH0 "0a00 0100 aabbcc000007 0000", ETH0_SEEN "0a00 0100 020000000003 0000", 0, 0 },
	{ "mac of nobody that is known", RTM_NEWLINK, 0, "0700 0100" REAL_ETH0 "43100100 00000000 0a00 0100 5e1122334455 0000",
	  "0700 0100" SEEN_ETH0 "43100100 00000000 0a00 0100 0200ffffffff 0000", 0, 0 },
	{ "mac of zeroes", RTM_NEWLINK, 0, LO_DOWN "0a00 0100 000000000000 0000", LO_SEEN "0a00 0100 000000000000 0000", 0, 0 },
	{ "address of a tunnel", RTM_NEWLINK, 0, ETH0 "0800 0100 0a000001", ETH0_SEEN "0800 0100 0a000001", 0, 0 },
	{ "hardware address of another length", RTM_NEWLINK, 0, ETH0 "0c00 0100 1122334455667788",
	  ETH0_SEEN "0c00 0100 0000000000000000", 0, 0 },
	{ "broadcast", RTM_NEWLINK, 0, ETH0 "0a00 0200 ffffffffffff 0000", ETH0_SEEN "0a00 0200 ffffffffffff 0000", 0, 0 },
	{ "index", RTM_NEWLINK, 0, ETH0 "0800 0a00" REAL_BR0, ETH0_SEEN "0800 0a00" SEEN_BR0, 0, 0 },
	{ "other end in this namespace", RTM_NEWLINK, 0, ETH0 "0800 0500" REAL_BR0, ETH0_SEEN "0800 0500" SEEN_BR0, 0, 0 },
	{ "other end in another namespace", RTM_NEWLINK, 0, ETH0 "0800 0500" REAL_BR0 "0800 2500 03000000", ETH0_SEEN, 0, 0 },
	{ "other end unknown", RTM_NEWLINK, 0, ETH0 "0800 0500 63000000", ETH0_SEEN, 0, 0 },
	{ "fixed text", RTM_NEWLINK, 0, ETH0 "0d00 0600 66715f636f64656c00 000000", ETH0_SEEN "0c00 0600 6e6f717565756500", 0, 0 },
	{ "fixed number", RTM_NEWLINK, 0, ETH0 "0800 1f00 10000000 0800 2300 07000000",
	  ETH0_SEEN "0800 1f00 01000000 0800 2300 00000000", 0, 0 },
	{ "zero", RTM_NEWLINK, 0, ETH0 "2400 0e00 01" Z20 "0000000000 0000000000 02", ETH0_SEEN "2400 0e00 00" Z20 "0000000000 0000000000 00", 0, 0 },
	{ "zero, of one size on all kernels", RTM_NEWLINK, 0, ETH0 "1000 1700 0100000002000000 ff000000",
	  ETH0_SEEN "cc00 1700" Z100 Z100, 0, 0 },
	{ "drop", RTM_NEWLINK, 0, ETH0 "0a00 3600 aabbcc000007 0000 0500 4300 01 000000", ETH0_SEEN, 0, 0 },
	{ "unknown is dropped and counted", RTM_NEWLINK, 0, ETH0 "0800 c800 01020304 0800 0400 dc050000",
	  ETH0_SEEN "0800 0400 dc050000", 1, 0 },
	{ "operstate and carrier, up", RTM_NEWLINK, 0, ETH0 "0500 1000 02 000000 0500 2100 00 000000",
	  ETH0_SEEN "0500 1000 06 000000 0500 2100 01 000000", 0, 0 },
	{ "operstate and carrier, loopback", RTM_NEWLINK, 0, LO_DOWN "0500 1000 02 000000 0500 2100 00 000000",
	  LO_SEEN "0500 1000 00 000000 0500 2100 01 000000", 0, 0 },
	/* links: nesting */
	{ "nested: kind of link stays, its data goes", RTM_NEWLINK, 0, ETH0 "1800 1200 0900 0100 7665746800 000000 0800 0200 01020304",
	  ETH0_SEEN "1000 1200 0900 0100 7665746800 000000", 0, 0 },
	{ "nested: a bridge", RTM_NEWLINK, 0, ETH0 "1800 1200 0b00 0100 62726964676500 00 0800 0200 01020304",
	  ETH0_SEEN "1000 1200 0b00 0100 62726964676500 00", 0, 0 },
	{ "nested: a port of a bridge", RTM_NEWLINK, 0, ETH0 "1800 1200 0b00 0400 62726964676500 00 0800 0500 01020304",
	  ETH0_SEEN "1000 1200 0b00 0400 62726964676500 00", 0, 0 },
	{ "nested: a tun, and counters of a kind", RTM_NEWLINK, 0, ETH0 "1c00 1200 0800 0100 74756e00 0500 0200 01 000000 0800 0300 01020304",
	  ETH0_SEEN "0c00 1200 0800 0100 74756e00", 0, 0 },
	{ "nested: the flag bits are no part of the type", RTM_NEWLINK, 0, ETH0 "1000 1280 0900 0140 7665746800 000000",
	  ETH0_SEEN "1000 1280 0900 0140 7665746800 000000", 0, 0 },
	{ "nested: unknown inside", RTM_NEWLINK, 0, ETH0 "1800 1200 0900 0100 7665746800 000000 0800 6300 01020304",
	  ETH0_SEEN "1000 1200 0900 0100 7665746800 000000", 1, 0 },
	{ "nested twice: cacheinfo of inet6", RTM_NEWLINK, 0, ETH0 "1c00 1a00 1800 0a00 1400 0500 ffff0000 12345678 d4600000 e8030000",
	  ETH0_SEEN "1c00 1a00 1800 0a00 1400 0500 ffff0000 00000000 30750000 e8030000", 0, 0 },
	{ "nested twice with the flag: counters of icmp6 keep their count", RTM_NEWLINK, 0,
	  ETH0 "1c00 1a80 1800 0a80 1400 0600 0200000000000000 2a00000000000000",
	  ETH0_SEEN "4400 1a80 4000 0a80 3c00 0600 0700000000000000" Z20 Z20 "0000000000000000", 0, 0 },
	{ "nested: families that are not the internet's", RTM_NEWLINK, 0, ETH0 "1400 1a00 0800 1c00 01000000 0800 6300 00000000",
	  ETH0_SEEN "0400 1a00", 1, 0 },
	{ "nested: empty", RTM_NEWLINK, 0, ETH0 "0400 1200", ETH0_SEEN "0400 1200", 0, 0 },
	/* lengths */
	{ "attribute past the message", RTM_NEWLINK, 0, ETH0 "0800 0400 dc050000 0900 0300 6574", ETH0_SEEN "0800 0400 dc050000", 0, 1 },
	{ "attribute of length 3", RTM_NEWLINK, 0, ETH0 "0800 0400 dc050000 0300 0300 65000000", ETH0_SEEN "0800 0400 dc050000", 0, 1 },
	{ "attribute of length 0", RTM_NEWLINK, 0, ETH0 "0000 0000 0800 0400 dc050000", ETH0_SEEN, 0, 1 },
	{ "attribute past its container", RTM_NEWLINK, 0, ETH0 "1000 1200 0d00 0100 7665746800 000000 0800 0400 dc050000",
	  ETH0_SEEN "0400 1200 0800 0400 dc050000", 0, 1 },
	{ "number of a wrong size", RTM_NEWLINK, 0, ETH0 "0600 0400 dc05 0000 0500 1100 01 000000", ETH0_SEEN "0500 1100 01 000000", 0, 1 },
	{ "last attribute without padding", RTM_NEWLINK, 0, ETH0 "0500 1100 01", ETH0_SEEN "0500 1100 01 000000", 0, 0 },
	{ "one to three bytes behind the last attribute", RTM_NEWLINK, 0, ETH0 "0800 0400 dc050000 aabb", ETH0_SEEN "0800 0400 dc050000", 0, 0 },
	{ "message shorter than its structure", RTM_NEWLINK, 0, "0000 0100" REAL_ETH0, NULL, 0, 1 },
	/* links of a family */
	{ "bridge port: settings stay, timers go", RTM_NEWLINK, 0,
	  "0700 0100" REAL_ETH0 "43100100 00000000 2000 0c80 0500 0100 01 000000 0600 0200 2000 0000 0c00 1500 0102030405060708",
	  "0700 0100" SEEN_ETH0 "43100100 00000000 1400 0c80 0500 0100 03 000000 0600 0200 2000 0000", 0, 0 },
	{ "bridge: the vlan table is no address family", RTM_NEWLINK, 0,
	  "0700 0100" REAL_ETH0 "43100100 00000000 0c00 1a00 0800 0200 00000100", "0700 0100" SEEN_ETH0 "43100100 00000000", 0, 0 },
	{ "inet6: protocol information", RTM_NEWLINK, 0,
	  "0a00 0100" REAL_ETH0 "43100100 00000000 0c00 0c80 0800 0100 10000080",
	  "0a00 0100" SEEN_ETH0 "43100100 00000000 0c00 0c80 0800 0100 00000080", 0, 0 },

	/* addresses */
	{ "address: stamps and lifetimes", RTM_NEWADDR, 0, "02 18 80 00" REAL_ETH0 "1400 0600 10000000 20000000 33333333 44444444",
	  "02 18 80 00" SEEN_ETH0 "1400 0600 ffffffff ffffffff 00000000 00000000", 0, 0 },
	{ "address: detection of duplicates is over", RTM_NEWADDR, 0, "0a 40 cc fd" REAL_ETH0 "0800 0800 cc000000",
	  "0a 40 80 fd" SEEN_ETH0 "0800 0800 80000000", 0, 0 },
	{ "address: made from the MAC", RTM_NEWADDR, 0, "0a 40 80 fd" REAL_ETH0 "1400 0100 fe80000000000000 a8bbccfffe000007",
	  "0a 40 80 fd" SEEN_ETH0 "1400 0100 fe80000000000000 000000fffe000003", 0, 0 },
	{ "address: its own", RTM_NEWADDR, 0, "0a 40 80 00" REAL_ETH0 "1400 0100 20010db800000000 0000000000000007",
	  "0a 40 80 00" SEEN_ETH0 "1400 0100 20010db800000000 0000000000000007", 0, 0 },
	{ "address: who has set it is younger than the list", RTM_NEWADDR, 0, "0a 40 80 00" REAL_ETH0 "0500 0b00 03 000000",
	  "0a 40 80 00" SEEN_ETH0, 0, 0 },
	{ "multicast: solicited-node group", 56, 0, "0a 00 00 00" REAL_ETH0 "1400 0700 ff02000000000000 00000001ff000007",
	  "0a 00 00 00" SEEN_ETH0 "1400 0700 ff02000000000000 00000001ff000003", 0, 0 },
	{ "address label: its counter", RTM_NEWADDRLABEL, 0, "0a 00 40 00" REAL_LO "12000000 0800 0200 04000000",
	  "0a 00 40 00" SEEN_LO "00000000 0800 0200 04000000", 0, 0 },

	/* routes */
	{ "route: outgoing link", RTM_NEWROUTE, 0, "02 18 00 00 fe 02 fd 01 00000000 0800 0400" REAL_ETH0 "0800 0f00 fe000000",
	  "02 18 00 00 fe 02 fd 01 00000000 0800 0400" SEEN_ETH0 "0800 0f00 fe000000", 0, 0 },
	{ "route: flags of carrier and hardware", RTM_NEWROUTE, 0, "02 18 00 00 fe 02 fd 01 1dc20020",
	  "02 18 00 00 fe 02 fd 01 04020000", 0, 0 },
	{ "route: use and age", RTM_NEWROUTE, 0,
	  "0a 40 00 00 fe 02 00 01 00000000 2400 0c00 01000000 02000000 03000000 8fffffff 05000000 06000000 07000000 08000000",
	  "0a 40 00 00 fe 02 00 01 00000000 2400 0c00 00000000 00000000 00000000 8fffffff 00000000 00000000 00000000 00000000", 0, 0 },
	{ "route: next hops", RTM_NEWROUTE, 0,
	  "02 18 00 00 fe 03 00 01 00000000 2800 0900 1000 11 00" REAL_ETH0 "0800 0500 0a000002 1000 04 01" REAL_BR0 "0800 0500 0a000003"
	  "0400 0900",
	  "02 18 00 00 fe 03 00 01 00000000 2400 0900 1000 00 00" SEEN_ETH0 "0800 0500 0a000002 1000 04 01" SEEN_BR0 "0800 0500 0a000003",
	  0, 1 },
	{ "route: next hop past its container", RTM_NEWROUTE, 0, "02 18 00 00 fe 03 00 01 00000000 0c00 0900 1800 00 00" REAL_ETH0,
	  "02 18 00 00 fe 03 00 01 00000000 0400 0900", 0, 1 },
	{ "route: announced by a router outside", RTM_NEWROUTE, 0, "0a 00 00 00 fe 09 00 01 00000000 0800 0400" REAL_ETH0, NULL, 0, 0 },
	{ "rule: of multicast routing", RTM_NEWRULE, 0, "80 00 00 00 fd 00 00 01 00000000", NULL, 0, 0 },
	{ "rule", RTM_NEWRULE, 0, "02 00 00 00 fe ff ff 01 00000000 0800 0600 fe7f0000", "02 00 00 00 fe 00 00 01 00000000 0800 0600 fe7f0000", 0, 0 },
	{ "next hop object", RTM_NEWNEXTHOP, 0, "02 00 04 ff 01000000 0800 0100 0a000000 0800 0500" REAL_ETH0,
	  "02 00 04 00 00000000 0800 0100 0a000000 0800 0500" SEEN_ETH0, 0, 0 },

	/* neighbours */
	{ "neighbour: stale is reachable, counters are zero", RTM_NEWNEIGH, 0,
	  "02 00 0000" REAL_ETH0 "0400 00 01 0800 0100 0a000002 1400 0300 01000000 02000000 03000000 04000000 0800 0400 05000000",
	  "02 00 0000" SEEN_ETH0 "0200 00 01 0800 0100 0a000002 1400 0300 00000000 00000000 00000000 00000000 0800 0400 00000000", 0, 0 },
	{ "neighbour: without an answer it has failed", RTM_NEWNEIGH, 0, "02 00 0000" REAL_ETH0 "0100 00 01 0800 0100 0a000002",
	  "02 00 0000" SEEN_ETH0 "2000 00 01 0800 0100 0a000002", 0, 0 },
	{ "neighbour: permanent stays", RTM_NEWNEIGH, 0, "02 00 0000" REAL_ETH0 "8000 00 01", "02 00 0000" SEEN_ETH0 "8000 00 01", 0, 0 },
	{ "neighbour: MAC of a link here", RTM_NEWNEIGH, 0, "02 00 0000" REAL_ETH0 "0200 00 01 0800 0100 0a000002 0a00 0200 aabbcc000005 0000",
	  "02 00 0000" SEEN_ETH0 "0200 00 01 0800 0100 0a000002 0a00 0200 020000000002 0000", 0, 0 },
	{ "neighbour: MAC elsewhere is made from the address", RTM_NEWNEIGH, 0,
	  "02 00 0000" REAL_ETH0 "0200 00 01 0800 0100 0a000002 0a00 0200 5e1122334455 0000",
	  "02 00 0000" SEEN_ETH0 "0200 00 01 0800 0100 0a000002 0a00 0200 02000a000002 0000", 0, 0 },
	{ "neighbour: needs no resolution", RTM_NEWNEIGH, 0, "02 00 0000" REAL_LO "4000 00 02 0800 0100 7f000001", NULL, 0, 0 },
	{ "forwarding entry that was learned", RTM_NEWNEIGH, 0, "07 00 0000" REAL_ETH0 "0200 02 00 0a00 0200 5e1122334455 0000", NULL, 0, 0 },
	{ "neighbour table: seed, sizes, random time", RTM_NEWNEIGHTBL, 0,
	  "02000000 0e00 0100 6172705f636163686500 0000 2400 0500 0400500102000000 d4d61100 18270000 6507eb1e 07000000 00000000 00000000"
	  "2400 0680 0800 0100" REAL_ETH0 "0800 0200 05000000 0c00 0300 5479000000000000 0400 1200",
	  "02000000 0e00 0100 6172705f636163686500 0000 2400 0500" Z20 "0000000000 0000000000 0000"
	  "2000 0680 0800 0100" SEEN_ETH0 "0800 0200 01000000 0c00 0300 3075000000000000", 0, 0 },

	/* traffic control */
	{ "qdisc that nobody asked for", RTM_NEWQDISC, 0,
	  "00 000000" REAL_ETH0 "00000000 ffffffff 03000000 0d00 0100 66715f636f64656c00 000000 0800 0200 01020304",
	  "00 000000" SEEN_ETH0 "00000000 ffffffff 02000000 0c00 0100 6e6f717565756500", 0, 0 },
	{ "qdisc of a hardware queue", RTM_NEWQDISC, 0, "00 000000" REAL_ETH0 "00000000 01000000 03000000", NULL, 0, 0 },
	{ "qdisc with an automatic handle, and its statistics", RTM_NEWQDISC, 0,
	  "00 000000" REAL_ETH0 "00000590 ffffffff 02000000 0900 0100 7066696600 000000 1400 0700 1000 0100 010000000000000002000000",
	  "00 000000" SEEN_ETH0 "00000180 ffffffff 02000000 0900 0100 7066696600 000000 1800 0700 1400 0100 00000000000000000000000000000000", 0, 0 },
	{ "filter: which actions, not since when", RTM_NEWTFILTER, 0,
	  "00 000000" REAL_ETH0 "01000000 ffff0000 00030000 0d00 0100 6d61746368616c6c00 000000"
	  "3000 0200 2c00 0200 2800 0100 0900 0100 6761637400 000000 0c00 0400 0102030405060708 0c00 0280 0800 0100 00000000",
	  "00 000000" SEEN_ETH0 "01000000 ffff0000 00030000 0d00 0100 6d61746368616c6c00 000000"
	  "1800 0200 1400 0200 1000 0100 0900 0100 6761637400 000000", 0, 0 },

	/* others */
	{ "netconf: index, and the one for all links", RTM_NEWNETCONF, 0, "02000000 0800 0100" REAL_ETH0 "0800 0300 02000000",
	  "02000000 0800 0100" SEEN_ETH0 "0800 0300 00000000", 0, 0 },
	{ "netconf: all", RTM_NEWNETCONF, 0, "02000000 0800 0100 ffffffff", "02000000 0800 0100 ffffffff", 0, 0 },
	{ "nsid: the answer to a question", RTM_NEWNSID, 0, "00000000 0800 0100 05000000", "00000000 0800 0100 ffffffff", 0, 0 },
	{ "nsid: in a list", RTM_NEWNSID, MULTI, "00000000 0800 0100 05000000", NULL, 0, 0 },
	{ "statistics", RTM_NEWSTATS, 0, "00 00 0000" REAL_ETH0 "03000000 0c00 0100 0102030405060708 0400 0200",
	  "00 00 0000" SEEN_ETH0 "03000000 cc00 0100" Z100 Z100, 0, 0 },

	/* frame */
	{ "done alone", NLMSG_DONE, MULTI, "00000000", "00000000", 0, 0 },
	{ "done with a negative status", NLMSG_DONE, MULTI, "eaffffff", "eaffffff", 0, 0 },
	{ "done without a status", NLMSG_DONE, MULTI, "", "00000000", 0, 0 },
	{ "error whose request is cut off", NLMSG_ERROR, 0, "a1ffffff 20000000", NULL, 0, 1 },
};

/* Puts the wanted message with the length and padding that it must have. */
static void put_wanted(struct nl_buf *wanted, const struct row *row)
{
	if (row->out)
		put_message(wanted, row->type, row->flags, row->out);
}

static void run_rows(int protocol, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 }, wanted = { 0 };
		struct test_env t;

		test_env_init(&t);
		put_message(&in, rows[i].type, rows[i].flags, rows[i].in);
		put_wanted(&wanted, &rows[i]);
		cr_assert_eq(nl_canonicalise(&t.env, protocol, in.data, in.len, &out), 0);
		assert_bytes(rows[i].what, &out, &wanted);
		cr_assert_eq(t.counters.unknown_attributes, rows[i].unknown, "%s: %d unknown", rows[i].what,
			     (int)t.counters.unknown_attributes);
		cr_assert_eq(t.counters.malformed, rows[i].malformed, "%s: %d malformed", rows[i].what, (int)t.counters.malformed);
		test_env_deinit(&t);
	}
}

Test(netlink_rules, route)
{
	run_rows(NETLINK_ROUTE, route_rows, ARRAY_SIZE(route_rows));
}

/* Sockets. 1 is TCP's ESTABLISHED, 10 LISTEN. */
#define IP16(a) a "000000 000000 000000 000000"
#define NOCOOKIE "ffffffffffffffff"

static const struct row diag_rows[] = {
	{ "inet: timer, cookie, inode; the link", SOCK_DIAG_BY_FAMILY, MULTI,
	  "02 01 02 03 1f90 9c40" IP16("7f000001") IP16("7f000001") REAL_ETH0 "1100000022000000 64000000 05000000 06000000 e8030000 39300000",
	  "02 01 00 00 1f90 9c40" IP16("7f000001") IP16("7f000001") SEEN_ETH0 NOCOOKIE "00000000 05000000 00000000 e8030000 00000000", 0, 0 },
	{ "inet: backlog of a listener", SOCK_DIAG_BY_FAMILY, MULTI,
	  "02 0a 00 00 1f90 0000" IP16("7f000001") IP16("00000000") "00000000 1100000022000000 00000000 00000000 80000000 e8030000 39300000",
	  "02 0a 00 00 1f90 0000" IP16("7f000001") IP16("00000000") "00000000" NOCOOKIE "00000000 00000000 80000000 e8030000 00000000", 0, 0 },
	{ "unix: inodes and cookies", SOCK_DIAG_BY_FAMILY, MULTI, "01 01 0a 00 39300000 1100000022000000 0700 0000 006162 00 0800 0200 3a300000",
	  "01 01 0a 00 00000000" NOCOOKIE "0700 0000 006162 00 0800 0200 00000000", 0, 0 },
	{ "netlink: a socket of the kernel", SOCK_DIAG_BY_FAMILY, MULTI, "10 03 00 00 00000000 00000000 00000000 00000000 1100000022000000", NULL, 0, 0 },
	{ "netlink: a socket of the guest", SOCK_DIAG_BY_FAMILY, MULTI, "10 03 00 00 05000000 00000000 00000000 39300000 1100000022000000",
	  "10 03 00 00 05000000 00000000 00000000 00000000" NOCOOKIE, 0, 0 },
	{ "packet: the link inside", SOCK_DIAG_BY_FAMILY, MULTI, "11 03 0300 39300000 1100000022000000 1c00 0000" REAL_ETH0 "00000000 00000000 00000000 00000000 00000000",
	  "11 03 0300 00000000" NOCOOKIE "1c00 0000" SEEN_ETH0 "00000000 00000000 00000000 00000000 00000000", 0, 0 },
	{ "vsock is not modelled", SOCK_DIAG_BY_FAMILY, MULTI, "28 00 00 00 00000000", NULL, 0, 0 },
};

Test(netlink_rules, sock_diag)
{
	run_rows(NETLINK_SOCK_DIAG, diag_rows, ARRAY_SIZE(diag_rows));
}

Test(netlink_rules, tcp_info_keeps_what_was_agreed)
{
	_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 }, wanted = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_message(&in, SOCK_DIAG_BY_FAMILY, MULTI,
		    "02 01 00 00 1f90 9c40" Z20 Z20 Z20 "00000000"
		    "1000 0200 01 02 03 04 05 07 77 ff 11111111");
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_SOCK_DIAG, in.data, in.len, &out), 0);
	put_hex(&wanted, "ec00 0200 01 00 00 00 00 07 77 00");
	cr_assert_eq(out.len, 16 + 72 + 236);
	cr_assert_arr_eq(out.data + 16 + 72, wanted.data, wanted.len);
	for (size_t i = 16 + 72 + 12; i < out.len; i++)
		cr_assert_eq(out.data[i], 0);
	test_env_deinit(&t);
}

static uint64_t shift_inode(void *user, enum nl_direction direction, uint64_t inode)
{
	return direction == NL_TO_VIRTUAL ? inode - *(uint64_t *)user : inode + *(uint64_t *)user;
}

/* Who has numbers of his own for sockets gives them: the same as in /proc, say. */
Test(netlink_rules, sockets_with_an_identity)
{
	_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 }, wanted = { 0 };
	uint64_t shift = 0x3000;
	const struct nl_identity identity = { .user = &shift, .inode = shift_inode, .cookie = shift_inode };
	struct test_env t;

	test_env_init(&t);
	t.env.identity = &identity;
	put_message(&in, SOCK_DIAG_BY_FAMILY, MULTI, "01 01 0a 00 39300000 1130000022000000 0800 0200 3a300000");
	put_message(&wanted, SOCK_DIAG_BY_FAMILY, MULTI, "01 01 0a 00 39000000 1100000022000000 0800 0200 3a000000");
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_SOCK_DIAG, in.data, in.len, &out), 0);
	assert_bytes("identity", &out, &wanted);
	test_env_deinit(&t);
}

/* The port of a netlink socket is one of its own family, not of the family that asks. */
Test(netlink_rules, ports_of_netlink_sockets)
{
	_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 };
	struct test_env t;

	test_env_init(&t);
	cr_assert_eq(nl_ports_bind(&t.ports, NETLINK_ROUTE, 42), 0);
	nl_ports_set_real(&t.ports, NETLINK_ROUTE, 42, 9);
	put_message(&in, SOCK_DIAG_BY_FAMILY, MULTI, "10 03 00 00 09000000 00000000 00000000 39300000 1100000022000000");
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_SOCK_DIAG, in.data, in.len, &out), 0);
	cr_assert_eq(out.data[20], 42);
	test_env_deinit(&t);
}

/* The same bytes as messages of other kinds: a link's attributes mean nothing in an address. */
Test(netlink_rules, attributes_belong_to_their_object)
{
	_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_message(&in, RTM_NEWADDR, 0, "02 18 80 00" REAL_ETH0 "0c00 1700 0102030405060708");
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_ROUTE, in.data, in.len, &out), 0);
	cr_assert_eq(out.len, 24);
	cr_assert_eq(t.counters.unknown_attributes, 1);
	test_env_deinit(&t);
}

struct frame_row {
	const char *what;
	const char *in;
	const char *out;
};

/* Whole messages: port 500 of the kernel is the guest's 42. */
static const struct frame_row frame_rows[] = {
	{ "interrupted dump", "14000000 0300 1200 4d000000 f4010000 00000000", "14000000 0300 0200 4d000000 2a000000 00000000" },
	{ "the bit has another meaning outside of dumps", "14000000 1800 1000 4d000000 f4010000 00000000", "" },
	{ "filtered dump", "14000000 0300 2200 4d000000 f4010000 00000000", "14000000 0300 2200 4d000000 2a000000 00000000" },
	{ "done with an extended acknowledgement", "20000000 0300 0202 4d000000 f4010000 eaffffff 0c00 0100 6261640000000000",
	  "14000000 0300 0200 4d000000 2a000000 eaffffff" },
	{ "port of somebody else", "14000000 0300 0200 4d000000 f5010000 00000000", "14000000 0300 0200 4d000000 f5010000 00000000" },
	{ "acknowledgement", "24000000 0200 0001 4d000000 f4010000 00000000 20000000 1000 0500 4d000000 f4010000",
	  "24000000 0200 0001 4d000000 2a000000 00000000 20000000 1000 0500 4d000000 2a000000" },
	{ "error, its request in the guest's numbers, its text cut",
	  "44000000 0200 0002 4d000000 f4010000 edffffff"
	  "20000000 1000 0500 4d000000 f4010000 00000000" REAL_ETH0 "00000000 00000000 0f00 0100 4e6f206465766963650000 00",
	  "34000000 0200 0000 4d000000 2a000000 edffffff"
	  "20000000 1000 0500 4d000000 2a000000 00000000" SEEN_ETH0 "00000000 00000000" },
	{ "capped error", "34000000 0200 0003 4d000000 f4010000 edffffff 20000000 1000 0500 4d000000 f4010000 0f00 0100 4e6f206465766963650000 00",
	  "24000000 0200 0001 4d000000 2a000000 edffffff 20000000 1000 0500 4d000000 2a000000" },
	{ "error whose request is said to be longer than it is",
	  "24000000 0200 0000 4d000000 f4010000 edffffff ff000000 1000 0500 4d000000 f4010000",
	  "24000000 0200 0000 4d000000 2a000000 edffffff ff000000 1000 0500 4d000000 2a000000" },
	{ "two messages, the second cut off", "14000000 0300 0200 4d000000 f4010000 00000000 20000000 1000 0200 4d000000",
	  "14000000 0300 0200 4d000000 2a000000 00000000" },
	{ "length below that of a header", "0f000000 0300 0200 4d000000 f4010000 00000000", "" },
	{ "length past the buffer", "18000000 0300 0200 4d000000 f4010000 00000000", "" },
	{ "length that is negative as a signed number", "8a8a8a8a 0300 0200 4d000000 f4010000 00000000", "" },
	{ "less than a header", "14000000 0300 0200 4d00", "" },
	{ "nothing", "", "" },
	{ "last message without its padding", "11000000 0300 0200 4d000000 f4010000 00", "14000000 0300 0200 4d000000 2a000000 00000000" },
	{ "a type that no kernel had", "14000000 ff00 0200 4d000000 f4010000 00000000", "" },
	{ "nothing to be done", "10000000 0100 0000 4d000000 f4010000", "" },
};

Test(netlink_rules, frames)
{
	for (size_t i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 }, wanted = { 0 };
		struct test_env t;

		test_env_init(&t);
		cr_assert_eq(nl_ports_bind(&t.ports, NETLINK_ROUTE, 42), 0);
		nl_ports_set_real(&t.ports, NETLINK_ROUTE, 42, 500);
		put_hex(&in, frame_rows[i].in);
		put_hex(&wanted, frame_rows[i].out);
		cr_assert_eq(nl_canonicalise(&t.env, NETLINK_ROUTE, in.data, in.len, &out), 0);
		assert_bytes(frame_rows[i].what, &out, &wanted);
		test_env_deinit(&t);
	}
}

/* 64 KiB in one attribute, which is as long as one can be, and a message that ends with it. */
Test(netlink_rules, largest_attribute)
{
	_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 };
	const size_t payload = UINT16_MAX - 4;
	struct test_env t;
	uint32_t len;

	test_env_init(&t);
	put_message(&in, RTM_NEWLINK, 0, ETH0 "ffff 0200");
	nl_buf_put(&in, NULL, payload);
	memset(in.data + 36, 0x5a, payload);
	len = (uint32_t)in.len;
	memcpy(in.data, &len, sizeof(len));
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_ROUTE, in.data, in.len, &out), 0);
	cr_assert_eq(out.len, in.len + 1); /* and its padding */
	cr_assert_arr_eq(out.data + 32, in.data + 32, payload + 4);
	cr_assert_eq(t.counters.malformed, 0);
	test_env_deinit(&t);
}

/* A container that would grow beyond what its length can say is left out, and so is the one around it no more than that. */
Test(netlink_rules, container_that_grows_too_long)
{
	_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 };
	struct test_env t;
	uint16_t inner = 4, outer;
	uint32_t len;

	test_env_init(&t);
	put_message(&in, RTM_NEWLINK, 0, ETH0 "0000 1a00 0000 0a00");
	/* 16000 empty lists of counters of inet6, each of which becomes 38 numbers. */
	while (in.len < 16 + 16 + 8 + 4000 * 4)
		put_hex(&in, "0400 0300");
	outer = (uint16_t)(in.len - 32);
	inner = (uint16_t)(outer - 4);
	memcpy(in.data + 32, &outer, 2);
	memcpy(in.data + 36, &inner, 2);
	len = (uint32_t)in.len;
	memcpy(in.data, &len, sizeof(len));
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_ROUTE, in.data, in.len, &out), 0);
	cr_assert_eq(out.len, 16 + 16 + 4);
	cr_assert_eq(t.counters.malformed, 1);
	test_env_deinit(&t);
}

Test(netlink_rules, references_to_unknown_links_are_counted)
{
	_cleanup_(nl_buf_deinit) struct nl_buf in = { 0 }, out = { 0 }, wanted = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_message(&in, RTM_NEWROUTE, 0, "02 18 00 00 fe 02 fd 01 00000000 0800 0400 63000000");
	put_message(&wanted, RTM_NEWROUTE, 0, "02 18 00 00 fe 02 fd 01 00000000 0800 0400 00000000");
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_ROUTE, in.data, in.len, &out), 0);
	assert_bytes("unknown link", &out, &wanted);
	cr_assert_eq(t.counters.unknown_indexes, 1);
	test_env_deinit(&t);
}
