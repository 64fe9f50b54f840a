/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls about signals: sending, and waiting for them. Delivery is in signals.c and the kernel. */
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/wait.h"

enum { NR_kill = 62, NR_rt_sigqueueinfo = 129, NR_tkill = 200, NR_tgkill = 234, NR_rt_tgsigqueueinfo = 297 };

#define BIT(signo) (1ull << ((signo)-1))

/* The process a call sends to, NULL when it is not exactly one that we know. */
static struct process *target_of(struct engine *e, struct task *t, int *ret_signo)
{
	const uint64_t *a = t->call.args;
	struct task *other;

	switch (t->call.nr) {
	case NR_kill:
	case NR_rt_sigqueueinfo:
		*ret_signo = (int)a[1];
		return (int)a[0] > 0 ? process_find(e, (int)a[0]) : NULL;
	case NR_tgkill:
	case NR_rt_tgsigqueueinfo:
		*ret_signo = (int)a[2];
		return process_find(e, (int)a[0]);
	case NR_tkill:
		*ret_signo = (int)a[1];
		LL_FOREACH(e->tasks, other) {
			if (other->vtid == (int)a[0])
				return other->process;
		}
		return NULL;
	default: /* pidfd_send_signal */
		*ret_signo = (int)a[1];
		return NULL;
	}
}

/* Does it to those of the process that are stopped. A sum of what it returns, or -errno. */
static int each_stopped(struct engine *e, const struct process *p, int (*act)(struct guest *g, int task))
{
	struct task *t;
	int r, sum = 0;

	LL_FOREACH(e->tasks, t) {
		if (t->process != p || t->state != TASK_STOPPED)
			continue;
		r = act(e->g, t->id);
		if (r < 0)
			return r;
		sum += r;
	}
	return sum;
}

static int hold_stopped(struct engine *e, struct process *p)
{
	return each_stopped(e, p, e->g->ops->hold_stopped);
}

/* After SIGCONT was sent: who goes on? Their events are awaited before anybody runs. */
static int release_stopped(struct engine *e, struct process *p)
{
	int n = each_stopped(e, p, e->g->ops->release_stopped);

	if (n > 0)
		e->n_expected += (unsigned)n;
	return n;
}

/* One that is adrift computes, perhaps: whether that goes on cannot be waited for, only whether the signal is there still. */
static int is_killed_adrift(struct engine *e, const struct task *t)
{
	struct signal_state s;
	int r;

	r = e->g->ops->signal_state(e->g, t->id, &s);
	if (r < 0)
		return r == -ESRCH ? 1 : r;
	return (s.thread_pending | s.process_pending) & BIT(SIGKILL) ? 1 : 0;
}

/* The same after SIGKILL: who dies? */
static int settle_killed(struct engine *e, struct process *p)
{
	struct task *t, *asked = NULL;
	int r = 0;

	LL_FOREACH(e->tasks, t) {
		if (t->process == p && !t->leader_gone && (!asked || asked->state == TASK_ADRIFT))
			asked = t;
	}
	if (asked)
		r = asked->state == TASK_ADRIFT ? is_killed_adrift(e, asked) : e->g->ops->settle_killed(e->g, asked->id);
	if (r > 0)
		process_mark_dying(e, p);
	return r < 0 ? r : 0;
}

static int settle_sent(struct engine *e, struct process *only, int (*settle)(struct engine *e, struct process *p))
{
	struct process *p;
	int r;

	LL_FOREACH(e->processes, p) {
		if ((only && p != only) || p->zombie || p->dying)
			continue;
		r = settle(e, p);
		if (r < 0)
			return r;
	}
	return 0;
}

int signals_settle_killed(struct engine *e)
{
	return settle_sent(e, NULL, settle_killed);
}

int signals_release_stopped(struct engine *e)
{
	return settle_sent(e, NULL, release_stopped);
}

static int was_sent(struct engine *e, struct task *t, struct process *p, int signo, struct verdict *v)
{
	bool again = t->call.scratch[0];
	int r = 0;

	t->call.scratch[0] = true;
	if (!again && signo == SIGCONT)
		r = settle_sent(e, p, release_stopped);
	else if (!again && t->call.result == 0)
		r = settle_sent(e, p, settle_killed);
	if (r < 0)
		return r;
	if (e->n_dying || e->n_expected)
		return verdict_block(v); /* until that has happened: turn.c */
	signals_changed(e, p);
	v->kind = VERDICT_GO;
	return 0;
}

