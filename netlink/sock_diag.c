/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets (NETLINK_SOCK_DIAG, what ss reads). One message type; the first byte, the address family, tells the
 * structures apart. Inodes and cookies are the kernel's counters: who knows the guest's numbers for sockets translates
 * them (struct nl_identity). Timers, memory, and what TCP has measured are not shown; what waits to be read is.
 */
#include "netlink/objects.h"

#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink_diag.h>
#include <linux/packet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>

#include "base/cleanup.h"
#include "netlink/values.h"
#include "netlink/walk.h"

/* sizeof(struct tcp_info) in Linux 5.15: younger kernels append to it. */
enum { TCP_INFO_SIZE = 232 };

/* State, options and window scales are agreed on; everything behind them is measured. */
static int emit_tcp_info(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	uint8_t seen[TCP_INFO_SIZE] = { 0 };
	const uint8_t *real = mnl_attr_get_payload(attr);

	if (mnl_attr_get_payload_len(attr) >= 8) {
		seen[offsetof(struct tcp_info, tcpi_state)] = real[offsetof(struct tcp_info, tcpi_state)];
		seen[offsetof(struct tcp_info, tcpi_options)] = real[offsetof(struct tcp_info, tcpi_options)];
		seen[6] = real[6]; /* two bit fields of four: the window scales */
	}
	return nl_emit(attr, seen, sizeof(seen), out);
}

static const struct nl_rule inet_rules[] = {
	[INET_DIAG_MEMINFO] = NL_ROW_ZERO_SIZED("meminfo", 16),
	[INET_DIAG_INFO] = NL_ROW_CUSTOM("info", NL_HEX, emit_tcp_info),
	[INET_DIAG_VEGASINFO] = NL_ROW_DROP("vegasinfo"),
	[INET_DIAG_CONG] = { .name = "cong", .action = NL_BYTES, .format = NL_STRING, .size = 6, .bytes = "cubic" },
	[INET_DIAG_TOS] = NL_ROW_KEEP_SIZED("tos", NL_NUMBER, 1),
	[INET_DIAG_TCLASS] = NL_ROW_KEEP_SIZED("tclass", NL_NUMBER, 1),
	[INET_DIAG_SKMEMINFO] = NL_ROW_ZERO_SIZED("skmeminfo", 36),
	[INET_DIAG_SHUTDOWN] = NL_ROW_KEEP_SIZED("shutdown", NL_NUMBER, 1),
	[INET_DIAG_DCTCPINFO] = NL_ROW_DROP("dctcpinfo"),
	[INET_DIAG_PROTOCOL] = NL_ROW_KEEP_SIZED("protocol", NL_NUMBER, 1),
	[INET_DIAG_SKV6ONLY] = NL_ROW_KEEP_SIZED("skv6only", NL_NUMBER, 1),
	[INET_DIAG_LOCALS] = NL_ROW_KEEP("locals", NL_HEX),
	[INET_DIAG_PEERS] = NL_ROW_KEEP("peers", NL_HEX),
	[INET_DIAG_PAD] = NL_ROW_DROP("pad"),
	[INET_DIAG_MARK] = NL_ROW_KEEP_SIZED("mark", NL_BITS, 4),
	[INET_DIAG_BBRINFO] = NL_ROW_DROP("bbrinfo"),
	[INET_DIAG_CLASS_ID] = NL_ROW_KEEP_SIZED("class_id", NL_NUMBER, 4),
	[INET_DIAG_MD5SIG] = NL_ROW_DROP("md5sig"),
	[INET_DIAG_ULP_INFO] = NL_ROW_DROP("ulp_info"),
	[INET_DIAG_SK_BPF_STORAGES] = NL_ROW_DROP("sk_bpf_storages"),
	[21] = NL_ROW_DROP("cgroup_id"), /* an inode of the host's cgroup file system */
	[22] = NL_ROW_DROP("sockopt"),   /* younger than 5.15 in its present size */
};
static const struct nl_ruleset inet_set = NL_RULESET(inet_rules);

