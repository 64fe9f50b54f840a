/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops a task at a point inside its code (engine/sched/preempt.h): after so many instructions, one step each; or where it passes the nth
 * place, each of which is a breakpoint. The instruction under a breakpoint is stepped with its own byte in place: nobody else runs
 * meanwhile, whoever shares the memory. A place that is passed too often is given up, so that a hot loop costs a bounded time.
 *
 * A task that is stepped, or comes to a breakpoint, while SIGTRAP is blocked has it unblocked by the kernel, and one that is pending is shown in
 * place of the step's. So who blocks it is not stepped; breakpoints it would come to are nothing for programs that use that signal.
 */
#include "backend/notify/points.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "backend/notify/inline.h"
#include "base/clock.h"
#include "insn/decode.h"

enum { PASSED_MOST = 1024, VDSO_STEPS = 512 };

static int get_word(pid_t tid, size_t offset, uint64_t *ret)
{
	long value;

	errno = 0;
	value = ptrace(PTRACE_PEEKUSER, tid, (void *)offset, NULL);
	if (errno)
		return -errno;
	*ret = (uint64_t)value;
	return 0;
}

static int get_rip(pid_t tid, uint64_t *ret)
{
	return get_word(tid, offsetof(struct user, regs.rip), ret);
}

static int set_rip(pid_t tid, uint64_t rip)
{
	return ptrace(PTRACE_POKEUSER, tid, (void *)offsetof(struct user, regs.rip), (void *)rip) < 0 ? -errno : 0;
}

/* One byte of text, whatever its protection says. */
static int poke(pid_t tid, uint64_t address, uint8_t byte)
{
	uint64_t aligned = address & ~7ull, shift = (address & 7) * 8;
	unsigned long word;

	errno = 0;
	word = (unsigned long)ptrace(PTRACE_PEEKTEXT, tid, (void *)aligned, NULL);
	if (errno)
		return -errno;
	word = (word & ~(0xfful << shift)) | (unsigned long)byte << shift;
	return ptrace(PTRACE_POKETEXT, tid, (void *)aligned, (void *)word) < 0 ? -errno : 0;
}

/* Was it the step that has stopped the task? */
static bool is_step(const struct notify_task *t, int status)
{
	siginfo_t info;

	if (status >> 16 || WSTOPSIG(status) != SIGTRAP)
		return false;
	return ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) == 0 &&
	       (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || info.si_code == TRAP_HWBKPT);
}

/* After a step. 1: it was done; 0: something else has happened, which is reported; -errno. */
static int take_stop(struct notify *n, struct notify_task *t, int r, int status)
{
	if (r <= 0)
		return r;
	if (is_step(t, status))
		return 1;
	r = notify_stop(n, t->tid, status);
	return r < 0 ? r : 0;
}

/* A place may begin with an instruction that is replaced: of the two breakpoints there is one. */
static bool is_replaced(const struct notify_task *t, uint64_t address)
{
	uint64_t start;

	return insn_traps_find(&t->process->code->traps, address, &start) != NULL;
}

/* As if it had just come to the breakpoint of an instruction that is replaced. */
static int trap_there(struct notify *n, struct notify_task *t, uint64_t address)
{
	struct event event = { .kind = EVENT_TRAP };
	int r;

	t->siginfo = (siginfo_t){ .si_signo = SIGTRAP, .si_code = SI_KERNEL };
	r = set_rip(t->tid, address + 1);
	if (r == 0)
		r = trap_recognise(n, t, &event);
	if (r > 0)
		r = notify_report(n, t, &event);
	return r == -ESRCH ? 0 : r;
}

/* The instruction under the breakpoint. */
static int step_over(struct notify *n, struct notify_task *t, const struct code_place *place)
{
	int status = 0, r, put;

	if (is_replaced(t, place->address))
		return trap_there(n, t, place->address);
	r = place->retired ? 0 : poke(t->tid, place->address, place->original);
	if (r < 0)
		return r == -ESRCH ? 0 : r;
	r = companion_step(t->tid, &status);
	put = place->retired || r <= 0 ? 0 : poke(t->tid, place->address, BREAKPOINT);
	if (put < 0 && put != -ESRCH)
		return put;
	return take_stop(n, t, r, status);
}

/* Before the instruction of the place, if there is one. */
static int report(struct notify *n, struct notify_task *t, const struct code_place *place)
{
	struct event event = { .kind = EVENT_PREEMPT, .anchors = place ? place->anchors : 0 };

	t->at_place = place && !place->retired ? place->address : 0;

	return notify_report(n, t, &event);
}

static int read_code(struct notify *n, const struct notify_task *t, uint64_t rip, uint8_t code[INSN_MAX_LENGTH], size_t *ret_len)
{
	size_t len = INSN_MAX_LENGTH;
	int r = -EFAULT;

	/* it may be the last one of its page */
	while (len > 0 && (r = notify_read(&n->guest, t->number, rip, code, len)) == -EFAULT)
		len--;
	*ret_len = len;
	return r;
}

/* A call that the filter lets through ends as a step does. */
static bool is_passing_call(const struct notify *n, const struct notify_task *t, const uint8_t *code, size_t len)
{
	uint64_t nr, third;

	return n->modules->passes && len >= 2 && code[0] == 0x0f && code[1] == 0x05 && get_word(t->tid, offsetof(struct user, regs.rax), &nr) == 0 &&
	       get_word(t->tid, offsetof(struct user, regs.rdx), &third) == 0 && n->modules->passes((long)nr, third);
}

