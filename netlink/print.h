/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoder: messages as text, one line for each value, through the same tables as the rewriting.
 *
 *   newlink[1] len 1468 flags 0x2 seq 1 pid 4711
 *   newlink[1].index: 2
 *   newlink[1].af_spec.inet6.cacheinfo: ffff0000...
 *
 * The number in brackets counts the messages of a type. An attribute without a name in the tables has its number.
 */
#ifndef HS_NETLINK_PRINT_H
#define HS_NETLINK_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { NL_PRINT_PATH = 256, NL_PRINT_TYPES = 128 };

struct nl_printer {
	FILE *out; /* borrowed */
	int protocol;
	unsigned counts[NL_PRINT_TYPES]; /* messages of each type so far, the last for all higher ones */
	char path[NL_PRINT_PATH];
	size_t path_len;
	unsigned depth;
	uint8_t family; /* of the message */
};

void nl_printer_init(struct nl_printer *printer, FILE *out, int protocol);

/* Prints the messages (4-aligned); says so where they are broken off. Returns how many there were. */
size_t nl_print_messages(struct nl_printer *printer, const void *messages, size_t len);

#endif