static const struct nl_field inet_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "state", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "timer", 2, 1, NL_ZERO, NL_NUMBER, 0 },
	{ "retrans", 3, 1, NL_ZERO, NL_NUMBER, 0 },
	{ "sport", 4, 2, NL_KEEP, NL_HEX, 0 },
	{ "dport", 6, 2, NL_KEEP, NL_HEX, 0 },
	{ "src", 8, 16, NL_ADDRESS, NL_IP, 0 },
	{ "dst", 24, 16, NL_ADDRESS, NL_IP, 0 },
	{ "if", 40, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "cookie", 44, 8, NL_COOKIE, NL_HEX, 0 },
	{ "expires", 52, 4, NL_ZERO, NL_NUMBER, 0 },
	{ "rqueue", 56, 4, NL_KEEP, NL_NUMBER, 0 },
	/* What is sent and not yet acknowledged: on the loopback an acknowledgement may be delayed by a timer. */
	{ "wqueue", 60, 4, NL_CUSTOM, NL_NUMBER, 0 },
	{ "uid", 64, 4, NL_KEEP, NL_NUMBER, 0 },
	{ "inode", 68, 4, NL_INODE, NL_NUMBER, 0 },
};

/* A listening socket's wqueue is its backlog, which is configuration; any other's is zero. */
static void inet_finish(struct nl_pass *pass, void *structure)
{
	enum { LISTEN = 10 };
	uint8_t *bytes = structure;

	if (bytes[offsetof(struct inet_diag_msg, idiag_state)] != LISTEN)
		nl_store(bytes + offsetof(struct inet_diag_msg, idiag_wqueue), 4, 0);
}

/* struct inet_diag_req_v2. */
static const struct nl_field inet_request_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "protocol", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "ext", 2, 1, NL_KEEP, NL_BITS, 0 },
	{ "states", 4, 4, NL_KEEP, NL_BITS, 0 },
	{ "sport", 8, 2, NL_KEEP, NL_HEX, 0 },
	{ "dport", 10, 2, NL_KEEP, NL_HEX, 0 },
	{ "src", 12, 16, NL_ADDRESS, NL_IP, 0 },
	{ "dst", 28, 16, NL_ADDRESS, NL_IP, 0 },
	{ "if", 44, 4, NL_INDEX, NL_NUMBER, 0 },
	{ "cookie", 48, 8, NL_COOKIE, NL_HEX, 0 },
};

/* By addresses and ports; sockets that share them stay in the kernel's order, which is that of their making. */
static const struct nl_key_part inet_key[] = {
	{ .where = 0, .size = 1 },   { .where = 4, .size = 2 },   { .where = 8, .size = 16 },
	{ .where = 6, .size = 2 },   { .where = 24, .size = 16 }, { .where = 40, .size = 4, .is_number = true },
};

const struct nl_object nl_object_inet_diag = {
	.name = "inet_diag",
	.base_type = SOCK_DIAG_BY_FAMILY,
	.header = sizeof(struct inet_diag_msg),
	.request_header = sizeof(struct inet_diag_req_v2),
	.by_bytes = true,
	.fields = inet_fields,
	.n_fields = ARRAY_SIZE(inet_fields),
	.request_fields = inet_request_fields,
	.n_request_fields = ARRAY_SIZE(inet_request_fields),
	.attributes = &inet_set,
	.key = inet_key,
	.n_key = ARRAY_SIZE(inet_key),
	.finish = inet_finish,
};

/* struct unix_diag_vfs: inode and device of the file that the socket is bound to, both the host's. */
static const struct nl_rule unix_rules[] = {
	[UNIX_DIAG_NAME] = NL_ROW_KEEP("name", NL_STRING),
	[UNIX_DIAG_VFS] = NL_ROW_ZERO_SIZED("vfs", 8),
	[UNIX_DIAG_PEER] = { .name = "peer", .action = NL_INODE, .format = NL_NUMBER, .size = 4 },
	[UNIX_DIAG_ICONS] = NL_ROW_ZERO("icons"),
	[UNIX_DIAG_RQLEN] = NL_ROW_KEEP_SIZED("rqlen", NL_HEX, 8),
	[UNIX_DIAG_MEMINFO] = NL_ROW_ZERO_SIZED("meminfo", 36),
	[UNIX_DIAG_SHUTDOWN] = NL_ROW_KEEP_SIZED("shutdown", NL_NUMBER, 1),
	[UNIX_DIAG_UID] = NL_ROW_KEEP_SIZED("uid", NL_NUMBER, 4),
};
static const struct nl_ruleset unix_set = NL_RULESET(unix_rules);

