/* SPDX-License-Identifier: BSD-3-Clause */
/* The turn, sleeps, futexes, pipes, births and deaths, on a guest in memory. Expectations are from signal-free Linux semantics. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/engine_internal.h"
#include "support/fake_engine.h"

static void start(void)
{
	struct engine_options options;

	fake_init(&fake);
	engine_options_default(&options);
	begin(&options);
}

TestSuite(engine_turn, .init = start, .fini = stop);

/* Task `parent`, running, makes the thread `child`; the parent goes on first. */
static void thread(int parent, int child)
{
	call(parent, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0);
	goes_on(parent, VERDICT_CONTINUE, 0);
	happens(fake_birth(parent, child, 2 + child, 2));
	goes_on(parent, VERDICT_GO, 0);
}

static void poke_time(size_t offset, int64_t seconds, int64_t nanoseconds)
{
	struct timespec ts = { seconds, nanoseconds };

	memcpy(fake.arena + offset, &ts, sizeof(ts));
}

static void sleeps(int task, size_t offset)
{
	call(task, SYS_nanosleep, fake_address(offset), 0, 0, 0);
}

Test(engine_turn, one_keeps_its_turn_until_it_blocks)
{
	thread(0, 1);
	for (int i = 0; i < 5; i++) {
		call(0, SYS_getsid, 0, 0, 0, 0);
		goes_on(0, VERDICT_CONTINUE, 0);
	}
	poke_time(0, 1, 0);
	sleeps(0, 0);
	goes_on(1, VERDICT_GO, 0);
}

Test(engine_turn, a_sleep_of_an_hour_is_a_jump)
{
	uint64_t before = engine_now_ns(e), after;

	poke_time(0, 3600, 0);
	sleeps(0, 0);
	goes_on(0, VERDICT_RETURN, 0);
	after = engine_now_ns(e);
	cr_expect(after - before >= 3600 * NS_PER_S && after - before < 3601 * NS_PER_S);
}

Test(engine_turn, sleepers_wake_in_order_of_deadlines_then_of_birth)
{
	thread(0, 1);
	thread(0, 2);
	poke_time(0, 3, 0);
	poke_time(16, 1, 0);
	sleeps(0, 0);
	goes_on(1, VERDICT_GO, 0);
	sleeps(1, 16);
	goes_on(2, VERDICT_GO, 0);
	sleeps(2, 16);
	goes_on(1, VERDICT_RETURN, 0);
	call(1, SYS_exit, 0, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	happens(fake_exit(1, 0));
	goes_on(2, VERDICT_RETURN, 0);
}

Test(engine_turn, bad_times_are_refused)
{
	poke_time(0, 0, 1000000000);
	sleeps(0, 0);
	goes_on(0, VERDICT_RETURN, -EINVAL);
	call(0, SYS_nanosleep, 8, 0, 0, 0);
	goes_on(0, VERDICT_RETURN, -EFAULT);
}

static void futex(int task, uint64_t offset, int op, uint64_t val, uint64_t timeout)
{
	call(task, SYS_futex, fake_address(offset), (uint64_t)op, val, timeout);
}

Test(engine_turn, futex_waits_only_while_the_word_is_as_expected)
{
	fake_poke(&fake, 64, 7);
	futex(0, 64, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 6, 0);
	goes_on(0, VERDICT_RETURN, -EAGAIN);
	futex(0, 65, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 6, 0);
	goes_on(0, VERDICT_RETURN, -EINVAL);
}

/* Threads 1 and 2 wait for a word each, and task 0 goes on. */
static void two_wait(uint64_t first, uint64_t second)
{
	thread(0, 1);
	thread(0, 2);
	poke_time(0, 1, 0);
	sleeps(0, 0);
	goes_on(1, VERDICT_GO, 0);
	futex(1, first, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0);
	goes_on(2, VERDICT_GO, 0);
	futex(2, second, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0);
	goes_on(0, VERDICT_RETURN, 0);
}

Test(engine_turn, futex_wakes_first_come_first)
{
	two_wait(64, 64);
	futex(0, 64, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0);
	goes_on(0, VERDICT_RETURN, 1);
	sleeps(0, 0);
	goes_on(1, VERDICT_RETURN, 0);
	futex(1, 64, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 100, 0);
	goes_on(1, VERDICT_RETURN, 1);
}

/* As in Linux one is woken before it is counted. */
Test(engine_turn, futex_wakes_one_at_least)
{
	two_wait(64, 72);
	happens(fake_call(0, SYS_futex, fake_address(64), FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, fake_address(72),
			  FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)));
	goes_on(0, VERDICT_RETURN, 2);
}

