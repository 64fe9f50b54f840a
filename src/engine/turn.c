/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The turn: who goes on, and what it is told. A task's call is considered when the task is picked, never before: what another task did in
 * between counts. Considering may leave it parked; then the next one is picked. When nobody can go on, time jumps to the next
 * deadline; when there is none, the run waits for the outside, or it is a deadlock.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/net/link_numbers.h"
#include "engine/files/fdtable.h"
#include "engine/files/terminals.h"
#include "engine/net/network.h"
#include "engine/net/network_rest.h"
#include "engine/net/passed.h"
#include "engine/net/sockets.h"
#include "engine/proc/procfs.h"
#include "engine/sched/outsiders.h"
#include "engine/sched/spinners.h"
#include "engine/wait.h"

int task_wake(struct engine *e, struct task *t, unsigned why)
{
	t->wait.wake |= why;
	/* One that spins is let run, to be interrupted by its signal, or stopped with the others. */
	if (task_in_loop(t) && why & WAKE_SIGNAL)
		t->verdict = (struct verdict){ .kind = VERDICT_GO };
	if (t->state == TASK_SPINNING) {
		t->state = TASK_READY;
		return sched_push_back(&e->sched, t);
	}
	if (t->state != TASK_BLOCKED)
		return 0;
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i].woken)
			e->observers[i].woken(e->observers[i].arg, e, t->id, e->actor, why);
	t->state = TASK_READY;
	return sched_push_back(&e->sched, t);
}

static void park(struct engine *e, struct task *t)
{
	t->state = TASK_BLOCKED;
	t->call.waited |= !t->call.gives_way;
	t->wait.since_turn = t->wait.since_turn ? t->wait.since_turn : e->turn;
	t->wait.wake = 0;
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i].parked)
			e->observers[i].parked(e->observers[i].arg, e, t->id);
	if (t->wait.deadline_ns < e->next_deadline_ns)
		e->next_deadline_ns = t->wait.deadline_ns;
}

/* A parked call is given up for a signal: the kernel's restart code of this call. */
static int restart_code(const struct task *t)
{
	const struct policy_row *row = t->call.row;

	if (row->flags & CALL_EINTR || t->wait.limited)
		return -EINTR;
	return row->flags & CALL_NOHAND ? WAIT_ERESTARTNOHAND : WAIT_ERESTARTSYS;
}

int wait_interrupt(struct task *t, struct verdict *v, int code)
{
	v->kind = VERDICT_RESTART;
	v->value = code;
	if (t->wait.deadline_ns != TIME_NEVER) {
		t->sleep.valid = true;
		t->sleep.nr = t->call.nr;
		memcpy(t->sleep.args, t->call.args, sizeof(t->sleep.args));
		t->sleep.deadline_ns = t->wait.deadline_ns;
	}
	return 0;
}

static int refuse_unlisted(struct engine *e, struct task *t, struct verdict *v)
{
	char number[24] = "call ";
	size_t at = sizeof(number) - 1;
	unsigned nr = (unsigned)t->call.nr;

	if (nr > POLICY_MAX_NR)
		return verdict_errno(v, ENOSYS); /* no kernel has such a call */
	number[at] = '\0';
	do {
		number[--at] = (char)('0' + nr % 10);
		nr /= 10;
	} while (nr);
	memmove(number + 5, number + at, sizeof(number) - at);
	engine_report_uncontrolled(e, "unknown system call", number);
	return e->options.allow_uncontrolled ? verdict_continue(v) : verdict_errno(v, ENOSYS);
}

static int consider_call(struct engine *e, struct task *t, struct verdict *v)
{
	const struct policy_row *row = t->call.row;
	int r;

	r = e->network_dirty && network_concerns(e, t) ? network_settle(e) : 0;
	if (r == 0 && (row->flags & (CALL_TOUCHES_IO | CALL_FD_CHANGE)) == CALL_TOUCHES_IO) /* several may be closed in a row */
		r = passed_settle(e);
	if (r == 0)
		r = network_rest(e, t);
	if (r == 0)
		r = socket_notes_sweep(e, t);
	if (r < 0)
		return r;
	if (t->call.first && !t->call.done && row->class != CLASS_REFUSE && row->class != CLASS_UNLISTED) {
		r = procfs_hide(e, t, v);
		if (r)
			return r < 0 ? r : 0;
	}
	switch (row->class) {
	case CLASS_UNLISTED:
		return refuse_unlisted(e, t, v);
	case CLASS_PASS:
		return verdict_continue(v);
	case CLASS_REFUSE:
		return verdict_errno(v, row->error);
	case CLASS_ORDER:
	case CLASS_FIXUP:
	case CLASS_EMULATE:
		return row->flags & CALL_LINKS ? link_numbers_call(e, t, v) : row->handler(e, t, v);
	}
	return engine_fail(e, EINVAL, "the policy row of %s has no class", row->name);
}

