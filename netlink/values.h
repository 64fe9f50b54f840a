/* SPDX-License-Identifier: BSD-3-Clause */
/* What an action does to a value in place, the same for fields and for attributes. */
#ifndef HS_NETLINK_VALUES_H
#define HS_NETLINK_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "netlink/walk.h"

/* Whether the action translates between the guest's numbers and the kernel's, and so matters for requests too. */
bool nl_action_translates(enum nl_action action);

/* Applies it to `len` bytes. Actions that need more than the value itself do nothing. 0 or -ENOMEM. */
int nl_value_apply(struct nl_pass *pass, enum nl_direction direction, enum nl_action action, uint64_t parameter,
		   uint8_t *value, size_t len);

/* Unaligned host-endian integers of 1, 2, 4 or 8 bytes; other sizes read as 0 and are not written. */
uint64_t nl_load(const uint8_t *value, size_t len);
void nl_store(uint8_t *value, size_t len, uint64_t number);

#endif
