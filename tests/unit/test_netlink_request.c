/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests on their way to the kernel, their repetition in errors, and refusals. */
#include "netlink_test.h"

#include <errno.h>

#include "netlink/request.h"

#define REQUEST (NLM_F_REQUEST | NLM_F_ACK)

struct row {
	const char *what;
	uint16_t type;
	const char *guest;
	const char *kernel;
};

/* The guest's eth0 is 3, br0 2. Unknown 9 becomes 0x7ffffff6. */
static const struct row route_rows[] = {
	{ "link by index", RTM_GETLINK, "00 00 0000" SEEN_ETH0 "00000000 00000000", "00 00 0000" REAL_ETH0 "00000000 00000000" },
	{ "link by an index that is none", RTM_GETLINK, "00 00 0000 09000000 00000000 00000000", "00 00 0000 f6ffff7f 00000000 00000000" },
	{ "link by name", RTM_GETLINK, "00 00 0000 00000000 00000000 00000000 0900 0300 6574683000 000000",
	  "00 00 0000 00000000 00000000 00000000 0900 0300 6574683000 000000" },
	{ "one byte of structure, as glibc asks", RTM_GETLINK, "00", "00" },
	{ "structure cut off before the index", RTM_GETLINK, "00 00 0000 0300", "00 00 0000 0300" },
	{ "no structure", RTM_GETLINK, "", "" },
	{ "master", RTM_NEWLINK, "00 00 0000" SEEN_ETH0 "00000000 00000000 0800 0a00" SEEN_BR0,
	  "00 00 0000" REAL_ETH0 "00000000 00000000 0800 0a00" REAL_BR0 },
	{ "lower link", RTM_NEWLINK, "00 00 0000 00000000 00000000 00000000 0800 0500" SEEN_ETH0,
	  "00 00 0000 00000000 00000000 00000000 0800 0500" REAL_ETH0 },
	{ "virtual MAC of a link", RTM_NEWLINK, "00 00 0000" SEEN_BR0 "00000000 00000000 0a00 0100 020000000003 0000",
	  "00 00 0000" REAL_BR0 "00000000 00000000 0a00 0100 aabbcc000007 0000" },
	{ "pair: lower index inside the peer", RTM_NEWLINK,
	  "00 00 0000 00000000 00000000 00000000 3000 1200 0900 0100 7665746800 000000 2000 0200 1c00 0100 00 00 0000 09000000 00000000 00000000 0800 0a00" SEEN_BR0,
	  "00 00 0000 00000000 00000000 00000000 3000 1200 0900 0100 7665746800 000000 2000 0200 1c00 0100 00 00 0000 f6ffff7f 00000000 00000000 0800 0a00" REAL_BR0 },
	{ "kind without its NUL", RTM_NEWLINK,
	  "00 00 0000 00000000 00000000 00000000 1c00 1200 0900 0100 76786c616e 000000 0c00 0200 0800 0300" SEEN_ETH0,
	  "00 00 0000 00000000 00000000 00000000 1c00 1200 0900 0100 76786c616e 000000 0c00 0200 0800 0300" REAL_ETH0 },
	{ "data of a kind that names no link", RTM_NEWLINK,
	  "00 00 0000 00000000 00000000 00000000 1c00 1200 0900 0100 64756d6d79 000000 0c00 0200 0800 0300" SEEN_ETH0,
	  "00 00 0000 00000000 00000000 00000000 1c00 1200 0900 0100 64756d6d79 000000 0c00 0200 0800 0300" SEEN_ETH0 },
	{ "address", RTM_NEWADDR, "02 18 00 00" SEEN_ETH0 "0800 0200 0a000001", "02 18 00 00" REAL_ETH0 "0800 0200 0a000001" },
	{ "address that the guest has seen made from a MAC", RTM_DELADDR, "0a 40 00 00" SEEN_ETH0 "1400 0100 fe80000000000000 000000fffe000003",
	  "0a 40 00 00" REAL_ETH0 "1400 0100 fe80000000000000 a8bbccfffe000007" },
	{ "route", RTM_NEWROUTE, "02 18 00 00 fe 03 00 01 00000000 0800 0400" SEEN_ETH0 "0800 0300" SEEN_BR0,
	  "02 18 00 00 fe 03 00 01 00000000 0800 0400" REAL_ETH0 "0800 0300" REAL_BR0 },
	{ "next hops", RTM_NEWROUTE, "02 18 00 00 fe 03 00 01 00000000 2400 0900 1000 00 00" SEEN_ETH0 "0800 0500 0a000002 1000 00 00" SEEN_BR0 "0800 0500 0a000003",
	  "02 18 00 00 fe 03 00 01 00000000 2400 0900 1000 00 00" REAL_ETH0 "0800 0500 0a000002 1000 00 00" REAL_BR0 "0800 0500 0a000003" },
	{ "next hop that is too long", RTM_NEWROUTE, "02 18 00 00 fe 03 00 01 00000000 0c00 0900 2000 00 00" SEEN_ETH0,
	  "02 18 00 00 fe 03 00 01 00000000 0c00 0900 2000 00 00" SEEN_ETH0 },
	{ "neighbour", RTM_NEWNEIGH, "02 00 0000" SEEN_ETH0 "8000 00 00 0a00 0200 020000000002 0000",
	  "02 00 0000" REAL_ETH0 "8000 00 00 0a00 0200 aabbcc000005 0000" },
	{ "queueing discipline", RTM_NEWQDISC, "00 000000" SEEN_ETH0 "00000000 ffffffff 00000000", "00 000000" REAL_ETH0 "00000000 ffffffff 00000000" },
	{ "settings", RTM_GETNETCONF, "02000000 0800 0100" SEEN_ETH0, "02000000 0800 0100" REAL_ETH0 },
	{ "statistics", RTM_GETSTATS, "00 00 0000" SEEN_ETH0 "01000000", "00 00 0000" REAL_ETH0 "01000000" },
	{ "an attribute past its container stays", RTM_NEWLINK, "00 00 0000" SEEN_ETH0 "00000000 00000000 0900 0a00" SEEN_BR0,
	  "00 00 0000" REAL_ETH0 "00000000 00000000 0900 0a00" SEEN_BR0 },
	{ "an index of a wrong size stays", RTM_NEWLINK, "00 00 0000" SEEN_ETH0 "00000000 00000000 0600 0a00 0200 0000",
	  "00 00 0000" REAL_ETH0 "00000000 00000000 0600 0a00 0200 0000" },
};