Test(engine_turn, futex_timeout_is_exact)
{
	uint64_t before;

	poke_time(0, 0, 5000000);
	before = engine_now_ns(e);
	futex(0, 64, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, fake_address(0));
	goes_on(0, VERDICT_RETURN, -ETIMEDOUT);
	cr_expect(engine_now_ns(e) - before >= 5000000 && engine_now_ns(e) - before < 5100000);
}

Test(engine_turn, pi_lock_goes_to_its_first_waiter)
{
	thread(0, 1);
	futex(0, 64, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, 0);
	goes_on(0, VERDICT_RETURN, 0);
	cr_expect_eq(fake_peek(&fake, 64), 2u);
	futex(0, 64, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, 0);
	goes_on(0, VERDICT_RETURN, -EDEADLK);
	poke_time(0, 1, 0);
	sleeps(0, 0);
	goes_on(1, VERDICT_GO, 0);
	futex(1, 64, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, 0);
	goes_on(0, VERDICT_RETURN, 0);
	cr_expect_eq(fake_peek(&fake, 64), 2u | FUTEX_WAITERS);
	futex(0, 64, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, 0);
	goes_on(0, VERDICT_RETURN, 0);
	cr_expect_eq(fake_peek(&fake, 64), 3u);
}

Test(engine_turn, a_futex_without_a_waker_is_a_deadlock)
{
	char *text;

	futex(0, 64, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0);
	cr_assert_eq(next().kind, STEP_DEADLOCK);
	text = engine_describe_waiters(e);
	cr_assert_not_null(text);
	cr_expect_not_null(strstr(text, "futex"), "%s", text);
	free(text);
}

Test(engine_turn, a_read_waits_for_the_write)
{
	process(0, 1);
	call(0, SYS_read, 0, fake_address(256), 10, 0);
	goes_on(1, VERDICT_GO, 0);
	call(1, SYS_write, 1, fake_address(256), 4, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	fake.pipes[0].used = 4; /* the kernel has written */
	poke_time(0, 1, 0);
	sleeps(1, 0);
	goes_on(0, VERDICT_CONTINUE, 0);
}

Test(engine_turn, a_large_write_goes_in_pieces_and_returns_all)
{
	process(0, 1);
	call(0, SYS_write, 1, fake_address(0), 20000, 0);
	goes_on(1, VERDICT_GO, 0);
	cr_expect_eq(fake.pipes[0].used, (size_t)FAKE_PIPE_ROOM);
	for (int i = 0; i < 2; i++) {
		call(1, SYS_read, 0, fake_address(256), 4096, 0);
		goes_on(1, VERDICT_CONTINUE, 0);
		fake.pipes[0].used = 0;
		poke_time(0, 1, 0);
		sleeps(1, 0);
		if (i == 0)
			goes_on(1, VERDICT_RETURN, 0);
	}
	goes_on(0, VERDICT_RETURN, 20000);
}

Test(engine_turn, a_parent_waits_for_its_child)
{
	process(0, 1);
	call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0);
	goes_on(1, VERDICT_GO, 0);
	call(1, SYS_exit_group, 3, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	happens(fake_exit(1, 3 << 8));
	goes_on(0, VERDICT_HOOK, 0);
	happens(fake_done(0, 3));
	goes_on(0, VERDICT_GO, 0);
	call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0);
	goes_on(0, VERDICT_CONTINUE, 0); /* the kernel says ECHILD */
}

