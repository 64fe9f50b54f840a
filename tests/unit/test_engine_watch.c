/* SPDX-License-Identifier: BSD-3-Clause */
/* Results for observers, and calls that hooks disturb, on a guest in memory: neither is an event of the run. */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include "support/fake_engine.h"

enum { ERESTARTSYS_ = 512 };

static unsigned seen[EVENT_JOIN + 1]; /* by the observer */
static int64_t last_result;

static void on_event(void *arg, struct engine *engine, const struct event *event)
{
	seen[event->kind]++;
	if (event->kind == EVENT_DONE)
		last_result = event->result;
}

static void start(void)
{
	static const struct engine_observer observer = { .event = on_event };
	struct engine_options options;

	fake_init(&fake);
	fake.guest.abilities = GUEST_CAN_HOOK;
	engine_options_default(&options);
	options.results = true;
	begin(&options);
	engine_observe(e, &observer);
}

TestSuite(engine_watch, .init = start, .fini = stop);

static struct verdict told(int task, enum verdict_kind kind)
{
	struct step step = next();

	cr_assert_eq(step.kind, STEP_RESUME);
	cr_assert_eq(step.task, task);
	cr_assert_eq(step.verdict.kind, kind, "verdict %d instead of %d", (int)step.verdict.kind, (int)kind);
	return step.verdict;
}

static void access_call(void)
{
	happens(fake_call(0, SYS_access, fake_address(0), 0, 0, 0, 0, 0));
}

Test(engine_watch, a_result_is_no_event_of_the_run)
{
	uint64_t turn, time;

	access_call();
	cr_expect_not(told(0, VERDICT_HOOK).unnoticed);
	turn = engine_turn(e);
	time = engine_now_ns(e);
	happens(fake_done(0, -ENOENT));
	cr_expect_eq(last_result, -ENOENT);
	told(0, VERDICT_GO);
	cr_expect_eq(engine_turn(e), turn);
	cr_expect_eq(engine_now_ns(e), time);
}

Test(engine_watch, a_disturbed_call_and_its_repetition_are_nobodys_affair)
{
	uint64_t turn, time;

	access_call();
	told(0, VERDICT_HOOK);
	turn = engine_turn(e);
	time = engine_now_ns(e);
	happens(fake_done(0, -ERESTARTSYS_));
	told(0, VERDICT_GO);
	access_call();
	cr_expect(told(0, VERDICT_HOOK).unnoticed);
	cr_expect_eq(seen[EVENT_CALL], 1);
	cr_expect_eq(seen[EVENT_DONE], 0);
	happens(fake_done(0, 0));
	told(0, VERDICT_GO);
	cr_expect_eq(seen[EVENT_DONE], 1);
	cr_expect_eq(last_result, 0);
	cr_expect_eq(engine_turn(e), turn);
	cr_expect_eq(engine_now_ns(e), time);
	access_call(); /* the same call once more is a new one */
	cr_expect_not(told(0, VERDICT_HOOK).unnoticed);
	cr_expect_eq(seen[EVENT_CALL], 2);
	cr_expect_eq(engine_turn(e), turn + 1);
}

Test(engine_watch, what_a_signal_interrupts_is_seen)
{
	access_call();
	told(0, VERDICT_HOOK);
	fake.signals[0].thread_pending = 1;
	happens(fake_done(0, -ERESTARTSYS_));
	cr_expect_eq(last_result, -ERESTARTSYS_);
	told(0, VERDICT_GO);
}

/* The kernel queues it for the tracer's sake only. */
Test(engine_watch, what_is_ignored_interrupts_nothing)
{
	access_call();
	told(0, VERDICT_HOOK);
	fake.signals[0].thread_pending = 1ull << (SIGURG - 1);
	fake.signals[0].process_pending = 1ull << (SIGUSR1 - 1);
	fake.signals[0].ignored = 1ull << (SIGUSR1 - 1);
	happens(fake_done(0, -ERESTARTSYS_));
	told(0, VERDICT_GO);
	cr_expect_eq(seen[EVENT_DONE], 0);
	access_call();
	cr_expect(told(0, VERDICT_HOOK).unnoticed);
	happens(fake_done(0, 0));
	told(0, VERDICT_GO);
	cr_expect_eq(seen[EVENT_DONE], 1);
	cr_expect_eq(seen[EVENT_CALL], 1);
}

static void fallocate_call(void)
{
	happens(fake_call(0, SYS_fallocate, 0, 0, 0, 100, 0, 0));
}

Test(engine_watch, what_works_in_pieces_does_not_notice)
{
	fallocate_call();
	cr_expect(told(0, VERDICT_HOOK).unnoticed);
	happens(fake_done(0, 0));
	told(0, VERDICT_GO);
	fake.signals[0].thread_pending = 1; /* it would be delivered on the way */
	fallocate_call();
	told(0, VERDICT_CONTINUE);
}

Test(engine_watch, nor_do_devices)
{
	fake.kind = FD_CHAR;
	happens(fake_call(0, SYS_write, 1, fake_address(0), 10, 0, 0, 0));
	cr_expect(told(0, VERDICT_HOOK).unnoticed);
	happens(fake_done(0, 10));
	told(0, VERDICT_GO);
}

/* Births, new programs and deaths are their own news. */
Test(engine_watch, what_does_not_return_is_not_watched)
{
	happens(fake_call(0, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0, 0));
	told(0, VERDICT_CONTINUE);
	happens(fake_birth(0, 1, 3, 2));
	told(0, VERDICT_GO);
	happens(fake_call(0, SYS_exit, 0, 0, 0, 0, 0, 0));
	told(0, VERDICT_CONTINUE);
}

/* The engine's own hook, whoever observes: its handler never learns that the call had to be made again. */
Test(engine_watch, a_disturbed_hook_is_made_again_for_its_handler)
{
	happens(fake_call(0, SYS_fork, 0, 0, 0, 0, 0, 0));
	told(0, VERDICT_CONTINUE);
	happens(fake_birth(0, 1, 3, 3));
	told(0, VERDICT_GO);
	happens(fake_call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0, 0, 0));
	told(1, VERDICT_GO);
	happens(fake_call(1, SYS_exit_group, 0, 0, 0, 0, 0, 0));
	told(1, VERDICT_CONTINUE);
	happens(fake_exit(1, 0));
	cr_expect_not(told(0, VERDICT_HOOK).unnoticed);
	happens(fake_done(0, -ERESTARTSYS_));
	told(0, VERDICT_GO);
	happens(fake_call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0, 0, 0));
	cr_expect(told(0, VERDICT_HOOK).unnoticed);
	happens(fake_done(0, 3));
	told(0, VERDICT_GO);
	cr_expect_eq(seen[EVENT_DONE], 1);
	cr_expect_eq(seen[EVENT_CALL], 3);
}
