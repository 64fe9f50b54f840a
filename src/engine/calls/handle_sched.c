/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scheduling as the guest asked for it: remembered, given back, never handed to the host. Who runs when is the supervisor's decision;
 * arguments are checked as Linux checks them.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/proc/credentials.h"
#include "engine/proc/machine.h"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

enum {
	NICE_LEAST = -20,
	NICE_MOST = 19,
	RT_MOST = 99,
	ROUND_ROBIN_NS = 100000000,
	SLICE_NS = 3000000,
	RESET_ON_FORK = 0x40000000, /* SCHED_RESET_ON_FORK */
};

/* Tasks and zombies, one after the other. Zero is a valid start. */
struct walk {
	struct task *task;
	struct process *process; /* of it, or the zombie */
	int vtid;
};

/* The traits of the next one; NULL: that was all. */
static struct task_traits *walk_next(struct engine *e, struct walk *w)
{
	if (w->task || !w->process) {
		w->task = w->task ? w->task->next : e->tasks;
		if (w->task) {
			w->process = w->task->process;
			w->vtid = w->task->vtid;
			return &w->task->traits;
		}
		w->process = e->processes;
	} else {
		w->process = w->process->next;
	}
	while (w->process && !w->process->zombie)
		w->process = w->process->next;
	if (!w->process)
		return NULL;
	w->vtid = w->process->vpid;
	return &w->process->remains;
}

/* Of the task that a pid argument names (0: the caller), which may be a zombie; NULL with the verdict set. */
static struct task_traits *target(struct engine *e, struct task *t, uint64_t arg, struct verdict *v)
{
	struct task_traits *traits;
	struct walk w = { 0 };
	int pid = (int)arg;

	if (pid == 0)
		return &t->traits;
	if (pid < 0) {
		(void)verdict_errno(v, EINVAL);
		return NULL;
	}
	while ((traits = walk_next(e, &w)))
		if (w.vtid == pid)
			return traits;
	(void)verdict_errno(v, ESRCH);
	return NULL;
}

static int fault_or(struct verdict *v, int r, int64_t value)
{
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, value);
}

/* ---- policies ---- */

