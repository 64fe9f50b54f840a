/* SPDX-License-Identifier: BSD-3-Clause */
/* The virtual network map: see map.h. */
#include "netlink/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/frame.h"

enum {
	LOOPBACK_INDEX = 1,
	FIRST_INDEX = 2,
	FIRST_AUTO_MAJOR = 0x8001, /* the kernel counts up from here when no handle is asked for */
	LAST_AUTO_MAJOR = 0xfffe,
	MAX_SAID_MACS = 4096, /* a guest that names more gets virtual ones for the rest */
	MAX_HANDLES = 0x7ffe,
};

/* Where the mirror of unknown indexes begins: real indexes stay far below, virtual ones too. */
#define MIRROR_START 0x40000000u

void nl_map_init(struct nl_map *map)
{
	*map = (struct nl_map){ .next_index = FIRST_INDEX };
}

void nl_map_deinit(struct nl_map *map)
{
	free(map->links);
	free(map->said);
	free(map->handles);
	nl_map_init(map);
}

/* One more element behind an array of n: the array grows by doubling at powers of two. 0 or -ENOMEM. */
static int grow(void **array, size_t n, size_t element_size)
{
	size_t capacity = n ? n * 2 : 8;
	void *bigger;

	if (n && (n < 8 || (n & (n - 1))))
		return 0;
	bigger = reallocarray(*array, capacity, element_size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	return 0;
}

static int compare_real(const void *a, const void *b)
{
	const struct nl_link *x = a, *y = b;

	return (x->real_index > y->real_index) - (x->real_index < y->real_index);
}

/* Loopback first, then by name: the order in which numbers are given. */
static int compare_name(const void *a, const void *b)
{
	const struct nl_link *x = a, *y = b;
	int lo_x = x->hardware_type == ARPHRD_LOOPBACK, lo_y = y->hardware_type == ARPHRD_LOOPBACK;

	if (lo_x != lo_y)
		return lo_y - lo_x;
	return strcmp(x->name, y->name);
}

static struct nl_link *find_real(const struct nl_map *map, uint32_t real_index)
{
	struct nl_link key = { .real_index = real_index };

	if (map->n_links == 0)
		return NULL;
	return bsearch(&key, map->links, map->n_links, sizeof(key), compare_real);
}

const struct nl_link *nl_map_find_real(const struct nl_map *map, uint32_t real_index)
{
	return find_real(map, real_index);
}

const struct nl_link *nl_map_find_virtual(const struct nl_map *map, uint32_t virtual_index)
{
	for (size_t i = 0; i < map->n_links; i++)
		if (map->links[i].virtual_index == virtual_index)
			return &map->links[i];
	return NULL;
}

const struct nl_link *nl_map_find_name(const struct nl_map *map, const char *name)
{
	for (size_t i = 0; i < map->n_links; i++)
		if (!map->links[i].gone && strcmp(map->links[i].name, name) == 0)
			return &map->links[i];
	return NULL;
}

/* Reads what the map needs from one RTM_NEWLINK. False when it is not one, or broken. */
static bool link_read(const struct nlmsghdr *nlh, struct nl_link *ret_link)
{
	static const uint8_t zero[NL_MAC_LEN];
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (nlh->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(nlh) < sizeof(*info) || info->ifi_index <= 0)
		return false;
	if (info->ifi_family != AF_UNSPEC)
		return false;

	*ret_link = (struct nl_link){ .real_index = (uint32_t)info->ifi_index, .hardware_type = info->ifi_type };
	mnl_attr_for_each_payload((const void *)(info + 1), mnl_nlmsg_get_payload_len(nlh) - sizeof(*info)) {
		size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) == IFLA_IFNAME && len <= NL_NAME_LEN)
			memcpy(ret_link->name, mnl_attr_get_payload(attr), len);
		if (mnl_attr_get_type(attr) == IFLA_ADDRESS && len == NL_MAC_LEN) {
			memcpy(ret_link->real_mac, mnl_attr_get_payload(attr), len);
			ret_link->has_mac = memcmp(ret_link->real_mac, zero, len) != 0;
		}
	}
	ret_link->name[NL_NAME_LEN - 1] = '\0';
	return true;
}

