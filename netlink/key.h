/* SPDX-License-Identifier: BSD-3-Clause */
/* Sort keys of messages that are in the guest's numbers already. */
#ifndef HS_NETLINK_KEY_H
#define HS_NETLINK_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlmsghdr;

enum { NL_KEY_SIZE = 64, NL_KEY_PARTS = 8 };

/* One message among those to be sorted. */
struct nl_key {
	uint8_t bytes[NL_KEY_SIZE]; /* compared first, unused ones are zero */
	const uint8_t *message; /* then, where the kernel's order is a hash table's, this: set before sorting */
	size_t len;
	size_t offset; /* the caller's: where the message is */
	size_t order;  /* last: the order of arrival */
	bool by_bytes;
	bool distinct;
};

/* Makes the key of a complete message. Messages that are about nothing (NLMSG_DONE) go to the end, in their order. */
void nl_key_make(int protocol, const struct nlmsghdr *nlh, size_t order, struct nl_key *ret_key);

/* For qsort(3). */
int nl_key_compare(const void *a, const void *b);

#endif
