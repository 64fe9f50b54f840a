/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /sys/class/net: each file says what netlink says of the link, through the same tables, so that the two agree. Counters are zero.
 * Settings that nobody but the guest or its maker decides are the kernel's own. A link has one queue in each direction, as in netlink;
 * what else its directory has (power management, what only some kernels or drivers say) is not shown.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "netlink/buffer.h"
#include "netlink/frame.h"

/* A link as the guest hears of it. */
struct link_view {
	struct nl_buf message;
	struct ifinfomsg info;
};

static const struct nl_link *link_of(const struct procfs_view *view)
{
	char name[NL_NAME_LEN] = "";
	size_t n = strcspn(view->rest, "/");

	memcpy(name, view->rest, n < sizeof(name) ? n : sizeof(name) - 1);
	return nl_map_find_name(&view->e->netlinks.map, name);
}

static void link_view_deinit(struct link_view *l)
{
	nl_buf_deinit(&l->message);
}

/* 0, or the reader's error. */
static int look_at_link(const struct procfs_view *view, struct link_view *ret)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = { .header = { sizeof(request), RTM_GETLINK, NLM_F_REQUEST, 1, 0 } };
	struct engine *e = view->e;
	_cleanup_free_ void *answer = NULL;
	const struct nl_link *link;
	size_t len;
	int r;

	*ret = (struct link_view){ 0 };
	r = netlinks_usable(e, view->reader) ? netlinks_update(e, view->reader) : -EINVAL;
	link = r < 0 ? NULL : link_of(view);
	if (!link)
		return r < 0 ? r : -ENODEV;
	request.info.ifi_index = (int)link->real_index;
	r = e->g->ops->network_ask(e->g, view->reader->id, NETLINK_ROUTE, &request, sizeof(request), &answer, &len);
	if (r >= 0)
		r = nl_canonicalise(&e->netlinks.env, NETLINK_ROUTE, answer, len, &ret->message);
	if (r >= 0 && ret->message.len < sizeof(request))
		r = -ENODEV;
	if (r >= 0)
		memcpy(&ret->info, ret->message.data + sizeof(struct nlmsghdr), sizeof(ret->info));
	return r;
}

/* An attribute's bytes; their number, 0 when there is none. */
static size_t attribute(const struct link_view *l, uint16_t type, const unsigned char **ret)
{
	const size_t before = sizeof(struct nlmsghdr) + sizeof(struct ifinfomsg);
	const struct nlattr *attr = nl_attr_find(l->message.data + before, l->message.len - before, type);

	*ret = attr ? (const unsigned char *)attr + NLA_HDRLEN : NULL;
	return attr ? attr->nla_len - (size_t)NLA_HDRLEN : 0;
}

static uint32_t number(const struct link_view *l, uint16_t type, uint32_t absent)
{
	const unsigned char *bytes;
	size_t n = attribute(l, type, &bytes);
	uint32_t value = 0;

	if (!n)
		return absent;
	memcpy(&value, bytes, n < sizeof(value) ? n : sizeof(value));
	return value;
}

typedef int write_link_fn(const struct link_view *l, FILE *out);

static int show(const struct procfs_view *view, write_link_fn *write, FILE *out)
{
	_cleanup_(link_view_deinit) struct link_view l;
	int r;

	r = look_at_link(view, &l);
	return r < 0 ? r : write(&l, out);
}

static int write_index(const struct link_view *l, FILE *out)
{
	fprintf(out, "%d\n", l->info.ifi_index);
	return 0;
}

static int make_ifindex(const struct procfs_view *view, FILE *out)
{
	return show(view, write_index, out);
}

/* The other end, if it is here. */
static int write_iflink(const struct link_view *l, FILE *out)
{
	fprintf(out, "%u\n", number(l, IFLA_LINK, (uint32_t)l->info.ifi_index));
	return 0;
}

static int make_iflink(const struct procfs_view *view, FILE *out)
{
	return show(view, write_iflink, out);
}

static int write_bytes(const struct link_view *l, uint16_t type, FILE *out)
{
	const unsigned char *bytes;
	size_t n = attribute(l, type, &bytes);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%02x", i ? ":" : "", bytes[i]);
	fputs("\n", out);
	return 0;
}

static int write_address(const struct link_view *l, FILE *out)
{
	return write_bytes(l, IFLA_ADDRESS, out);
}

static int make_address(const struct procfs_view *view, FILE *out)
{
	return show(view, write_address, out);
}

static int write_broadcast(const struct link_view *l, FILE *out)
{
	return write_bytes(l, IFLA_BROADCAST, out);
}

static int make_broadcast(const struct procfs_view *view, FILE *out)
{
	return show(view, write_broadcast, out);
}

static int write_operstate(const struct link_view *l, FILE *out)
{
	static const char *const names[] = { "unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up" };
	uint32_t state = number(l, IFLA_OPERSTATE, 0);

	fprintf(out, "%s\n", names[state < ARRAY_SIZE(names) ? state : 0]);
	return 0;
}

static int make_operstate(const struct procfs_view *view, FILE *out)
{
	return show(view, write_operstate, out);
}

static int write_carrier(const struct link_view *l, FILE *out)
{
	if (!(l->info.ifi_flags & IFF_UP))
		return -EINVAL;
	fprintf(out, "%u\n", number(l, IFLA_CARRIER, 1));
	return 0;
}

static int make_carrier(const struct procfs_view *view, FILE *out)
{
	return show(view, write_carrier, out);
}

