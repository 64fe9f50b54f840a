/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs to look again, on a guest in memory: looks.h. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/policy/policy.h"
#include "engine/time/looks.h"
#include "support/fake_engine.h"

enum { PATHS = LOOK_QUESTIONS + 1, PATH_SIZE = 16, LATE = 20 * LOOK_STEP };

static void start(void)
{
	struct engine_options options;

	fake_init(&fake);
	fake.guest.abilities = GUEST_CAN_HOOK;
	engine_options_default(&options);
	begin(&options);
	for (size_t i = 0; i < PATHS; i++)
		(void)memset(fake.arena + i * PATH_SIZE, 'a' + (int)i, PATH_SIZE - 1);
}

TestSuite(engine_looks, .init = start, .fini = stop);

static uint64_t cost(int nr)
{
	return policy_row(nr)->cost_ns;
}

/* The task makes the call, and goes on with this answer when it is asked for: how much time passes. */
static uint64_t passes(struct event call, int64_t result)
{
	uint64_t before = engine_now_ns(e);
	struct step step;

	happens(call);
	step = next();
	cr_assert_eq(step.kind, STEP_RESUME);
	if (step.verdict.kind == VERDICT_HOOK) {
		happens(fake_done(0, result));
		cr_assert_eq(next().verdict.kind, VERDICT_GO);
	}
	return engine_now_ns(e) - before;
}

static uint64_t looks_by_kill(void)
{
	return passes(fake_call(0, SYS_kill, 2, 0, 0, 0, 0, 0), 0);
}

static uint64_t looks_by_access(size_t path, int64_t result)
{
	return passes(fake_call(0, SYS_access, fake_address(path * PATH_SIZE), 0, 0, 0, 0, 0), result);
}

Test(engine_looks, the_cost_doubles_up_to_a_limit)
{
	cr_expect_eq(looks_cost(3000, 256000, 0), 3000);
	cr_expect_eq(looks_cost(3000, 256000, LOOK_STEP - 1), 3000);
	cr_expect_eq(looks_cost(3000, 256000, LOOK_STEP), 6000);
	cr_expect_eq(looks_cost(3000, 256000, 6 * LOOK_STEP), 192000);
	cr_expect_eq(looks_cost(3000, 256000, 7 * LOOK_STEP), 256000);
	cr_expect_eq(looks_cost(3000, 256000, UINT32_MAX), 256000);
}

/* The table of calls and that of looks are two: what a row of the second says has to be possible. */
Test(engine_looks, rows_fit_their_calls)
{
	unsigned n = 0;

	for (int nr = 0; nr <= POLICY_MAX_NR; nr++) {
		const struct look *look = looks_row(nr);
		const struct policy_row *row = policy_row(nr);

		if (!look)
			continue;
		n++;
		cr_expect(row->class == CLASS_ORDER || row->class == CLASS_FIXUP || row->class == CLASS_EMULATE, "%s is decided about", row->name);
		cr_expect_lt(row->cost_ns, look->most_ns, "%s can become dearer", row->name);
		cr_expect(look->when == LOOK_ALWAYS || look->when == LOOK_GIVES_WAY || look->argument < row->nargs, "%s has the argument", row->name);
	}
	cr_expect_gt(n, 30);
	cr_expect_null(looks_row(-1));
	cr_expect_null(looks_row(POLICY_MAX_NR + 1));
}

Test(engine_looks, whoever_only_looks_pays_more)
{
	uint64_t last = cost(SYS_kill);

	for (unsigned i = 0; i < LOOK_STEP; i++)
		cr_assert_eq(looks_by_kill(), last, "look %u", i);
	cr_expect_eq(looks_by_kill(), 2 * last);
	for (unsigned i = 0; i < LATE; i++) {
		uint64_t now = looks_by_kill();

		cr_assert_geq(now, last);
		last = now;
	}
	cr_expect_eq(last, LOOK_MOST_NS);
}

Test(engine_looks, another_call_ends_it)
{
	for (unsigned i = 0; i < LATE; i++)
		(void)looks_by_kill();
	(void)passes(fake_call(0, SYS_kill, 2, SIGUSR1, 0, 0, 0, 0), 0);
	cr_expect_eq(looks_by_kill(), cost(SYS_kill));
	cr_expect_eq(looks_by_kill(), cost(SYS_kill));
}

