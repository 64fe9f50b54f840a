/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of processes that end in signals: see itimers.h. */
#include "engine/itimers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <utlist.h>

#include "engine/clock.h"
#include "engine/engine_internal.h"
#include "engine/handlers.h"

static const int itimer_signals[ITIMERS] = { SIGALRM, SIGVTALRM, SIGPROF };

static struct task *any_task(struct engine *e, struct process *p)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->process == p && !t->leader_gone)
			return t;
	}
	return NULL;
}

static int queue_signal(struct engine *e, struct process *p, struct task *t, bool to_thread, const siginfo_t *info)
{
	int r;

	if (!t)
		return 0;
	r = e->g->ops->signal_send(e->g, t->id, to_thread, info);
	if (r < 0 && r != -ESRCH && r != -EAGAIN)
		return r;
	signals_changed(e, p);
	return 0;
}

static int fire_itimer(struct engine *e, struct itimer *it, uint64_t now_ns)
{
	siginfo_t info = { .si_signo = it->signo, .si_code = SI_KERNEL };

	it->armed = it->interval_ns != 0;
	if (it->armed) /* expiries that were missed are one: the signal does not queue */
		it->deadline_ns += (now_ns - it->deadline_ns) / it->interval_ns * it->interval_ns + it->interval_ns;
	return queue_signal(e, it->process, any_task(e, it->process), false, &info);
}

static int itimer_due(struct engine *e, struct timer *timer)
{
	struct itimer *it = timer->owner;
	int r;

	r = fire_itimer(e, it, e->clock.now_ns);
	if (it->armed)
		timers_arm(&e->timers, timer, it->deadline_ns);
	return r;
}

bool itimers_count_cpu(const struct itimers *timers)
{
	return timers->interval[ITIMER_VIRTUAL].armed || timers->interval[ITIMER_PROF].armed;
}

uint64_t itimers_next_cpu(const struct itimers *timers)
{
	uint64_t next = TIME_NEVER;

	for (int i = CPU_ITIMERS_FROM; i < ITIMERS; i++)
		if (timers->interval[i].armed && timers->interval[i].deadline_ns < next)
			next = timers->interval[i].deadline_ns;
	return next;
}