static const struct nl_field unix_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "type", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "state", 2, 1, NL_KEEP, NL_NUMBER, 0 },  { "ino", 4, 4, NL_INODE, NL_NUMBER, 0 },
	{ "cookie", 8, 8, NL_COOKIE, NL_HEX, 0 },
};

/* The same places as in the requests of packet sockets and of netlink sockets. */
static const struct nl_field unix_request_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "protocol", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "states", 4, 4, NL_KEEP, NL_BITS, 0 },   { "ino", 8, 4, NL_INODE, NL_NUMBER, 0 },
	{ "show", 12, 4, NL_KEEP, NL_BITS, 0 },    { "cookie", 16, 8, NL_COOKIE, NL_HEX, 0 },
};
static const struct nl_field other_request_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 }, { "protocol", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "ino", 4, 4, NL_INODE, NL_NUMBER, 0 },   { "show", 8, 4, NL_KEEP, NL_BITS, 0 },
	{ "cookie", 12, 8, NL_COOKIE, NL_HEX, 0 },
};

static const struct nl_key_part unix_key[] = {
	{ .where = 1, .size = 2 },
	{ .where = 4, .size = 4, .is_number = true },
	{ .is_attribute = true, .where = UNIX_DIAG_NAME, .size = 32 },
};

const struct nl_object nl_object_unix_diag = {
	.name = "unix_diag",
	.base_type = SOCK_DIAG_BY_FAMILY,
	.header = sizeof(struct unix_diag_msg),
	.request_header = sizeof(struct unix_diag_req),
	.by_bytes = true,
	.fields = unix_fields,
	.n_fields = ARRAY_SIZE(unix_fields),
	.request_fields = unix_request_fields,
	.n_request_fields = ARRAY_SIZE(unix_request_fields),
	.attributes = &unix_set,
	.key = unix_key,
	.n_key = ARRAY_SIZE(unix_key),
};

static const struct nl_rule netlink_rules[] = {
	[NETLINK_DIAG_MEMINFO] = NL_ROW_ZERO_SIZED("meminfo", 36),
	[NETLINK_DIAG_GROUPS] = NL_ROW_KEEP("groups", NL_HEX),
	[NETLINK_DIAG_RX_RING] = NL_ROW_DROP("rx_ring"),
	[NETLINK_DIAG_TX_RING] = NL_ROW_DROP("tx_ring"),
	[NETLINK_DIAG_FLAGS] = NL_ROW_KEEP_SIZED("flags", NL_BITS, 4),
};
static const struct nl_ruleset netlink_set = NL_RULESET(netlink_rules);

/* The port is one of the family that the structure names, not of this socket's: see netlink_finish(). */
static const struct nl_field netlink_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },        { "type", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "protocol", 2, 1, NL_KEEP, NL_NUMBER, 0 },      { "state", 3, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "portid", 4, 4, NL_CUSTOM, NL_SIGNED, 0 },      { "dst_portid", 8, 4, NL_CUSTOM, NL_SIGNED, 0 },
	{ "dst_group", 12, 4, NL_KEEP, NL_NUMBER, 0 },    { "ino", 16, 4, NL_INODE, NL_NUMBER, 0 },
	{ "cookie", 20, 8, NL_COOKIE, NL_HEX, 0 },
};

/* The kernel's own sockets are as many as it has families built in. */
static bool netlink_wanted(struct nl_pass *pass, const void *structure, const void *attributes, size_t len)
{
	return nl_load((const uint8_t *)structure + offsetof(struct netlink_diag_msg, ndiag_portid), 4) != 0;
}