Test(engine_looks, so_does_a_signal)
{
	struct event event = { .kind = EVENT_SIGNAL, .task = 0, .siginfo = { .si_signo = SIGUSR1 } };

	for (unsigned i = 0; i < LATE; i++)
		(void)looks_by_kill();
	fake.signals[0].caught = 1ull << (SIGUSR1 - 1);
	happens(event);
	cr_assert_eq(next().verdict.kind, VERDICT_SIGNAL);
	cr_expect_eq(looks_by_kill(), cost(SYS_kill));
}

/* Asked for at times only: there is one answer in LOOK_ASK that ends it. */
Test(engine_looks, an_answer_that_says_something_ends_it)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < LATE; i++) {
		uint64_t now = looks_by_access(0, 0);

		most = now > most ? now : most;
	}
	cr_expect_eq(most, cost(SYS_access), "what is there is no look in vain");
	for (unsigned i = 0; i < LATE; i++)
		most = looks_by_access(0, -ENOENT);
	cr_expect_eq(most, LOOK_MOST_NS);
	for (unsigned i = 0; i < 2 * LOOK_ASK; i++)
		most = looks_by_access(0, 0);
	cr_expect_eq(most, cost(SYS_access));
}

Test(engine_looks, the_answer_is_asked_for_at_times)
{
	unsigned asked = 0;

	for (unsigned i = 0; i < LATE; i++) {
		struct step step;

		happens(fake_call(0, SYS_access, fake_address(0), 0, 0, 0, 0, 0));
		step = next();
		if (step.verdict.kind != VERDICT_HOOK)
			continue;
		asked++;
		happens(fake_done(0, -ENOENT));
		cr_assert_eq(next().verdict.kind, VERDICT_GO);
	}
	cr_expect_eq(asked, (LATE - 1) / LOOK_ASK, "%u", asked); /* the first is no repeat */
}

/* Observers who want all results change nothing. */
Test(engine_looks, observers_change_nothing)
{
	uint64_t times[2];

	for (int results = 0; results < 2; results++) {
		struct engine_options options;

		stop();
		fake_init(&fake);
		fake.guest.abilities = GUEST_CAN_HOOK;
		engine_options_default(&options);
		options.results = results;
		begin(&options);
		for (unsigned i = 0; i < LATE; i++)
			(void)looks_by_access(0, i % 1000 < 700 ? -ENOENT : 0);
		times[results] = engine_now_ns(e);
	}
	cr_expect_eq(times[0], times[1]);
	cr_expect_gt(times[0], LATE * cost(SYS_access), "it became dearer at all");
}

Test(engine_looks, several_questions_in_turn_count)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < LATE; i++) {
		last = looks_by_access(i % (LOOK_QUESTIONS - 1), -ENOENT);
		(void)looks_by_kill();
	}
	cr_expect_eq(last, LOOK_MOST_NS);
}

Test(engine_looks, a_search_does_not)
{
	for (unsigned i = 0; i < LATE; i++)
		cr_assert_eq(looks_by_access(i % PATHS, -ENOENT), cost(SYS_access), "look %u", i);
}

/* The same address, another text. */
Test(engine_looks, a_path_is_its_text)
{
	for (unsigned i = 0; i < LATE; i++) {
		fake.arena[0] = (unsigned char)('a' + i % PATHS);
		cr_assert_eq(looks_by_access(0, -ENOENT), cost(SYS_access), "look %u", i);
	}
}

/* A child sleeps until long after the parent's looks have become dear: it wakes up no later than it would have. */
Test(engine_looks, no_deadline_is_passed)
{
	const int64_t sleep[2] = { 1, 12345 };
	uint64_t due;

	happens(fake_call(0, SYS_fork, 0, 0, 0, 0, 0, 0));
	(void)next();
	happens(fake_birth(0, 1, 3, 3));
	cr_assert_eq(next().task, 0);
	memcpy(fake.arena, sleep, sizeof(sleep));
	happens(fake_call(0, SYS_sched_yield, 0, 0, 0, 0, 0, 0));
	cr_assert_eq(next().task, 1);
	happens(fake_call(1, SYS_nanosleep, fake_address(0), 0, 0, 0, 0, 0));
	due = engine_now_ns(e) + 1000012345;
	cr_assert_eq(next().task, 0);
	do
		cr_assert_lt(looks_by_kill(), LOOK_MOST_NS + 1);
	while (engine_now_ns(e) < due);
	cr_expect_leq(engine_now_ns(e), due + cost(SYS_kill));
}