int itimers_cpu(struct engine *e, struct process *p)
{
	struct itimer *it;
	int r;

	for (int i = CPU_ITIMERS_FROM; i < ITIMERS; i++) {
		it = &p->itimers.interval[i];
		if (!it->armed || p->cpu_ns < it->deadline_ns)
			continue;
		r = fire_itimer(e, it, p->cpu_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t itimer_now(struct engine *e, struct process *p, int which)
{
	return which >= CPU_ITIMERS_FROM ? p->cpu_ns : e->clock.now_ns;
}

/* What is left of an armed timer; at least 1 µs, because 0 means disarmed. */
static uint64_t left(bool armed, uint64_t deadline_ns, uint64_t now_ns)
{
	if (!armed)
		return 0;
	return deadline_ns > now_ns + 1000 ? deadline_ns - now_ns : 1000;
}

static void itimer_set(struct engine *e, struct process *p, int which, uint64_t value_ns, uint64_t interval_ns)
{
	struct itimer *it = &p->itimers.interval[which];

	timers_disarm(&e->timers, &it->timer);
	it->process = p;
	it->signo = itimer_signals[which];
	it->interval_ns = interval_ns;
	it->armed = value_ns != 0;
	it->deadline_ns = time_add(itimer_now(e, p, which), value_ns);
	it->timer.owner = it;
	it->timer.fire = itimer_due;
	if (it->armed && which < CPU_ITIMERS_FROM)
		timers_arm(&e->timers, &it->timer, it->deadline_ns);
}

static void free_posix(struct engine *e, struct itimers *timers)
{
	struct posix_timer *pt, *tmp;

	LL_FOREACH_SAFE(timers->posix, pt, tmp) {
		timers_disarm(&e->timers, &pt->timer);
		free(pt);
	}
	timers->posix = NULL;
}

void itimers_exec(struct engine *e, struct itimers *timers)
{
	free_posix(e, timers);
}

void itimers_deinit(struct engine *e, struct itimers *timers)
{
	free_posix(e, timers);
	for (int i = 0; i < ITIMERS; i++)
		timers_disarm(&e->timers, &timers->interval[i].timer);
}

static struct itimerval to_itimerval(uint64_t value_ns, uint64_t interval_ns)
{
	return (struct itimerval){
		.it_value = { (time_t)(value_ns / NS_PER_S), (suseconds_t)(value_ns % NS_PER_S / 1000) },
		.it_interval = { (time_t)(interval_ns / NS_PER_S), (suseconds_t)(interval_ns % NS_PER_S / 1000) },
	};
}

static int write_old(struct engine *e, struct task *t, uint64_t addr, int which, struct verdict *v)
{
	struct itimer *it = &t->process->itimers.interval[which];
	struct itimerval old;
	int r;

	old = to_itimerval(left(it->armed, it->deadline_ns, itimer_now(e, t->process, which)), it->interval_ns);
	r = guest_write(e, t, addr, &old, sizeof(old));
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

int handle_time_getitimer(struct engine *e, struct task *t, struct verdict *v)
{
	if (t->call.args[0] >= ITIMERS)
		return verdict_errno(v, EINVAL);
	return write_old(e, t, t->call.args[1], (int)t->call.args[0], v);
}

int handle_time_setitimer(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t value, interval;
	struct itimerval new = { 0 };
	int r;

	if (t->call.args[0] >= ITIMERS)
		return verdict_errno(v, EINVAL);
	r = t->call.args[1] ? guest_read(e, t, t->call.args[1], &new, sizeof(new)) : 0;
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (new.it_value.tv_usec >= 1000000 || new.it_interval.tv_usec >= 1000000 ||
	    !time_from_parts(new.it_value.tv_sec, new.it_value.tv_usec * 1000, &value) ||
	    !time_from_parts(new.it_interval.tv_sec, new.it_interval.tv_usec * 1000, &interval))
		return verdict_errno(v, EINVAL);
	verdict_return(v, 0);
	r = t->call.args[2] ? write_old(e, t, t->call.args[2], (int)t->call.args[0], v) : 0;
	if (r < 0 || v->value < 0)
		return r;
	itimer_set(e, t->process, (int)t->call.args[0], value, interval);
	return verdict_return(v, 0);
}

int handle_time_alarm(struct engine *e, struct task *t, struct verdict *v)
{
	struct itimer *it = &t->process->itimers.interval[ITIMER_REAL];
	uint64_t rest = left(it->armed, it->deadline_ns, e->clock.now_ns);

	itimer_set(e, t->process, ITIMER_REAL, (uint64_t)(uint32_t)t->call.args[0] * NS_PER_S, 0);
	/* Rounded as alarm(2) does: never 0 for an alarm that was set. */
	return verdict_return(v, (int64_t)(rest < NS_PER_S / 2 && rest ? 1 : (rest + NS_PER_S / 2) / NS_PER_S));
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

static struct task *target_task(struct engine *e, const struct posix_timer *pt)
{
	struct task *t;

	if (pt->how != SIGEV_THREAD_ID)
		return any_task(e, pt->process);
	LL_FOREACH(e->tasks, t) {
		if (t->vtid == pt->vtid && t->process == pt->process)
			return t;
	}
	return NULL;
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
	return queue_signal(e, pt->process, t, pt->how == SIGEV_THREAD_ID, &info);
}

static int posix_due(struct engine *e, struct timer *timer)
{
	struct posix_timer *pt = timer->owner;
	uint64_t n = 1;

	pt->armed = pt->interval_ns != 0;
	if (pt->armed) {
		n += (e->clock.now_ns - pt->deadline_ns) / pt->interval_ns;
		pt->deadline_ns += n * pt->interval_ns;
		timers_arm(&e->timers, timer, pt->deadline_ns);
	}
	return posix_fire(e, pt, n);
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

static bool clock_is_known(int clock_id)
{
	struct clock c = { 0 };
	uint64_t ns;

	return clock_id == CLOCK_PROCESS_CPUTIME_ID || clock_id == CLOCK_THREAD_CPUTIME_ID ||
	       clock_value(&c, clock_id, &ns);
}

int handle_timer_create(struct engine *e, struct task *t, struct verdict *v)
{
	struct sigevent sev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimers *timers = &t->process->itimers;
	struct posix_timer *pt;
	int id, r;

	r = t->call.args[1] ? guest_read(e, t, t->call.args[1], &sev, sizeof(sev)) : 0;
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (!clock_is_known((int)t->call.args[0]) || sev.sigev_signo < 0 || sev.sigev_signo > 64 ||
	    (sev.sigev_notify != SIGEV_NONE && !sev.sigev_signo))
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
	uint64_t rest = 0;

	if (pt->armed)
		rest = pt->deadline_ns > e->clock.now_ns ? pt->deadline_ns - e->clock.now_ns : 1;
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
	uint64_t value, interval;
	int r;

	if (!pt)
		return verdict_errno(v, EINVAL);
	r = guest_read(e, t, t->call.args[2], &new, sizeof(new));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (!time_from_parts(new.it_value.tv_sec, new.it_value.tv_nsec, &value) ||
	    !time_from_parts(new.it_interval.tv_sec, new.it_interval.tv_nsec, &interval))
		return verdict_errno(v, EINVAL);
	old = posix_value(e, pt);
	r = t->call.args[3] ? guest_write(e, t, t->call.args[3], &old, sizeof(old)) : 0;
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	timers_disarm(&e->timers, &pt->timer);
	pt->armed = value != 0;
	pt->interval_ns = interval;
	pt->overrun = 0;
	pt->deadline_ns = time_add(e->clock.now_ns, value);
	if (t->call.args[1] & TIMER_ABSTIME)
		(void)clock_deadline(&e->clock, pt->clock_id, value, &pt->deadline_ns);
	if (pt->armed)
		timers_arm(&e->timers, &pt->timer, pt->deadline_ns);
	return verdict_return(v, 0);
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
