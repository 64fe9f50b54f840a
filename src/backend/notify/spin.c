/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks for loops that repeat one state (engine/sched/spin.h): the task is stepped, and what each instruction may write is read before and after it.
 * A loop that is found leaves the task stopped at its canonical point (EVENT_SPIN); when it was found cannot be seen by anybody.
 *
 * Looking costs real time, so it is paid for in advance: LOOK_RATIO times as much of running without an event as the last look in vain took.
 */
#include "backend/notify/notify.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/sched/spin.h"
#include "insn/effect.h"

/* Of SIGTRAP in a mask. */
#define TRAP_BIT (1ull << (SIGTRAP - 1))

enum { LOOK_RATIO = 100, STEPS_FIRST = 128, STEPS_AGAIN = 256, STEPS_FORCED_AGAIN = 1024, STEPS_MOST = 4096 };
enum { XSTATE_SIZE = 8192, FORCED_AGAIN_MS = 100 };

/* All that an instruction can depend on. */
struct look_state {
	struct user_regs_struct user;
	unsigned char vectors[XSTATE_SIZE];
};

struct look {
	struct notify *n;
	struct notify_task *t;
	struct look_state state;
	struct spin spin;
	struct loop *loop; /* what is found out about it */
	bool changed; /* some step has changed memory, or may have */
};

enum { LOOP_RANGES = 256, LOOP_BYTES = 4096 };

/*
 * A loop that was found. One that changes nothing depends on the bytes that it reads, its code among them: as long as they are the
 * same, going round once more would lead to the same place.
 */
struct loop {
	unsigned points;
	unsigned char digest[SPIN_DIGEST];
	bool reads_known;
	size_t n_ranges, n_bytes;
	struct insn_range ranges[LOOP_RANGES];
	unsigned char bytes[LOOP_BYTES]; /* of all ranges, one behind the other */
};

static int read_state(struct look *look)
{
	struct iovec area = { .iov_base = look->state.vectors, .iov_len = sizeof(look->state.vectors) };

	memset(&look->state, 0, sizeof(look->state));
	if (ptrace(PTRACE_GETREGS, look->t->tid, NULL, &look->state.user) < 0 ||
	    ptrace(PTRACE_GETREGSET, look->t->tid, (void *)NT_X86_XSTATE, &area) < 0)
		return -errno;
	look->state.user.orig_rax = 0; /* of the last system call, no register */
	return 0;
}

/* The instruction at the program counter; -EILSEQ when it cannot be told what it does. */
static int effect_here(struct look *look, struct insn_effect *effect)
{
	struct insn_regs regs = trap_registers(&look->state.user);
	unsigned char code[INSN_MAX_LENGTH];
	size_t len = sizeof(code);

	while (len > 0 && notify_read(&look->n->guest, look->t->number, regs.rip, code, len) < 0)
		len--;
	return len ? insn_effect_of(code, len, &regs, effect) : -EILSEQ;
}

static bool read_written(struct look *look, const struct insn_effect *effect, unsigned char *to)
{
	for (unsigned i = 0; i < effect->count; i++)
		if (notify_read(&look->n->guest, look->t->number, effect->writes[i].address, to + i * INSN_MAX_WRITE_LEN,
				effect->writes[i].len) < 0)
			return false;
	return true;
}

/* One step. 1 done, 0 something else has happened, which is reported; -errno. */
static int step(struct look *look)
{
	int status = 0, r;

	r = companion_step(look->t->tid, &status);
	if (r <= 0)
		return r;
	if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP)
		return 1;
	r = notify_stop(look->n, look->t->tid, status);
	return r < 0 ? r : 0;
}

/* ---- what a loop reads ---- */

static void note_range(struct loop *loop, struct insn_range range)
{
	for (size_t i = 0; i < loop->n_ranges; i++)
		if (loop->ranges[i].address == range.address && loop->ranges[i].len == range.len)
			return;
	if (loop->n_ranges == LOOP_RANGES || range.len > LOOP_BYTES - loop->n_bytes) {
		loop->reads_known = false;
		return;
	}
	loop->ranges[loop->n_ranges++] = range;
	loop->n_bytes += range.len;
}