static bool mac_is_said(const struct nl_map *map, const uint8_t *mac)
{
	for (size_t i = 0; i < map->n_said; i++)
		if (memcmp(map->said[i], mac, NL_MAC_LEN) == 0)
			return true;
	return false;
}

/* The MAC that the guest sees for a link whose index is decided. */
static void link_set_virtual_mac(const struct nl_map *map, struct nl_link *link)
{
	uint32_t n = link->virtual_index;

	memcpy(link->virtual_mac, link->real_mac, NL_MAC_LEN);
	if (!link->has_mac || mac_is_said(map, link->real_mac))
		return;
	memcpy(link->virtual_mac, (const uint8_t[]){ 2, 0, n >> 24, n >> 16 & 0xff, n >> 8 & 0xff, n & 0xff },
	       NL_MAC_LEN);
}

/* The next free number; a link that the guest made with an index of its own choice keeps that one. */
static uint32_t choose_index(struct nl_map *map, const struct nl_link *link)
{
	if (link->hardware_type == ARPHRD_LOOPBACK && !nl_map_find_virtual(map, LOOPBACK_INDEX))
		return LOOPBACK_INDEX;
	if (link->real_index > MIRROR_START && link->real_index < NL_INDEX_MIRROR &&
	    !nl_map_find_virtual(map, NL_INDEX_MIRROR - link->real_index))
		return NL_INDEX_MIRROR - link->real_index;
	while (nl_map_find_virtual(map, map->next_index))
		map->next_index++;
	return map->next_index++;
}

/* Brings a known link up to date. A number that comes back after its link was gone is another link. */
static void link_refresh(struct nl_map *map, struct nl_link *link, const struct nl_link *news)
{
	if (link->gone)
		link->virtual_index = choose_index(map, news);
	link->gone = false;
	link->seen = true;
	link->hardware_type = news->hardware_type;
	if (news->name[0])
		memcpy(link->name, news->name, NL_NAME_LEN);
	if (news->has_mac) {
		memcpy(link->real_mac, news->real_mac, NL_MAC_LEN);
		link->has_mac = true;
	}
	link_set_virtual_mac(map, link);
}

/* Refreshes the known links of the messages and collects the others, in the order of their numbering. */
static int collect(struct nl_map *map, const void *messages, size_t len, struct nl_link **fresh, size_t *n_fresh)
{
	const struct nlmsghdr *nlh;
	size_t at = 0;

	while ((nlh = nl_message_at(messages, len, &at))) {
		struct nl_link news, *known;

		if (!link_read(nlh, &news))
			continue;
		known = find_real(map, news.real_index);
		if (known) {
			link_refresh(map, known, &news);
			continue;
		}
		if (grow((void **)fresh, *n_fresh, sizeof(**fresh)) < 0)
			return -ENOMEM;
		(*fresh)[(*n_fresh)++] = news;
	}
	if (*n_fresh)
		qsort(*fresh, *n_fresh, sizeof(**fresh), compare_name);
	return 0;
}

/* Adds the collected links; one that is there twice in the messages is added once. */
static int add_links(struct nl_map *map, struct nl_link *fresh, size_t n_fresh)
{
	struct nl_link *links;
	size_t n;

	if (n_fresh == 0)
		return 0;
	links = reallocarray(map->links, map->n_links + n_fresh, sizeof(*links));
	if (!links)
		return -ENOMEM;
	map->links = links;

	for (size_t i = 0; i < n_fresh; i++) {
		for (n = 0; n < map->n_links && links[n].real_index != fresh[i].real_index; n++)
			;
		if (n < map->n_links)
			continue;
		fresh[i].virtual_index = choose_index(map, &fresh[i]);
		fresh[i].seen = true;
		link_set_virtual_mac(map, &fresh[i]);
		links[map->n_links++] = fresh[i];
	}
	qsort(links, map->n_links, sizeof(*links), compare_real);
	return 0;
}

