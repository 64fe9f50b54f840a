/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/PID/net: the same facts as netlink shows, by the same map (netlink/map.h). Counters are zero: the loopback's count of packets depends on
 * when acknowledgements go out. What only tells how the host's kernel was built is one fixed text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

enum { DECIMAL = 10, HEXADECIMAL = 16, MAC_TEXT = 17 };

static const struct nl_link *link_named(const struct procfs_view *view, struct piece name)
{
	char text[NL_NAME_LEN];

	if (name.n >= sizeof(text))
		return NULL;
	memcpy(text, name.at, name.n);
	text[name.n] = '\0';
	return nl_map_find_name(&view->e->netlinks.map, text);
}

static uint32_t shown_index(const struct procfs_view *view, struct piece word, unsigned base)
{
	uint64_t index = 0;

	(void)piece_number(word, base, &index);
	return nl_map_index(&view->e->netlinks.map, NL_TO_VIRTUAL, (uint32_t)index, NULL);
}

/* Two lines of heading, then one for each link, which all have seen nothing. */
static int filter_dev(const struct procfs_view *view, FILE *out)
{
	static const char zeros[] = "       0       0    0    0    0     0          0         0        0       0    0    0    0     0"
				    "       0          0";
	const struct nl_map *map = &view->e->netlinks.map;
	struct piece text = view->text, line;
	uint32_t last = 0;
	int r;

	r = netlinks_update(view->e, view->reader);
	if (r < 0)
		return r;
	for (int i = 0; i < 2 && piece_line(&text, &line); i++)
		fprintf(out, "%.*s\n", PIECE_ARG(line));
	for (size_t i = 0; i < map->n_links; i++)
		last = map->links[i].virtual_index > last ? map->links[i].virtual_index : last;
	for (uint32_t index = 1; index <= last; index++) {
		const struct nl_link *link = nl_map_find_virtual(map, index);

		if (link && !link->gone)
			fprintf(out, "%6s:%s\n", link->name, zeros);
	}
	return 0;
}

/* "Name<blanks>number": all of the numbers are counters, but for the link's index. */
static int filter_counters(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line, word, name;
	int r;

	r = netlinks_update(view->e, view->reader);
	while (r == 0 && piece_line(&text, &line)) {
		word = line;
		if (!piece_word(&word, &name))
			continue;
		if (piece_is(name, "ifIndex") && piece_word(&word, &word))
			fprintf(out, "%-32s\t%u\n", "ifIndex", shown_index(view, word, DECIMAL));
		else
			fprintf(out, "%-32.*s\t0\n", PIECE_ARG(name));
	}
	return r;
}

/* Figures of snmp that are configuration. */
static const struct {
	const char *group, *name, *value;
} constants[] = {
	{ "Ip:", "Forwarding", "2" }, { "Ip:", "DefaultTTL", "64" }, { "Tcp:", "RtoAlgorithm", "1" },
	{ "Tcp:", "RtoMin", "200" },  { "Tcp:", "RtoMax", "120000" }, { "Tcp:", "MaxConn", "-1" },
};

static const char *snmp_value(struct piece group, struct piece name)
{
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
		if (piece_is(group, constants[i].group) && piece_is(name, constants[i].name))
			return constants[i].value;
	return "0";
}

/* A line of names, then one for each processor of what it has counted: nothing, in the same width. */
static int filter_stat(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line;

	if (piece_line(&text, &line))
		fprintf(out, "%.*s\n", PIECE_ARG(line));
	if (!piece_line(&text, &line))
		return 0;
	for (unsigned cpu = 0; cpu < machine_cpus(view->e); cpu++) {
		for (size_t i = 0; i < line.n; i++)
			fputc(line.at[i] == ' ' || line.at[i] == '\t' ? line.at[i] : '0', out);
		fputc('\n', out);
	}
	return 0;
}

/* Pairs of lines: names, then numbers. */
static int filter_snmp(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, names, values, group, name;

	while (piece_line(&text, &names) && piece_line(&text, &values)) {
		fprintf(out, "%.*s\n", PIECE_ARG(names));
		if (!piece_word(&names, &group))
			continue;
		fprintf(out, "%.*s", PIECE_ARG(group));
		while (piece_word(&names, &name))
			fprintf(out, " %s", snmp_value(group, name));
		fputs("\n", out);
	}
	return 0;
}

/* Sockets that are in use by their protocols' counts: the count of all sockets falls some time after one is closed. */
static uint64_t sum_in_use(struct piece text)
{
	struct piece line, word;
	uint64_t number, sum = 0;

	while (piece_line(&text, &line))
		for (bool counts = false; piece_word(&line, &word); counts = piece_is(word, "inuse"))
			if (counts && piece_number(word, DECIMAL, &number))
				sum += number;
	return sum;
}

/* What is in use is the guest's; the rest is memory of the whole host, and connections that end by its clock. */
static int filter_sockstat(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line, word, key, zero = piece_of("0");

	while (piece_line(&text, &line)) {
		for (bool first = true; piece_word(&line, &word); first = false) {
			if (first) {
				fprintf(out, "%.*s", PIECE_ARG(word));
				continue;
			}
			key = word;
			if (!piece_word(&line, &word))
				break;
			if (piece_is(key, "used"))
				fprintf(out, " used %" PRIu64, sum_in_use(view->text));
			else
				fprintf(out, " %.*s %.*s", PIECE_ARG(key), PIECE_ARG(piece_is(key, "inuse") ? word : zero));
		}
		fputs("\n", out);
	}
	return 0;
}