/* One step of the round in which the detector measures. */
static void note_reads(struct look *look, const struct insn_effect *effect)
{
	struct loop *loop = look->loop;

	if (look->spin.phase == SPIN_SEARCH) {
		loop->n_ranges = loop->n_bytes = 0;
		loop->reads_known = true;
	}
	if (look->spin.phase != SPIN_MEASURE)
		return;
	loop->reads_known &= !effect->reads_unknown;
	note_range(loop, (struct insn_range){ look->state.user.rip, effect->length });
	for (unsigned i = 0; i < effect->n_reads; i++)
		note_range(loop, effect->reads[i]);
}

static bool read_ranges(const struct notify_task *t, const struct loop *loop, unsigned char *to)
{
	struct iovec local = { .iov_base = to, .iov_len = loop->n_bytes }, remote[LOOP_RANGES];

	for (size_t i = 0; i < loop->n_ranges; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)loop->ranges[i].address, loop->ranges[i].len };
	return process_vm_readv(t->tid, &local, 1, remote, loop->n_ranges, 0) == (ssize_t)loop->n_bytes;
}

static bool reads_the_same(const struct notify_task *t)
{
	unsigned char now[LOOP_BYTES];

	return t->loop && t->loop->points == 1 && t->loop->reads_known && read_ranges(t, t->loop, now) &&
	       memcmp(now, t->loop->bytes, t->loop->n_bytes) == 0;
}

/* ---- looking ---- */

enum looked { LOOKED_FOUND, LOOKED_IN_VAIN, LOOKED_EVENT };

static int step_once(struct look *look, enum spin_answer *ret_answer)
{
	unsigned char before[INSN_MAX_WRITES * INSN_MAX_WRITE_LEN], after[sizeof(before)];
	struct spin_write writes[INSN_MAX_WRITES];
	struct insn_effect effect;
	bool unknown;
	int r;

	if (effect_here(look, &effect) < 0 || effect.leaves)
		return LOOKED_IN_VAIN;
	note_reads(look, &effect);
	unknown = effect.unknown || !read_written(look, &effect, before);
	r = step(look);
	if (r <= 0)
		return r < 0 ? r : LOOKED_EVENT;
	r = read_state(look);
	if (r < 0)
		return r == -ESRCH ? LOOKED_EVENT : r;
	unknown = unknown || !read_written(look, &effect, after);
	for (unsigned i = 0; i < effect.count && !unknown; i++) {
		writes[i] = (struct spin_write){ effect.writes[i].address, effect.writes[i].len, before + i * INSN_MAX_WRITE_LEN,
						 after + i * INSN_MAX_WRITE_LEN };
		look->changed |= memcmp(writes[i].before, writes[i].after, writes[i].len) != 0;
	}
	look->changed |= unknown;
	*ret_answer = spin_feed(&look->spin, look->state.user.rip, &look->state, writes, unknown ? 0 : effect.count, unknown);
	return LOOKED_FOUND;
}

static int step_through(struct look *look)
{
	enum spin_answer answer;
	int r;

	r = read_state(look);
	if (r < 0)
		return r == -ESRCH ? LOOKED_EVENT : r;
	answer = spin_begin(&look->spin, look->state.user.rip, &look->state);
	while (answer == SPIN_STEP) {
		r = step_once(look, &answer);
		if (r != LOOKED_FOUND)
			return r;
	}
	return answer == SPIN_FOUND ? LOOKED_FOUND : LOOKED_IN_VAIN;
}

/* The task is at a point of its loop: what is known of it is kept. True: it is where it was before, and so is what it has to do with. */
static bool keep_loop(struct look *look)
{
	bool idle;

	struct notify_task *t = look->t;
	struct loop *loop = look->loop;

	loop->points = (unsigned)spin_points(&look->spin);
	spin_digest(&look->spin, look->state.user.rip, &look->state, loop->digest);
	loop->reads_known = loop->reads_known && loop->points == 1 && read_ranges(t, loop, loop->bytes);
	if (loop->points == 1)
		idle = !look->changed;
	else
		idle = t->loop && memcmp(t->loop->digest, loop->digest, sizeof(loop->digest)) == 0;
	free(t->loop);
	t->loop = take_ptr(look->loop);
	return idle;
}

static int report_spin(struct notify *n, struct notify_task *t, bool idle, bool forced)
{
	struct event event = { .kind = EVENT_SPIN, .task = t->number, .spin = { .idle = idle, .forced = forced } };

	event.spin.points = forced ? 0 : t->loop->points;
	n->spun = !forced;
	t->where = WHERE_STOP;
	t->expect = EXPECT_NOTHING;
	t->stop = EVENT_SPIN;
	return queue_push(&n->queue, &event);
}

