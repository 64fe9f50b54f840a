/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps from message to message and from attribute to attribute, over bytes that need not be either. What is returned
 * lies in the container with its whole length; its padding need not be there.
 *
 * mnl_nlmsg_ok() compares lengths as signed numbers and takes one of 2 GiB and more for good, hence nl_message_at().
 */
#ifndef HS_NETLINK_FRAME_H
#define HS_NETLINK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlattr;
struct nlmsghdr;

/*
 * The message at offset *at (4-aligned), or NULL where there is none, at the end or not. Moves *at behind its padding.
 */
const struct nlmsghdr *nl_message_at(const void *messages, size_t len, size_t *at);

/* The same for attributes; *ret_broken tells whether something else than the end was met. */
const struct nlattr *nl_attr_at(const void *attributes, size_t len, size_t *at, bool *ret_broken);

/* The first attribute of that type, or NULL. */
const struct nlattr *nl_attr_find(const void *attributes, size_t len, uint16_t type);

#endif
