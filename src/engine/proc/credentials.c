/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task may do: see credentials.h. */
#include "engine/proc/credentials.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <utlist.h>

#include "engine/calls/handlers.h"
#include "engine/engine_internal.h"

#define CAPABILITY(number) (1ull << (number))

static int credentials_of(struct engine *e, const struct task *t, struct guest_credentials *ret)
{
	return e->g->ops->credentials ? e->g->ops->credentials(e->g, t->id, ret) : -ENOTSUP;
}

int credentials_has(struct engine *e, struct task *t, unsigned long long capabilities)
{
	struct guest_credentials c;
	int r;

	r = credentials_of(e, t, &c);
	if (r < 0)
		return r == -ENOTSUP ? 1 : r;
	return (c.capabilities & capabilities) != 0;
}

int credentials_uid(struct engine *e, const struct task *t, uint32_t *ret)
{
	struct guest_credentials c = { 0 };
	int r = credentials_of(e, t, &c);

	*ret = c.uids[0];
	return r == -ENOTSUP ? 0 : r;
}

/* The dead whom nobody has waited for count, too; whose they were is not asked any more. */
int credentials_may_clone(struct engine *e, struct task *t)
{
	rlim_t limit = t->process->traits.limits[RLIMIT_NPROC].rlim_cur;
	struct guest_credentials own, c;
	const struct process *p;
	const struct task *other;
	rlim_t n = 1;
	int r;

	if (limit == RLIM_INFINITY)
		return 1;
	r = credentials_of(e, t, &own);
	if (r < 0)
		return r == -ENOTSUP ? 1 : r;
	if (own.capabilities & (CAPABILITY(CAP_SYS_ADMIN) | CAPABILITY(CAP_SYS_RESOURCE)))
		return 1;
	LL_FOREACH(e->tasks, other) {
		r = credentials_of(e, other, &c);
		if (r < 0 && r != -ESRCH)
			return r;
		n += r == 0 && c.uids[0] == own.uids[0];
	}
	LL_FOREACH(e->processes, p)
		n += p->zombie;
	return n <= limit;
}

/* A process whose effective ids change cannot be dumped any more (credentials(7), prctl(2)). */
int handle_id_set_ids(struct engine *e, struct task *t, struct verdict *v)
{
	struct guest_credentials c;
	int r;

	r = credentials_of(e, t, &c);
	if (r == -ENOTSUP)
		return verdict_continue(v);
	if (r < 0)
		return r;
	if (!t->call.done) {
		t->call.scratch[0] = (uint64_t)c.uids[1] << 32 | c.gids[1];
		t->call.scratch[1] = (uint64_t)c.uids[3] << 32 | c.gids[3];
		return verdict_hook(v);
	}
	v->kind = VERDICT_GO;
	if (t->call.scratch[0] != ((uint64_t)c.uids[1] << 32 | c.gids[1]) || t->call.scratch[1] != ((uint64_t)c.uids[3] << 32 | c.gids[3]))
		t->process->traits.not_dumpable = true;
	return 0;
}