/*
 * A step's SIGTRAP is forced by the kernel: where it is blocked, it loses its handler and is blocked no more. When a look comes depends on the host,
 * so nothing may be left of it: for its time the signal is not blocked. True if it was.
 */
static bool unblock_trap(pid_t tid, uint64_t *ret_mask)
{
	uint64_t open;

	if (companion_get_blocked(tid, ret_mask) < 0 || !(*ret_mask & TRAP_BIT))
		return false;
	open = *ret_mask & ~TRAP_BIT;
	return companion_set_blocked(tid, open) == 0;
}

/*
 * One that is blocked and waits would be taken at the first step, in the place of the step's own. So those are taken out before, and sent again after it: of
 * a standard signal one waits for the thread, and one for the process.
 */
struct waiting_trap {
	bool waits, to_thread;
	siginfo_t info;
};

enum { TRAPS = 2 };

/* Would another thread take the process's when it is sent again? */
static bool others_take_trap(struct notify *n, const struct notify_task *t)
{
	struct notify_task *other, *tmp;
	struct signal_state state;

	HASH_ITER(hh_number, n->tasks.by_number, other, tmp) {
		if (other == t || other->process != t->process || other->where == WHERE_DEAD)
			continue;
		if (notify_signal_state(&n->guest, other->number, &state) < 0 || !(state.blocked & TRAP_BIT))
			return true;
	}
	return false;
}

/* Takes one that is blocked no more: the kernel stops the task with it before anything is executed. LOOKED_FOUND: done; LOOKED_EVENT: something else came. */
static int take_trap(struct look *look, struct waiting_trap *trap)
{
	int status = 0, r;

	r = companion_step(look->t->tid, &status);
	if (r <= 0)
		return r < 0 ? r : LOOKED_EVENT;
	if (status >> 16 != 0 || WSTOPSIG(status) != SIGTRAP) {
		r = notify_stop(look->n, look->t->tid, status);
		return r < 0 ? r : LOOKED_EVENT;
	}
	r = companion_get_siginfo(look->t->tid, &trap->info);
	if (r == 0)
		r = notify_signal_taken(&look->n->guest, look->t->number, &trap->info);
	if (r < 0)
		return r == -ESRCH ? LOOKED_EVENT : r;
	trap->waits = true;
	return LOOKED_FOUND;
}

/* As the kernel does: the thread's before the process's. */
static int take_traps(struct look *look, const struct signal_state *state, struct waiting_trap traps[TRAPS])
{
	int r = LOOKED_FOUND;

	traps[0].to_thread = true;
	if (state->thread_pending & TRAP_BIT)
		r = take_trap(look, &traps[0]);
	if (r == LOOKED_FOUND && state->process_pending & TRAP_BIT)
		r = take_trap(look, &traps[1]);
	return r;
}

static int send_traps_again(struct look *look, const struct waiting_trap traps[TRAPS])
{
	int r = 0;

	for (size_t i = 0; i < TRAPS && r == 0; i++)
		if (traps[i].waits)
			r = notify_signal_send(&look->n->guest, look->t->number, traps[i].to_thread, &traps[i].info);
	return r == -ESRCH ? 0 : r;
}

static int look_through(struct look *look)
{
	struct waiting_trap traps[TRAPS] = { 0 };
	struct signal_state state;
	uint64_t mask = 0;
	bool unblocked;
	int r, sent;

	if (notify_signal_state(&look->n->guest, look->t->number, &state) < 0)
		return LOOKED_IN_VAIN;
	if (state.process_pending & TRAP_BIT && others_take_trap(look->n, look->t))
		return LOOKED_IN_VAIN;
	unblocked = unblock_trap(look->t->tid, &mask);
	if (!unblocked && (state.thread_pending | state.process_pending) & TRAP_BIT)
		return LOOKED_IN_VAIN;
	r = take_traps(look, &state, traps);
	if (r == LOOKED_FOUND)
		r = step_through(look);
	if (unblocked)
		(void)companion_set_blocked(look->t->tid, mask); /* unless it is dying */
	sent = send_traps_again(look, traps);
	return r < 0 || sent == 0 ? r : sent;
}

