/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * POSIX timers (timer_create(2)). Those of clocks fire from the run's list of timers; those of CPU clocks are looked at whenever their process has
 * used processor time (itimers_cpu()).
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/time/itimers.h"

void posix_timers_free(struct engine *e, struct itimers *timers)
{
	struct posix_timer *pt, *tmp;

	LL_FOREACH_SAFE(timers->posix, pt, tmp) {
		timers_disarm(&e->timers, &pt->timer);
		free(pt);
	}
	timers->posix = NULL;
}

static struct posix_timer *posix_find(struct process *p, int id)
{
	struct posix_timer *pt;

	LL_FOREACH(p->itimers.posix, pt) {
		if (pt->id == id)
			return pt;
	}
	return NULL;
}

static struct task *thread_of(const struct engine *e, const struct process *p, int vtid)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->vtid == vtid && t->process == p)
			return t;
	}
	return NULL;
}

static struct task *target_task(struct engine *e, const struct posix_timer *pt)
{
	return pt->how == SIGEV_THREAD_ID ? thread_of(e, pt->process, pt->vtid) : itimers_any_task(e, pt->process);
}

/* Expired n times. While its signal is pending, further expiries only count. */
static int posix_fire(struct engine *e, struct posix_timer *pt, uint64_t n)
{
	siginfo_t info = { .si_signo = pt->signo, .si_code = SI_TIMER };
	struct task *t = target_task(e, pt);
	struct signal_state s;
	int r;

	if (pt->how == SIGEV_NONE || !t)
		return 0;
	r = e->g->ops->signal_state(e->g, t->id, &s);
	if (r < 0)
		return r == -ESRCH ? 0 : r;
	if ((s.thread_pending | s.process_pending) & 1ull << (pt->signo - 1)) {
		pt->overrun += n;
		return 0;
	}
	pt->overrun = n - 1;
	info.si_timerid = pt->id;
	info.si_value.sival_ptr = (void *)(uintptr_t)pt->value;
	return itimers_queue_signal(e, pt->process, t, pt->how == SIGEV_THREAD_ID, &info);
}

/* What the timer counts, as of now: run time, or CPU time. False when it does not go on. */
static bool posix_now(const struct engine *e, const struct posix_timer *pt, uint64_t *ret_ns)
{
	const struct task *t;

	*ret_ns = pt->cpu ? pt->process->cpu_ns : e->clock.now_ns;
	if (!pt->cpu || !pt->cpu_vtid)
		return true;
	t = thread_of(e, pt->process, pt->cpu_vtid); /* which may be dead */
	*ret_ns = t ? t->cpu_ns : pt->deadline_ns;
	return t;
}

static int expire(struct engine *e, struct posix_timer *pt, uint64_t now_ns)
{
	uint64_t n = 1;

	pt->armed = pt->interval_ns != 0;
	if (pt->armed) {
		n += (now_ns - pt->deadline_ns) / pt->interval_ns;
		pt->deadline_ns += n * pt->interval_ns;
		if (!pt->cpu)
			timers_arm(&e->timers, &pt->timer, pt->deadline_ns);
	}
	return posix_fire(e, pt, n);
}

static int posix_due(struct engine *e, struct timer *timer)
{
	return expire(e, timer->owner, e->clock.now_ns);
}

bool posix_timers_count_cpu(const struct itimers *timers)
{
	struct posix_timer *pt;

	LL_FOREACH(timers->posix, pt) {
		if (pt->cpu && pt->armed)
			return true;
	}
	return false;
}

uint64_t posix_timers_next_cpu(const struct engine *e, const struct itimers *timers)
{
	uint64_t next = TIME_NEVER, now, due;
	struct posix_timer *pt;

	LL_FOREACH(timers->posix, pt) {
		if (!pt->cpu || !pt->armed || !posix_now(e, pt, &now))
			continue;
		/* The process's time goes at least as fast as a thread's. */
		due = time_add(pt->process->cpu_ns, pt->deadline_ns > now ? pt->deadline_ns - now : 0);
		next = due < next ? due : next;
	}
	return next;
}