int nl_map_learn(struct nl_map *map, const void *messages, size_t len)
{
	_cleanup_free_ struct nl_link *fresh = NULL;
	size_t n_fresh = 0;
	int r;

	r = collect(map, messages, len, &fresh, &n_fresh);
	if (r < 0)
		return r;
	return add_links(map, fresh, n_fresh);
}

int nl_map_fill(struct nl_map *map, const void *dump, size_t len)
{
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < map->n_links; i++)
		map->links[i].seen = false;
	r = nl_map_learn(map, dump, len);
	if (r < 0)
		return r;

	for (size_t i = 0; i < map->n_links; i++) {
		struct nl_link *link = &map->links[i];

		if (!link->seen && link->gone)
			continue;
		link->gone = !link->seen;
		map->links[kept++] = *link;
	}
	map->n_links = kept;
	return 0;
}

bool nl_map_has_links(const struct nl_map *map)
{
	bool has = map->next_index > FIRST_INDEX;

	for (size_t i = 0; i < map->n_links; i++)
		has |= map->links[i].virtual_index != LOOPBACK_INDEX;
	return has;
}

uint32_t nl_map_index(const struct nl_map *map, enum nl_direction direction, uint32_t index, bool *ret_known)
{
	const struct nl_link *link = NULL;
	bool known = true;

	if (index != 0 && index <= INT32_MAX) {
		link = direction == NL_TO_VIRTUAL ? nl_map_find_real(map, index) : nl_map_find_virtual(map, index);
		known = link;
		if (link)
			index = direction == NL_TO_VIRTUAL ? link->virtual_index : link->real_index;
		else if (direction == NL_TO_REAL || index > MIRROR_START)
			index = NL_INDEX_MIRROR - index;
		else
			index = 0;
	}
	if (ret_known)
		*ret_known = known;
	return index;
}

static const uint8_t *mac_of(const struct nl_link *link, enum nl_direction side)
{
	return side == NL_TO_VIRTUAL ? link->virtual_mac : link->real_mac;
}

/*
 * The link that has these `len` bytes at `offset` of its MAC on the side that is translated from; the hinted one first.
 */
static const struct nl_link *find_mac(const struct nl_map *map, enum nl_direction direction, uint32_t hint_real,
				      const uint8_t *bytes, size_t offset, size_t len)
{
	enum nl_direction from = direction == NL_TO_VIRTUAL ? NL_TO_REAL : NL_TO_VIRTUAL;
	const struct nl_link *hint = hint_real ? nl_map_find_real(map, hint_real) : NULL, *best = NULL;

	if (hint && hint->has_mac && memcmp(mac_of(hint, from) + offset, bytes, len) == 0)
		return hint;
	for (size_t i = 0; i < map->n_links; i++) {
		const struct nl_link *link = &map->links[i];

		if (!link->has_mac || memcmp(mac_of(link, from) + offset, bytes, len) != 0)
			continue;
		if (!best || link->virtual_index < best->virtual_index)
			best = link;
	}
	return best;
}

void nl_map_mac(const struct nl_map *map, enum nl_direction direction, uint32_t hint_real, uint8_t *mac,
		bool *ret_known)
{
	static const uint8_t solicited[3] = { 0x33, 0x33, 0xff };
	size_t skip = memcmp(mac, solicited, sizeof(solicited)) == 0 ? sizeof(solicited) : 0;
	const struct nl_link *link = find_mac(map, direction, hint_real, mac + skip, skip, NL_MAC_LEN - skip);

	if (ret_known)
		*ret_known = link || (mac[0] & 1) || mac_is_said(map, mac);
	if (link)
		memcpy(mac + skip, mac_of(link, direction) + skip, NL_MAC_LEN - skip);
}

