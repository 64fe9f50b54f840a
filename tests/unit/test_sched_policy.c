/* SPDX-License-Identifier: BSD-3-Clause */
/* Policies of the scheduler on a run queue without an engine: who is picked, and where turns end. */
#include <criterion/criterion.h>
#include <string.h>
#include <asm/unistd.h>

#include "engine/sched/sched.h"
#include "engine/sched/sched_policy.h"
#include "engine/task.h"

enum { TASKS = 4 };

static struct sched sched;
static struct task tasks[TASKS];
static struct sched_policy policy;

static void start(void)
{
	sched_init(&sched);
	for (int i = 0; i < TASKS; i++) {
		tasks[i] = (struct task){ .id = i, .priority = PRIORITY_DEFAULT };
		cr_assert_eq(sched_push_back(&sched, &tasks[i]), 0);
	}
}

static void stop(void)
{
	sched_deinit(&sched);
}

TestSuite(sched_policy, .init = start, .fini = stop);

static void use(const char *text, uint64_t seed)
{
	struct sched_policy_spec spec;
	struct error err = { 0 };
	struct rng rng;

	cr_assert_eq(sched_policy_parse(text, &spec, &err), 0, "%s", err.text);
	rng_init(&rng, seed, "picks", 0);
	sched_policy_init(&policy, &spec, &rng);
	for (int i = 0; i < TASKS; i++)
		sched_policy_birth(&policy, &tasks[i]);
}

static int pick(const struct task *last, enum sched_why *why)
{
	const struct task *t = sched_policy_pick(&policy, &sched, last, why);

	cr_assert_not_null(t);
	return t->id;
}

Test(sched_policy, texts)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{ "roundrobin", true },	     { "random", true },	{ "stickyrandom", true }, { "stickyrandom:0.25", true },
		{ "pct", true },	     { "pct:1", true },		{ "pct:17", true },	  { "mixed", true },
		{ "connectbind", true },     { "slowdown:2", true },	{ "random,connectbind,slowdown", true },
		{ "", false },		     { "Random", false },	{ "pct:0", false },	  { "pct:18", false },
		{ "pct:x", false },	     { "random:1", false },	{ "random,pct", false },  { "stickyrandom:1", false },
		{ "stickyrandom:", false },  { "slowdown:1", false },	{ "random,", false },	  { "connectbind:1", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sched_policy_spec spec;
		struct error err = { 0 };

		cr_expect_eq(sched_policy_parse(rows[i].text, &spec, &err) == 0, rows[i].good, "'%s'", rows[i].text);
		cr_expect_eq(err.text[0] == '\0', rows[i].good, "'%s' and its message", rows[i].text);
	}
}

Test(sched_policy, the_queue_is_the_default)
{
	enum sched_why why;

	use("roundrobin", 1);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(pick(NULL, &why), 0);
	cr_expect_eq(why, SCHED_WHY_QUEUE);
}

Test(sched_policy, random_picks_everybody_and_the_same_with_the_same_seed)
{
	int first[64], seen[TASKS] = { 0 };
	enum sched_why why;

	use("random", 7);
	for (int i = 0; i < 64; i++)
		seen[first[i] = pick(NULL, &why)]++;
	for (int i = 0; i < TASKS; i++)
		cr_expect(seen[i] > 4, "task %d was picked %d times of 64", i, seen[i]);
	cr_expect_eq(why, SCHED_WHY_DRAWN);
	use("random", 7);
	for (int i = 0; i < 64; i++)
		cr_expect_eq(pick(NULL, &why), first[i]);
}

Test(sched_policy, sticky_mostly_stays)
{
	enum sched_why why;
	int stayed = 0;

	use("stickyrandom:0.9", 3);
	for (int i = 0; i < 200; i++)
		stayed += pick(&tasks[2], &why) == 2;
	cr_expect(stayed > 160 && stayed < 200, "stayed %d of 200 times", stayed);
}

Test(sched_policy, pct_keeps_to_its_priorities_until_a_change)
{
	enum sched_why why;
	int first, changes = 0, now;

	use("pct:1", 5);
	first = pick(NULL, &why);
	for (int i = 0; i < 100; i++) {
		sched_policy_event(&policy, &tasks[first]);
		cr_expect_eq(pick(&tasks[first], &why), first, "without change points nobody else is picked");
	}
	/* with them, each one takes the priority of who runs */
	for (uint64_t seed = 0; seed < 50; seed++) {
		use("pct:4", seed);
		now = pick(NULL, &why);
		for (int i = 0; i < 200; i++) {
			sched_policy_event(&policy, &tasks[now]);
			first = now;
			now = pick(&tasks[first], &why);
			changes += now != first;
		}
	}
	cr_expect(changes > 20 && changes <= 150, "%d changes in 50 runs of three change points", changes);
}