int posix_timers_cpu(struct engine *e, struct process *p)
{
	struct posix_timer *pt;
	uint64_t now;
	int r;

	LL_FOREACH(p->itimers.posix, pt) {
		if (!pt->cpu || !pt->armed || !posix_now(e, pt, &now) || now < pt->deadline_ns)
			continue;
		r = expire(e, pt, now);
		if (r < 0)
			return r;
	}
	return 0;
}

void itimers_delivered(struct process *p, siginfo_t *info)
{
	struct posix_timer *pt;

	if (info->si_code != SI_TIMER)
		return;
	LL_FOREACH(p->itimers.posix, pt) {
		if (pt->id != info->si_timerid || pt->signo != info->si_signo)
			continue;
		pt->last_overrun = pt->overrun < INT32_MAX ? pt->overrun : INT32_MAX;
		pt->overrun = 0;
		info->si_overrun = (int)pt->last_overrun;
	}
}

/*
 * Is there such a clock, and what does it count? Clock ids below zero name the CPU clock of a process or thread (clock_getcpuclockid(3)): ~id << 3
 * with bits of kind. Only the process's own can be counted by a timer here.
 */
static bool posix_clock(const struct engine *e, struct task *t, int clock_id, struct posix_timer *pt)
{
	enum { THREAD_BIT = 4, TYPE_MASK = 3, TYPE_NONE = 3 };
	int id = ~(clock_id >> 3);
	struct clock c = { 0 };
	uint64_t ns;

	pt->cpu = clock_id < 0 || clock_id == CLOCK_PROCESS_CPUTIME_ID || clock_id == CLOCK_THREAD_CPUTIME_ID;
	if (!pt->cpu)
		return clock_value(&c, clock_id, &ns);
	if (clock_id == CLOCK_THREAD_CPUTIME_ID)
		pt->cpu_vtid = t->vtid;
	if (clock_id >= 0)
		return true;
	if ((clock_id & TYPE_MASK) == TYPE_NONE)
		return false;
	if (!(clock_id & THREAD_BIT))
		return !id || id == t->process->vpid;
	pt->cpu_vtid = id ? id : t->vtid;
	return thread_of(e, pt->process, pt->cpu_vtid);
}

/* Is what the timer is to do something that it can do? A signal that nobody gets may have any number. */
static bool can_notify(const struct engine *e, const struct task *t, const struct sigevent *sev)
{
	enum { SIGNAL_MAX = 64 };
	const struct task *to;

	switch (sev->sigev_notify) {
	case SIGEV_NONE:
		return true;
	case SIGEV_SIGNAL:
	case SIGEV_THREAD:
		break;
	case SIGEV_THREAD_ID:
		to = thread_of(e, t->process, sev->_sigev_un._tid);
		if (!to)
			return false;
		break;
	default:
		return false;
	}
	return sev->sigev_signo > 0 && sev->sigev_signo <= SIGNAL_MAX;
}

int handle_timer_create(struct engine *e, struct task *t, struct verdict *v)
{
	struct sigevent sev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimers *timers = &t->process->itimers;
	struct posix_timer *pt, clocked = { .process = t->process };
	int id, r;

	r = t->call.args[1] ? guest_read(e, t, t->call.args[1], &sev, sizeof(sev)) : 0;
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (clock_only_shows((int)t->call.args[0]))
		return verdict_errno(v, EOPNOTSUPP);
	if (!posix_clock(e, t, (int)t->call.args[0], &clocked) || !can_notify(e, t, &sev))
		return verdict_errno(v, EINVAL);
	id = timers->next_id;
	r = guest_write(e, t, t->call.args[2], &id, sizeof(id));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	pt = calloc(1, sizeof(*pt));
	if (!pt)
		return -ENOMEM;
	*pt = (struct posix_timer){
		.process = t->process,
		.id = timers->next_id++,
		.clock_id = (int)t->call.args[0],
		.cpu = clocked.cpu,
		.cpu_vtid = clocked.cpu_vtid,
		.how = sev.sigev_notify,
		.signo = sev.sigev_signo,
		.vtid = sev._sigev_un._tid,
		.value = t->call.args[1] ? (uint64_t)(uintptr_t)sev.sigev_value.sival_ptr : (uint64_t)id,
		.timer = { .fire = posix_due },
	};
	pt->timer.owner = pt;
	LL_APPEND(timers->posix, pt);
	return verdict_return(v, 0);
}