Test(engine_turn, nobody_runs_until_all_of_an_ending_process_are_dead)
{
	process(0, 1);
	call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0);
	goes_on(1, VERDICT_GO, 0);
	call(1, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	happens(fake_birth(1, 2, 4, 3));
	goes_on(1, VERDICT_GO, 0);
	call(1, SYS_exit_group, 0, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	happens(fake_exit(2, 0));
	cr_assert_eq(next().kind, STEP_WAIT);
	happens(fake_exit(1, 0));
	goes_on(0, VERDICT_HOOK, 0);
}

Test(engine_turn, a_thread_that_ends_wakes_who_joins_it)
{
	call(0, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND | CLONE_CHILD_CLEARTID, 0, 0, fake_address(64));
	goes_on(0, VERDICT_CONTINUE, 0);
	happens(fake_birth(0, 1, 3, 2));
	goes_on(0, VERDICT_GO, 0);
	fake_poke(&fake, 64, 3);
	futex(0, 64, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 3, 0);
	goes_on(1, VERDICT_GO, 0);
	call(1, SYS_exit, 0, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	fake_poke(&fake, 64, 0);
	happens(fake_exit(1, 0));
	goes_on(0, VERDICT_RETURN, 0);
}

Test(engine_turn, processes_run_before_the_first_one_is_started)
{
	struct engine_options options;
	struct step step;

	stop();
	engine_options_default(&options);
	options.first_waits = true;
	begin(&options);
	step = next();
	cr_assert_eq(step.kind, STEP_WAIT); /* somebody may start it: no deadlock */
	happens((struct event){ .kind = EVENT_JOIN, .task = 1, .join = { .vtid = 3, .vpid = 3 } });
	cr_assert_eq(next().kind, STEP_WAIT); /* it is on its way to its first call */
	call(1, SYS_getppid, 0, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	process(1, 2);
	/* started, and in its first call while somebody else has the turn: it waits for its own */
	happens(fake_call(0, SYS_execve, 0, 0, 0, 0, 0, 0));
	call(1, SYS_exit_group, 0, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	happens(fake_exit(1, 0));
	goes_on(2, VERDICT_GO, 0);
	call(2, SYS_exit_group, 0, 0, 0, 0);
	step = next();
	cr_assert_eq(step.kind, STEP_RESUME);
	cr_assert_eq(step.task, 2);
	happens(fake_exit(2, 0));
	step = next();
	cr_assert_eq(step.kind, STEP_RESUME);
	cr_assert_eq(step.task, 0);
}

Test(engine_turn, the_first_one_may_end_before_its_start)
{
	struct engine_options options;
	struct step step;

	stop();
	engine_options_default(&options);
	options.first_waits = true;
	begin(&options);
	cr_assert_eq(next().kind, STEP_WAIT);
	happens(fake_exit(0, 9));
	step = next();
	cr_assert_eq(step.kind, STEP_END);
	cr_assert_eq(step.exit_status, 9);
}

Test(engine_turn, the_end_of_the_program_is_the_end_of_the_run)
{
	struct step step;

	process(0, 1);
	call(0, SYS_exit_group, 5, 0, 0, 0);
	goes_on(0, VERDICT_CONTINUE, 0);
	happens(fake_exit(0, 5 << 8));
	step = next();
	cr_assert_eq(step.kind, STEP_END);
	cr_assert_eq(WEXITSTATUS(step.exit_status), 5);
}

Test(engine_turn, what_is_unlisted_is_refused_and_named_once)
{
	const struct uncontrolled *list;
	size_t n;

	call(0, 500, 0, 0, 0, 0);
	goes_on(0, VERDICT_RETURN, -ENOSYS);
	call(0, 500, 0, 0, 0, 0);
	goes_on(0, VERDICT_RETURN, -ENOSYS);
	list = engine_uncontrolled(e, &n);
	cr_assert_eq(n, 1u);
	cr_expect_eq(list[0].count, 2u);
}

Test(engine_turn, a_signal_takes_a_task_out_of_its_sleep)
{
	thread(0, 1);
	poke_time(0, 100, 0);
	sleeps(0, 0);
	goes_on(1, VERDICT_GO, 0);
	fake.signals[0].thread_pending = 1ull << (SIGUSR1 - 1);
	fake.signals[0].caught = 1ull << (SIGUSR1 - 1);
	call(1, SYS_tgkill, 2, 2, SIGUSR1, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	sleeps(1, 0);
	goes_on(0, VERDICT_RESTART, 0);
}