/* States that no link of ours is in, which only those that are up can tell. */
static int write_never(const struct link_view *l, FILE *out)
{
	if (!(l->info.ifi_flags & IFF_UP))
		return -EINVAL;
	fputs("0\n", out);
	return 0;
}

static int make_never(const struct procfs_view *view, FILE *out)
{
	return show(view, write_never, out);
}

/* No processor is told to receive: a mask as wide as the machine has processors (see machine_sys.c). */
static int make_no_processors(const struct procfs_view *view, FILE *out)
{
	unsigned cpus = machine_cpus(view->e);
	unsigned width = cpus % 32 ? (cpus % 32 + 3) / 4 : 8;

	for (unsigned left = (cpus + 31) / 32; left > 0; left--, width = 8)
		fprintf(out, "%0*x%s", (int)width, 0, left > 1 ? "," : "\n");
	return 0;
}

/* PRIORITY.MAC of a bridge: it is its own root. */
static int filter_bridge_id(const struct procfs_view *view, FILE *out)
{
	_cleanup_(link_view_deinit) struct link_view l;
	struct piece text = view->text, priority;
	const unsigned char *mac;
	size_t n;
	int r;

	r = look_at_link(view, &l);
	if (r < 0)
		return r;
	if (!piece_until(&text, '.', &priority))
		return -EIO;
	fprintf(out, "%.*s.", PIECE_ARG(priority));
	n = attribute(&l, IFLA_ADDRESS, &mac);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%02x", mac[i]);
	fputs("\n", out);
	return 0;
}

static int filter_uevent(const struct procfs_view *view, FILE *out)
{
	const struct nl_link *link;
	struct piece text = view->text, line;
	int r;

	r = netlinks_update(view->e, view->reader);
	link = link_of(view);
	while (r >= 0 && piece_line(&text, &line)) {
		if (link && piece_starts(line, "IFINDEX="))
			fprintf(out, "IFINDEX=%u\n", link->virtual_index);
		else
			fprintf(out, "%.*s\n", PIECE_ARG(line));
	}
	return r;
}

#define MAKE(name, function)   ROW_MAKE("*/" name, function)
#define FILTER(name, function) ROW_FILTER("*/" name, function)
#define TEXT(name, content)    ROW_TEXT("*/" name, content)
#define REFUSE(name, number)   ROW_REFUSE("*/" name, number)
#define LIVE(name)	       ROW_LIVE("*/" name)

static const struct procfs_row rows[] = {
	MAKE("address", make_address), MAKE("broadcast", make_broadcast), MAKE("ifindex", make_ifindex), MAKE("iflink", make_iflink),
	MAKE("operstate", make_operstate), MAKE("carrier", make_carrier),
	FILTER("uevent", filter_uevent),
	MAKE("dormant", make_never), MAKE("testing", make_never),
	TEXT("statistics/*", "0\n"),
	TEXT("carrier_changes", "0\n"), TEXT("carrier_up_count", "0\n"), TEXT("carrier_down_count", "0\n"),
	TEXT("gro_flush_timeout", "0\n"), TEXT("napi_defer_hard_irqs", "0\n"), TEXT("threaded", "0\n"),
	LIVE("addr_assign_type"), LIVE("addr_len"), LIVE("dev_id"), LIVE("dev_port"), LIVE("duplex"), LIVE("flags"), LIVE("ifalias"),
	LIVE("link_mode"), LIVE("mtu"), LIVE("name_assign_type"), LIVE("netdev_group"), LIVE("proto_down"), LIVE("speed"),
	LIVE("tx_queue_len"), LIVE("type"),
	/* tun(4) */
	LIVE("tun_flags"), LIVE("owner"), LIVE("group"),
	/* What only those with several queues have is refused: how many there could be follows the host's processors. */
	MAKE("queues/rx-*/rps_cpus", make_no_processors), TEXT("queues/rx-*/rps_flow_cnt", "0\n"),
	TEXT("queues/tx-*/tx_timeout", "0\n"), TEXT("queues/tx-*/tx_maxrate", "0\n"),
	REFUSE("queues/tx-*/traffic_class", ENOENT), REFUSE("queues/tx-*/xps_cpus", ENOENT), REFUSE("queues/tx-*/xps_rxqs", ENOENT),
	/* Bridges and their ports: times are those of netlink's IFLA_BR_*. */
	FILTER("bridge/bridge_id", filter_bridge_id),
	FILTER("bridge/root_id", filter_bridge_id),
	TEXT("bridge/*_timer", "0\n"), TEXT("bridge/topology_change*", "0\n"), TEXT("bridge/root_p*", "0\n"),
	LIVE("bridge/ageing_time"), LIVE("bridge/forward_delay"), LIVE("bridge/hello_time"), LIVE("bridge/max_age"),
	LIVE("bridge/priority"), LIVE("bridge/stp_state"), LIVE("bridge/group_fwd_mask"), LIVE("bridge/vlan_filtering"),
	TEXT("brport/state", "3\n"), LIVE("brport/path_cost"), LIVE("brport/priority"), LIVE("brport/hairpin_mode"),
	LIVE("brport/bpdu_guard"), LIVE("brport/root_block"), LIVE("brport/learning"), LIVE("brport/unicast_flood"),
	/* Directories, and names of other links. */
	LIVE("statistics"), LIVE("queues"), LIVE("queues/*"), LIVE("subsystem"), LIVE("bridge"), LIVE("brif"), LIVE("brif/*"),
	LIVE("brport"), LIVE("brport/bridge"), LIVE("lower_*"), LIVE("upper_*"), LIVE("master"),
};

const struct procfs_table procfs_sysfs_net_table = { rows, ARRAY_SIZE(rows) };
