/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface requests of ioctl(2) that show what the kernel numbers or draws (netdevice(7)): the same numbers, addresses and order as
 * netlink shows (netlink/map.h).
 */
#include "engine/calls/handle_link.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/net/netlink_socket.h"

enum { CONF_MAX = 1 << 16 /* bytes of struct ifreq that one SIOCGIFCONF puts in order */ };

/* The kernel finds links by index only here, so the name is told by us. */
static int name_of_index(struct engine *e, struct task *t, struct verdict *v)
{
	const struct nl_link *link;
	struct ifreq request;
	int r;

	r = guest_read(e, t, t->call.args[2], &request, sizeof(request));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	link = nl_map_find_virtual(&e->netlinks.map, (uint32_t)request.ifr_ifindex);
	if (!link || link->gone)
		return verdict_errno(v, ENODEV);
	memcpy(request.ifr_name, link->name, IFNAMSIZ);
	r = guest_write(e, t, t->call.args[2], &request, sizeof(request));
	return r < 0 && r != -EFAULT ? r : verdict_return(v, r);
}

/* As netlink has it: who listens on the host is not seen, and a link that is up has its carrier. */
static short shown_flags(short flags)
{
	int lasting = flags & ~(IFF_PROMISC | IFF_ALLMULTI | IFF_RUNNING);

	return (short)(lasting & IFF_UP ? lasting | IFF_RUNNING : lasting);
}

static void translate(const struct nl_map *map, uint32_t code, struct ifreq *request)
{
	const struct nl_link *link;
	char name[IFNAMSIZ + 1] = "";

	memcpy(name, request->ifr_name, IFNAMSIZ);
	name[strcspn(name, ":")] = '\0'; /* an alias of an address */
	link = nl_map_find_name(map, name);
	if (code == SIOCGIFFLAGS)
		request->ifr_flags = shown_flags(request->ifr_flags);
	else if (code == SIOCGIFMAP)
		request->ifr_map = (struct ifmap){ 0 };
	else if (link && code == SIOCGIFINDEX)
		request->ifr_ifindex = (int)link->virtual_index;
	else if (link && code == SIOCGIFHWADDR)
		nl_map_mac(map, NL_TO_VIRTUAL, link->real_index, (uint8_t *)request->ifr_hwaddr.sa_data, NULL);
}

static int translate_answer(struct engine *e, struct task *t, uint32_t code)
{
	struct ifreq request;
	int r;

	r = guest_read(e, t, t->call.args[2], &request, sizeof(request));
	if (r < 0)
		return r;
	translate(&e->netlinks.map, code, &request);
	return guest_write(e, t, t->call.args[2], &request, sizeof(request));
}

/* One entry of a SIOCGIFCONF with its place. */
struct conf_entry {
	struct ifreq request;
	uint32_t index;
	size_t at;
};

static int compare_entries(const void *a, const void *b)
{
	const struct conf_entry *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static uint32_t index_of_label(const struct nl_map *map, const char *label)
{
	const struct nl_link *link;
	char name[IFNAMSIZ + 1] = "";

	memcpy(name, label, IFNAMSIZ);
	name[strcspn(name, ":")] = '\0';
	link = nl_map_find_name(map, name);
	return link ? link->virtual_index : UINT32_MAX;
}

static int sort_conf(struct engine *e, struct task *t)
{
	_cleanup_free_ struct conf_entry *entries = NULL;
	struct ifconf conf;
	uint64_t addr;
	size_t n;
	int r;

	r = guest_read(e, t, t->call.args[2], &conf, sizeof(conf));
	addr = (uint64_t)(uintptr_t)conf.ifc_buf;
	if (r < 0 || !addr || conf.ifc_len <= 0 || conf.ifc_len > CONF_MAX)
		return r;
	n = (size_t)conf.ifc_len / sizeof(struct ifreq);
	entries = calloc(n + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = guest_read(e, t, addr + i * sizeof(struct ifreq), &entries[i].request, sizeof(struct ifreq));
		entries[i].at = i;
		entries[i].index = index_of_label(&e->netlinks.map, entries[i].request.ifr_name);
	}
	qsort(entries, n, sizeof(*entries), compare_entries);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = guest_write(e, t, addr + i * sizeof(struct ifreq), &entries[i].request, sizeof(struct ifreq));
	return r;
}

/* A MAC that the guest has chosen is shown as it is, from the notification of it on. */
static int note_mac(struct engine *e, struct task *t)
{
	struct ifreq request;
	int r;

	r = guest_read(e, t, t->call.args[2], &request, sizeof(request));
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	return nl_map_say_mac(&e->netlinks.map, (const uint8_t *)request.ifr_hwaddr.sa_data);
}

int handle_link_ioctl(struct engine *e, struct task *t, struct verdict *v)
{
	uint32_t code = (uint32_t)t->call.args[1];
	int r;

	if (!netlinks_usable(e, t))
		return verdict_continue(v);
	if (!t->call.done && code != SIOCGIFNAME)
		return verdict_hook(v);
	r = code == SIOCSIFHWADDR && t->call.result == 0 ? note_mac(e, t) : 0;
	if (r >= 0)
		r = netlinks_update(e, t);
	if (r < 0)
		return r;
	if (code == SIOCGIFNAME)
		return name_of_index(e, t, v);
	v->kind = VERDICT_GO;
	if (t->call.result != 0 || code == SIOCSIFHWADDR || code == SIOCSIFNAME)
		return 0;
	r = code == SIOCGIFCONF ? sort_conf(e, t) : translate_answer(e, t, code);
	return r == -EFAULT ? 0 : r;
}