static struct itimerspec posix_value(struct engine *e, const struct posix_timer *pt)
{
	uint64_t rest = 0, now;

	(void)posix_now(e, pt, &now);
	if (pt->armed)
		rest = time_left(pt->deadline_ns, now);
	if (pt->armed && !rest) /* 0 would be: disarmed */
		rest = 1;
	return (struct itimerspec){
		.it_value = { (time_t)(rest / NS_PER_S), (long)(rest % NS_PER_S) },
		.it_interval = { (time_t)(pt->interval_ns / NS_PER_S), (long)(pt->interval_ns % NS_PER_S) },
	};
}

int handle_timer_gettime(struct engine *e, struct task *t, struct verdict *v)
{
	struct posix_timer *pt = posix_find(t->process, (int)t->call.args[0]);
	struct itimerspec value;
	int r;

	if (!pt)
		return verdict_errno(v, EINVAL);
	value = posix_value(e, pt);
	r = guest_write(e, t, t->call.args[1], &value, sizeof(value));
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

int handle_timer_settime(struct engine *e, struct task *t, struct verdict *v)
{
	struct posix_timer *pt = posix_find(t->process, (int)t->call.args[0]);
	struct itimerspec new, old;
	uint64_t value, interval, now;
	int r;

	if (!t->call.args[2])
		return verdict_errno(v, EINVAL);
	r = guest_read(e, t, t->call.args[2], &new, sizeof(new));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (!pt || !time_from_parts(new.it_value.tv_sec, new.it_value.tv_nsec, &value) ||
	    !time_from_parts(new.it_interval.tv_sec, new.it_interval.tv_nsec, &interval))
		return verdict_errno(v, EINVAL);
	old = posix_value(e, pt);
	timers_disarm(&e->timers, &pt->timer);
	pt->armed = value != 0;
	pt->interval_ns = interval;
	pt->overrun = 0;
	(void)posix_now(e, pt, &now);
	pt->deadline_ns = time_add(now, value);
	if (t->call.args[1] & TIMER_ABSTIME && pt->cpu)
		pt->deadline_ns = value;
	else if (t->call.args[1] & TIMER_ABSTIME)
		(void)clock_deadline(&e->clock, pt->clock_id, value, &pt->deadline_ns);
	if (pt->armed && !pt->cpu)
		timers_arm(&e->timers, &pt->timer, pt->deadline_ns);
	/* The timer is set even when nobody can be told what it was. */
	r = t->call.args[3] ? guest_write(e, t, t->call.args[3], &old, sizeof(old)) : 0;
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

int handle_timer_getoverrun(struct engine *e, struct task *t, struct verdict *v)
{
	struct posix_timer *pt = posix_find(t->process, (int)t->call.args[0]);

	return pt ? verdict_return(v, (int64_t)pt->last_overrun) : verdict_errno(v, EINVAL);
}

int handle_timer_delete(struct engine *e, struct task *t, struct verdict *v)
{
	struct posix_timer *pt = posix_find(t->process, (int)t->call.args[0]);

	if (!pt)
		return verdict_errno(v, EINVAL);
	timers_disarm(&e->timers, &pt->timer);
	LL_DELETE(t->process->itimers.posix, pt);
	free(pt);
	return verdict_return(v, 0);
}
