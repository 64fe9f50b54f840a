/* SPDX-License-Identifier: BSD-3-Clause */
/* How the engine takes note of what happened: see engine_event() in engine.h. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <utlist.h>

#include "engine/calls/handlers.h"
#include "engine/engine_internal.h"
#include "engine/proc/family.h"
#include "engine/sched/outsiders.h"
#include "engine/sched/spinners.h"
#include "engine/wait.h"

/* Clock reads since the last event were made by the task that ran: they took their time. */
static void absorb_clock_reads(struct engine *e, struct task *t)
{
	struct clock_page *page = e->g->clock_page;
	uint64_t reads, cost;

	/* The guest can write to the page: what it says besides the number is not believed, and the number is read once. */
	reads = page ? __atomic_exchange_n(&page->reads, 0, __ATOMIC_RELAXED) : 0;
	if (!reads || __builtin_mul_overflow(reads, CLOCK_READ_COST_NS, &cost))
		return; /* none, or nonsense */
	e->stats.clock_reads += reads;
	task_charge(e, t, cost);
}

/* Puts a task that was stopped by an event back into the queue: to the front, it still has its turn. */
static int ready(struct engine *e, struct task *t, enum verdict_kind kind)
{
	t->state = TASK_READY;
	t->in_call = false;
	t->verdict = (struct verdict){ .kind = kind };
	return sched_push_front(&e->sched, t);
}

static int on_call(struct engine *e, struct task *t, const struct event *event)
{
	struct call *c = &t->call;
	bool adrift;
	int r;

	*c = (struct call){ .nr = event->call.nr, .ip = event->call.ip, .first = true };
	memcpy(c->args, event->call.args, sizeof(c->args));
	task_release_hold(e, t);
	c->row = policy_row(c->nr);
	task_charge(e, t, c->row->cost_ns);
	c->start_ns = e->clock.now_ns;
	if (c->nr >= 0 && c->nr < (int)(sizeof(e->stats.calls) / sizeof(e->stats.calls[0])))
		e->stats.calls[c->nr]++;
	if (t->sleep.valid && (t->sleep.nr != c->nr || memcmp(t->sleep.args, c->args, sizeof(t->sleep.args))))
		t->sleep.valid = false;
	process_unmark_dying(e, t->process);
	r = task_check_cpu(e, t);
	if (r < 0)
		return r;
	adrift = t->state == TASK_ADRIFT;
	t->state = TASK_READY;
	t->in_call = true;
	if (adrift || e->clock.now_ns >= t->slice_end_ns) { /* adrift: somebody else has the turn by now */
		chaos_yield(e, t);
		return sched_push_back(&e->sched, t);
	}
	return sched_push_front(&e->sched, t);
}

/* What the kernel returns from a call that it will make again once signals are dealt with. */
static bool is_restart_code(int64_t result)
{
	return result == WAIT_ERESTARTSYS || result == WAIT_ERESTARTNOINTR || result == WAIT_ERESTARTNOHAND;
}

/*
 * A call that gave up for being asked to stop, and not for a signal: the kernel makes it again. What it gives up under a signal it would have given
 * up in any case; who attempts a call (attempt.h) wants to know.
 */
static bool is_disturbance(struct engine *e, struct task *t, const struct event *event)
{
	return !t->call.unnoticed && !t->call.attempt && is_restart_code(event->result) && !signals_pending(e, t);
}

/* The call that was disturbed, made again: nothing of it is new. */
static bool is_repeat(const struct task *t, const struct event *event)
{
	const struct call *c = &t->call;

	return c->disturbed && c->nr == event->call.nr && c->ip == event->call.ip &&
	       !memcmp(c->args, event->call.args, sizeof(c->args));
}

static int on_repeat(struct engine *e, struct task *t)
{
	t->state = TASK_READY;
	t->in_call = true;
	e->watched = t;
	return 0;
}

/* It goes on at once, as if it had not stopped; when it is adrift somebody else has the turn by now. */
static int go_at_once(struct engine *e, struct task *t)
{
	bool adrift = t->state == TASK_ADRIFT;

	t->state = TASK_READY;
	t->in_call = false;
	t->verdict = (struct verdict){ .kind = VERDICT_GO };
	if (adrift)
		return sched_push_back(&e->sched, t);
	e->watched = t;
	return 0;
}

