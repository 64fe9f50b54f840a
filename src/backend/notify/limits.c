/* SPDX-License-Identifier: BSD-3-Clause */
/* Resource limits of guest processes. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <sys/resource.h>

static rlim_t smaller(rlim_t a, rlim_t b)
{
	return a < b ? a : b; /* RLIM_INFINITY is the largest value */
}

/* Raising a hard limit needs a privilege on the host that the supervisor may not have: then, as much as there is. */
int notify_set_limit(struct guest *g, int task, int resource, const struct rlimit *limit)
{
	const struct notify_task *t = notify_find(g, task);
	struct rlimit want = *limit, have;

	if (!t)
		return -ESRCH;
	if (prlimit(t->tid, (__rlimit_resource_t)resource, &want, NULL) == 0)
		return 0;
	if (errno != EPERM || prlimit(t->tid, (__rlimit_resource_t)resource, NULL, &have) < 0)
		return errno == ESRCH ? -ESRCH : 0;
	want.rlim_max = smaller(want.rlim_max, have.rlim_max);
	want.rlim_cur = smaller(want.rlim_cur, want.rlim_max);
	return prlimit(t->tid, (__rlimit_resource_t)resource, &want, NULL) < 0 && errno == ESRCH ? -ESRCH : 0;
}