static bool is_realtime(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static bool policy_fits(int policy, int priority)
{
	if (is_realtime(policy))
		return priority >= 1 && priority <= RT_MOST;
	return priority == 0 && (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE);
}

/* policy < 0: the one it has. */
static int set_policy(struct engine *e, struct task *t, int policy, uint64_t param_addr, struct verdict *v)
{
	struct task_traits *other = target(e, t, t->call.args[0], v);
	int32_t priority;
	int r;

	if (!param_addr)
		return verdict_errno(v, EINVAL);
	if (!other)
		return 0;
	r = guest_read(e, t, param_addr, &priority, sizeof(priority));
	if (r < 0)
		return fault_or(v, r, 0);
	if (!policy_fits(policy < 0 ? other->policy : policy & ~RESET_ON_FORK, priority))
		return verdict_errno(v, EINVAL);
	if (policy >= 0) {
		other->policy = policy & ~RESET_ON_FORK;
		other->reset_on_fork = policy & RESET_ON_FORK;
	}
	other->rt_priority = priority;
	return verdict_return(v, 0);
}

int handle_id_sched_setscheduler(struct engine *e, struct task *t, struct verdict *v)
{
	int policy = (int)t->call.args[1];

	return policy < 0 ? verdict_errno(v, EINVAL) : set_policy(e, t, policy, t->call.args[2], v);
}

int handle_id_sched_setparam(struct engine *e, struct task *t, struct verdict *v)
{
	return set_policy(e, t, -1, t->call.args[1], v);
}

int handle_id_sched_getscheduler(struct engine *e, struct task *t, struct verdict *v)
{
	const struct task_traits *other = target(e, t, t->call.args[0], v);

	if (!other)
		return 0;
	return verdict_return(v, other->policy | (other->reset_on_fork ? RESET_ON_FORK : 0));
}

int handle_id_sched_getparam(struct engine *e, struct task *t, struct verdict *v)
{
	const struct task_traits *other = target(e, t, t->call.args[0], v);
	int32_t priority;

	if (!t->call.args[1])
		return verdict_errno(v, EINVAL);
	if (!other)
		return 0;
	priority = other->rt_priority;
	return fault_or(v, guest_write(e, t, t->call.args[1], &priority, sizeof(priority)), 0);
}

int handle_id_sched_rr_get_interval(struct engine *e, struct task *t, struct verdict *v)
{
	const struct task_traits *other = target(e, t, t->call.args[0], v);
	struct timespec slice = { 0 };

	if (!other)
		return 0;
	if (other->policy == SCHED_RR)
		slice.tv_nsec = ROUND_ROBIN_NS;
	else if (other->policy != SCHED_FIFO && other->policy != SCHED_DEADLINE)
		slice.tv_nsec = SLICE_NS;
	return fault_or(v, guest_write(e, t, t->call.args[1], &slice, sizeof(slice)), 0);
}

/* struct sched_attr of linux/sched/types.h, version 1. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
};
enum { ATTR_SIZE0 = 48, ATTR_SIZE1 = 56, ATTR_RESET_ON_FORK = 1, ATTR_KEEP_POLICY = 8, ATTR_KEEP_PARAMS = 16, ATTR_KNOWN = 0x7f };
_Static_assert(sizeof(struct attr) == ATTR_SIZE1, "struct sched_attr");

int handle_id_sched_getattr(struct engine *e, struct task *t, struct verdict *v)
{
	uint32_t size = (uint32_t)t->call.args[2];
	const struct task_traits *other;
	struct attr attr;

	if (!t->call.args[1] || (int)t->call.args[0] < 0 || size < ATTR_SIZE0 || size > MACHINE_PAGE || t->call.args[3])
		return verdict_errno(v, EINVAL);
	other = target(e, t, t->call.args[0], v);
	if (!other)
		return 0;
	attr = (struct attr){
		.size = size < ATTR_SIZE1 ? size : ATTR_SIZE1,
		.policy = (uint32_t)other->policy,
		.flags = other->reset_on_fork ? ATTR_RESET_ON_FORK : 0,
		.nice = is_realtime(other->policy) ? 0 : other->nice,
		.priority = (uint32_t)other->rt_priority,
		.runtime = other->policy == SCHED_DEADLINE ? other->dl_runtime : 0,
		.deadline = other->dl_deadline,
		.period = other->dl_period,
	};
	return fault_or(v, guest_write(e, t, t->call.args[1], &attr, attr.size), 0);
}

/* Reads a sched_attr of any version. 1 when it was read, else the verdict is set. */
static int read_attr(struct engine *e, struct task *t, struct attr *ret, struct verdict *v)
{
	uint32_t size, ours = ATTR_SIZE1;
	int r;

	*ret = (struct attr){ 0 };
	r = guest_read(e, t, t->call.args[1], &size, sizeof(size));
	if (r < 0)
		return fault_or(v, r, 0);
	size = size ? size : ATTR_SIZE0;
	if (size < ATTR_SIZE0 || size > MACHINE_PAGE) {
		(void)guest_write(e, t, t->call.args[1], &ours, sizeof(ours));
		return verdict_errno(v, E2BIG);
	}
	r = guest_read(e, t, t->call.args[1], ret, size < ATTR_SIZE1 ? size : ATTR_SIZE1);
	return r < 0 ? fault_or(v, r, 0) : 1;
}

static bool deadline_fits(const struct attr *attr)
{
	uint64_t period = attr->period ? attr->period : attr->deadline;

	return attr->runtime >= 1024 && attr->runtime <= attr->deadline && attr->deadline <= period;
}

static int apply_attr(struct task_traits *traits, const struct attr *attr)
{
	int policy = attr->flags & ATTR_KEEP_POLICY ? traits->policy : (int)attr->policy;

	if (attr->flags & ~(uint64_t)ATTR_KNOWN || (int)attr->policy < 0)
		return -EINVAL;
	if (!(attr->flags & ATTR_KEEP_PARAMS)) {
		if (policy == SCHED_DEADLINE ? !deadline_fits(attr) : !policy_fits(policy, (int)attr->priority))
			return -EINVAL;
		traits->rt_priority = (int)attr->priority;
		traits->dl_runtime = attr->runtime;
		traits->dl_deadline = attr->deadline;
		traits->dl_period = attr->period ? attr->period : attr->deadline;
		if (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE)
			traits->nice = attr->nice < NICE_LEAST ? NICE_LEAST : attr->nice > NICE_MOST ? NICE_MOST : attr->nice;
	}
	traits->policy = policy;
	traits->reset_on_fork = attr->flags & ATTR_RESET_ON_FORK;
	return 0;
}

int handle_id_sched_setattr(struct engine *e, struct task *t, struct verdict *v)
{
	struct task_traits *other;
	struct attr attr;
	int r;

	if (!t->call.args[1] || (int)t->call.args[0] < 0 || t->call.args[2])
		return verdict_errno(v, EINVAL);
	r = read_attr(e, t, &attr, v);
	if (r <= 0)
		return r;
	other = target(e, t, t->call.args[0], v);
	return other ? verdict_return(v, apply_attr(other, &attr)) : 0;
}

/* ---- processors ---- */

static size_t mask_size(const struct engine *e)
{
	return (machine_cpus(e) + 63) / 64 * 8;
}

int handle_id_sched_getaffinity(struct engine *e, struct task *t, struct verdict *v)
{
	size_t size = mask_size(e), len = (uint32_t)t->call.args[1];
	const struct task_traits *other;

	if (len * 8 < machine_cpus(e) || len % sizeof(uint64_t))
		return verdict_errno(v, EINVAL);
	other = target(e, t, t->call.args[0], v);
	if (!other)
		return 0;
	size = len < size ? len : size;
	return fault_or(v, guest_write(e, t, t->call.args[2], other->cpus, size), (int64_t)size);
}

int handle_id_sched_setaffinity(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t asked[TRAITS_CPU_WORDS] = { 0 }, any = 0;
	size_t len = (uint32_t)t->call.args[1];
	struct task_traits all;
	struct task_traits *other;
	int r;

	r = guest_read(e, t, t->call.args[2], asked, len < sizeof(asked) ? len : sizeof(asked));
	if (r < 0)
		return fault_or(v, r, 0);
	other = target(e, t, t->call.args[0], v);
	if (!other)
		return 0;
	task_traits_init(&all, machine_cpus(e));
	for (size_t i = 0; i < TRAITS_CPU_WORDS; i++)
		any |= asked[i] &= all.cpus[i];
	if (!any)
		return verdict_errno(v, EINVAL);
	memcpy(other->cpus, asked, sizeof(asked));
	return verdict_return(v, 0);
}

/* ---- niceness and input/output priority: of a process, a group, or a user's ---- */

enum who { WHO_PROCESS, WHO_GROUP, WHO_USER };

static bool is_meant(const struct task *t, const struct walk *other, enum who who, int id)
{
	switch (who) {
	case WHO_PROCESS:
		return other->vtid == (id ? id : t->vtid);
	case WHO_GROUP:
		return other->process->pgid == (id ? id : t->process->pgid);
	case WHO_USER:
		return true; /* all of the guest's tasks are one user's */
	}
	return false;
}

int handle_id_getpriority(struct engine *e, struct task *t, struct verdict *v)
{
	const struct task_traits *other;
	struct walk w = { 0 };
	int which = (int)t->call.args[0], best = -ESRCH;

	if (which < PRIO_PROCESS || which > PRIO_USER)
		return verdict_errno(v, EINVAL);
	while ((other = walk_next(e, &w))) {
		if (is_meant(t, &w, (enum who)which, (int)t->call.args[1]) && 20 - other->nice > best)
			best = 20 - other->nice;
	}
	return verdict_return(v, best);
}

static rlim_t limit_of_nice(const struct process *p)
{
	rlim_t limit = p->traits.limits[RLIMIT_NICE].rlim_cur;

	return limit > NICE_MOST - NICE_LEAST + 1 ? NICE_MOST - NICE_LEAST + 1 : limit;
}

/* Who has not the privilege may be nicer, and less so down to a limit. */
int handle_id_setpriority(struct engine *e, struct task *t, struct verdict *v)
{
	int which = (int)t->call.args[0], nice = (int)t->call.args[2], found = -ESRCH, able = -1;
	struct task_traits *other;
	struct walk w = { 0 };

	if (which < PRIO_PROCESS || which > PRIO_USER)
		return verdict_errno(v, EINVAL);
	nice = nice < NICE_LEAST ? NICE_LEAST : nice > NICE_MOST ? NICE_MOST : nice;
	while ((other = walk_next(e, &w))) {
		if (!is_meant(t, &w, (enum who)which, (int)t->call.args[1]))
			continue;
		if (able < 0 && nice < other->nice) {
			able = credentials_has(e, t, 1ull << CAP_SYS_NICE);
			if (able < 0)
				return able;
		}
		if (nice < other->nice && able == 0 && 20 - nice > (int)limit_of_nice(w.process)) {
			found = -EACCES;
			continue;
		}
		other->nice = nice;
		found = found == -ESRCH ? 0 : found;
	}
	return verdict_return(v, found);
}

enum { IO_CLASS_REALTIME = 1, IO_CLASS_BEST_EFFORT, IO_CLASS_IDLE, IO_NICE_STEP = 5 };
enum { IO_WHO_PROCESS = 1, IO_WHO_USER = 3, IO_CLASS_SHIFT = 13, IO_CLASS_MOST = 3, IO_LEVEL_MASK = 7, IO_HINT_SHIFT = 3, IO_HINT_MASK = 0x3ff };

/* What nobody has set follows from policy and niceness. */
static int effective_io_priority(const struct task_traits *traits)
{
	int class = traits->policy == SCHED_IDLE ? IO_CLASS_IDLE : is_realtime(traits->policy) ? IO_CLASS_REALTIME : IO_CLASS_BEST_EFFORT;

	if (traits->io_priority >> IO_CLASS_SHIFT)
		return traits->io_priority;
	return class << IO_CLASS_SHIFT | (traits->nice - NICE_LEAST) / IO_NICE_STEP;
}

int handle_id_ioprio_get(struct engine *e, struct task *t, struct verdict *v)
{
	const struct task_traits *other;
	struct walk w = { 0 };
	int which = (int)t->call.args[0], best = -ESRCH, r;

	if (which < IO_WHO_PROCESS || which > IO_WHO_USER)
		return verdict_errno(v, EINVAL);
	while ((other = walk_next(e, &w))) {
		if (!is_meant(t, &w, (enum who)(which - IO_WHO_PROCESS), (int)t->call.args[1]))
			continue;
		r = which == IO_WHO_PROCESS ? other->io_priority : effective_io_priority(other);
		best = best < 0 || r < best ? r : best;
	}
	return verdict_return(v, best);
}

static bool io_priority_fits(int value)
{
	int class = value >> IO_CLASS_SHIFT, hint = value >> IO_HINT_SHIFT & IO_HINT_MASK;

	if (class < 0 || class > IO_CLASS_MOST || hint)
		return false;
	return class != 0 || (value & IO_LEVEL_MASK) == 0;
}

int handle_id_ioprio_set(struct engine *e, struct task *t, struct verdict *v)
{
	int which = (int)t->call.args[0], value = (int)t->call.args[2], found = -ESRCH;
	struct task_traits *other;
	struct walk w = { 0 };

	if (which < IO_WHO_PROCESS || which > IO_WHO_USER || !io_priority_fits(value))
		return verdict_errno(v, EINVAL);
	while ((other = walk_next(e, &w))) {
		if (!is_meant(t, &w, (enum who)(which - IO_WHO_PROCESS), (int)t->call.args[1]))
			continue;
		other->io_priority = value;
		found = 0;
	}
	return verdict_return(v, found);
}