int handle_sig_kill(struct engine *e, struct task *t, struct verdict *v)
{
	struct process *p;
	int r, signo;

	p = target_of(e, t, &signo);
	if (t->call.done)
		return was_sent(e, t, p, signo, v);
	signals_note_sent(e, signo);
	if (signo == SIGCONT) {
		r = settle_sent(e, p, hold_stopped);
		if (r < 0)
			return r;
	}
	if (signo == SIGKILL || signo == SIGCONT)
		return verdict_hook(v);
	signals_changed(e, p);
	return verdict_continue(v);
}

int handle_sig_pause(struct engine *e, struct task *t, struct verdict *v)
{
	wait_for(t, WAIT_SIGNAL);
	return verdict_block(v);
}

/*
 * For calls that replace the mask while they wait: notes the mask. 1: a signal is deliverable under it, so that the kernel will
 * end the call at once; 0: none is; -EFAULT, or another -errno.
 */
int wait_with_sigmask(struct engine *e, struct task *t, uint64_t mask_addr)
{
	uint64_t mask;
	bool deliverable;
	int r;

	if (!t->wait.has_sigmask) {
		r = guest_read(e, t, mask_addr, &mask, sizeof(mask));
		if (r < 0)
			return r;
		t->wait.has_sigmask = true;
		t->wait.sigmask = mask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
	} else if (!wait_interrupted(t)) {
		return 0;
	}
	r = signals_deliverable(e, t, &t->wait.sigmask, &deliverable);
	return r < 0 ? r : deliverable;
}

int handle_sig_suspend(struct engine *e, struct task *t, struct verdict *v)
{
	int r;

	if (t->call.args[1] != 8)
		return verdict_errno(v, EINVAL);
	r = wait_with_sigmask(e, t, t->call.args[0]);
	if (r == -EFAULT)
		return verdict_errno(v, EFAULT);
	if (r < 0)
		return r;
	if (r)
		return verdict_continue(v);
	wait_for(t, WAIT_SIGNAL);
	return verdict_block(v);
}

/* A signal was taken: what it says of a timer, and of who sent it in whose name, is ours. */
static int timedwait_done(struct engine *e, struct task *t, struct verdict *v)
{
	siginfo_t info;
	int r;

	v->kind = VERDICT_GO;
	if (t->call.result <= 0)
		return 0;
	r = guest_read(e, t, t->call.args[1], &info, sizeof(info));
	if (r == 0 && info.si_code == SI_TIMER) {
		itimers_delivered(t->process, &info);
		r = 1;
	} else if (r == 0 && e->g->ops->signal_taken && (info.si_code == SI_USER || info.si_code == SI_TKILL)) {
		r = e->g->ops->signal_taken(e->g, t->id, &info);
	}
	if (r > 0)
		r = guest_write(e, t, t->call.args[1], &info, sizeof(info));
	return r == -EFAULT ? 0 : r;
}

int handle_sig_timedwait(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct signal_state s;
	struct timespec ts;
	uint64_t set, ns;
	int r;

	if (t->call.done)
		return timedwait_done(e, t, v);
	if (a[3] != 8)
		return verdict_errno(v, EINVAL);
	r = guest_read(e, t, a[0], &set, sizeof(set));
	if (r >= 0 && a[2])
		r = guest_read(e, t, a[2], &ts, sizeof(ts));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (a[2] && !time_from_parts(ts.tv_sec, ts.tv_nsec, &ns))
		return verdict_errno(v, EINVAL);
	r = e->g->ops->signal_state(e->g, t->id, &s);
	if (r < 0)
		return r;
	set &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
	if ((s.thread_pending | s.process_pending) & set)
		return a[1] ? verdict_hook(v) : verdict_continue(v);
	if (wait_timed_out(t) || (a[2] && !ns))
		return verdict_errno(v, EAGAIN);
	if (wait_interrupted(t))
		return wait_interrupt(t, v, -EINTR);
	t->wait.sigwanted = set;
	if (a[2])
		wait_until(e, t, time_add(t->call.start_ns, ns));
	wait_for(t, WAIT_SIGNAL);
	return verdict_block(v);
}
