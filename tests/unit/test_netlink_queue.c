/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps as they are collected, sorted and cut; single answers; notifications. */
#include "netlink_test.h"

#include <errno.h>
#include <sys/socket.h>

#include "netlink/queue.h"

/* Flags and change of struct ifinfomsg. */
#define UP   "43100100 00000000"
#define DOWN "42100000 00000000"

struct fixture {
	struct test_env t;
	struct nl_queue queue;
};

static void fixture_init(struct fixture *f, int protocol)
{
	test_env_init(&f->t);
	nl_queue_init(&f->queue, &f->t.env, protocol);
}

static void fixture_deinit(struct fixture *f)
{
	nl_queue_deinit(&f->queue);
	test_env_deinit(&f->t);
}

static void push(struct fixture *f, const struct nl_buf *datagram, uint32_t group)
{
	cr_assert_eq(nl_queue_push_raw(&f->queue, datagram->data, datagram->len, group), 0);
}

static void push_message(struct fixture *f, uint16_t type, uint16_t flags, const char *payload, uint32_t group)
{
	_cleanup_(nl_buf_deinit) struct nl_buf datagram = { 0 };

	put_message(&datagram, type, flags, payload);
	push(f, &datagram, group);
}

/* One route message of 60 bytes for each of n networks 10.0.i.0/24, the last first; then the end. */
static void push_routes(struct fixture *f, unsigned n)
{
	for (unsigned i = n; i-- > 0;) {
		char text[128];

		(void)snprintf(text, sizeof(text), "02 18 00 00 fe 03 00 01 00000000 0800 0f00 fe000000 0800 0100 0a%02x%02x00 0800 0400 %s", i >> 8,
			       i & 255, REAL_ETH0);
		push_message(f, RTM_NEWROUTE, NLM_F_MULTI, text, 0);
	}
	push_message(f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
}

enum { ROUTE_LEN = 16 + 12 + 3 * 8, DONE_LEN = 20, ROUTE_DST_AT = 16 + 12 + 8 + 4 };

static struct nl_datagram next(struct fixture *f, size_t buf_len, int flags)
{
	struct nl_datagram datagram = { 0 };

	cr_assert_eq(nl_queue_next(&f->queue, buf_len, flags, &datagram), NL_QUEUE_DATAGRAM);
	return datagram;
}

static bool is_empty(struct fixture *f)
{
	struct nl_datagram datagram;

	return !nl_queue_is_ready(&f->queue) && nl_queue_next(&f->queue, 0, MSG_PEEK, &datagram) == NL_QUEUE_EMPTY;
}

Test(netlink_queue, a_dump_is_held_until_its_end)
{
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWROUTE, NLM_F_MULTI, "02 18 00 00 fe 03 00 01 00000000", 0);
	cr_assert(is_empty(&f));
	cr_assert(nl_queue_is_collecting(&f.queue));
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	cr_assert_not(nl_queue_is_collecting(&f.queue));
	cr_assert_eq(next(&f, 8192, 0).full_len, 28 + DONE_LEN);
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

Test(netlink_queue, done_alone)
{
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	cr_assert_eq(next(&f, 8192, 0).len, DONE_LEN);
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

Test(netlink_queue, a_dump_is_sorted)
{
	struct nl_datagram datagram;
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_routes(&f, 5);
	datagram = next(&f, 8192, 0);
	cr_assert_eq(datagram.len, 5 * ROUTE_LEN + DONE_LEN);
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(datagram.bytes[i * ROUTE_LEN + ROUTE_DST_AT + 2], i);
	fixture_deinit(&f);
}

/* What the kernel would do: its buffer is as large as the largest that was offered, from 3776 up to 32448 bytes. */
Test(netlink_queue, datagrams_are_cut_at_what_the_guest_offers)
{
	static const struct {
		size_t offered;
		unsigned routes;
	} rows[] = {
		{ 0, 3776 / ROUTE_LEN },     { 100, 3776 / ROUTE_LEN },	  { 3776, 3776 / ROUTE_LEN },	  { 4096, 4096 / ROUTE_LEN },
		{ 8192, 8192 / ROUTE_LEN },  { 32768, 32448 / ROUTE_LEN }, { 1 << 20, 32448 / ROUTE_LEN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f;

		fixture_init(&f, NETLINK_ROUTE);
		push_routes(&f, 700);
		cr_assert_eq(next(&f, rows[i].offered, 0).full_len, rows[i].routes * ROUTE_LEN, "%zu", rows[i].offered);
		fixture_deinit(&f);
	}
}

/* The dump comes out whole and in order, whatever the buffers. */
Test(netlink_queue, all_of_a_dump_comes_out)
{
	size_t expected_len = 700 * ROUTE_LEN + DONE_LEN;

	for (size_t size = 3776; size < 40000; size += 1717) {
		_cleanup_(nl_buf_deinit) struct nl_buf all = { 0 };
		struct nl_datagram datagram;
		struct fixture f;
		unsigned n = 0;

		fixture_init(&f, NETLINK_ROUTE);
		push_routes(&f, 700);
		while (nl_queue_next(&f.queue, size, 0, &datagram) == NL_QUEUE_DATAGRAM) {
			cr_assert_not(datagram.truncated);
			cr_assert_eq(datagram.result, datagram.full_len);
			nl_buf_put(&all, datagram.bytes, datagram.len);
			n++;
		}
		cr_assert_eq(all.len, expected_len);
		cr_assert_geq(n, expected_len / size);
		for (unsigned i = 0; i < 700; i++)
			cr_assert_eq((unsigned)(all.data[i * ROUTE_LEN + ROUTE_DST_AT + 1] << 8 | all.data[i * ROUTE_LEN + ROUTE_DST_AT + 2]), i);
		fixture_deinit(&f);
	}
}

/* The end comes alone where the last messages fill the datagram: 72 routes are 3744 bytes, 32 are left, 73 are too many. */
Test(netlink_queue, the_end_is_in_the_last_datagram_if_it_fits)
{
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_routes(&f, 72);
	cr_assert_eq(next(&f, 3776, 0).full_len, 72 * ROUTE_LEN + DONE_LEN);
	cr_assert(is_empty(&f));
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	cr_assert_eq(next(&f, 3776, 0).full_len, DONE_LEN);
	push_routes(&f, 144);
	cr_assert_eq(next(&f, 3776, 0).full_len, 72 * ROUTE_LEN);
	cr_assert_eq(next(&f, 3776, 0).full_len, 72 * ROUTE_LEN + DONE_LEN);
	fixture_deinit(&f);
}

Test(netlink_queue, peeking)
{
	struct nl_datagram peeked, taken;
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_routes(&f, 200);
	peeked = next(&f, 0, MSG_PEEK | MSG_TRUNC);
	cr_assert_eq(peeked.result, 72 * ROUTE_LEN, "the length that is there");
	cr_assert_eq(peeked.len, 0);
	cr_assert(peeked.truncated);
	cr_assert_eq(next(&f, 0, MSG_PEEK).result, 0);
	cr_assert_eq(next(&f, 10, MSG_PEEK).result, 10);
	/* The border does not move when a larger buffer is offered afterwards. */
	taken = next(&f, 32768, 0);
	cr_assert_eq(taken.full_len, 72 * ROUTE_LEN);
	cr_assert_not(taken.truncated);
	cr_assert_eq(next(&f, 32768, 0).full_len, 128 * ROUTE_LEN + DONE_LEN, "now it is as large as was offered");
	fixture_deinit(&f);
}

Test(netlink_queue, short_buffers_lose_the_rest)
{
	struct nl_datagram datagram;
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_routes(&f, 100);
	datagram = next(&f, 100, 0);
	cr_assert_eq(datagram.len, 100);
	cr_assert_eq(datagram.result, 100);
	cr_assert(datagram.truncated);
	datagram = next(&f, 100, MSG_TRUNC);
	cr_assert_eq(datagram.len, 100);
	cr_assert_eq(datagram.result, 28 * ROUTE_LEN + DONE_LEN);
	cr_assert_eq(datagram.bytes[ROUTE_DST_AT + 2], 72);
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

Test(netlink_queue, a_buffer_of_no_length_takes_a_datagram)
{
	struct nl_datagram datagram;
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	datagram = next(&f, 0, 0);
	cr_assert_eq(datagram.result, 0);
	cr_assert(datagram.truncated);
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

/* A message larger than the limit is a datagram of its own. */
Test(netlink_queue, large_messages)
{
	_cleanup_(nl_buf_deinit) struct nl_buf datagram = { 0 };
	struct fixture f;
	uint32_t len;

	fixture_init(&f, NETLINK_ROUTE);
	put_message(&datagram, RTM_NEWLINK, NLM_F_MULTI, "0000 0100" REAL_ETH0 "43100100 00000000 ffff 0200");
	nl_buf_put(&datagram, NULL, UINT16_MAX - 4);
	nl_buf_align(&datagram);
	len = (uint32_t)datagram.len;
	memcpy(datagram.data, &len, sizeof(len));
	put_message(&datagram, RTM_NEWLINK, NLM_F_MULTI, "0000 0403" REAL_LO "49000100 00000000");
	put_message(&datagram, NLMSG_DONE, NLM_F_MULTI, "00000000");
	push(&f, &datagram, 0);
	cr_assert_eq(next(&f, 4096, 0).full_len, 32, "the loopback is first");
	cr_assert_eq(next(&f, 4096, MSG_TRUNC).result, len);
	cr_assert_eq(next(&f, 4096, 0).full_len, DONE_LEN);
	fixture_deinit(&f);
}

Test(netlink_queue, answers_keep_their_datagrams_and_their_order)
{
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 "43100100 00000000", 0);
	push_message(&f, NLMSG_ERROR, NLM_F_CAPPED, "00000000 20000000 1200 0500 4d000000 f4010000", 0);
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	cr_assert_eq(next(&f, 4096, 0).full_len, 32);
	cr_assert_eq(next(&f, 4096, 0).full_len, 36);
	cr_assert_eq(next(&f, 4096, 0).full_len, DONE_LEN);
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

/* ip neigh get 127.0.0.1 dev lo: the entry is one that no guest sees. It must not wait for ever. */
Test(netlink_queue, a_hidden_answer_is_an_error)
{
	_cleanup_(nl_buf_deinit) struct nl_buf wanted = { 0 }, got = { 0 };
	struct nl_datagram datagram;
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWNEIGH, 0, "02 00 0000" REAL_LO "4000 00 02 0800 0100 7f000001", 0);
	datagram = next(&f, 4096, 0);
	nl_buf_put(&got, datagram.bytes, datagram.len);
	put_hex(&wanted, "24000000 0200 0001 4d000000 f4010000 feffffff 10000000 1e00 0100 4d000000 00000000");
	assert_bytes("absence", &got, &wanted);
	fixture_deinit(&f);
}

Test(netlink_queue, own_messages_are_datagrams_each)
{
	_cleanup_(nl_buf_deinit) struct nl_buf own = { 0 };
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	put_message(&own, NLMSG_ERROR, 0, "a1ffffff 20000000 1200 0500 4d000000 f4010000");
	put_message(&own, NLMSG_ERROR, 0, "a1ffffff 20000000 1200 0500 4e000000 f4010000");
	cr_assert_eq(nl_queue_push_own(&f.queue, own.data, own.len), 0);
	cr_assert_eq(next(&f, 4096, 0).full_len, 36);
	cr_assert_eq(next(&f, 4096, 0).bytes[28], 0x4e);
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

/* Orders: what is put in, and the byte at which the messages differ, in the order in which they come out. */
struct order_row {
	const char *what;
	int protocol;
	uint16_t type;
	const char *messages[5];
	unsigned at;
	uint8_t order[5];
};

static const struct order_row order_rows[] = {
	{ "links by virtual index", NETLINK_ROUTE, RTM_NEWLINK,
	  { "0000 0100" REAL_ETH0 "43100100 00000000", "0000 0100" REAL_BR0 "43100100 00000000", "0000 0403" REAL_LO "43100100 00000000" },
	  20, { 1, 2, 3 } },
	{ "addresses by family, link, primary first, address", NETLINK_ROUTE, RTM_NEWADDR,
	  { "0a 40 80 fd" REAL_ETH0 "1400 0100 fe800000000000000000000000000002", "02 18 81 00" REAL_ETH0 "0800 0100 0a000001",
	    "02 18 00 00" REAL_ETH0 "0800 0100 0a000003", "02 18 80 00" REAL_BR0 "0800 0100 0a000004", "02 18 80 00" REAL_ETH0 "0800 0100 0a000002" },
	  31, { 4, 2, 3, 1, 0 } },
	{ "routes by table, destination, length, metric", NETLINK_ROUTE, RTM_NEWROUTE,
	  { "02 18 00 00 ff 03 00 01 00000000 0800 0f00 ff000000 0800 0100 0a000000 0800 0600 01000000",
	    "02 18 00 00 fe 03 00 01 00000000 0800 0f00 fe000000 0800 0100 0a000000 0800 0600 00020000",
	    "02 18 00 00 fe 03 00 01 00000000 0800 0f00 fe000000 0800 0100 0a000000 0800 0600 0a000000",
	    "02 10 00 00 fe 03 00 01 00000000 0800 0f00 fe000000 0800 0100 0a000000 0800 0600 05000000",
	    "02 18 00 00 fe 03 00 01 00000000 0800 0f00 fe000000 0800 0100 09000000 0800 0600 07000000" },
	  48, { 7, 5, 10, 0, 1 } },
	{ "neighbours by link and address", NETLINK_ROUTE, RTM_NEWNEIGH,
	  { "02 00 0000" REAL_ETH0 "0200 00 01 0800 0100 0a000003", "02 00 0000" REAL_ETH0 "0200 00 01 0800 0100 0a000002",
	    "02 00 0000" REAL_BR0 "0200 00 01 0800 0100 0a000009" },
	  35, { 9, 2, 3 } },
	{ "neighbour tables: their own parameters first, then by link", NETLINK_ROUTE, RTM_NEWNEIGHTBL,
	  { "02000000 0600 0100 6100 0000 0c00 0600 0800 0100" REAL_ETH0, "02000000 0600 0100 6100 0000 0c00 0600 0800 0100" REAL_BR0,
	    "02000000 0600 0100 6100 0000 0c00 0600 0800 0200 09000000" },
	  36, { 1, 2, 3 } },
	{ "rules stay in their order", NETLINK_ROUTE, RTM_NEWRULE,
	  { "02 00 00 00 fe 00 00 01 00000000 0800 0600 09000000", "02 00 00 00 fe 00 00 01 00000000 0800 0600 03000000",
	    "02 00 00 00 fe 00 00 01 00000000 0800 0600 05000000" },
	  32, { 9, 3, 5 } },
	{ "settings by link, the general ones last", NETLINK_ROUTE, RTM_NEWNETCONF,
	  { "02000000 0800 0100 ffffffff", "02000000 0800 0100" REAL_ETH0, "02000000 0800 0100" REAL_BR0 }, 24, { 2, 3, 255 } },
	{ "unix sockets by type, state and name", NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY,
	  { "01 02 01 00 09000000 0000000000000000 0600 0000 0063 0000", "01 01 0a 00 08000000 0000000000000000 0600 0000 0062 0000",
	    "01 01 0a 00 07000000 0000000000000000 0600 0000 0061 0000" },
	  37, { 0x61, 0x62, 0x63 } },
};

Test(netlink_queue, orders)
{
	for (size_t i = 0; i < ARRAY_SIZE(order_rows); i++) {
		const struct order_row *row = &order_rows[i];
		struct nl_datagram datagram;
		size_t n = 0, at = 0;
		struct fixture f;

		fixture_init(&f, row->protocol);
		for (; n < ARRAY_SIZE(row->messages) && row->messages[n]; n++)
			push_message(&f, row->type, NLM_F_MULTI, row->messages[n], 0);
		push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
		datagram = next(&f, 8192, 0);
		for (size_t k = 0; k < n; k++) {
			uint32_t len;

			cr_assert_lt(at + row->at, datagram.len, "%s", row->what);
			cr_assert_eq(datagram.bytes[at + row->at], row->order[k], "%s: place %zu has %d", row->what, k,
				     datagram.bytes[at + row->at]);
			memcpy(&len, datagram.bytes + at, sizeof(len));
			at += (len + 3) & ~3u;
		}
		cr_assert_eq(at + DONE_LEN, datagram.len, "%s", row->what);
		fixture_deinit(&f);
	}
}

/* Where a chunk ends the kernel begins a table again and repeats its head. Two sockets that look alike are two. */
Test(netlink_queue, repetitions)
{
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWNEIGHTBL, NLM_F_MULTI, "02000000 0600 0100 6100 0000", 0);
	push_message(&f, RTM_NEWNEIGHTBL, NLM_F_MULTI, "02000000 0600 0100 6100 0000", 0);
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	cr_assert_eq(next(&f, 8192, 0).len, 28 + DONE_LEN);
	fixture_deinit(&f);

	fixture_init(&f, NETLINK_SOCK_DIAG);
	push_message(&f, SOCK_DIAG_BY_FAMILY, NLM_F_MULTI, "01 02 01 00 09000000 0000000000000000", 0);
	push_message(&f, SOCK_DIAG_BY_FAMILY, NLM_F_MULTI, "01 02 01 00 0a000000 0100000000000000", 0);
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	cr_assert_eq(next(&f, 8192, 0).len, 2 * 32 + DONE_LEN);
	fixture_deinit(&f);
}

/* Automatic handles get their numbers in the order of their making, which is not that of the dump. */
Test(netlink_queue, handles_of_a_dump)
{
	struct nl_datagram datagram;
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWQDISC, NLM_F_MULTI, "00 000000" REAL_BR0 "00000790 ffffffff 02000000", 0);
	push_message(&f, RTM_NEWQDISC, NLM_F_MULTI, "00 000000" REAL_ETH0 "00000590 ffffffff 02000000", 0);
	push_message(&f, NLMSG_DONE, NLM_F_MULTI, "00000000", 0);
	datagram = next(&f, 8192, 0);
	cr_assert_arr_eq(datagram.bytes + 24, ((uint8_t[]){ 0, 0, 2, 0x80 }), 4);
	cr_assert_arr_eq(datagram.bytes + 36 + 24, ((uint8_t[]){ 0, 0, 1, 0x80 }), 4);
	fixture_deinit(&f);
}


Test(netlink_queue, notifications_are_held_and_sorted)
{
	static const uint8_t order[] = { 2, 3, 3 };
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 UP, 1);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 DOWN, 1);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_BR0 UP, 1);
	cr_assert(is_empty(&f), "not before they are settled");
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct nl_datagram datagram = next(&f, 4096, 0);

		cr_assert_eq(datagram.bytes[20], order[i]);
		cr_assert_eq(datagram.group, 1);
		cr_assert_eq(datagram.bytes[24] & 1, i < 2, "up comes before down, as it happened");
	}
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

