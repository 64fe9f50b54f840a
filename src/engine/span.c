/* SPDX-License-Identifier: BSD-3-Clause */
/* Guest memory of reads and writes: see span.h. */
#include "engine/span.h"

#include <errno.h>
#include <limits.h>

#include "engine/engine_internal.h"

void span_buffer(struct span *span, uint64_t addr, uint64_t len)
{
	span->n = 1;
	span->total = len < SPAN_MOVE_LIMIT ? len : SPAN_MOVE_LIMIT;
	span->iov[0] = (struct iovec){ (void *)(uintptr_t)addr, span->total };
}

int span_vector(struct engine *e, struct task *t, uint64_t addr, uint64_t count, struct span *span)
{
	uint64_t total = 0;
	int r;

	if (count > SPAN_RANGES)
		return -EINVAL;
	r = guest_read(e, t, addr, span->iov, count * sizeof(struct iovec));
	if (r < 0)
		return r;
	span->n = count;
	for (size_t i = 0; i < count; i++) {
		if (span->iov[i].iov_len > SSIZE_MAX)
			return -EINVAL;
		if (span->iov[i].iov_len > SPAN_MOVE_LIMIT - total)
			span->iov[i].iov_len = SPAN_MOVE_LIMIT - total;
		total += span->iov[i].iov_len;
	}
	span->total = total;
	return 0;
}

int span_fetch(struct engine *e, struct task *t, const struct span *span, uint64_t at, void *buf, size_t size, size_t *ret_n)
{
	size_t n;

	for (size_t i = 0; i < span->n; i++) {
		if (at >= span->iov[i].iov_len) {
			at -= span->iov[i].iov_len;
			continue;
		}
		n = span->iov[i].iov_len - at < size ? span->iov[i].iov_len - at : size;
		*ret_n = n;
		return guest_read(e, t, (uint64_t)(uintptr_t)span->iov[i].iov_base + at, buf, n);
	}
	*ret_n = 0;
	return 0;
}

int span_store(struct engine *e, struct task *t, const struct span *span, uint64_t at, const void *data, size_t size, size_t *ret_done)
{
	uint64_t room;
	size_t n;
	int r;

	*ret_done = 0;
	for (size_t i = 0; i < span->n && *ret_done < size; i++) {
		if (at >= span->iov[i].iov_len) {
			at -= span->iov[i].iov_len;
			continue;
		}
		room = span->iov[i].iov_len - at;
		n = size - *ret_done < room ? size - *ret_done : room;
		r = guest_write(e, t, (uint64_t)(uintptr_t)span->iov[i].iov_base + at, (const char *)data + *ret_done, n);
		if (r < 0)
			return r;
		*ret_done += n;
		at = 0;
	}
	return 0;
}