static int on_done(struct engine *e, struct task *t, const struct event *event)
{
	t->call.disturbed = false;
	if (t->call.watched) {
		t->call.watched = false;
		looks_answered(e, t, event->result);
		return go_at_once(e, t);
	}
	t->state = TASK_READY;
	t->call.done = true;
	t->call.result = event->result;
	return sched_push_front(&e->sched, t);
}

static int on_birth(struct engine *e, struct task *parent, const struct event *event)
{
	bool vfork = parent->clone_flags & CLONE_VFORK;
	struct task *child;
	int r;

	child = task_born(e, parent, event->birth.child, event->birth.vtid, event->birth.vpid);
	if (!child)
		return -ENOMEM;
	child->state = TASK_READY;
	child->verdict = (struct verdict){ .kind = VERDICT_GO };
	r = sched_push_back(&e->sched, child);
	if (r < 0)
		return r;
	e->stats.births++;
	r = ready(e, parent, VERDICT_GO);
	if (r < 0)
		return r;
	if (!vfork) {
		chaos_fork(e, parent, child);
		return 0;
	}
	sched_remove(&e->sched, parent);
	parent->state = TASK_VFORK;
	parent->vfork_child = child;
	return 0;
}

static int on_exec(struct engine *e, struct task *t)
{
	struct cpuid_model processor = trap_processor(e);
	struct exec_image image = {
		.set_hwcap = e->options.set_hwcap,
		.hwcap = e->options.hwcap,
		.hwcap2 = e->options.hwcap2,
		.processor = e->options.keep_instructions ? NULL : &processor,
	};
	struct code_found found = { 0 };
	int r;

	process_unmark_dying(e, t->process);
	r = task_exec(e, t);
	if (r < 0)
		return r;
	e->stats.execs++;
	rng_bytes(&t->rng, image.random, sizeof(image.random));
	r = e->g->ops->exec_setup(e->g, t->id, &image, &found);
	if (r == -ESRCH)
		return 0;
	trap_note_code(e, &found);
	return r < 0 ? r : ready(e, t, VERDICT_GO);
}

/* It did not return from a call that sends a signal. */
static bool dies_sending(const struct task *t)
{
	return t->call.hooked && !t->call.done && t->call.row->handler == handle_sig_kill;
}

/* Do others die because of this end: of the call that it did not return from, or because they asked for that (PR_SET_PDEATHSIG)? */
static bool kills_others(struct engine *e, const struct task *t, int wait_status)
{
	const struct task *other;

	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL && dies_sending(t))
		return true;
	LL_FOREACH(e->tasks, other) {
		if (other != t && other->traits.death_signal == SIGKILL)
			return true;
	}
	return false;
}

static int on_death(struct engine *e, struct task *t, const struct event *event)
{
	struct process *p = t->process;
	bool others = p->n_tasks > 1, kills = kills_others(e, t, event->wait_status), sending = dies_sending(t);
	int r;

	e->stats.deaths++;
	/* A signal kills the whole process: the others' ends are under way. */
	if (others && WIFSIGNALED(event->wait_status))
		process_mark_dying(e, p);
	r = task_died(e, t, event->wait_status);
	/* Only the leader that is gone already is left: its event, the process's end, is under way. */
	if (r >= 0 && others && p->n_tasks == 1 && p->leader && p->leader->leader_gone)
		process_mark_dying(e, p);
	if (r >= 0 && kills && !e->ended)
		r = signals_settle_killed(e);
	return r >= 0 && sending && !e->ended ? signals_release_stopped(e) : r;
}

static int on_signal(struct engine *e, struct task *t, const struct event *event)
{
	struct signal_state s;
	int signo = event->siginfo.si_signo, r;
	bool caught;

	e->stats.signals++;
	looks_end(t);
	clock_charge(&e->clock, 1000);
	r = e->g->ops->signal_state(e->g, t->id, &s);
	if (r < 0)
		return r == -ESRCH ? 0 : r;
	caught = s.caught & 1ull << (signo - 1);
	t->signal_is_fatal = !caught && !(s.ignored & 1ull << (signo - 1)) && signal_default_is_fatal(signo);
	if (caught)
		t->sleep.valid = false;
	r = ready(e, t, VERDICT_SIGNAL);
	t->verdict.siginfo = event->siginfo;
	itimers_delivered(t->process, &t->verdict.siginfo);
	return r;
}

