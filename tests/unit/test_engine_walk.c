/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generated walks: tasks that do random things on the guest in memory. Whatever they do, the engine answers, the same walk gives the same verdicts, no
 * wake-up is lost (a deadlock is only said when nobody could go on), nothing is kept, and every failure of the guest's operations comes
 * up as an error, not as a crash.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "support/fake_guest.h"

enum { STEPS = 400, WALKS = 2000, TASKS_MAX = 12 };

struct walk {
	struct fake_guest fake;
	struct engine *e;
	uint64_t random;
	uint64_t digest; /* of all steps */
	int born, living;
	bool done_pending;
};

/* xorshift64*: the test's own choices, from a fixed seed. */
static uint64_t draw(struct walk *w, uint64_t bound)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return w->random * 2685821657736338717ull % bound;
}

static void mix(struct walk *w, uint64_t value)
{
	w->digest = (w->digest ^ value) * 1099511628211ull;
}

static struct event random_call(struct walk *w, int task)
{
	uint64_t word = fake_address(64 + 4 * draw(w, 3)), time = fake_address(16 * draw(w, 3));

	switch (draw(w, 9)) {
	case 0:
		return fake_call(task, SYS_nanosleep, time, 0, 0, 0, 0, 0);
	case 1:
		return fake_call(task, SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, draw(w, 2) ? time : 0, 0, 0);
	case 2:
	case 3:
		return fake_call(task, SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1 + draw(w, 3), 0, 0, 0);
	case 4:
		return fake_call(task, SYS_read, 2 * draw(w, 3), fake_address(512), 100, 0, 0, 0);
	case 5:
		return fake_call(task, SYS_write, 2 * draw(w, 3) + 1, fake_address(512), 1 + draw(w, 6000), 0, 0, 0);
	case 6:
		return fake_call(task, SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	case 7:
		if (w->born < TASKS_MAX)
			return fake_call(task, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0, 0);
		return fake_call(task, SYS_getsid, 0, 0, 0, 0, 0, 0);
	default:
		return fake_call(task, SYS_futex, word, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 1, 1, fake_address(76), 0);
	}
}

/* What the kernel does when a call runs. */
static struct event after_continue(struct walk *w, int task, const struct event *call)
{
	struct fake_pipe *p;

	if (call->call.nr == SYS_read || call->call.nr == SYS_write) {
		p = &w->fake.pipes[call->call.args[0] / 2];
		if (call->call.nr == SYS_read)
			p->used = p->used > 100 ? p->used - 100 : 0;
		else
			p->used += call->call.args[2];
		cr_assert_leq(p->used, (size_t)FAKE_PIPE_ROOM, "a write went on without room");
	}
	if (call->call.nr == SYS_clone) {
		w->living++;
		w->born++;
		return fake_birth(task, w->born - 1, 2 + w->born - 1, 2);
	}
	return random_call(w, task);
}

/* One walk; the digest, or 0 when it ended by the failure that was asked for. */
static uint64_t walk(uint64_t seed, uint64_t fail_after)
{
	static struct walk w;
	struct engine_options options;
	struct event calls[TASKS_MAX + 1], event;
	struct step step;
	int r = 0;

	w = (struct walk){ .random = seed * 2654435761u + 1, .digest = 14695981039346656037ull, .born = 1, .living = 1 };
	fake_init(&w.fake);
	for (int i = 0; i < 3; i++) {
		struct timespec ts = { 0, 1000000 * (i + 1) };

		memcpy(w.fake.arena + 16 * i, &ts, sizeof(ts));
	}
	engine_options_default(&options);
	w.e = engine_new(&options, &w.fake.guest, 2, 2);
	cr_assert_not_null(w.e);
	w.fake.fail_after = fail_after;
	event = random_call(&w, 0);
	for (int i = 0; i < STEPS && r == 0; i++) {
		if (event.kind == EVENT_CALL)
			calls[event.task] = event;
		r = engine_event(w.e, &event);
		if (r == 0)
			r = engine_next(w.e, &step);
		if (r < 0)
			break;
		mix(&w, (uint64_t)step.kind << 32 | (uint64_t)step.task);
		if (step.kind == STEP_DEADLOCK)
			break;
		cr_assert_eq(step.kind, STEP_RESUME, "step %d of walk %llu", (int)step.kind, (unsigned long long)seed);
		mix(&w, (uint64_t)step.verdict.kind << 32 ^ (uint64_t)step.verdict.value);
		if (step.verdict.kind == VERDICT_CONTINUE)
			event = after_continue(&w, step.task, &calls[step.task]);
		else
			event = random_call(&w, step.task);
	}
	w.e = engine_free(w.e);
	cr_assert_eq(w.fake.held, 0u, "walk %llu kept %u handles", (unsigned long long)seed, w.fake.held);
	cr_assert(r == 0 || (fail_after && r == -ENOMEM), "walk %llu: %d", (unsigned long long)seed, r);
	return r == 0 ? w.digest : 0;
}

Test(engine_walk, the_same_walk_gives_the_same_verdicts)
{
	unsigned different = 0;

	for (uint64_t seed = 1; seed <= WALKS; seed++) {
		uint64_t first = walk(seed, 0);

		cr_assert_eq(walk(seed, 0), first, "walk %llu", (unsigned long long)seed);
		different += first != walk(seed + WALKS, 0);
	}
	cr_expect_gt(different, (unsigned)WALKS / 2, "the walks are all the same: this test shows nothing");
}

Test(engine_walk, every_failing_operation_comes_up_as_an_error)
{
	unsigned failed = 0;

	for (uint64_t seed = 1; seed <= 20; seed++)
		for (uint64_t n = 1; n <= 200; n++)
			failed += walk(seed, n) == 0;
	cr_expect_gt(failed, 100u, "no operation failed: this test shows nothing");
}