static void run_rows(int protocol, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf guest = { 0 }, kernel = { 0 }, real = { 0 }, answers = { 0 };
		struct nl_request_report report;
		struct test_env t;

		test_env_init(&t);
		put_message(&guest, rows[i].type, REQUEST, rows[i].guest);
		put_message(&kernel, rows[i].type, REQUEST, rows[i].kernel);
		cr_assert_eq(nl_request_prepare(&t.env, protocol, 500, false, guest.data, guest.len, &real, &answers, &report), 0);
		assert_bytes(rows[i].what, &real, &kernel);
		cr_assert_eq(answers.len, 0);
		cr_assert_eq(report.messages, 1);
		cr_assert_eq(report.refused, 0);
		/* What an error repeats is what the guest has sent. */
		cr_assert_eq(nl_translate(&t.env, protocol, NL_TO_VIRTUAL, real.data, *(uint32_t *)real.data, NULL), 0);
		assert_bytes(rows[i].what, &real, &guest);
		test_env_deinit(&t);
	}
}

Test(netlink_request, route)
{
	run_rows(NETLINK_ROUTE, route_rows, ARRAY_SIZE(route_rows));
}

#define IP16(a) a "000000 000000 000000 000000"
static const struct row diag_rows[] = {
	{ "inet", SOCK_DIAG_BY_FAMILY, "02 06 00 00 ffffffff 1f90 0000" IP16("7f000001") IP16("00000000") SEEN_ETH0 "ffffffffffffffff",
	  "02 06 00 00 ffffffff 1f90 0000" IP16("7f000001") IP16("00000000") REAL_ETH0 "ffffffffffffffff" },
};

Test(netlink_request, sock_diag)
{
	run_rows(NETLINK_SOCK_DIAG, diag_rows, ARRAY_SIZE(diag_rows));
}

