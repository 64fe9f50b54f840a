/* SPDX-License-Identifier: BSD-3-Clause */
/* Randomness: each task draws from its own stream, so that who asks first never matters to the others. */
#include <errno.h>
#include <sys/random.h>
#include <sys/sysmacros.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/readers.h"

#ifndef GRND_INSECURE
#define GRND_INSECURE 4
#endif

int random_to_guest(struct engine *e, struct task *t, uint64_t addr, uint64_t len, uint64_t *ret_done)
{
	unsigned char chunk[4096];
	uint64_t done = 0, n;
	int r = 0;

	while (done < len) {
		n = len - done < sizeof(chunk) ? len - done : sizeof(chunk);
		rng_bytes(&t->rng, chunk, n);
		r = guest_write(e, t, addr + done, chunk, n);
		if (r < 0)
			break;
		done += n;
	}
	*ret_done = done;
	return r;
}

int handle_rand_getrandom(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t len = t->call.args[1] < INT32_MAX - 4095 ? t->call.args[1] : INT32_MAX - 4095, done;
	unsigned flags = (unsigned)t->call.args[2];
	int r;

	if (flags & ~(unsigned)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE) ||
	    (flags & (GRND_RANDOM | GRND_INSECURE)) == (GRND_RANDOM | GRND_INSECURE))
		return verdict_errno(v, EINVAL);
	r = random_to_guest(e, t, t->call.args[0], len, &done);
	if (r < 0 && r != -EFAULT)
		return r;
	return r == -EFAULT && !done ? verdict_errno(v, EFAULT) : verdict_return(v, (int64_t)done);
}

/* /dev/random, /dev/urandom, /dev/hwrng: the bytes come from the reader's own stream. */
bool is_random_device(const struct fd_info *info)
{
	return info->rdev == makedev(1, 8) || info->rdev == makedev(1, 9) || info->rdev == makedev(10, 183);
}

int read_random_device(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v)
{
	const struct span *span = request->span;
	uint64_t total = 0, done;
	int r = 0;

	if (!is_random_device(request->info))
		return READER_DECLINES;
	for (size_t i = 0; i < span->n && r == 0; i++) {
		r = random_to_guest(e, t, (uint64_t)(uintptr_t)span->iov[i].iov_base, span->iov[i].iov_len, &done);
		total += done;
	}
	if (r < 0 && r != -EFAULT)
		return r;
	return r == -EFAULT && !total ? verdict_errno(v, EFAULT) : verdict_return(v, (int64_t)total);
}