/* Steps the stopped task; a loop that is found is reported. again: it was in one, and has not run since. */
static int look_for_loop(struct notify *n, struct notify_task *t, uint64_t steps, uint64_t turn, bool again)
{
	_cleanup_free_ struct look *look = calloc(1, sizeof(*look));
	_cleanup_free_ struct loop *loop = calloc(1, sizeof(*loop));
	bool idle = false;
	int r;

	if (!look || !loop)
		return -ENOMEM;
	look->n = n;
	look->t = t;
	look->loop = loop;
	r = spin_init(&look->spin, sizeof(look->state), steps, turn);
	if (r < 0)
		return r;
	r = look_through(look);
	if (r == LOOKED_FOUND) {
		(void)take_ptr(loop);
		idle = keep_loop(look) && again;
	}
	spin_deinit(&look->spin);
	if (r != LOOKED_FOUND)
		return r;
	r = report_spin(n, t, idle, false);
	return r < 0 ? r : LOOKED_FOUND;
}

int spin_again(struct notify *n, struct notify_task *t, uint64_t turn)
{
	uint64_t steps = t->loop && t->loop->points > 1 ? STEPS_MOST : STEPS_AGAIN;
	int r;

	if (reads_the_same(t)) {
		r = report_spin(n, t, true, false);
		return r < 0 ? r : 1;
	}
	r = look_for_loop(n, t, steps, turn, true);
	if (r == LOOKED_IN_VAIN)
		return companion_go(t->tid, 0);
	return r < 0 ? r : 1;
}

/* Has it come to its code yet? Before that there is no loop. */
static bool is_before_repeat(const struct notify_task *t)
{
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) == 0 && companion_repeats(&regs);
}

/* Stops the running task: 1, or 0 when something else has happened, which is reported. */
static int stop_running(struct notify *n, struct notify_task *t)
{
	int status = 0, r;

	r = companion_interrupt(t->tid);
	if (r == 0)
		r = companion_await(t->tid, &status);
	if (r <= 0)
		return r;
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
		return 1;
	r = notify_stop(n, t->tid, status);
	return r < 0 ? r : 0;
}

/* Processor time of this process: on a busy host a look takes long without costing much. */
static uint64_t used_ms(void)
{
	struct timespec now = { 0 };

	/* a call: this process may have forgone RDTSC, which the C library's way could read */
	(void)syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A look that found nothing: the next one may take longer, and is the later. What the supervisor uses the stepped task uses, too. */
static void pay(struct notify *n, uint64_t used_before_ms)
{
	n->spun = false;
	n->look_next_ms = n->silent_total_ms + (2 * (used_ms() - used_before_ms) + 1) * LOOK_RATIO;
	if (n->look_steps < STEPS_MOST)
		n->look_steps *= 2;
}

/* Why a task that computes is left where it is, if no loop is found. */
enum force { FORCE_NOT, FORCE_LIMIT, FORCE_OUTSIDER };

static enum force choose_force(const struct notify *n, bool others)
{
	if (n->guest.outsider_waits)
		return FORCE_OUTSIDER;
	return others && n->spin_limit_ms && n->silent_ms >= (n->forced_before ? FORCED_AGAIN_MS : n->spin_limit_ms) ? FORCE_LIMIT : FORCE_NOT;
}

/* How many steps to look for a loop, 0: not now. One that has to be left is looked at once more, as long as it may be. */
static uint64_t steps_of_look(struct notify *n, enum force force)
{
	if (!n->look_steps)
		n->look_steps = STEPS_FIRST;
	if (force != FORCE_NOT)
		return force == FORCE_OUTSIDER || n->forced_before ? STEPS_FORCED_AGAIN : STEPS_MOST;
	return n->silent_total_ms >= n->look_next_ms ? n->look_steps : 0;
}

int notify_seek_loop(struct guest *g, int task, bool others)
{
	struct notify *n = notify_of(g);
	struct notify_task *t = notify_find(g, task);
	enum force force = choose_force(n, others);
	uint64_t used = used_ms(), steps = steps_of_look(n, force);
	int r;

	if (!t || t->where != WHERE_RUNNING || t->expect != EXPECT_NOTHING || !steps)
		return 0;
	r = stop_running(n, t);
	if (r <= 0)
		return r;
	if (is_before_repeat(t))
		return companion_go(t->tid, 0);
	r = look_for_loop(n, t, steps, 0, false);
	if (r != LOOKED_IN_VAIN)
		return r < 0 ? r : 0;
	pay(n, used);
	if (force == FORCE_NOT)
		return companion_go(t->tid, 0);
	n->forced_before |= force == FORCE_LIMIT;
	return report_spin(n, t, false, true);
}
