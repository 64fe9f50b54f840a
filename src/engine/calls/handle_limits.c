/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resource limits: a table of each process's own, which starts fixed. The kernel is told too, as far as the host lets it, so that the
 * limits bite; only processor time is counted by us, in virtual time.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/limits.h"

/* Limits that the kernel enforces on what the guest does. */
static bool kernel_enforces(unsigned resource)
{
	switch (resource) {
	case RLIMIT_FSIZE:
	case RLIMIT_DATA:
	case RLIMIT_STACK:
	case RLIMIT_CORE:
	case RLIMIT_NOFILE:
	case RLIMIT_MEMLOCK:
	case RLIMIT_AS:
	case RLIMIT_SIGPENDING:
	case RLIMIT_MSGQUEUE:
		return true;
	default: /* processor time and the number of processes are ours; niceness and priorities do not reach the kernel; the rest has no effect */
		return false;
	}
}

static int set_limit(struct engine *e, struct process *p, unsigned resource, const struct rlimit *want)
{
	struct rlimit *have = &p->traits.limits[resource];
	int r = 0;

	if (want->rlim_cur > want->rlim_max)
		return -EINVAL;
	if (want->rlim_max > have->rlim_max)
		return -EPERM; /* needs a privilege over the whole host */
	if (kernel_enforces(resource) && e->g->ops->set_limit && p->leader)
		r = e->g->ops->set_limit(e->g, p->leader->id, (int)resource, want);
	if (r < 0 && r != -ESRCH)
		return r;
	*have = *want;
	if (resource == RLIMIT_CPU)
		p->traits.cpu_limit_next_ns = 0;
	return 0;
}

/* Gets the old limit, then sets the new one; either address may be 0. */
static int get_and_set(struct engine *e, struct task *t, struct process *p, uint64_t new_addr, uint64_t old_addr,
		       struct verdict *v)
{
	unsigned resource = (unsigned)t->call.args[t->call.row->nargs == 4 ? 1 : 0];
	struct rlimit want, before;
	int r = 0;

	if (resource >= LIMITS_COUNT)
		return verdict_errno(v, EINVAL);
	before = p->traits.limits[resource];
	if (new_addr)
		r = guest_read(e, t, new_addr, &want, sizeof(want));
	if (r == 0 && new_addr)
		r = set_limit(e, p, resource, &want);
	if (r == 0 && old_addr)
		r = guest_write(e, t, old_addr, &before, sizeof(before));
	if (r == -EFAULT || r == -EINVAL || r == -EPERM)
		return verdict_errno(v, -r);
	return r < 0 ? r : verdict_return(v, 0);
}

int handle_id_getrlimit(struct engine *e, struct task *t, struct verdict *v)
{
	if ((unsigned)t->call.args[0] < LIMITS_COUNT && !t->call.args[1])
		return verdict_errno(v, EFAULT);
	return get_and_set(e, t, t->process, 0, t->call.args[1], v);
}

int handle_id_setrlimit(struct engine *e, struct task *t, struct verdict *v)
{
	if (!t->call.args[1])
		return verdict_errno(v, EFAULT);
	return get_and_set(e, t, t->process, t->call.args[1], 0, v);
}

int handle_id_prlimit64(struct engine *e, struct task *t, struct verdict *v)
{
	int pid = (int)t->call.args[0];
	struct process *p = pid ? process_find(e, pid) : t->process;

	if (!p)
		return verdict_errno(v, ESRCH);
	return get_and_set(e, t, p, t->call.args[2], t->call.args[3], v);
}

/* As the kernel does it: SIGKILL at the hard limit, SIGXCPU at the soft one and each second after it. */
int limits_check_cpu(struct engine *e, struct process *p)
{
	struct process_traits *traits = &p->traits;
	const struct rlimit *limit = &traits->limits[RLIMIT_CPU];
	siginfo_t info = { .si_signo = SIGXCPU, .si_code = SI_KERNEL };

	if (limit->rlim_cur == RLIM_INFINITY && limit->rlim_max == RLIM_INFINITY)
		return 0;
	if (!traits->cpu_limit_next_ns)
		traits->cpu_limit_next_ns = limit->rlim_cur > TIME_NEVER / NS_PER_S ? TIME_NEVER : limit->rlim_cur * NS_PER_S;
	if (limit->rlim_max < TIME_NEVER / NS_PER_S && p->cpu_ns >= limit->rlim_max * NS_PER_S)
		info.si_signo = SIGKILL;
	else if (p->cpu_ns < traits->cpu_limit_next_ns)
		return 0;
	traits->cpu_limit_next_ns = time_add(traits->cpu_limit_next_ns, NS_PER_S);
	if (!p->leader)
		return 0;
	signals_changed(e, p);
	if (info.si_signo == SIGKILL)
		process_mark_dying(e, p);
	return e->g->ops->signal_send(e->g, p->leader->id, false, &info);
}