static bool blocks_traps(const struct notify_task *t)
{
	uint64_t mask;

	return companion_get_blocked(t->tid, &mask) == 0 && mask & 1ull << (SIGTRAP - 1);
}

/* 1: a step was done; 0: the task goes on, or something has been reported; -errno. */
static int step_once(struct notify *n, struct notify_task *t, uint64_t rip)
{
	const struct code_place *place = code_place_find(t->process->code, rip);
	uint8_t code[INSN_MAX_LENGTH];
	int status = 0, r;
	bool repeats;
	size_t len;

	if (place && !place->retired)
		return step_over(n, t, place);
	r = read_code(n, t, rip, code, &len);
	if (r < 0 || blocks_traps(t) || (!insn_is_steppable(code, len, &repeats) && !is_passing_call(n, t, code, len))) {
		r = companion_go(t->tid, 0);
		return r < 0 ? r : 0;
	}
	r = companion_step(t->tid, &status);
	return take_stop(n, t, r, status);
}

/* The functions of the vDSO and the code of inline.h read the clock page: their turn does not end in between. */
static bool reads_clock(const struct notify_task *t, uint64_t rip)
{
	const struct task_code *code = t->process->code;

	return (rip >= code->vdso && rip < code->vdso_end) || inline_has(code, rip);
}

static int step_to_point(struct notify *n, struct notify_task *t)
{
	const struct code_place *place;
	struct user_regs_struct regs;
	uint64_t rip = 0;
	int r;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) == 0 && companion_repeats(&regs))
		return companion_go(t->tid, 0);
	for (;;) {
		r = get_rip(t->tid, &rip);
		if (r < 0)
			return r == -ESRCH ? 0 : r;
		if (n->points_passed >= t->point.after && (!reads_clock(t, rip) || n->points_passed >= t->point.after + VDSO_STEPS))
			return report(n, t, NULL);
		place = code_place_find(t->process->code, rip);
		if (place && place->anchors && n->points_passed > 0)
			return report(n, t, place);
		r = step_once(n, t, rip);
		if (r <= 0)
			return r;
		n->points_passed++;
	}
}

bool points_stop_behind_call(const struct notify_task *t)
{
	return t->point.unit == PREEMPT_INSTRUCTIONS;
}

int points_count(struct notify *n, const struct notify_task *t)
{
	struct task_code *code = t->process->code;
	uint64_t began = host_clock_ns();
	int r;

	if (code->places_wanted)
		return 0;
	code->places_wanted = true;
	r = code_places_put(n, t, 0, UINT64_MAX);
	n->guest.preempt_cost.real_ns += host_clock_ns() - began;
	return r == -ESRCH ? 0 : r;
}

/* 1: the task stands behind the place that it was stopped at. */
static int leave_place(struct notify *n, struct notify_task *t)
{
	const struct code_place *place = t->at_place ? code_place_find(t->process->code, t->at_place) : NULL;
	uint64_t rip = 0, address = t->at_place;

	t->at_place = 0;
	if (!place || get_rip(t->tid, &rip) < 0 || rip != address)
		return 1;
	return step_over(n, t, place);
}

int points_go(struct notify *n, struct notify_task *t)
{
	uint64_t began;
	int r;

	if (!t->at_place && t->point.unit != PREEMPT_INSTRUCTIONS)
		return companion_go(t->tid, 0);
	began = host_clock_ns();
	r = leave_place(n, t);
	if (r > 0)
		r = t->point.unit == PREEMPT_INSTRUCTIONS ? step_to_point(n, t) : companion_go(t->tid, 0);
	n->guest.preempt_cost.real_ns += host_clock_ns() - began;
	return r;
}

static int retire(struct notify *n, const struct notify_task *t, struct code_place *place)
{
	place->retired = true;
	n->guest.preempt_cost.retired++;
	return is_replaced(t, place->address) ? 0 : poke(t->tid, place->address, place->original);
}

/* The task stands before the place. */
static int pass(struct notify *n, struct notify_task *t, struct code_place *place)
{
	int r = 0;

	place->passed++;
	n->modules->passed += place->counted;
	if (!place->anchors && (place->passed >= PASSED_MOST || n->modules->passed >= n->modules->budget))
		r = retire(n, t, place);
	if (r < 0)
		return r;
	n->points_passed += place->counted && t->point.unit == PREEMPT_PLACES;
	if (place->anchors || (t->point.unit == PREEMPT_PLACES && place->counted && n->points_passed == t->point.after))
		return report(n, t, place);
	r = step_over(n, t, place);
	return r > 0 ? companion_go(t->tid, 0) : r;
}

int points_recognise(struct notify *n, struct notify_task *t)
{
	uint64_t rip = 0, began;
	struct code_place *place;
	int r;

	if (t->siginfo.si_signo != SIGTRAP || t->siginfo.si_code != SI_KERNEL || !t->process->code->n_places)
		return 0;
	began = host_clock_ns();
	r = get_rip(t->tid, &rip);
	if (r < 0)
		return r;
	place = code_place_find(t->process->code, rip - 1);
	if (!place || place->retired)
		return 0;
	r = set_rip(t->tid, place->address);
	if (r == 0)
		r = pass(n, t, place);
	n->guest.preempt_cost.real_ns += host_clock_ns() - began;
	return r < 0 && r != -ESRCH ? r : 1;
}
