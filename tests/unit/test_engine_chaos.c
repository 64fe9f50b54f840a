/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns that end inside code, orders that are asked for, and faults, on a guest in memory. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "engine/policy/policy.h"
#include "support/fake_engine.h"

static struct engine_options options;

static void prepare(void)
{
	fake_init(&fake);
	fake.guest.abilities = GUEST_CAN_HOOK | GUEST_CAN_STEP;
	engine_options_default(&options);
	options.chaos.preempt_budget = 1000;
	e = NULL;
}

TestSuite(engine_chaos, .init = prepare, .fini = stop);

static void start(void)
{
	begin(&options);
}

static struct step resumed(void)
{
	struct step step = next();

	cr_assert_eq(step.kind, STEP_RESUME, "step %d: %s", (int)step.kind, engine_failure(e));
	return step;
}

/* Task 0 makes thread 1; who goes on is in the step that is returned. */
static struct step two_threads(void)
{
	happens(fake_call(0, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0, 0));
	cr_assert_eq(resumed().task, 0);
	happens(fake_birth(0, 1, 3, 2));
	return resumed();
}

static struct event preempted(const struct step *step)
{
	return (struct event){ .kind = EVENT_PREEMPT, .task = step->task, .points = step->verdict.preempt };
}

Test(engine_chaos, interrupts_as_text)
{
	static const struct {
		const char *text;
		bool good;
		struct interrupt_rule rule;
	} rows[] = {
		{ "3:80", true, { 3, 80, 0 } }, { "3:80+2", true, { 3, 80, 2 } }, { "3", false, { 0 } },	 { "3:", false, { 0 } },
		{ ":80", false, { 0 } },	{ "3:80+", false, { 0 } },	  { "3:80+0", false, { 0 } },	 { "x:1", false, { 0 } },
		{ "-1:1", false, { 0 } },	{ "3:80+2+3", false, { 0 } },	  { "99999999999:1", false, { 0 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct interrupt_rule rule = { 0 };
		struct error err = { 0 };

		cr_expect_eq(interrupt_parse(rows[i].text, &rule, &err) == 0, rows[i].good, "'%s'", rows[i].text);
		cr_expect(rule.vtid == rows[i].rule.vtid && rule.turn == rows[i].rule.turn && rule.after == rows[i].rule.after, "'%s'",
			  rows[i].text);
	}
}

Test(engine_chaos, nothing_is_counted_alone)
{
	struct step step;

	options.chaos.on = true;
	options.chaos.preempt = PREEMPT_FUNCTIONS;
	options.chaos.policy.picker = SCHED_RANDOM;
	start();
	happens(fake_call(0, SYS_getsid, 0, 0, 0, 0, 0, 0));
	cr_expect_eq(resumed().verdict.preempt.unit, PREEMPT_NOWHERE);
	happens(fake_call(0, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0, 0));
	cr_expect_eq(resumed().verdict.preempt.unit, PREEMPT_NOWHERE);
	happens(fake_birth(0, 1, 3, 2));
	step = resumed();
	cr_expect_eq(step.verdict.preempt.unit, PREEMPT_PLACES);
}

Test(engine_chaos, the_budget_is_an_end)
{
	struct step step;

	options.chaos.on = true;
	options.chaos.preempt = PREEMPT_FUNCTIONS;
	options.chaos.policy.picker = SCHED_RANDOM;
	start();
	step = two_threads();
	for (int i = 0; i < 2000 && step.verdict.preempt.unit == PREEMPT_PLACES; i++) {
		struct event event = preempted(&step);

		event.points.after = event.points.after ? event.points.after : 1;
		happens(event);
		step = resumed();
	}
	cr_expect_eq(step.verdict.preempt.unit, PREEMPT_NOWHERE);
	cr_expect(engine_stats(e)->places >= 1000 && engine_stats(e)->places < 2000, "%llu places",
		  (unsigned long long)engine_stats(e)->places);
	cr_expect(engine_stats(e)->switches > 2);
}

Test(engine_chaos, an_interrupted_thread_waits_for_another)
{
	struct step step;

	options.interrupts[0] = (struct interrupt_rule){ .vtid = 2, .turn = 2, .after = 5 };
	options.n_interrupts = 1;
	start();
	step = two_threads(); /* turn 2: the birth */
	cr_expect_eq(step.task, 0);
	cr_expect_eq(step.verdict.preempt.unit, PREEMPT_INSTRUCTIONS);
	cr_expect_eq(step.verdict.preempt.after, 5);
	happens(preempted(&step));
	cr_expect_eq(resumed().task, 1);
	cr_expect_eq(engine_stats(e)->interrupts[0], INTERRUPT_DONE);
	cr_expect_eq(engine_stats(e)->preemptions, 1);
}

Test(engine_chaos, an_interrupt_without_instructions)
{
	options.interrupts[0] = (struct interrupt_rule){ .vtid = 2, .turn = 2 };
	options.n_interrupts = 1;
	start();
	cr_expect_eq(two_threads().task, 1);
	cr_expect_eq(engine_stats(e)->interrupts[0], INTERRUPT_DONE);
}

static int pick_last(void *arg, struct engine *engine, uint64_t turn, unsigned nth, int *ret_task, const char **ret_message)
{
	*ret_task = 0;
	return 1;
}

static int preempt_at_two(void *arg, struct engine *engine, uint64_t turn, int task, struct preempt_point *ret_point)
{
	if (turn != 2)
		return 0;
	*ret_point = (struct preempt_point){ PREEMPT_INSTRUCTIONS, 9 };
	return 1;
}

Test(engine_chaos, a_point_that_is_not_reached_does_not_fit)
{
	static const struct engine_chooser chooser = { .pick = pick_last, .preempt = preempt_at_two };
	struct step step;

	options.chooser = &chooser;
	start();
	step = two_threads();
	cr_assert_eq(step.verdict.preempt.after, 9);
	happens(fake_call(0, SYS_getsid, 0, 0, 0, 0, 0, 0));
	step = next();
	cr_expect_eq(step.kind, STEP_MISFIT);
	cr_expect_str_eq(engine_failure(e), "turn 2, thread 2: expected its turn to end after 9 instructions, got getsid");
}

/* ---- priorities ---- */

static struct sched_priority told[8];
static size_t n_told;

static void on_priority(void *arg, struct engine *engine, const struct sched_priority *change)
{
	cr_assert_lt(n_told, 8);
	told[n_told++] = *change;
}

static void listen_to_priorities(void)
{
	n_told = 0;
	options.chaos.on = true;
	options.chaos.policy.picker = SCHED_PCT;
	options.chaos.policy.depth = 1;
	start();
	engine_observe(e, &(struct engine_observer){ .priority = on_priority });
}

Test(engine_chaos, priorities_are_told)
{
	listen_to_priorities();
	cr_assert_eq(n_told, 1, "the program has one already");
	cr_expect_eq(told[0].task, 0);
	(void)two_threads();
	cr_assert_eq(n_told, 2);
	cr_expect_eq(told[1].task, 1);
	cr_expect_eq(told[1].turn, 2);
	cr_expect_eq(told[1].why, SCHED_PRIORITY_BORN);
	cr_expect_neq(told[0].place, told[1].place);
}

static int next_priority(void *arg, uint64_t turn, struct sched_priority *ret)
{
	static const struct sched_priority change = { .turn = 2, .task = 1, .place = 7, .why = SCHED_PRIORITY_POINT };
	bool *done = arg;

	if (*done || turn < change.turn)
		return 0;
	*done = true;
	*ret = change;
	return 1;
}

Test(engine_chaos, priorities_that_are_followed)
{
	bool done = false;
	struct engine_chooser chooser = { .pick = pick_last, .priority = next_priority, .arg = &done };

	options.chooser = &chooser;
	listen_to_priorities();
	cr_expect_eq(n_told, 0, "none is drawn");
	(void)two_threads();
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told[0].place, 7);
	cr_expect_eq(told[0].why, SCHED_PRIORITY_POINT);
}

/* ---- orders ---- */

static struct order_spec order;

static void ask_for_order(uint64_t nth, bool soft)
{
	order = (struct order_spec){
		.anchors = { { .name = "first", .kind = ANCHOR_CALL, .vtid = 3, .task = -1, .nth = nth, .call = SYS_getsid },
			     { .name = "second", .kind = ANCHOR_CALL, .vtid = -1, .task = 0, .nth = 1, .call = SYS_getsid } },
		.n_anchors = 2,
		.edges = { { .before = 0, .after = 1, .soft = soft } },
		.n_edges = 1,
	};
	options.order = &order;
	start();
	cr_assert_eq(two_threads().task, 0);
	happens(fake_call(0, SYS_getsid, 0, 0, 0, 0, 0, 0));
	cr_assert_eq(resumed().task, 1); /* task 0 is held */
}

Test(engine_chaos, the_later_one_is_held_until_the_call_is_over)
{
	ask_for_order(1, false);
	happens(fake_call(1, SYS_getsid, 0, 0, 0, 0, 0, 0));
	cr_expect_eq(resumed().task, 1);
	happens(fake_call(1, SYS_getpriority, 0, 0, 0, 0, 0, 0)); /* now it is over */
	cr_expect_eq(engine_anchor_seen(e, 0), 1);
	cr_expect_eq(resumed().task, 1);
	happens(fake_call(1, SYS_pause, 0, 0, 0, 0, 0, 0));
	cr_expect_eq(resumed().task, 0);
}

Test(engine_chaos, the_end_of_a_thread_is_the_end_of_its_call)
{
	ask_for_order(1, false);
	happens(fake_call(1, SYS_getsid, 0, 0, 0, 0, 0, 0));
	cr_expect_eq(resumed().task, 1);
	happens(fake_exit(1, 0));
	cr_expect_eq(resumed().task, 0);
}

Test(engine_chaos, what_never_comes_is_said)
{
	struct step step;

	ask_for_order(2, false);
	happens(fake_call(1, SYS_getsid, 0, 0, 0, 0, 0, 0));
	cr_expect_eq(resumed().task, 1);
	happens(fake_call(1, SYS_pause, 0, 0, 0, 0, 0, 0));
	step = next();
	cr_expect_eq(step.kind, STEP_MISFIT);
	cr_expect_not_null(strstr(engine_failure(e), "thread 2 is held before 'second' until 'first' has come (seen 1 of 2 times)"), "%s",
			   engine_failure(e));
}

Test(engine_chaos, a_soft_edge_is_given_up)
{
	ask_for_order(2, true);
	happens(fake_call(1, SYS_pause, 0, 0, 0, 0, 0, 0));
	cr_expect_eq(resumed().task, 0);
}

/* ---- faults ---- */

Test(engine_chaos, faults_as_text)
{
	static const struct {
		const char *text, *kind;
		uint32_t probability;
		int call;
		const char *path;
	} rows[] = {
		{ "enospc", "enospc", 10000, -1, "" },	       { "short:1", "short", 1000000, -1, "" },
		{ "eintr:0.5@read", "eintr", 500000, SYS_read, "" }, { "latency:0", "latency", 0, -1, "" },
		{ "enospc:1@*.txt", "enospc", 1000000, -1, "*.txt" }, { "short@/tmp/**", "short", 10000, -1, "/tmp/**" },
		{ "udp-drop", "udp-drop", 10000, -1, "" },     { "clock-jump:1", "clock-jump", 1000000, -1, "" },
	};
	static const char *const bad[] = { "", "x", "short:2", "short:x", "short@nothing", "short:", ":1", "@read" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault_rule rule = { 0 };

		cr_assert_eq(fault_parse(rows[i].text, &rule, NULL), 0, "%s", rows[i].text);
		cr_expect_str_eq(fault_name(&rule), rows[i].kind);
		cr_expect_eq(rule.probability, rows[i].probability, "%s", rows[i].text);
		cr_expect_eq(rule.call, rows[i].call, "%s", rows[i].text);
		cr_expect_str_eq(rule.path, rows[i].path, "%s", rows[i].text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fault_rule rule;

		cr_expect(fault_parse(bad[i], &rule, NULL) < 0, "'%s'", bad[i]);
	}
}

/* What a call is told that a fault may strike. */
Test(engine_chaos, where_faults_strike)
{
	static const struct {
		const char *what, *fault;
		enum fd_kind kind;
		int sock_type, flags;
		uint64_t caught;
		const char *path;
		int nr;
		uint64_t args[6];
		int64_t expected; /* 0: the call goes on */
	} rows[] = {
		{ "a file is full", "enospc:1", FD_FILE, 0, 0, 0, NULL, SYS_write, { 1, FAKE_BASE, 10 }, -ENOSPC },
		{ "a pipe is not", "enospc:1", FD_PIPE, 0, 0, 0, NULL, SYS_write, { 1, FAKE_BASE, 10 }, 0 },
		{ "reading takes no room", "enospc:1", FD_FILE, 0, 0, 0, NULL, SYS_read, { 1, FAKE_BASE, 10 }, 0 },
		{ "another call", "enospc:1@fallocate", FD_FILE, 0, 0, 0, NULL, SYS_write, { 1, FAKE_BASE, 10 }, 0 },
		{ "another path", "enospc:1@*.txt", FD_FILE, 0, 0, 0, "/d/a.dat", SYS_write, { 1, FAKE_BASE, 10 }, 0 },
		{ "this path", "enospc:1@*.txt", FD_FILE, 0, 0, 0, "/d/a.txt", SYS_write, { 1, FAKE_BASE, 10 }, -ENOSPC },
		{ "the whole path", "enospc:1@/d/*", FD_FILE, 0, 0, 0, "/d/a.txt", SYS_write, { 1, FAKE_BASE, 10 }, -ENOSPC },
		{ "a directory is made", "enospc:1", FD_PIPE, 0, 0, 0, NULL, SYS_mkdir, { FAKE_BASE, 0700 }, -ENOSPC },
		{ "with a handler", "eintr:1", FD_PIPE, 0, 0, 1 << 9, NULL, SYS_read, { 0, FAKE_BASE, 10 }, -EINTR },
		{ "without one", "eintr:1", FD_PIPE, 0, 0, 0, NULL, SYS_read, { 0, FAKE_BASE, 10 }, 0 },
		{ "without waiting", "eintr:1", FD_PIPE, 0, O_NONBLOCK, 1 << 9, NULL, SYS_read, { 0, FAKE_BASE, 10 }, 0 },
		{ "a file does not wait", "eintr:1", FD_FILE, 0, 0, 1 << 9, NULL, SYS_read, { 0, FAKE_BASE, 10 }, 0 },
		{ "waiting for a child", "eintr:1", FD_PIPE, 0, 0, 1 << 9, NULL, SYS_wait4, { 0 }, -EINTR },
		{ "not waiting", "eagain:1", FD_PIPE, 0, O_NONBLOCK, 0, NULL, SYS_read, { 0, FAKE_BASE, 10 }, -EAGAIN },
		{ "waiting", "eagain:1", FD_PIPE, 0, 0, 0, NULL, SYS_read, { 0, FAKE_BASE, 10 }, 0 },
		{ "accept", "eagain:1", FD_INET, SOCK_STREAM, O_NONBLOCK, 0, NULL, SYS_accept4, { 0 }, -EAGAIN },
		{ "TCP", "reset:1", FD_INET, SOCK_STREAM, 0, 0, NULL, SYS_sendto, { 1, FAKE_BASE, 10 }, -ECONNRESET },
		{ "UDP", "reset:1", FD_INET, SOCK_DGRAM, 0, 0, NULL, SYS_sendto, { 1, FAKE_BASE, 10 }, 0 },
		{ "a datagram is lost", "udp-drop:1", FD_INET, SOCK_DGRAM, 0, 0, NULL, SYS_sendto, { 1, FAKE_BASE, 10 }, 10 },
		{ "a stream is not", "udp-drop:1", FD_INET, SOCK_STREAM, 0, 0, NULL, SYS_sendto, { 1, FAKE_BASE, 10 }, 0 },
		{ "memory", "nomem:1", FD_PIPE, 0, 0, 0, NULL, SYS_mmap, { 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0 }, -ENOMEM },
		{ "memory in place", "nomem:1", FD_PIPE, 0, 0, 0, NULL, SYS_mmap,
		  { 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ull, 0 }, 0 },
		{ "never", "enospc:0", FD_FILE, 0, 0, 0, NULL, SYS_write, { 1, FAKE_BASE, 10 }, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t *a = rows[i].args;
		struct step step;

		prepare();
		fake.kind = rows[i].kind;
		fake.sock_type = rows[i].sock_type;
		fake.flags = rows[i].flags;
		fake.path = rows[i].path;
		fake.signals[0].caught = rows[i].caught;
		fake.pipes[0].used = 100;
		cr_assert_eq(fault_parse(rows[i].fault, &options.faults[0], NULL), 0);
		options.n_faults = 1;
		start();
		happens(fake_call(0, rows[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]));
		step = next();
		if (rows[i].expected) {
			cr_expect_eq(step.verdict.kind, VERDICT_RETURN, "%s: verdict %d", rows[i].what, (int)step.verdict.kind);
			cr_expect_eq(step.verdict.value, rows[i].expected, "%s: %lld", rows[i].what, (long long)step.verdict.value);
		}
		cr_expect_eq(engine_stats(e)->faults[0], rows[i].expected != 0, "%s", rows[i].what);
		stop();
	}
}

Test(engine_chaos, less_is_moved)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct step step;

		prepare();
		options.fault_seed = seed;
		cr_assert_eq(fault_parse("short:1", &options.faults[0], NULL), 0);
		options.n_faults = 1;
		fake.pipes[0].used = 100;
		start();
		happens(fake_call(0, SYS_read, 0, FAKE_BASE, 50, 0, 0, 0));
		step = resumed();
		cr_expect_eq(step.verdict.kind, VERDICT_RETURN);
		cr_expect(step.verdict.value >= 1 && step.verdict.value < 50, "%lld bytes", (long long)step.verdict.value);
		cr_expect_eq(fake.pipes[0].used, 100 - (size_t)step.verdict.value);
		cr_expect_eq(fake.arena[step.verdict.value - 1], 'x');
		cr_expect_eq(fake.arena[step.verdict.value], 0);
		happens(fake_call(0, SYS_write, 1, FAKE_BASE, 50, 0, 0, 0));
		step = resumed();
		cr_expect(step.verdict.value >= 1 && step.verdict.value < 50, "%lld bytes", (long long)step.verdict.value);
		happens(fake_call(0, SYS_read, 0, FAKE_BASE, 1, 0, 0, 0)); /* nothing is less than one */
		cr_expect_eq(resumed().verdict.kind, VERDICT_CONTINUE);
		stop();
	}
}

Test(engine_chaos, the_heap_cannot_grow)
{
	struct step step;

	cr_assert_eq(fault_parse("nomem:1@brk", &options.faults[0], NULL), 0);
	options.n_faults = 1;
	start();
	happens(fake_call(0, SYS_brk, 0, 0, 0, 0, 0, 0)); /* where it ends is not known yet: it goes on */
	cr_expect_eq(resumed().verdict.kind, VERDICT_HOOK);
	happens(fake_done(0, 0x5000));
	cr_expect_eq(resumed().verdict.kind, VERDICT_GO);
	happens(fake_call(0, SYS_brk, 0x6000, 0, 0, 0, 0, 0));
	step = resumed();
	cr_expect_eq(step.verdict.kind, VERDICT_RETURN);
	cr_expect_eq(step.verdict.value, 0x5000);
	happens(fake_call(0, SYS_brk, 0x4000, 0, 0, 0, 0, 0)); /* it may shrink */
	cr_expect_eq(resumed().verdict.kind, VERDICT_HOOK);
}