Test(sched_policy, a_yield_takes_the_priority)
{
	enum sched_why why;
	int first;

	use("pct:1", 5);
	first = pick(NULL, &why);
	sched_policy_yield(&policy, &tasks[first]);
	cr_expect_neq(pick(NULL, &why), first);
}

Test(sched_policy, nobody_starves)
{
	enum sched_why why = SCHED_WHY_QUEUE;
	int picks[TASKS] = { 0 };

	use("pct:1", 5);
	for (int i = 0; i < TASKS * (SCHED_PATIENCE + 1); i++)
		picks[pick(NULL, &why)]++;
	for (int i = 0; i < TASKS; i++)
		cr_expect(picks[i] > 0, "task %d was never picked", i);
}

Test(sched_policy, alone_nothing_is_drawn)
{
	enum sched_why why;
	uint64_t position;

	use("random", 1);
	for (int i = 1; i < TASKS; i++)
		sched_remove(&sched, &tasks[i]);
	position = policy.rng.position;
	cr_expect_eq(pick(NULL, &why), 0);
	cr_expect_eq(why, SCHED_WHY_ONLY);
	cr_expect_eq(policy.rng.position, position);
}

Test(sched_policy, connect_before_bind)
{
	enum sched_why why;

	tasks[1].in_call = tasks[2].in_call = true;
	tasks[1].call.nr = __NR_bind;
	tasks[2].call.nr = __NR_connect;
	use("random,connectbind", 1);
	for (int i = 0; i < 20; i++)
		cr_expect_eq(pick(NULL, &why), 2);
	sched_remove(&sched, &tasks[2]);
	for (int i = 0; i < 20; i++)
		cr_expect_neq(pick(NULL, &why), 1);
}

Test(sched_policy, slow_tasks_get_few_turns)
{
	int picks[TASKS] = { 0 }, most = 0, least = 4000;
	enum sched_why why;

	use("random,slowdown:20", 4);
	for (int i = 0; i < 4000; i++)
		picks[pick(NULL, &why)]++; /* no events: one epoch */
	for (int i = 0; i < TASKS; i++) {
		most = picks[i] > most ? picks[i] : most;
		least = picks[i] < least ? picks[i] : least;
	}
	cr_expect(least * 3 < most, "the slowest has %d turns, the fastest %d", least, most);
}

Test(sched_policy, turns_end_inside_code_at_drawn_points)
{
	static const char *const texts[] = { "random", "stickyrandom", "pct:3", "roundrobin", "pct:1" };
	uint64_t most[5] = { 0 };

	for (size_t i = 0; i < 5; i++) {
		for (uint64_t seed = 0; seed < 100; seed++) {
			use(texts[i], seed);
			policy.steps = true;
			for (int event = 0; event < 20; event++) {
				uint64_t steps = sched_policy_steps(&policy), places = sched_policy_places(&policy);

				most[i] = steps > most[i] ? steps : most[i];
				cr_expect(steps <= 8192, "%s: %llu instructions", texts[i], (unsigned long long)steps);
				cr_expect(places <= 1 << 17, "%s: %llu places", texts[i], (unsigned long long)places);
				sched_policy_event(&policy, &tasks[0]);
			}
		}
		cr_expect_eq(most[i] > 0, i < 3, "%s ends turns inside code after at most %llu instructions", texts[i],
			     (unsigned long long)most[i]);
	}
}

Test(sched_policy, places_bring_pct_to_its_change_points)
{
	int reached = 0;

	for (uint64_t seed = 0; seed < 50; seed++) {
		uint64_t places;
		int first;
		enum sched_why why;

		use("pct:2", seed);
		first = pick(NULL, &why);
		places = sched_policy_places(&policy);
		cr_assert(places > 0);
		sched_policy_passed(&policy, &tasks[first], places - 1);
		cr_expect_eq(pick(NULL, &why), first, "seed %llu: one place before the change point", (unsigned long long)seed);
		sched_policy_passed(&policy, &tasks[first], 1);
		reached += pick(NULL, &why) != first;
	}
	cr_expect_eq(reached, 50, "the change point was reached in %d of 50 runs", reached);
}