/* Comes here only when a fault may strike it: then it has to be known where the heap ends. */
static int consider_brk(struct engine *e, struct task *t, struct verdict *v)
{
	if (!t->call.done)
		return verdict_hook(v);
	t->mm->brk = (uint64_t)t->call.result;
	v->kind = VERDICT_GO;
	return 0;
}

/* What a picked task is told. VERDICT_BLOCK: it stays parked. */
static int consider(struct engine *e, struct task *t, struct verdict *v)
{
	int r, looks;

	e->actor = t->id;
	*v = (struct verdict){ .kind = VERDICT_NONE };
	if (!t->in_call) {
		*v = t->verdict;
		t->verdict.kind = VERDICT_NONE;
		return 0;
	}
	if (t->process->stopped && !t->call.done) {
		return wait_interrupt(t, v, restart_code(t));
	}
	r = t->call.first && e->options.n_faults ? fault_strike(e, t, v) : 0;
	e->considers = true;
	if (r == 0)
		r = t->call.nr == __NR_brk ? consider_brk(e, t, v) : consider_call(e, t, v);
	looks = r >= 0 && t->call.first ? looks_consider(e, t) : 0;
	r = looks < 0 ? looks : r;
	e->considers = e->path_memo.valid = false;
	if (r == 0)
		r = fault_shorten(e, t, v);
	t->call.first = false;
	if (r < 0)
		return r;
	if (v->kind == VERDICT_BLOCK && wait_interrupted(t))
		return wait_interrupt(t, v, restart_code(t));
	return 0;
}

/* Everything that may make tasks ready without an event of theirs. */
static int wake_all(struct engine *e)
{
	int r, actor = e->actor;

	e->actor = -1;
	r = terminals_settle(e);
	if (r >= 0)
		r = spinners_wake(e);
	if (r >= 0)
		r = timers_fire(&e->timers, e, e->clock.now_ns);
	if (r >= 0)
		r = waits_expire(e);
	e->actor = actor;
	if (r >= 0)
		r = signals_wake(e);
	/* While one task keeps its turn nobody else is asked: that is what "run until block" saves. */
	if (r >= 0 && (e->options.chaos.on || !sched_peek(&e->sched) || sched_peek(&e->sched) != e->last)) {
		r = waits_poll(e);
		if (r >= 0)
			r = waits_kick(e);
	}
	return r;
}

/* Real time a virtual deadline leaves for input from outside to arrive, in ms. */
static int outside_allowance_ms(struct engine *e, uint64_t deadline_ns)
{
	uint64_t ms;

	if (deadline_ns == TIME_NEVER)
		return -1;
	if (e->options.pace)
		return e->options.pace(e->options.pace_arg, e->clock.now_ns, deadline_ns);
	ms = (deadline_ns - e->clock.now_ns) / 1000000 + 1;
	return ms > 3600000 ? 3600000 : (int)ms;
}

/* Time jumps; those who spin have used it. One whose loop is not known has perhaps come further. */
static int pass_time(struct engine *e, uint64_t deadline_ns)
{
	uint64_t before = e->clock.now_ns;
	int r;

	clock_jump(&e->clock, deadline_ns);
	r = spinners_pass_time(e, e->clock.now_ns - before);
	if (r == 0)
		r = spinners_go_on(e);
	return r < 0 ? r : 0;
}

/* Nobody can run. *ret_decided: the step is filled in; else: look again. */
static int idle(struct engine *e, struct step *step, bool *ret_decided)
{
	uint64_t deadline = waits_next_deadline(e), spun = spinners_deadline(e);
	bool outside;
	int r;

	*ret_decided = false;
	e->last = NULL;
	r = spinners_move(e);
	if (r != 0)
		return r < 0 ? r : 0;
	deadline = spun < deadline ? spun : deadline;
	r = waits_outside(e, outside_allowance_ms(e, deadline), e->options.pace && deadline != TIME_NEVER);
	if (r == -EINTR || (r == -ENOENT && deadline == TIME_NEVER && (e->n_adrift || e->options.open_ended))) {
		step->kind = STEP_WAIT;
		*ret_decided = true;
		return 0;
	}
	if (r > 0)
		return 0;
	if (r < 0 && r != -ENOENT)
		return r;
	outside = r != -ENOENT;
	r = r == -ENOENT ? e->g->ops->outside_pending(e->g) : r;
	if (r) {
		step->kind = STEP_WAIT;
		*ret_decided = true;
		return r < 0 ? r : 0;
	}
	if (deadline != TIME_NEVER)
		return pass_time(e, deadline);
	r = spinners_go_on(e);
	if (r != 0)
		return r < 0 ? r : 0;
	r = outside ? 0 : waits_network(e);
	if (r != 0)
		return r < 0 ? r : 0;
	if (!outside) {
		if (order_relent(e))
			return 0;
		if (e->failure[0]) {
			e->misfit = true;
			return 0;
		}
		step->kind = STEP_DEADLOCK;
		*ret_decided = true;
	}
	return 0;
}