static int make_softnet_stat(const struct procfs_view *view, FILE *out)
{
	enum { COLUMNS = 15, CPU = 12 };

	for (unsigned cpu = 0; cpu < machine_cpus(view->e); cpu++)
		for (int i = 0; i < COLUMNS; i++)
			fprintf(out, "%08x%s", i == CPU ? cpu : 0, i == COLUMNS - 1 ? "\n" : " ");
	return 0;
}

static bool read_mac(struct piece text, uint8_t mac[NL_MAC_LEN])
{
	uint64_t byte;

	if (text.n != MAC_TEXT)
		return false;
	for (size_t i = 0; i < NL_MAC_LEN; i++) {
		if (!piece_number((struct piece){ text.at + 3 * i, 2 }, HEXADECIMAL, &byte))
			return false;
		mac[i] = (uint8_t)byte;
	}
	return true;
}

/* IP address, type, flags, MAC, mask, device. */
static int filter_arp(const struct procfs_view *view, FILE *out)
{
	enum { MAC_WORD = 3, DEVICE_WORD = 5 };
	struct piece text = view->text, line, rest, words[DEVICE_WORD + 1];
	uint8_t mac[NL_MAC_LEN];
	int i, r;

	r = netlinks_update(view->e, view->reader);
	while (r == 0 && piece_line(&text, &line)) {
		for (rest = line, i = 0; i <= DEVICE_WORD && piece_word(&rest, &words[i]); i++)
			;
		if (i <= DEVICE_WORD || !read_mac(words[MAC_WORD], mac)) {
			fprintf(out, "%.*s\n", PIECE_ARG(line));
			continue;
		}
		const struct nl_link *link = link_named(view, words[DEVICE_WORD]);
		size_t before = (size_t)(words[MAC_WORD].at - line.at);

		nl_map_mac(&view->e->netlinks.map, NL_TO_VIRTUAL, link ? link->real_index : 0, mac, NULL);
		fprintf(out, "%.*s%02x:%02x:%02x:%02x:%02x:%02x%.*s\n", (int)before, line.at, mac[0], mac[1], mac[2], mac[3],
			mac[4], mac[5], (int)(line.n - before - MAC_TEXT), line.at + before + MAC_TEXT);
	}
	return r;
}

static const struct procfs_row rows[] = {
	ROW_FILTER("dev", filter_dev),
	ROW_FILTER("dev_mcast", procfs_filter_dev_mcast),
	ROW_FILTER("dev_snmp6/*", filter_counters),
	ROW_FILTER("if_inet6", procfs_filter_if_inet6),
	ROW_FILTER("igmp", procfs_filter_igmp),
	ROW_FILTER("igmp6", procfs_filter_igmp6),
	ROW_FILTER("mcfilter", procfs_filter_mcfilter),
	ROW_FILTER("mcfilter6", procfs_filter_mcfilter),
	ROW_FILTER("anycast6", procfs_filter_anycast6),
	ROW_FILTER("arp", filter_arp),
	ROW_FILTER("ipv6_route", procfs_filter_ipv6_route),
	ROW_LIVE("route"),
	ROW_LIVE("fib_trie"),
	ROW_LIVE("fib_triestat"), /* in bytes of this kernel's structures */
	ROW_LIVE("ip_mr_*"),      /* routes of multicast: only a raw socket makes any */
	ROW_LIVE("ip6_mr_*"),
	ROW_TEXT("rt_acct", ""), /* of classes of routes: there are none */
	ROW_LIVE("rt_cache"), /* there has been none since Linux 3.6 */
	ROW_FILTER("stat/*", filter_stat),
	ROW_TEXT("netfilter/nf_log", ""),
	ROW_TEXT("netfilter/nfnetlink_*", ""),
	ROW_LIVE("ip6_flowlabel"),
	ROW_TEXT("rt6_stats", "0000 0001 0000 0001 0000 0000 0000\n"),
	ROW_FILTER("snmp", filter_snmp),
	ROW_FILTER("netstat", filter_snmp),
	ROW_FILTER("snmp6", filter_counters),
	ROW_FILTER("xfrm_stat", filter_counters),
	ROW_FILTER("sockstat", filter_sockstat),
	ROW_FILTER("sockstat6", filter_sockstat),
	ROW_MAKE("softnet_stat", make_softnet_stat),
	ROW_FILTER("tcp", procfs_filter_tcp),
	ROW_FILTER("tcp6", procfs_filter_tcp6),
	ROW_FILTER("udp", procfs_filter_udp),
	ROW_FILTER("udp6", procfs_filter_udp6),
	ROW_FILTER("udplite", procfs_filter_udp),
	ROW_FILTER("udplite6", procfs_filter_udp6),
	ROW_FILTER("raw", procfs_filter_raw),
	ROW_FILTER("raw6", procfs_filter_raw),
	ROW_FILTER("icmp", procfs_filter_udp),
	ROW_FILTER("icmp6", procfs_filter_udp6),
	ROW_FILTER("unix", procfs_filter_unix),
	ROW_FILTER("netlink", procfs_filter_netlink),
	ROW_TEXT("packet", "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"),
	ROW_TEXT("psched", "000003e8 00000040 000f4240 3b9aca00\n"),
	ROW_TEXT("ptype", "Type Device      Function\n0800          ip_rcv\n0806          arp_rcv\n86dd          ipv6_rcv\n"),
	ROW_TEXT("protocols", "protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de sh ss gs se re "
			      "bi br ha uh gp em\n"),
	ROW_TEXT("ip_tables_*", ""),
	ROW_TEXT("ip6_tables_*", ""),
	ROW_TEXT("arp_tables_*", ""),
	ROW_TEXT("nf_conntrack", ""),
	ROW_TEXT("nf_conntrack_expect", ""),
};

const struct procfs_table procfs_net_table = { rows, ARRAY_SIZE(rows) };
