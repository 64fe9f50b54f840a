/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of processes that end in signals: see itimers.h. Those of timer_create(2) are in posix_timer.c. */
#include "engine/time/itimers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <utlist.h>

#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"

static const int itimer_signals[ITIMERS] = { SIGALRM, SIGVTALRM, SIGPROF };

struct task *itimers_any_task(struct engine *e, struct process *p)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->process == p && !t->leader_gone)
			return t;
	}
	return NULL;
}

int itimers_queue_signal(struct engine *e, struct process *p, struct task *t, bool to_thread, const siginfo_t *info)
{
	int r;

	if (!t)
		return 0;
	signals_note_sent(e, info->si_signo);
	if (info->si_signo == SIGKILL)
		process_mark_dying(e, p);
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
	return itimers_queue_signal(e, it->process, itimers_any_task(e, it->process), false, &info);
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
	return timers->interval[ITIMER_VIRTUAL].armed || timers->interval[ITIMER_PROF].armed || posix_timers_count_cpu(timers);
}

uint64_t itimers_next_cpu(const struct engine *e, const struct itimers *timers)
{
	uint64_t next = posix_timers_next_cpu(e, timers);

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
	return posix_timers_cpu(e, p);
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
	return deadline_ns > now_ns + 1000 ? time_left(deadline_ns, now_ns) : 1000;
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

void itimers_exec(struct engine *e, struct itimers *timers)
{
	posix_timers_free(e, timers);
}

void itimers_deinit(struct engine *e, struct itimers *timers)
{
	posix_timers_free(e, timers);
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

static struct itimerval itimer_get(struct engine *e, struct process *p, int which)
{
	const struct itimer *it = &p->itimers.interval[which];

	return to_itimerval(left(it->armed, it->deadline_ns, itimer_now(e, p, which)), it->interval_ns);
}

static int write_value(struct engine *e, struct task *t, uint64_t addr, const struct itimerval *value, struct verdict *v)
{
	int r;

	r = guest_write(e, t, addr, value, sizeof(*value));
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

int handle_time_getitimer(struct engine *e, struct task *t, struct verdict *v)
{
	struct itimerval value;

	if (t->call.args[0] >= ITIMERS)
		return verdict_errno(v, EINVAL);
	value = itimer_get(e, t->process, (int)t->call.args[0]);
	return write_value(e, t, t->call.args[1], &value, v);
}

int handle_time_setitimer(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t value, interval;
	struct itimerval new = { 0 }, old;
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
	old = itimer_get(e, t->process, (int)t->call.args[0]);
	itimer_set(e, t->process, (int)t->call.args[0], value, interval);
	/* The timer is set even when nobody can be told what it was. */
	return t->call.args[2] ? write_value(e, t, t->call.args[2], &old, v) : verdict_return(v, 0);
}

int handle_time_alarm(struct engine *e, struct task *t, struct verdict *v)
{
	struct itimer *it = &t->process->itimers.interval[ITIMER_REAL];
	uint64_t rest = left(it->armed, it->deadline_ns, e->clock.now_ns);

	itimer_set(e, t->process, ITIMER_REAL, (uint64_t)(uint32_t)t->call.args[0] * NS_PER_S, 0);
	/* Rounded as alarm(2) does: never 0 for an alarm that was set. */
	return verdict_return(v, (int64_t)(rest < NS_PER_S / 2 && rest ? 1 : (rest + NS_PER_S / 2) / NS_PER_S));
}