/* A link that is gone takes its address with it: the address goes first. What is there comes after what is not. */
Test(netlink_queue, what_is_gone_comes_first)
{
	static const struct {
		uint8_t type, index;
	} order[] = { { RTM_NEWADDR, 3 }, { RTM_DELADDR, 3 }, { RTM_NEWLINK, 3 }, { RTM_DELLINK, 3 }, { RTM_NEWLINK, 2 } };
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_BR0 UP, 1);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 UP, 1);
	push_message(&f, RTM_NEWADDR, 0, "02 20 80 00" REAL_ETH0 "0800 0200 0a000001", 5);
	push_message(&f, RTM_DELLINK, 0, "0000 0100" REAL_ETH0 DOWN, 1);
	push_message(&f, RTM_DELADDR, 0, "02 20 80 00" REAL_ETH0 "0800 0200 0a000001", 5);
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct nl_datagram datagram = next(&f, 4096, 0);

		cr_expect_eq(datagram.bytes[4], order[i].type, "%d", (int)i);
		cr_expect_eq(datagram.bytes[20], order[i].index, "%d", (int)i);
	}
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

/* The kernel's link watch repeats what is known already, later, from nobody. */
Test(netlink_queue, repeated_notifications_are_dropped)
{
	_cleanup_(nl_buf_deinit) struct nl_buf later = { 0 };
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 "03100000 01000000", 1);
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	put_message(&later, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 "43100100 00000000");
	memset(later.data + 8, 0, 8);
	push(&f, &later, 1);
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	(void)next(&f, 4096, 0);
	cr_assert(is_empty(&f), "the second says the same");
	push_message(&f, RTM_DELLINK, 0, "0000 0100" REAL_ETH0 DOWN, 1);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 UP, 1);
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	cr_assert_eq(next(&f, 4096, 0).bytes[4], RTM_DELLINK);
	cr_assert_eq(next(&f, 4096, 0).bytes[4], RTM_NEWLINK);
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

