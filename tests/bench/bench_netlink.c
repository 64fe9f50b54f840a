/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a megabyte of dump takes from real messages to sorted ones: a namespace with hundreds of links, and one with
 * thousands of routes. Prints the best and the median of 50 rounds, in milliseconds of processor time for 1 MB.
 *
 *   bench_netlink [LIMIT]    exit status 1 when a median is above LIMIT milliseconds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/dump.h"
#include "netlink/walk.h"

enum { WANTED_BYTES = 1000000, ROUNDS = 50 };

static size_t begin(struct nl_buf *buf, uint16_t type, const void *structure, size_t len)
{
	const struct nlmsghdr header = {
		.nlmsg_type = type, .nlmsg_flags = NLM_F_MULTI, .nlmsg_seq = 1, .nlmsg_pid = 7
	};
	size_t start = buf->len;

	nl_buf_put(buf, &header, sizeof(header));
	nl_buf_put(buf, structure, len);
	return start;
}

static void attribute(struct nl_buf *buf, uint16_t type, const void *payload, size_t len)
{
	const struct nlattr header = { .nla_len = (uint16_t)(sizeof(header) + len), .nla_type = type };

	nl_buf_put(buf, &header, sizeof(header));
	nl_buf_put(buf, payload, len);
	nl_buf_align(buf);
}

static void end(struct nl_buf *buf, size_t start)
{
	uint32_t len = (uint32_t)(buf->len - start);

	memcpy(buf->data + start, &len, sizeof(len));
}

/* A link with the attributes that take most of a real one's 1500 bytes. */
static void put_link(struct nl_buf *buf, int i)
{
	const struct ifinfomsg info = { .ifi_type = 1, .ifi_index = i + 2, .ifi_flags = 0x11043 };
	const uint8_t mac[6] = { 0x6a, 0x11, 0x22, 0x33, (uint8_t)(i >> 8), (uint8_t)i };
	char name[16];
	size_t start = begin(buf, RTM_NEWLINK, &info, sizeof(info));

	(void)snprintf(name, sizeof(name), "veth%08x", (unsigned)i * 2654435761u);
	attribute(buf, IFLA_IFNAME, name, strlen(name) + 1);
	for (uint16_t type = IFLA_PROMISCUITY; type <= IFLA_NUM_RX_QUEUES; type++)
		attribute(buf, type, &i, sizeof(i));
	attribute(buf, IFLA_MTU, &i, sizeof(i));
	attribute(buf, IFLA_TXQLEN, &i, sizeof(i));
	attribute(buf, IFLA_LINK, &info.ifi_index, sizeof(info.ifi_index));
	attribute(buf, IFLA_ADDRESS, mac, sizeof(mac));
	attribute(buf, IFLA_STATS64, NULL, 200);
	attribute(buf, IFLA_STATS, NULL, 96);
	attribute(buf, IFLA_MAP, NULL, 32);
	for (uint16_t type = 58; type <= 69; type++)
		attribute(buf, type, &i, sizeof(i));
	attribute(buf, IFLA_BROADCAST, NULL, 700 - 96);
	end(buf, start);
}

static void put_route(struct nl_buf *buf, int i)
{
	const struct rtmsg route = {
		.rtm_family = AF_INET6, .rtm_dst_len = 128, .rtm_table = 254, .rtm_protocol = 3, .rtm_type = 1
	};
	uint32_t table = 254, oif = 2, priority = 1024;
	uint8_t dst[16] = { 0xfd };
	uint32_t scattered = (uint32_t)i * 2654435761u;
	size_t start = begin(buf, RTM_NEWROUTE, &route, sizeof(route));

	memcpy(dst + 12, &scattered, sizeof(scattered));
	attribute(buf, RTA_TABLE, &table, sizeof(table));
	attribute(buf, RTA_DST, dst, sizeof(dst));
	attribute(buf, RTA_PRIORITY, &priority, sizeof(priority));
	attribute(buf, RTA_OIF, &oif, sizeof(oif));
	attribute(buf, RTA_CACHEINFO, NULL, 32);
	attribute(buf, RTA_PREF, NULL, 1);
	end(buf, start);
}

/* Processor time, so that what else the machine does counts less. */
static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double round_ms(const struct nl_buf *messages)
{
	struct nl_counters counters = { 0 };
	struct nl_map map;
	struct nl_env env = { .map = &map, .counters = &counters };
	struct nl_dump dump;
	double before;

	nl_map_init(&map);
	nl_dump_init(&dump, NETLINK_ROUTE);
	nl_buf_put(&dump.real, messages->data, messages->len);
	before = now_ms();
	if (nl_dump_finish(&dump, &env) < 0 || nl_dump_is_done(&dump))
		exit(1);
	before = now_ms() - before;
	nl_dump_deinit(&dump);
	nl_map_deinit(&map);
	return before * WANTED_BYTES / (double)messages->len;
}

static double bench(const char *what, void (*put)(struct nl_buf *, int))
{
	_cleanup_(nl_buf_deinit) struct nl_buf messages = { 0 };
	double ms[ROUNDS];
	int n = 0;

	while (messages.len < WANTED_BYTES)
		put(&messages, n++);
	for (int i = 0; i < ROUNDS; i++)
		ms[i] = round_ms(&messages);
	qsort(ms, ROUNDS, sizeof(ms[0]), compare);
	printf("%-6s %6d messages, %7zu bytes: best %.2f ms, median %.2f ms for 1 MB\n", what, n, messages.len, ms[0],
	       ms[ROUNDS / 2]);
	return ms[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 0;
	double links = bench("links", put_link), routes = bench("routes", put_route);

	return limit > 0 && (links > limit || routes > limit);
}