/* The thread-group leader that was just let into exit(2) gives no event of its own while its threads live. */
static int settle_leader_exit(struct engine *e)
{
	struct task *t = e->leader_exit;
	int r;

	e->leader_exit = NULL;
	e->running = NULL;
	r = e->g->ops->settle_leader(e->g, t->id);
	if (r < 0)
		return r;
	t->state = TASK_DEAD;
	t->leader_gone = true;
	return task_end_effects(e, t);
}

/* What clock reads without a call show from now on, and up to when they may. */
static void publish_clock(struct engine *e, const struct task *t)
{
	struct clock_page *page = e->g->clock_page;
	uint64_t limit;

	if (!page)
		return;
	limit = timers_next(&e->timers) < e->next_deadline_ns ? timers_next(&e->timers) : e->next_deadline_ns;
	if (sched_peek(&e->sched) && t->slice_end_ns < limit)
		limit = t->slice_end_ns;
	if (itimers_count_cpu(&t->process->itimers))
		limit = 0;
	*page = (struct clock_page){
		.now_ns = e->clock.now_ns,
		.cost_ns = CLOCK_READ_COST_NS,
		.limit_ns = limit,
		.realtime_ns = e->clock.epoch_ns,
		.monotonic_ns = e->clock.uptime_ns,
		.tai_ns = e->clock.epoch_ns + CLOCK_TAI_OFFSET_NS,
	};
}

/*
 * Terminals and devices like /dev/zero read and write in pieces, and stop early when the task is asked to stop; waiting until a terminal has said
 * all (TCSBRK and its like) ends with EINTR then.
 */
static bool is_piecewise_device(struct engine *e, struct task *t)
{
	const struct fd_info *info;
	int r;

	if (t->call.row->args[0].kind != ARG_FD || (t->call.row->ret != RET_LEN && t->call.nr != __NR_ioctl))
		return false;
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r != -EBADF;
	return info->kind == FD_TTY || (t->call.nr != __NR_ioctl && (info->kind == FD_CHAR || info->kind == FD_OTHER));
}

/*
 * A hook is to the call like a signal: one that works in pieces stops early, one that has given up for it would do so again. Such a
 * call is hooked in the way that it does not notice. Under a signal it stops early in any case, but not for an observer's sake.
 */
static void spare(struct engine *e, struct task *t, struct verdict *v)
{
	bool breaks = (t->call.row->flags & CALL_PIECEWISE) || t->call.disturbed || (t->call.watched && is_piecewise_device(e, t));

	t->call.unnoticed = false;
	if (!breaks || t->call.attempt)
		return;
	if (!signals_pending(e, t)) {
		t->call.unnoticed = v->unnoticed = true;
	} else if (t->call.watched) {
		v->kind = VERDICT_CONTINUE;
		t->call.watched = false;
	}
}

/* The kernel runs a call: where observers want its result, or looks.h does, it is stopped when it returns. */
static void watch(struct engine *e, struct task *t, struct verdict *v)
{
	bool wanted = e->options.results || t->looks.asked || t->armed.unit == PREEMPT_INSTRUCTIONS;

	if (!wanted || v->kind != VERDICT_CONTINUE || t->call.no_return || !(e->g->abilities & GUEST_CAN_HOOK))
		return;
	if (t->call.row->ret == RET_EINTR)
		return; /* its result is known */
	v->kind = VERDICT_HOOK;
	t->call.watched = true;
}

/* What a task in a call is told, with hooks as they are to be. */
static void complete_hook(struct engine *e, struct task *t, struct verdict *v)
{
	watch(e, t, v);
	if (v->kind == VERDICT_HOOK)
		spare(e, t, v);
}

static void observe_verdict(struct engine *e, const struct step *step)
{
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i].verdict)
			e->observers[i].verdict(e->observers[i].arg, e, step->task, &step->verdict);
}

