/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The virtual network map: what the guest calls the links of its network namespace.
 *
 * A real interface index comes from a counter of the namespace, a MAC address of a virtual device from the kernel's
 * random source, an automatic queueing-discipline handle from a counter of the whole host. The guest sees instead:
 *
 *   index    loopback 1; the others 2, 3, ... by name when the map is first filled; later ones follow in the order in
 *            which fillings find them, by name within one filling. A number is never used twice.
 *   MAC      02:00:00:00:00:NN, NN the virtual index (its last four bytes hold it, big-endian); all zeroes stay zeroes,
 *            and a MAC that the guest itself has named in a request (or the configuration, nl_map_say_mac) stays
 *            itself.
 *   IPv6     an address whose interface identifier is derived from a real MAC (EUI-64), and the solicited-node group of
 *            one, is rewritten to the one derived from the virtual MAC; the group's MAC (33:33:ff:...) as well.
 *   handle   automatic major numbers (0x8001 and up) become 0x8001, 0x8002, ... in order of their making.
 *
 * An index that the map does not hold translates to a place where no real link can be: virtual v <-> real 0x7fffffff -
 * v. So a request that names a wrong index fails in the kernel as it would natively, and a link that the guest makes
 * with an index of its choice keeps that index in its eyes.
 *
 * Everything here is pure state over bytes: the caller takes a dump of RTM_GETLINK and hands it in.
 */
#ifndef HS_NETLINK_MAP_H
#define HS_NETLINK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nl_direction {
	NL_TO_VIRTUAL, /* kernel to guest */
	NL_TO_REAL,    /* guest to kernel */
};

enum { NL_MAC_LEN = 6, NL_NAME_LEN = 16 };

/* Real 0x7fffffff - v stands for the virtual index v that no link has. */
#define NL_INDEX_MIRROR 0x7fffffffu

struct nl_link {
	uint32_t real_index;
	uint32_t virtual_index;
	char name[NL_NAME_LEN];
	uint16_t hardware_type; /* ARPHRD_* */
	uint8_t real_mac[NL_MAC_LEN];
	uint8_t virtual_mac[NL_MAC_LEN];
	bool has_mac; /* real_mac is six bytes and not all zero */
	bool gone;    /* missing from the last filling; still translated for notifications on their way */
	bool seen;    /* scratch of nl_map_fill */
};

struct nl_handle {
	uint16_t real_major;
	uint16_t virtual_major;
};

struct nl_map {
	struct nl_link *links; /* owned, sorted by real_index */
	size_t n_links;
	uint32_t next_index;
	uint8_t (*said)[NL_MAC_LEN]; /* owned: MACs that the guest or the configuration has named */
	size_t n_said;
	struct nl_handle *handles; /* owned */
	size_t n_handles;
};

void nl_map_init(struct nl_map *map);
void nl_map_deinit(struct nl_map *map);

/*
 * Takes a complete real dump of RTM_GETLINK (all messages up to NLMSG_DONE, one after the other). Links that are not in
 * it are marked gone, and forgotten at the next filling. 0 or -ENOMEM; broken messages are passed over.
 */
int nl_map_fill(struct nl_map *map, const void *dump, size_t len);

/*
 * The same for messages that need not be complete (a filtered dump, a notification): adds and renames, removes nothing.
 */
int nl_map_learn(struct nl_map *map, const void *messages, size_t len);

/* Borrowed until the next filling; NULL when there is none. Links that are gone are not found by name. */
const struct nl_link *nl_map_find_real(const struct nl_map *map, uint32_t real_index);
const struct nl_link *nl_map_find_virtual(const struct nl_map *map, uint32_t virtual_index);
const struct nl_link *nl_map_find_name(const struct nl_map *map, const char *name);

/* Has the namespace, or had it, links beside loopback? This depends on the run, not on the kernel's numbers. */
bool nl_map_has_links(const struct nl_map *map);

/*
 * Translates an index. 0 and negative numbers ("none", "all", "default") are themselves. *ret_known, if not NULL, tells
 * whether the map holds the link; an unknown real index becomes 0 unless it lies in the mirror.
 */
uint32_t nl_map_index(const struct nl_map *map, enum nl_direction direction, uint32_t index, bool *ret_known);

/*
 * Translates a MAC in place. hint_real is the real index of the link that the MAC is said to belong to (0: any link):
 * two links may have the same MAC (a bridge and its port). Unknown MACs are left alone and *ret_known, if not NULL, is
 * false; those of groups (bit 0 of the first byte) are known to everybody.
 */
void nl_map_mac(const struct nl_map *map, enum nl_direction direction, uint32_t hint_real, uint8_t *mac,
		bool *ret_known);

/* Translates the interface identifier of a 16-byte IPv6 address in place; others are left alone. */
void nl_map_ip6(const struct nl_map *map, enum nl_direction direction, uint32_t hint_real, uint8_t *address);

/* Notes that a MAC was chosen, not drawn: it is shown as it is. 0 or -ENOMEM. */
int nl_map_say_mac(struct nl_map *map, const uint8_t *mac);

/* Translates a traffic-control handle; unknown automatic ones are given their number. 0 or -ENOMEM. */
int nl_map_handle(struct nl_map *map, enum nl_direction direction, uint32_t *handle);

#endif
