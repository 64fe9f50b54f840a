/* SPDX-License-Identifier: BSD-3-Clause */
/* The guest memory that one reading or writing call is about: a buffer, or the ranges of an iovec array, as one run of bytes. */
#ifndef HS_ENGINE_SPAN_H
#define HS_ENGINE_SPAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct engine;
struct task;

enum {
	SPAN_RANGES = UIO_MAXIOV,
	SPAN_MOVE_LIMIT = 0x7ffff000 /* what one call moves at most (read(2), sendfile(2)) */
};

struct span {
	struct iovec iov[SPAN_RANGES]; /* addresses of the guest */
	size_t n;
	uint64_t total;
};

/* A plain buffer; lengths beyond what one call moves are cut as read(2) cuts them. */
void span_buffer(struct span *span, uint64_t addr, uint64_t len);

/* An array of struct iovec in guest memory, cut in the same way. -EFAULT, -EINVAL: the guest's mistake. */
int span_vector(struct engine *e, struct task *t, uint64_t addr, uint64_t count, struct span *span);

/* Up to size bytes from position `at` that lie in one range; their count in *ret_n. 0 or -errno. */
int span_fetch(struct engine *e, struct task *t, const struct span *span, uint64_t at, void *buf, size_t size, size_t *ret_n);

/* Puts bytes at position `at` of the span, as many as it has room for; how many were put is in *ret_done, also when -EFAULT comes. */
int span_store(struct engine *e, struct task *t, const struct span *span, uint64_t at, const void *data, size_t size, size_t *ret_done);

#endif