/* A MAC that the guest gives to a link is the one that it sees afterwards. */
Test(netlink_request, a_named_mac_is_remembered)
{
	_cleanup_(nl_buf_deinit) struct nl_buf guest = { 0 }, real = { 0 }, answers = { 0 }, news = { 0 }, seen = { 0 };
	struct nl_request_report report;
	struct test_env t;

	test_env_init(&t);
	put_message(&guest, RTM_NEWLINK, REQUEST, "00 00 0000" SEEN_ETH0 "00000000 00000000 0a00 0100 0e1122334455 0000");
	cr_assert_eq(nl_request_prepare(&t.env, NETLINK_ROUTE, 500, false, guest.data, guest.len, &real, &answers, &report), 0);
	put_message(&news, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 "43100100 00000000 0a00 0100 0e1122334455 0000");
	cr_assert_eq(nl_canonicalise(&t.env, NETLINK_ROUTE, news.data, news.len, &seen), 0);
	cr_assert_arr_eq(seen.data + 36, ((uint8_t[]){ 0x0e, 0x11, 0x22, 0x33, 0x44, 0x55 }), 6);
	test_env_deinit(&t);
}

Test(netlink_request, refusals)
{
	_cleanup_(nl_buf_deinit) struct nl_buf guest = { 0 }, real = { 0 }, answers = { 0 }, wanted = { 0 };
	struct nl_request_report report;
	struct test_env t;

	test_env_init(&t);
	put_message(&guest, 86, NLM_F_REQUEST | NLM_F_DUMP, "07000000 00000000"); /* RTM_GETMDB */
	put_message(&guest, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, "00 00 0000 00000000 00000000 00000000");
	cr_assert_eq(nl_request_prepare(&t.env, NETLINK_ROUTE, 500, false, guest.data, guest.len, &real, &answers, &report), 0);
	cr_assert_eq(real.len, 32, "the other message goes to the kernel");
	cr_assert_eq(report.messages, 2);
	cr_assert_eq(report.refused, 1);
	cr_assert(report.dump);
	put_hex(&wanted, "2c000000 0200 0000 4d000000 f4010000 a1ffffff 18000000 5600 0103 4d000000 f4010000 07000000 00000000");
	assert_bytes("refusal", &answers, &wanted);

	nl_buf_reset(&answers);
	nl_buf_reset(&wanted);
	cr_assert_eq(nl_request_prepare(&t.env, NETLINK_ROUTE, 500, true, guest.data, guest.len, &real, &answers, &report), 0);
	put_hex(&wanted, "24000000 0200 0001 4d000000 f4010000 a1ffffff 18000000 5600 0103 4d000000 f4010000");
	assert_bytes("capped refusal", &answers, &wanted);
	test_env_deinit(&t);
}

