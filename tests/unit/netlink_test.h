/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of netlink/ share: messages written as hexadecimal text, a map of three links, one environment.
 *
 * Text may hold blanks. The map: lo is real 1; eth0 is real 7, MAC aa:bb:cc:00:00:07; br0 is real 5, MAC
 * aa:bb:cc:00:00:05. By name, br0 comes before eth0: virtual 2 is br0, virtual 3 is eth0.
 */
#ifndef HS_TESTS_NETLINK_TEST_H
#define HS_TESTS_NETLINK_TEST_H

#include <criterion/criterion.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "netlink/hex.h"
#include "netlink/walk.h"

#define REAL_LO   "01000000"
#define REAL_BR0  "05000000"
#define REAL_ETH0 "07000000"
#define SEEN_LO	  "01000000"
#define SEEN_BR0  "02000000"
#define SEEN_ETH0 "03000000"

struct test_env {
	struct nl_map map;
	struct nl_ports ports;
	struct nl_counters counters;
	struct nl_env env;
};

static inline void put_hex(struct nl_buf *buf, const char *text)
{
	struct error err = { 0 };

	cr_assert_eq(nl_hex_parse(text, strlen(text), buf, &err), 0, "%s: %s", text, err.text);
}

/* Appends one message: header with seq 77 and pid 500, payload from text. */
static inline void put_message(struct nl_buf *buf, uint16_t type, uint16_t flags, const char *payload)
{
	struct nlmsghdr header = { .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = 77, .nlmsg_pid = 500 };
	size_t start = buf->len;
	uint32_t len;

	nl_buf_put(buf, &header, sizeof(header));
	put_hex(buf, payload);
	len = (uint32_t)(buf->len - start);
	memcpy(buf->data + start, &len, sizeof(len));
	nl_buf_align(buf);
}

static inline void put_link(struct nl_buf *buf, const char *info, const char *attributes)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "%s%s", info, attributes);
	put_message(buf, RTM_NEWLINK, NLM_F_MULTI, text);
}

/* The dump from which the map is filled. */
static inline void put_three_links(struct nl_buf *buf)
{
	put_link(buf, "0000 0403" REAL_LO "4900010000000000", "0700 0300 6c6f0000 0a00 0100 000000000000 0000");
	put_link(buf, "0000 0100" REAL_ETH0 "4310010000000000",
		 "0900 0300 6574683000 000000 0a00 0100 aabbcc000007 0000");
	put_link(buf, "0000 0100" REAL_BR0 "4310010000000000", "0800 0300 62723000 0a00 0100 aabbcc000005 0000");
	put_message(buf, NLMSG_DONE, NLM_F_MULTI, "00000000");
}

static inline void test_env_init(struct test_env *t)
{
	_cleanup_(nl_buf_deinit) struct nl_buf dump = { 0 };

	memset(t, 0, sizeof(*t));
	nl_map_init(&t->map);
	nl_ports_init(&t->ports);
	t->env = (struct nl_env){ .map = &t->map, .ports = &t->ports, .counters = &t->counters };
	put_three_links(&dump);
	cr_assert_eq(nl_map_fill(&t->map, dump.data, dump.len), 0);
}

static inline void test_env_deinit(struct test_env *t)
{
	nl_map_deinit(&t->map);
	nl_ports_deinit(&t->ports);
}

static inline const char *to_hex(const uint8_t *bytes, size_t len)
{
	static char text[8192];

	for (size_t i = 0; i < len && i < sizeof(text) / 2 - 1; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return len ? text : "";
}

static inline void assert_bytes(const char *what, const struct nl_buf *got, const struct nl_buf *wanted)
{
	if (got->len == wanted->len && (got->len == 0 || memcmp(got->data, wanted->data, got->len) == 0))
		return;
	cr_log_error("%s: got    %s", what, to_hex(got->data, got->len));
	cr_assert_fail("%s: wanted %s", what, to_hex(wanted->data, wanted->len));
}

#endif