static void netlink_finish(struct nl_pass *pass, void *structure)
{
	uint8_t *bytes = structure;
	int protocol = bytes[offsetof(struct netlink_diag_msg, ndiag_protocol)];
	uint8_t *ports[] = {
		bytes + offsetof(struct netlink_diag_msg, ndiag_portid),
		bytes + offsetof(struct netlink_diag_msg, ndiag_dst_portid),
	};

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		nl_store(ports[i], 4, nl_ports_to_virtual(pass->env->ports, protocol, (uint32_t)nl_load(ports[i], 4)));
}

static const struct nl_key_part netlink_key[] = {
	{ .where = 2, .size = 1 },
	{ .where = 4, .size = 4, .is_number = true },
};

const struct nl_object nl_object_netlink_diag = {
	.name = "netlink_diag",
	.base_type = SOCK_DIAG_BY_FAMILY,
	.header = sizeof(struct netlink_diag_msg),
	.request_header = sizeof(struct netlink_diag_req),
	.by_bytes = true,
	.fields = netlink_fields,
	.n_fields = ARRAY_SIZE(netlink_fields),
	.request_fields = other_request_fields,
	.n_request_fields = ARRAY_SIZE(other_request_fields),
	.attributes = &netlink_set,
	.key = netlink_key,
	.n_key = ARRAY_SIZE(netlink_key),
	.wanted = netlink_wanted,
	.finish = netlink_finish,
};

/* struct packet_diag_info begins with the index of the link; its time stamp mode and the rest are settings. */
static int emit_packet_info(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out)
{
	struct packet_diag_info info;

	if (mnl_attr_get_payload_len(attr) != sizeof(info)) {
		pass->env->counters->malformed++;
		return 0;
	}
	memcpy(&info, mnl_attr_get_payload(attr), sizeof(info));
	info.pdi_index = nl_map_index(pass->env->map, NL_TO_VIRTUAL, info.pdi_index, NULL);
	return nl_emit(attr, &info, sizeof(info), out);
}

static const struct nl_rule packet_rules[] = {
	[PACKET_DIAG_INFO] = NL_ROW_CUSTOM("info", NL_HEX, emit_packet_info),
	[PACKET_DIAG_MCLIST] = NL_ROW_DROP("mclist"),
	[PACKET_DIAG_RX_RING] = NL_ROW_KEEP("rx_ring", NL_HEX),
	[PACKET_DIAG_TX_RING] = NL_ROW_KEEP("tx_ring", NL_HEX),
	[PACKET_DIAG_FANOUT] = NL_ROW_KEEP_SIZED("fanout", NL_BITS, 4),
	[PACKET_DIAG_UID] = NL_ROW_KEEP_SIZED("uid", NL_NUMBER, 4),
	[PACKET_DIAG_MEMINFO] = NL_ROW_ZERO_SIZED("meminfo", 36),
	[PACKET_DIAG_FILTER] = NL_ROW_KEEP("filter", NL_HEX),
};
static const struct nl_ruleset packet_set = NL_RULESET(packet_rules);

static const struct nl_field packet_fields[] = {
	{ "family", 0, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "type", 1, 1, NL_KEEP, NL_NUMBER, 0 },
	{ "num", 2, 2, NL_KEEP, NL_NUMBER, 0 },
	{ "ino", 4, 4, NL_INODE, NL_NUMBER, 0 },
	{ "cookie", 8, 8, NL_COOKIE, NL_HEX, 0 },
};

static const struct nl_key_part packet_key[] = {
	{ .where = 1, .size = 3 },
	{ .where = 4, .size = 4, .is_number = true },
};

const struct nl_object nl_object_packet_diag = {
	.name = "packet_diag",
	.base_type = SOCK_DIAG_BY_FAMILY,
	.header = sizeof(struct packet_diag_msg),
	.request_header = sizeof(struct packet_diag_req),
	.by_bytes = true,
	.fields = packet_fields,
	.n_fields = ARRAY_SIZE(packet_fields),
	.request_fields = other_request_fields,
	.n_request_fields = ARRAY_SIZE(other_request_fields),
	.attributes = &packet_set,
	.key = packet_key,
	.n_key = ARRAY_SIZE(packet_key),
};