Test(netlink_queue, notifications_that_no_guest_sees)
{
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	push_message(&f, RTM_NEWNSID, 0, "00000000 0800 0100 05000000", 28);
	push_message(&f, RTM_NEWNEIGH, 0, "02 00 0000" REAL_LO "4000 00 02 0800 0100 7f000001", 3);
	push_message(&f, 84, 0, "07000000 00000000", 26);
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	cr_assert(is_empty(&f));
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	fixture_deinit(&f);
}

/* Three links' notifications have room, the fourth has not; the guest is told once, and goes on. */
Test(netlink_queue, notifications_that_nobody_reads)
{
	struct nl_datagram datagram;
	char text[64];
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	nl_queue_set_room(&f.queue, 3 * (NL_NOTICE_OVERHEAD + 32));
	for (int i = 0; i < 4; i++) {
		(void)snprintf(text, sizeof(text), "0000 0100 %02x000000 " UP, 20 + i);
		push_message(&f, RTM_NEWLINK, 0, text, 1);
	}
	cr_assert(nl_queue_is_ready(&f.queue));
	cr_assert_eq(nl_queue_next(&f.queue, 4096, 0, &datagram), NL_QUEUE_OVERRUN);
	cr_assert_eq(nl_queue_next(&f.queue, 4096, 0, &datagram), NL_QUEUE_EMPTY);
	cr_assert_eq(nl_queue_settle(&f.queue), 0);
	for (int i = 0; i < 3; i++)
		(void)next(&f, 4096, 0);
	cr_assert(is_empty(&f));
	/* What was read has made room, what was repeated has taken none. */
	for (int i = 0; i < 9; i++) {
		push_message(&f, RTM_NEWLINK, 0, "0000 0100 14000000" UP, 1);
		cr_assert_eq(nl_queue_settle(&f.queue), 0);
	}
	cr_assert(is_empty(&f));
	fixture_deinit(&f);
}