static int on_trap(struct engine *e, struct task *t, const struct event *event)
{
	int r;

	trap_answer(e, t, event);
	r = task_check_cpu(e, t);
	if (r < 0)
		return r;
	t->state = TASK_READY;
	t->in_call = false;
	if (e->clock.now_ns >= t->slice_end_ns)
		return sched_push_back(&e->sched, t);
	return sched_push_front(&e->sched, t);
}

/* Its turn is over in the middle of its code; it could go on at once. */
static int on_preempt(struct engine *e, struct task *t)
{
	return ready(e, t, VERDICT_GO);
}

static bool all_stopped(struct engine *e, struct process *p)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->process == p && t->state != TASK_STOPPED && !t->leader_gone)
			return false;
	}
	return true;
}

static int on_stopped(struct engine *e, struct task *t)
{
	struct process *p = t->process;
	struct task *other;
	int r;

	t->state = TASK_STOPPED;
	p->stopped = true;
	LL_FOREACH(e->tasks, other) {
		if (other->process != p || (other->state != TASK_BLOCKED && !task_in_loop(other)))
			continue;
		r = task_wake(e, other, WAKE_SIGNAL);
		if (r < 0)
			return r;
	}
	if (all_stopped(e, p)) {
		p->stop_unreported = true;
		p->continue_unreported = false;
		r = family_change(e, p);
		if (r < 0)
			return r;
	}
	return ready(e, t, VERDICT_LISTEN);
}

static int on_continued(struct engine *e, struct task *t)
{
	struct process *p = t->process;
	int r;

	if (e->n_expected)
		e->n_expected--;
	if (p->stopped) {
		p->stopped = p->stop_unreported = false;
		p->continue_unreported = true;
		r = family_change(e, p);
		if (r < 0)
			return r;
	}
	t->state = TASK_READY;
	t->in_call = false;
	t->verdict = (struct verdict){ .kind = VERDICT_GO };
	return sched_push_back(&e->sched, t);
}

bool engine_others_wait(struct engine *e, const struct task *t)
{
	return sched_peek(&e->sched) || waits_next_deadline(e) != TIME_NEVER || itimers_count_cpu(&t->process->itimers);
}

/* The running task has been silent for long. In the kernel: it blocks where we did not expect it; the others go on. */
static int on_alarm(struct engine *e, struct task *t, const struct event *event)
{
	if (e->running != t)
		return 0;
	if (event->alarm.dead) {
		e->leader_exit = t;
		return 0;
	}
	if (!event->alarm.in_kernel) {
		e->silent_turn = e->turn;
		return e->g->ops->seek_loop ? e->g->ops->seek_loop(e->g, t->id, engine_others_wait(e, t)) : 0;
	}
	engine_report_uncontrolled(e, "blocked in the kernel", t->call.row ? t->call.row->name : "start");
	t->state = TASK_ADRIFT;
	e->n_adrift++;
	e->running = NULL;
	return 0;
}

/* It is on its way to its first call whoever has the turn: its time begins with that call. */
static int on_join(struct engine *e, const struct event *event)
{
	struct task *t;

	t = task_joined(e, event->task, event->join.vtid, event->join.vpid);
	if (!t)
		return -ENOMEM;
	t->state = TASK_ADRIFT;
	e->n_adrift++;
	return 0;
}

static int on_outside(struct engine *e, const struct event *event)
{
	siginfo_t info = { .si_signo = event->signo, .si_code = SI_USER };
	int r;

	if (event->signo == 0) {
		signals_changed(e, NULL);
		return 0;
	}
	if (!e->first || !e->first->leader)
		return 0;
	r = e->g->ops->signal_send(e->g, e->first->leader->id, false, &info);
	if (r < 0 && r != -ESRCH)
		return r;
	signals_changed(e, e->first);
	return 0;
}

