/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growing byte buffer for messages under construction. Its storage is aligned for any netlink header. The first
 * failed allocation is remembered and turns every later put into nothing, so that a builder checks once, at its end.
 */
#ifndef HS_NETLINK_BUFFER_H
#define HS_NETLINK_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Makes room for `len` bytes more. Returns buf->status. */
int nl_buf_reserve(struct nl_buf *buf, size_t len);

/* Appends `len` bytes; `bytes` may be NULL for zeroes. Returns buf->status. Inline: it is called for every value. */
static inline int nl_buf_put(struct nl_buf *buf, const void *bytes, size_t len)
{
	if (len > buf->capacity - buf->len && nl_buf_reserve(buf, len) < 0)
		return buf->status;
	if (buf->status < 0 || len == 0)
		return buf->status;

	if (bytes)
		memcpy(buf->data + buf->len, bytes, len);
	else
		memset(buf->data + buf->len, 0, len);
	buf->len += len;
	return 0;
}

/* Appends zeroes up to the next multiple of four. Returns buf->status. */
static inline int nl_buf_align(struct nl_buf *buf)
{
	return nl_buf_put(buf, NULL, -buf->len & 3);
}

/* Cuts the buffer back to `len` bytes, which it must have. */
void nl_buf_truncate(struct nl_buf *buf, size_t len);

/* Removes the first `len` bytes, which it must have. */
void nl_buf_consume(struct nl_buf *buf, size_t len);

#endif