/* Answers are kept whatever room there is. */
Test(netlink_queue, answers_need_no_room)
{
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	nl_queue_set_room(&f.queue, 0);
	push_routes(&f, 100);
	cr_assert_eq(next(&f, 8192, 0).full_len, 100 * ROUTE_LEN + DONE_LEN);
	fixture_deinit(&f);
}

Test(netlink_queue, group_masks)
{
	cr_assert_eq(nl_group_mask(0), 0);
	cr_assert_eq(nl_group_mask(1), 1);
	cr_assert_eq(nl_group_mask(32), 0x80000000u);
	cr_assert_eq(nl_group_mask(33), 0);
}

/* From any address, with junk behind the messages, and thrown away at any time. */
Test(netlink_queue, ends)
{
	_cleanup_(nl_buf_deinit) struct nl_buf datagram = { 0 };
	uint8_t unaligned[256];
	struct fixture f;

	fixture_init(&f, NETLINK_ROUTE);
	cr_assert_eq(nl_queue_push_raw(&f.queue, "", 0, 0), 0);
	cr_assert(is_empty(&f));
	put_message(&datagram, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 UP);
	put_hex(&datagram, "ff000000 1000 0000 00000000 00000000");
	memcpy(unaligned + 3, datagram.data, datagram.len);
	cr_assert_eq(nl_queue_push_raw(&f.queue, unaligned + 3, datagram.len, 0), 0);
	cr_assert_eq(f.t.counters.malformed, 1);
	cr_assert_eq(next(&f, 4096, MSG_PEEK).full_len, 32);
	push_message(&f, RTM_NEWROUTE, NLM_F_MULTI, "02 18 00 00 fe 03 00 01 00000000", 0);
	push_message(&f, RTM_NEWLINK, 0, "0000 0100" REAL_ETH0 UP, 1);
	cr_assert_eq(nl_queue_finish_dump(&f.queue), 0);
	(void)next(&f, 4096, 0);
	cr_assert_eq(next(&f, 4096, 0).full_len, 28, "a dump without its end");
	push_message(&f, RTM_NEWROUTE, NLM_F_MULTI, "02 18 00 00 fe 03 00 01 00000000", 0);
	push_routes(&f, 3);
	fixture_deinit(&f);
}