/* A modified EUI-64 interface identifier is the MAC with ff:fe in its middle and bit 1 of its first byte turned. */
static void ip6_map_eui64(const struct nl_map *map, enum nl_direction direction, uint32_t hint_real, uint8_t *id)
{
	uint8_t mac[NL_MAC_LEN] = { id[0] ^ 2, id[1], id[2], id[5], id[6], id[7] };
	const struct nl_link *link = find_mac(map, direction, hint_real, mac, 0, NL_MAC_LEN);
	const uint8_t *to = link ? mac_of(link, direction) : mac;

	id[0] = to[0] ^ 2;
	id[1] = to[1];
	id[2] = to[2];
	memcpy(id + 5, to + 3, 3);
}

void nl_map_ip6(const struct nl_map *map, enum nl_direction direction, uint32_t hint_real, uint8_t *address)
{
	static const uint8_t solicited[13] = { 0xff, 2, [11] = 1, [12] = 0xff };
	const struct nl_link *link;

	if (memcmp(address, solicited, sizeof(solicited)) == 0) {
		link = find_mac(map, direction, hint_real, address + 13, 3, 3);
		if (link)
			memcpy(address + 13, mac_of(link, direction) + 3, 3);
	} else if (address[11] == 0xff && address[12] == 0xfe) {
		ip6_map_eui64(map, direction, hint_real, address + 8);
	}
}

int nl_map_say_mac(struct nl_map *map, const uint8_t *mac)
{
	if (mac_is_said(map, mac) || map->n_said >= MAX_SAID_MACS)
		return 0;
	if (grow((void **)&map->said, map->n_said, sizeof(*map->said)) < 0)
		return -ENOMEM;
	memcpy(map->said[map->n_said++], mac, NL_MAC_LEN);
	for (size_t i = 0; i < map->n_links; i++)
		link_set_virtual_mac(map, &map->links[i]);
	return 0;
}

static struct nl_handle *find_handle(const struct nl_map *map, enum nl_direction direction, uint16_t major)
{
	for (size_t i = 0; i < map->n_handles; i++)
		if ((direction == NL_TO_VIRTUAL ? map->handles[i].real_major : map->handles[i].virtual_major) == major)
			return &map->handles[i];
	return NULL;
}

/* A major that the kernel chose gets the next number; one that the guest names is itself from now on. */
static int add_handle(struct nl_map *map, enum nl_direction direction, uint16_t major)
{
	uint16_t virtual_major = major;

	if (map->n_handles >= MAX_HANDLES)
		return 0;
	if (grow((void **)&map->handles, map->n_handles, sizeof(*map->handles)) < 0)
		return -ENOMEM;
	if (direction == NL_TO_VIRTUAL) {
		virtual_major = FIRST_AUTO_MAJOR;
		while (find_handle(map, NL_TO_REAL, virtual_major))
			virtual_major++;
	}
	map->handles[map->n_handles++] = (struct nl_handle){ .real_major = major, .virtual_major = virtual_major };
	return 0;
}

int nl_map_handle(struct nl_map *map, enum nl_direction direction, uint32_t *handle)
{
	uint16_t major = *handle >> 16;
	const struct nl_handle *known;

	if (major < FIRST_AUTO_MAJOR || major > LAST_AUTO_MAJOR)
		return 0;
	known = find_handle(map, direction, major);
	if (!known) {
		if (add_handle(map, direction, major) < 0)
			return -ENOMEM;
		known = find_handle(map, direction, major);
	}
	if (known) {
		major = direction == NL_TO_VIRTUAL ? known->virtual_major : known->real_major;
		*handle = (uint32_t)major << 16 | (*handle & 0xffff);
	}
	return 0;
}