Test(netlink_request, what_the_caller_is_told)
{
	static const struct {
		const char *what;
		uint16_t type, flags;
		const char *payload;
		bool dump, changes, names_task, unroutes;
	} rows[] = {
		{ "dump", RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, "00", true, false, false, false },
		{ "get", RTM_GETADDR, NLM_F_REQUEST, "00", false, false, false, false },
		{ "new", RTM_NEWLINK, NLM_F_REQUEST, "00 00 0000 00000000 00000000 00000000", false, true, false, false },
		{ "new, with NLM_F_CREATE and NLM_F_EXCL, which are bits of NLM_F_DUMP", RTM_NEWLINK, NLM_F_REQUEST | 0x600,
		  "00 00 0000 00000000 00000000 00000000", false, true, false, false },
		{ "del", RTM_DELLINK, NLM_F_REQUEST, "00 00 0000 00000000 00000000 00000000", false, true, false, false },
		{ "into the namespace of a task", RTM_NEWLINK, NLM_F_REQUEST, "00 00 0000 00000000 00000000 00000000 0800 1300 07000000", false, true, true, false },
		{ "into the namespace of a descriptor", RTM_NEWLINK, NLM_F_REQUEST, "00 00 0000 00000000 00000000 00000000 0800 1c00 07000000", false, true, true, false },
		{ "id of a namespace", RTM_GETNSID, NLM_F_REQUEST, "00000000 0800 0300 07000000", false, false, true, false },
		{ "a route away", RTM_DELROUTE, NLM_F_REQUEST, "0a 80 00 00 fe 00 00 01 00000000", false, true, false, false },
		{ "a local route away", RTM_DELROUTE, NLM_F_REQUEST, "0a 80 00 00 fe 00 00 02 00000000", false, true, false, true },
		{ "one of the local table", RTM_DELROUTE, NLM_F_REQUEST, "0a 80 00 00 ff 00 00 00 00000000", false, true, false, true },
		{ "one of the local table, which an attribute names", RTM_DELROUTE, NLM_F_REQUEST,
		  "0a 80 00 00 00 00 00 00 00000000 0800 0f00 ff000000", false, true, false, true },
		{ "one of another table, which an attribute names", RTM_DELROUTE, NLM_F_REQUEST,
		  "0a 80 00 00 ff 00 00 00 00000000 0800 0f00 fe000000", false, true, false, false },
		{ "a local route", RTM_NEWROUTE, NLM_F_REQUEST, "0a 80 00 00 ff 00 00 02 00000000", false, true, false, false },
		{ "a route away, cut", RTM_DELROUTE, NLM_F_REQUEST, "0a 80 00 00 ff 00 00 02", false, true, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf guest = { 0 }, real = { 0 }, answers = { 0 };
		struct nl_request_report report;
		struct test_env t;

		test_env_init(&t);
		put_message(&guest, rows[i].type, rows[i].flags, rows[i].payload);
		cr_assert_eq(nl_request_prepare(&t.env, NETLINK_ROUTE, 500, false, guest.data, guest.len, &real, &answers, &report), 0);
		cr_assert_eq(report.dump, rows[i].dump, "%s: dump", rows[i].what);
		cr_assert_eq(report.changes, rows[i].changes, "%s: changes", rows[i].what);
		cr_assert_eq(report.names_task, rows[i].names_task, "%s: names_task", rows[i].what);
		cr_assert_eq(report.unroutes, rows[i].unroutes, "%s: unroutes", rows[i].what);
		test_env_deinit(&t);
	}
}

/* What is no message goes to the kernel as it is, and from any address. */
Test(netlink_request, junk_is_sent_as_it_is)
{
	static const char *const junk[] = { "", "00", "aabbccddeeff", "0f000000 1200 0100 00000000 00000000", "ff000000 1200 0100 00000000 00000000 0000" };
	uint8_t unaligned[64];

	for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf guest = { 0 }, real = { 0 }, answers = { 0 };
		struct nl_request_report report;
		struct test_env t;

		test_env_init(&t);
		put_hex(&guest, junk[i]);
		if (guest.len)
			memcpy(unaligned + 1, guest.data, guest.len);
		cr_assert_eq(nl_request_prepare(&t.env, NETLINK_ROUTE, 500, false, unaligned + 1, guest.len, &real, &answers, &report), 0);
		assert_bytes(junk[i], &real, &guest);
		test_env_deinit(&t);
	}
}

/* A message inside a peer inside a peer: the depth has an end, and what is below stays. */
Test(netlink_request, nesting_has_an_end)
{
	_cleanup_(nl_buf_deinit) struct nl_buf guest = { 0 }, real = { 0 }, answers = { 0 };
	const size_t levels = 100, per_level = 4 + 12 + 4 + 4 + 16;
	struct nl_request_report report;
	struct test_env t;
	uint32_t len;

	test_env_init(&t);
	put_message(&guest, RTM_NEWLINK, REQUEST, "00 00 0000 00000000 00000000 00000000");
	for (size_t i = 0; i < levels; i++) {
		uint16_t left = (uint16_t)((levels - i) * per_level), data = (uint16_t)(left - 16), peer = (uint16_t)(left - 20);

		nl_buf_put(&guest, &left, 2);
		put_hex(&guest, "1200 0900 0100 7665746800 000000");
		nl_buf_put(&guest, &data, 2);
		put_hex(&guest, "0200");
		nl_buf_put(&guest, &peer, 2);
		put_hex(&guest, "0100 00 00 0000" SEEN_ETH0 "00000000 00000000");
	}
	len = (uint32_t)guest.len;
	memcpy(guest.data, &len, sizeof(len));
	cr_assert_eq(nl_request_prepare(&t.env, NETLINK_ROUTE, 500, false, guest.data, guest.len, &real, &answers, &report), 0);
	cr_assert_eq(real.len, guest.len);
	cr_assert_eq(real.data[32 + 24 + 4], 7, "the first peer");
	cr_assert_eq(real.data[32 + (levels - 1) * per_level + 24 + 4], 3, "the last one");
	test_env_deinit(&t);
}