/* A task whose result was only watched has its turn still; so has one that makes a disturbed call again. */
static void resume_watched(struct engine *e, struct step *step)
{
	struct task *t = e->watched;

	e->watched = NULL;
	step->kind = STEP_RESUME;
	step->task = t->id;
	step->verdict.kind = VERDICT_GO;
	if (t->in_call) {
		step->verdict.kind = t->call.hooked ? VERDICT_HOOK : VERDICT_CONTINUE;
		complete_hook(e, t, &step->verdict);
	}
	preempt_arm_watched(t, &step->verdict);
	t->state = TASK_RUNNING;
	e->running = t;
	outsiders_note(e);
	publish_clock(e, t);
	observe_verdict(e, step);
}

/*
 * Between half and one and a half quantums, drawn: slices of one length could end at the same point of a periodic program each time,
 * for ever at one where the others cannot use their turn (a lock held, say).
 */
static uint64_t slice_length(struct engine *e)
{
	uint64_t quantum = e->options.quantum_ns;

	return quantum / 2 + rng_below(&e->sched_rng, quantum + 1);
}

static void resume(struct engine *e, struct task *t, struct step *step)
{
	struct verdict *v = &step->verdict;

	step->kind = STEP_RESUME;
	step->task = t->id;
	step->no_event = v->kind == VERDICT_LISTEN || t == e->leader_exit;
	if (e->last != t) {
		e->stats.switches++;
		t->slice_end_ns = time_add(e->clock.now_ns, slice_length(e));
	}
	e->last = t;
	looks_told(e, t, v);
	if (v->kind != VERDICT_HOOK)
		wait_clear(e, t);
	if (t->hold_waits) /* no longer */
		task_release_hold(e, t);
	t->call.hooked = v->kind == VERDICT_HOOK;
	preempt_arm(e, t, v);
	complete_hook(e, t, v);
	if (v->kind == VERDICT_LISTEN) {
		t->state = TASK_STOPPED;
		return;
	}
	/* Not when the call is made: until it runs, nothing has changed. */
	if (v->kind == VERDICT_CONTINUE || v->kind == VERDICT_HOOK) {
		e->io_dirty = true;
		terminals_note(e, t);
		network_note_call(e, t);
		passed_note_call(e, t);
	}
	if (!t->call.attempt && v->kind != VERDICT_LISTEN)
		e->event_dirty = true;
	t->state = TASK_RUNNING;
	e->running = t;
	outsiders_note(e);
	publish_clock(e, t);
	if (v->kind == VERDICT_SIGNAL && t->signal_is_fatal)
		process_mark_dying(e, t->process);
}

int engine_next(struct engine *e, struct step *ret_step)
{
	struct step *step = ret_step;
	struct task *t;
	bool decided;
	int r = 0;

	*step = (struct step){ 0 };
	if (e->leader_exit)
		r = settle_leader_exit(e);
	while (r >= 0) {
		if (e->refused || e->misfit || e->ended || !e->tasks) {
			step->kind = e->refused ? STEP_REFUSED : e->misfit ? STEP_MISFIT : STEP_END;
			step->exit_status = e->exit_status;
			return 0;
		}
		if (e->options.stop_at_turn && e->turn >= e->options.stop_at_turn) {
			step->kind = STEP_STOPPED;
			return 0;
		}
		if (e->watched) {
			resume_watched(e, step);
			return 0;
		}
		if (e->running || e->n_dying || e->n_expected) {
			step->kind = STEP_WAIT;
			return 0;
		}
		r = wake_all(e);
		if (r < 0)
			break;
		t = chaos_pick(e);
		if (e->misfit)
			continue;
		if (!t) {
			r = idle(e, step, &decided);
			if (r >= 0 && decided)
				return 0;
			continue;
		}
		r = consider(e, t, &step->verdict);
		if (r == -ESRCH) { /* killed by something that we did not decide; its death will be reported */
			t->state = TASK_RUNNING;
			process_mark_dying(e, t->process);
			r = 0;
			continue;
		}
		if (r < 0)
			break;
		if (step->verdict.kind == VERDICT_BLOCK && (e->n_dying || e->n_expected)) { /* its own doing: it has its turn still when that is over */
			r = sched_push_front(&e->sched, t);
			continue;
		}
		if (step->verdict.kind == VERDICT_BLOCK) {
			park(e, t);
			continue;
		}
		resume(e, t, step);
		observe_verdict(e, step);
		return 0;
	}
	return engine_fail(e, -r, "the run cannot go on at turn %llu", (unsigned long long)e->turn);
}
