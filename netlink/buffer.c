/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing byte buffer: see buffer.h. */
#include "netlink/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4096 };

void nl_buf_deinit(struct nl_buf *buf)
{
	free(buf->data);
	*buf = (struct nl_buf){ 0 };
}

void nl_buf_reset(struct nl_buf *buf)
{
	buf->len = 0;
	buf->status = 0;
}

int nl_buf_reserve(struct nl_buf *buf, size_t len)
{
	size_t capacity = buf->capacity ? buf->capacity : FIRST_CAPACITY;
	size_t wanted;
	uint8_t *data;

	if (buf->status < 0)
		return buf->status;
	if (__builtin_add_overflow(buf->len, len, &wanted) || wanted > SIZE_MAX / 2)
		return buf->status = -ENOMEM;
	if (wanted <= buf->capacity)
		return 0;

	while (capacity < wanted)
		capacity *= 2;
	data = realloc(buf->data, capacity);
	if (!data)
		return buf->status = -ENOMEM;
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

void nl_buf_truncate(struct nl_buf *buf, size_t len)
{
	assert(len <= buf->len);
	buf->len = len;
}

void nl_buf_consume(struct nl_buf *buf, size_t len)
{
	assert(len <= buf->len);
	if (len == 0)
		return;
	memmove(buf->data, buf->data + len, buf->len - len);
	buf->len -= len;
}
