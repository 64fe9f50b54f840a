/* SPDX-License-Identifier: BSD-3-Clause */
/* Parents, children and orphans, and which of them a wait finds. Expectations are from wait(2) and the order of the kernel's lists. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "engine/engine_internal.h"
#include "support/fake_engine.h"

static struct guest_ops ops;
static uint64_t told[6]; /* the arguments that the kernel is given */
static int set_result;

static int set_args(struct guest *g, int task, const uint64_t args[6])
{
	memcpy(told, args, sizeof(told));
	return set_result;
}

static void start(void)
{
	struct engine_options options;

	fake_init(&fake);
	ops = *fake.guest.ops;
	ops.set_args = set_args;
	fake.guest.ops = &ops;
	memset(told, 0, sizeof(told));
	set_result = 0;
	engine_options_default(&options);
	begin(&options);
}

TestSuite(engine_family, .init = start, .fini = stop);

static const struct process *parent_of(int vpid)
{
	for (const struct process *p = e->processes; p; p = p->next)
		if (p->vpid == vpid)
			return p->parent;
	return NULL;
}

/* Where the guest itself is process 1: a subreaper on the way comes before it. */
static void orphan_at(bool subreaper, int expected)
{
	struct engine_options options;

	e = engine_free(e);
	engine_options_default(&options);
	e = engine_new(&options, &fake.guest, 1, 1);
	cr_assert_not_null(e);
	process(0, 1);
	call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0);
	goes_on(1, VERDICT_GO, 0);
	call(1, SYS_prctl, PR_SET_CHILD_SUBREAPER, subreaper, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	process(1, 2);
	call(1, SYS_wait4, (uint64_t)-1, 0, 0, 0);
	goes_on(2, VERDICT_GO, 0);
	process(2, 3);
	cr_assert_eq(parent_of(5)->vpid, 4);
	call(2, SYS_exit_group, 0, 0, 0, 0);
	goes_on(2, VERDICT_CONTINUE, 0);
	happens(fake_exit(2, 0));
	cr_assert_eq(parent_of(5)->vpid, expected, "%d", parent_of(5)->vpid);
}

Test(engine_family, orphans_go_to_the_subreaper)
{
	orphan_at(true, 3);
}

Test(engine_family, orphans_go_to_process_1)
{
	orphan_at(false, 1);
}

/* --- which child --- */

static void ends(int task)
{
	call(task, SYS_exit_group, 0, 0, 0, 0);
	goes_on(task, VERDICT_CONTINUE, 0);
	happens(fake_exit(task, 0));
}

/*
 * 0 is a subreaper with the children 1 and 2, whose own children are 3 and 4. First 2 ends, then 1, then the orphans: 4 came before 3 and is found
 * first, though 3 was born and has died before it.
 */
static void bereave(void)
{
	call(0, SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
	goes_on(0, VERDICT_CONTINUE, 0);
	process(0, 1);
	process(0, 2);
	call(0, SYS_pause, 0, 0, 0, 0);
	goes_on(1, VERDICT_GO, 0);
	process(1, 3);
	call(1, SYS_pause, 0, 0, 0, 0);
	goes_on(2, VERDICT_GO, 0);
	process(2, 4);
	ends(2);
}

static int next_task(void)
{
	struct step step = next();

	cr_assert_eq(step.kind, STEP_RESUME, "step %d", (int)step.kind);
	return step.task;
}

/* 1 is killed; then the orphans end. */
static void orphans_end(void)
{
	happens(fake_exit(1, 9));
	ends(next_task());
	ends(next_task());
}

static void choose(int nr, uint64_t a0, uint64_t a1, uint64_t a3)
{
	struct task *t = task_find(e, 0);

	cr_assert_eq(task_wake(e, t, WAKE_SIGNAL), 0);
	goes_on(0, VERDICT_RESTART, 0);
	call(0, nr, a0, a1, 0, a3);
}

Test(engine_family, orphans_stand_behind_each_other_as_they_came)
{
	static const int expected[] = { 3, 4, 6, 5 };
	const struct process *p;
	size_t n = 0;

	bereave();
	orphans_end();
	for (p = process_find(e, 2)->children; p; p = p->younger)
		cr_expect_eq(p->vpid, expected[n++], "%d", p->vpid);
	cr_expect_eq(n, 4, "%zu", n);
}

Test(engine_family, a_wait_among_orphans_asks_the_kernel_for_one)
{
	bereave();
	orphans_end();
	process_forget(e, process_find(e, 3));
	process_forget(e, process_find(e, 4));
	choose(SYS_wait4, (uint64_t)-1, 0, 0);
	goes_on(0, VERDICT_HOOK, 0);
	cr_expect_eq(told[0], 6, "%d", (int)told[0]);
	happens(fake_done(0, 6));
	goes_on(0, VERDICT_GO, 0);
	cr_expect_eq(told[0], (uint64_t)-1, "the guest's arguments are put back");
	cr_expect_null(process_find(e, 6));
	told[0] = 0;
	call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0);
	goes_on(0, VERDICT_HOOK, 0);
	cr_expect_eq(told[0], 0, "where there is one, nobody has to choose");
	happens(fake_done(0, 5));
	goes_on(0, VERDICT_GO, 0);
}

Test(engine_family, waitid_asks_for_one_by_its_type)
{
	bereave();
	orphans_end();
	choose(SYS_waitid, P_ALL, 0, WEXITED);
	goes_on(0, VERDICT_HOOK, 0);
	cr_expect_eq(told[0], P_PID);
	cr_expect_eq(told[1], 3);
	cr_expect_eq(told[3], WEXITED);
	happens(fake_done(0, 0));
	goes_on(0, VERDICT_GO, 0);
	cr_expect_eq(told[0], P_ALL);
}

Test(engine_family, a_signal_on_its_way_is_delivered_first)
{
	bereave();
	orphans_end();
	set_result = -EBUSY;
	choose(SYS_wait4, (uint64_t)-1, 0, 0);
	goes_on(0, VERDICT_RESTART, 0);
}

Test(engine_family, whom_the_kernel_reaps_is_gone)
{
	process(0, 1);
	fake.no_zombies = true;
	call(0, SYS_wait4, (uint64_t)-1, 0, 0, 0);
	goes_on(1, VERDICT_GO, 0);
	ends(1);
	cr_expect_null(process_find(e, 3));
	goes_on(0, VERDICT_CONTINUE, 0); /* the kernel says ECHILD */
}

Test(engine_family, an_orphan_ends_with_sigchld)
{
	process(0, 1);
	call(0, SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
	goes_on(0, VERDICT_CONTINUE, 0);
	call(0, SYS_pause, 0, 0, 0, 0);
	goes_on(1, VERDICT_GO, 0);
	call(1, SYS_clone, SIGUSR1, 0, 0, 0);
	goes_on(1, VERDICT_CONTINUE, 0);
	happens(fake_birth(1, 2, 4, 4));
	goes_on(1, VERDICT_GO, 0);
	cr_expect_eq(process_find(e, 4)->exit_signal, SIGUSR1);
	ends(1);
	cr_expect_eq(process_find(e, 4)->exit_signal, SIGCHLD);
}
