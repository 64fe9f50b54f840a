/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and sleeps in virtual time. CPU clocks count the virtual cost of a task's own calls. */
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <utlist.h>

#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/wait.h"

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
}

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_usec = (long)(ns % NS_PER_S / 1000) };
}

static int copy_out(struct engine *e, struct task *t, uint64_t addr, const void *data, size_t size, struct verdict *v)
{
	int r;

	r = addr ? guest_write(e, t, addr, data, size) : 0;
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

static struct task *task_by_vtid(struct engine *e, int vtid)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->vtid == vtid)
			return t;
	}
	return NULL;
}

/* Clock ids below zero name the CPU clock of a process or thread (clock_getcpuclockid(3)): ~id << 3 | type. */
static bool foreign_cpu_clock(struct engine *e, struct task *t, int clock_id, uint64_t *ret_ns)
{
	enum { THREAD_BIT = 4, TYPE_MASK = 3, TYPE_NONE = 3 };
	int id = ~(clock_id >> 3);
	struct process *p;
	struct task *other;

	if ((clock_id & TYPE_MASK) == TYPE_NONE)
		return false;
	if (clock_id & THREAD_BIT) {
		other = id ? task_by_vtid(e, id) : t;
		if (!other || other->process != t->process)
			return false;
		*ret_ns = other->cpu_ns;
		return true;
	}
	p = id ? process_find(e, id) : t->process;
	if (!p)
		return false;
	*ret_ns = p->cpu_ns;
	return true;
}

static bool any_clock(struct engine *e, struct task *t, int clock_id, uint64_t *ret_ns)
{
	if (clock_id < 0)
		return foreign_cpu_clock(e, t, clock_id, ret_ns);
	if (clock_id == CLOCK_THREAD_CPUTIME_ID || clock_id == CLOCK_PROCESS_CPUTIME_ID) {
		*ret_ns = clock_id == CLOCK_THREAD_CPUTIME_ID ? t->cpu_ns : t->process->cpu_ns;
		return true;
	}
	return clock_value(&e->clock, clock_id, ret_ns);
}

int handle_time_clock_gettime(struct engine *e, struct task *t, struct verdict *v)
{
	struct timespec ts;
	uint64_t ns;

	if (!any_clock(e, t, (int)t->call.args[0], &ns))
		return verdict_errno(v, EINVAL);
	ts = to_timespec(ns);
	if (!t->call.args[1])
		return verdict_errno(v, EFAULT);
	return copy_out(e, t, t->call.args[1], &ts, sizeof(ts), v);
}

int handle_time_clock_getres(struct engine *e, struct task *t, struct verdict *v)
{
	struct timespec ts = { .tv_nsec = 1 };
	uint64_t ns;

	if (!any_clock(e, t, (int)t->call.args[0], &ns))
		return verdict_errno(v, EINVAL);
	return copy_out(e, t, t->call.args[1], &ts, sizeof(ts), v);
}

int handle_time_gettimeofday(struct engine *e, struct task *t, struct verdict *v)
{
	struct timezone tz = { 0 };
	struct timeval tv;
	uint64_t ns = 0;
	int r;

	(void)clock_value(&e->clock, CLOCK_REALTIME, &ns);
	tv = to_timeval(ns);
	r = copy_out(e, t, t->call.args[0], &tv, sizeof(tv), v);
	if (r < 0 || v->value < 0)
		return r;
	return copy_out(e, t, t->call.args[1], &tz, sizeof(tz), v);
}

int handle_time_time(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t ns = 0;
	int64_t seconds;
	int r;

	(void)clock_value(&e->clock, CLOCK_REALTIME, &ns);
	seconds = (int64_t)(ns / NS_PER_S);
	r = copy_out(e, t, t->call.args[0], &seconds, sizeof(seconds), v);
	return r < 0 || v->value < 0 ? r : verdict_return(v, seconds);
}