static int on_hidden(struct engine *e, struct task *t, const struct event *event)
{
	if (event->kind == EVENT_CALL)
		return on_repeat(e, t);
	t->call.disturbed = true;
	return go_at_once(e, t);
}

static int dispatch(struct engine *e, struct task *t, const struct event *event)
{
	switch (event->kind) {
	case EVENT_CALL:
		return on_call(e, t, event);
	case EVENT_DONE:
		return on_done(e, t, event);
	case EVENT_BIRTH:
		return on_birth(e, t, event);
	case EVENT_EXEC:
		return on_exec(e, t);
	case EVENT_EXIT:
		return on_death(e, t, event);
	case EVENT_SIGNAL:
		return on_signal(e, t, event);
	case EVENT_STOPPED:
		return on_stopped(e, t);
	case EVENT_CONTINUED:
		return on_continued(e, t);
	case EVENT_ALARM:
		return on_alarm(e, t, event);
	case EVENT_TRAP:
		return on_trap(e, t, event);
	case EVENT_SPIN:
		return spinners_add(e, t, event);
	case EVENT_PREEMPT:
		return on_preempt(e, t);
	case EVENT_OUTSIDE:
		return on_outside(e, event);
	case EVENT_JOIN:
		return on_join(e, event);
	case EVENT_NONE:
		break;
	}
	return -EINVAL;
}

/* A call that was disturbed and its repetition are nobody's affair. */
static bool is_hidden(struct engine *e, struct task *t, const struct event *event)
{
	if (!t)
		return false;
	if (event->kind == EVENT_DONE)
		return is_disturbance(e, t, event);
	return event->kind == EVENT_CALL && is_repeat(t, event);
}

/* When an alarm comes is the host's affair, and a watched result is no event of the run: neither is a turn. */
static bool is_turn(const struct task *t, const struct event *event)
{
	if (event->kind == EVENT_DONE)
		return !t || !t->call.watched;
	return event->kind != EVENT_ALARM;
}

/* The event has been dealt with, and may have been the end of its task. */
static int turn_taken(struct engine *e, const struct event *event)
{
	struct task *t;
	int r;

	r = order_event(e, event->task, event);
	t = e->sched.n > 1 ? task_find(e, event->task) : NULL;
	if (t)
		chaos_event(e, t);
	return r;
}

static bool is_from_outside(const struct event *event)
{
	return event->kind == EVENT_OUTSIDE || event->kind == EVENT_JOIN;
}

static int take_event(struct engine *e, const struct event *event)
{
	struct task *t = is_from_outside(event) ? NULL : task_find(e, event->task);
	bool hidden = is_hidden(e, t, event);
	bool turn = !hidden && is_turn(t, event);
	int r;

	if (turn) {
		e->turn++;
		e->stats.turns++;
		spinners_note(e, t, event);
		if (t)
			preempt_settle(e, t, event);
	}
	e->actor = is_from_outside(event) ? -1 : event->task;
	for (size_t i = 0; i < e->n_observers && !hidden; i++)
		if (e->observers[i].event)
			e->observers[i].event(e->observers[i].arg, e, event);
	if (!is_from_outside(event)) {
		if (!t)
			return engine_fail(e, ESRCH, "event of task %d, which does not exist", event->task);
		if (event->kind != EVENT_ALARM) {
			if (t->state == TASK_ADRIFT)
				e->n_adrift--;
			else if (t->state == TASK_READY && event->kind != EVENT_EXIT)
				sched_remove(&e->sched, t);
			if (e->running == t) {
				absorb_clock_reads(e, t);
				e->running = NULL;
			}
		}
	}
	e->dead_at_anchors = t && event->kind == EVENT_EXIT ? t->at_anchors : 0;
	r = hidden ? on_hidden(e, t, event) : dispatch(e, t, event);
	if (r >= 0 && turn)
		r = turn_taken(e, event);
	if (e->running) /* it runs on, whoever has come */
		outsiders_note(e);
	return r < 0 ? engine_fail(e, -r, "event %d of task %d at turn %llu", (int)event->kind, event->task,
				   (unsigned long long)e->turn)
		     : 0;
}

int engine_event(struct engine *e, const struct event *event)
{
	return take_event(e, event);
}
