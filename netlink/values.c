/* SPDX-License-Identifier: BSD-3-Clause */
/* Actions on values: see values.h. */
#include "netlink/values.h"

#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

typedef int (*value_fn)(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
			size_t len);

/* Shown for a MAC that is neither a link's nor one that the guest named. */
static const uint8_t placeholder_mac[NL_MAC_LEN] = { 2, 0, 0xff, 0xff, 0xff, 0xff };

uint64_t nl_load(const uint8_t *value, size_t len)
{
	uint64_t u64 = 0;
	uint32_t u32;
	uint16_t u16;

	switch (len) {
	case 1:
		return value[0];
	case 2:
		memcpy(&u16, value, sizeof(u16));
		return u16;
	case 4:
		memcpy(&u32, value, sizeof(u32));
		return u32;
	case 8:
		memcpy(&u64, value, sizeof(u64));
		return u64;
	}
	return 0;
}

void nl_store(uint8_t *value, size_t len, uint64_t number)
{
	uint32_t u32 = (uint32_t)number;
	uint16_t u16 = (uint16_t)number;

	switch (len) {
	case 1:
		value[0] = (uint8_t)number;
		break;
	case 2:
		memcpy(value, &u16, sizeof(u16));
		break;
	case 4:
		memcpy(value, &u32, sizeof(u32));
		break;
	case 8:
		memcpy(value, &number, sizeof(number));
		break;
	}
}

static int value_zero(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value, size_t len)
{
	memset(value, 0, len);
	return 0;
}

static int value_fixed(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
		       size_t len)
{
	nl_store(value, len, parameter);
	return 0;
}

static int value_clear(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
		       size_t len)
{
	nl_store(value, len, nl_load(value, len) & ~parameter);
	return 0;
}

static int value_index(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
		       size_t len)
{
	bool known;

	if (len != 4)
		return 0;
	nl_store(value, len, nl_map_index(pass->env->map, direction, (uint32_t)nl_load(value, len), &known));
	pass->env->counters->unknown_indexes += !known;
	return 0;
}

static bool mac_is_zero(const uint8_t *mac)
{
	static const uint8_t zero[NL_MAC_LEN];

	return memcmp(mac, zero, sizeof(zero)) == 0;
}

static int value_mac(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value, size_t len)
{
	bool known;

	if (len == 16)
		nl_map_ip6(pass->env->map, direction, pass->hint_real, value);
	else if (len != NL_MAC_LEN && len != 4)
		memset(value, 0, direction == NL_TO_VIRTUAL ? len : 0);
	if (len != NL_MAC_LEN || mac_is_zero(value))
		return 0;

	nl_map_mac(pass->env->map, direction, pass->hint_real, value, &known);
	if (known)
		return 0;
	if (direction == NL_TO_REAL)
		return nl_map_say_mac(pass->env->map, value);
	memcpy(value, placeholder_mac, len);
	return 0;
}

static int value_address(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
			 size_t len)
{
	if (len == 16)
		nl_map_ip6(pass->env->map, direction, pass->hint_real, value);
	return 0;
}

static int value_gateway(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
			 size_t len)
{
	return len > 2 ? value_address(pass, direction, parameter, value + 2, len - 2) : 0;
}

static int value_handle(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
			size_t len)
{
	uint32_t handle = (uint32_t)nl_load(value, len);
	int r;

	if (len != 4)
		return 0;
	r = nl_map_handle(pass->env->map, direction, &handle);
	if (r < 0)
		return r;
	nl_store(value, len, handle);
	return 0;
}

static int value_inode(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
		       size_t len)
{
	const struct nl_identity *identity = pass->env->identity;

	if (identity && identity->inode)
		nl_store(value, len, identity->inode(identity->user, direction, nl_load(value, len)));
	else if (direction == NL_TO_VIRTUAL)
		memset(value, 0, len);
	return 0;
}

static int value_cookie(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value,
			size_t len)
{
	const struct nl_identity *identity = pass->env->identity;
	uint64_t cookie = nl_load(value, len);

	/* All ones asks for, and means, no particular socket. */
	if (identity && identity->cookie && cookie != UINT64_MAX)
		nl_store(value, len, identity->cookie(identity->user, direction, cookie));
	else if (direction == NL_TO_VIRTUAL)
		memset(value, 0xff, len);
	return 0;
}

static int value_port(struct nl_pass *pass, enum nl_direction direction, uint64_t parameter, uint8_t *value, size_t len)
{
	uint32_t port = (uint32_t)nl_load(value, len);

	port = direction == NL_TO_VIRTUAL ? nl_ports_to_virtual(pass->env->ports, pass->protocol, port) :
					    nl_ports_to_real(pass->env->ports, pass->protocol, port);
	nl_store(value, len, port);
	return 0;
}

static const struct {
	value_fn apply;
	bool translates;
} actions[NL_ACTION_COUNT] = {
	[NL_ZERO] = { value_zero, false },
	[NL_FIXED] = { value_fixed, false },
	[NL_CLEAR] = { value_clear, false },
	[NL_INDEX] = { value_index, true },
	[NL_MAC] = { value_mac, true },
	[NL_ADDRESS] = { value_address, true },
	[NL_GATEWAY] = { value_gateway, true },
	[NL_HANDLE] = { value_handle, true },
	[NL_INODE] = { value_inode, true },
	[NL_COOKIE] = { value_cookie, true },
	[NL_PORT] = { value_port, true },
};

bool nl_action_translates(enum nl_action action)
{
	return actions[action].translates;
}

int nl_value_apply(struct nl_pass *pass, enum nl_direction direction, enum nl_action action, uint64_t parameter,
		   uint8_t *value, size_t len)
{
	value_fn apply = actions[action].apply;

	return apply ? apply(pass, direction, parameter, value, len) : 0;
}
