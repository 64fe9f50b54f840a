/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growing byte buffer for messages under construction. Its storage is aligned for any netlink header. The first failed
 * allocation is remembered and turns every later put into nothing, so that a builder checks once, at its end.
 */
#ifndef HS_NETLINK_BUFFER_H
#define HS_NETLINK_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct nl_buf {
	uint8_t *data; /* owned */
	size_t len;
	size_t capacity;
	int status; /* 0 or -ENOMEM */
};

/* Releases the storage; the buffer is empty and usable again. */
void nl_buf_deinit(struct nl_buf *buf);

/* Forgets the content and a remembered failure, keeps the storage. */
void nl_buf_reset(struct nl_buf *buf);

/* Appends `len` bytes; `bytes` may be NULL for zeroes. Returns buf->status. */
int nl_buf_put(struct nl_buf *buf, const void *bytes, size_t len);

/* Appends zeroes up to the next multiple of four. Returns buf->status. */
int nl_buf_align(struct nl_buf *buf);

/* Cuts the buffer back to `len` bytes, which it must have. */
void nl_buf_truncate(struct nl_buf *buf, size_t len);

/* Removes the first `len` bytes, which it must have. */
void nl_buf_consume(struct nl_buf *buf, size_t len);

#endif
