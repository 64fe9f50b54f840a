/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures as text: pairs of hexadecimal digits with blanks anywhere between pairs, `#` to the end of the line is a
 * comment. The comment "# protocol: NAME" names the family.
 */
#ifndef HS_NETLINK_HEX_H
#define HS_NETLINK_HEX_H

#include <stdbool.h>
#include <stddef.h>

#include "netlink/buffer.h"

struct error;

/* Whether bytes are such a text rather than messages: nothing in it but printable characters and blanks. */
bool nl_hex_is_text(const void *bytes, size_t len);

/* Appends the bytes that the text means. 0, -ENOMEM, or -EINVAL with line and reason in err. */
int nl_hex_parse(const char *text, size_t len, struct nl_buf *out, struct error *err);

/* The family that the text names, or -1 when it names none that there is. */
int nl_hex_protocol(const char *text, size_t len);

#endif