int handle_time_getrusage(struct engine *e, struct task *t, struct verdict *v)
{
	struct rusage usage = { .ru_maxrss = 4096, .ru_minflt = 100 };
	int who = (int)t->call.args[0];
	uint64_t ns;

	if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN && who != RUSAGE_THREAD)
		return verdict_errno(v, EINVAL);
	ns = who == RUSAGE_SELF ? t->process->cpu_ns : who == RUSAGE_THREAD ? t->cpu_ns : t->process->children_cpu_ns;
	usage.ru_utime = usage.ru_stime = to_timeval(ns / 2);
	if (!t->call.args[1])
		return verdict_errno(v, EFAULT);
	return copy_out(e, t, t->call.args[1], &usage, sizeof(usage), v);
}

int handle_time_times(struct engine *e, struct task *t, struct verdict *v)
{
	enum { NS_PER_TICK = 10000000 };
	struct tms tms = { 0 };
	uint64_t ns = 0;
	int r;

	(void)clock_value(&e->clock, CLOCK_MONOTONIC, &ns);
	tms.tms_utime = tms.tms_stime = (clock_t)(t->process->cpu_ns / 2 / NS_PER_TICK);
	tms.tms_cutime = tms.tms_cstime = (clock_t)(t->process->children_cpu_ns / 2 / NS_PER_TICK);
	r = copy_out(e, t, t->call.args[0], &tms, sizeof(tms), v);
	return r < 0 || v->value < 0 ? r : verdict_return(v, (int64_t)(ns / NS_PER_TICK));
}

/* A sleep until deadline_ns; what is left is written to rem_addr when a signal ends it. */
static int sleep_until(struct engine *e, struct task *t, uint64_t deadline_ns, uint64_t rem_addr, struct verdict *v)
{
	struct timespec left;
	int r;

	if (wait_timed_out(t))
		return verdict_return(v, 0);
	if (wait_interrupted(t)) {
		left = to_timespec(time_left(t->wait.deadline_ns, e->clock.now_ns));
		r = rem_addr ? guest_write(e, t, rem_addr, &left, sizeof(left)) : 0;
		if (r < 0)
			return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
		return wait_interrupt(t, v, WAIT_ERESTARTNOHAND);
	}
	wait_until(e, t, deadline_ns);
	wait_for(t, WAIT_TIME);
	return verdict_block(v);
}

int handle_time_nanosleep(struct engine *e, struct task *t, struct verdict *v)
{
	struct timespec ts;
	uint64_t ns;
	int r;

	r = guest_read(e, t, t->call.args[0], &ts, sizeof(ts));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (!time_from_parts(ts.tv_sec, ts.tv_nsec, &ns))
		return verdict_errno(v, EINVAL);
	return sleep_until(e, t, time_add(t->call.start_ns, ns), t->call.args[1], v);
}

/* The CPU clock of the caller's own thread, which stands still while it sleeps. */
static bool is_own_thread(const struct task *t, int clock_id)
{
	enum { THREAD_BIT = 4 };
	int id = ~(clock_id >> 3);

	return clock_id < 0 && clock_id & THREAD_BIT && (!id || id == t->vtid);
}

int handle_time_clock_nanosleep(struct engine *e, struct task *t, struct verdict *v)
{
	int clock_id = (int)t->call.args[0];
	bool absolute = t->call.args[1] & TIMER_ABSTIME;
	uint64_t ns, deadline, value;
	struct timespec ts;
	int r;

	if (clock_id == CLOCK_THREAD_CPUTIME_ID || clock_only_shows(clock_id))
		return verdict_errno(v, EOPNOTSUPP);
	if (clock_id >= 0 && !any_clock(e, t, clock_id, &value))
		return verdict_errno(v, EINVAL);
	r = guest_read(e, t, t->call.args[2], &ts, sizeof(ts));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (is_own_thread(t, clock_id) || !any_clock(e, t, clock_id, &value) || !time_from_parts(ts.tv_sec, ts.tv_nsec, &ns))
		return verdict_errno(v, EINVAL);
	deadline = time_add(t->call.start_ns, ns);
	if (absolute && !clock_deadline(&e->clock, clock_id, ns, &deadline))
		deadline = time_add(t->call.start_ns, ns > value ? ns - value : 0); /* CPU clocks: as if always running */
	return sleep_until(e, t, deadline, absolute ? 0 : t->call.args[3], v);
}

int handle_sched_yield(struct engine *e, struct task *t, struct verdict *v)
{
	return wait_give_way(e, t) ? verdict_block(v) : verdict_return(v, 0);
}
