/* SPDX-License-Identifier: BSD-3-Clause */
/* The spin detector on generated programs: a step function on a small state, with known tails and cycles. */
#include "engine/spin.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/rng.h"

struct state {
	uint64_t pc, value;
};

/* A walk over numbered states: 0, 1, ... tail + cycle - 1, then back to tail. */
struct walk {
	uint64_t tail, cycle, at, seed;
};

/* The state at a place of the walk: distinct for each place, pc from a small set so that it recurs inside the cycle. */
static struct state state_at(const struct walk *w, uint64_t place)
{
	uint64_t mixed = (place + 1) * (w->seed | 1);

	return (struct state){ .pc = 0x1000 + mixed % 7, .value = mixed };
}

static void walk_on(struct walk *w)
{
	w->at++;
	if (w->at == w->tail + w->cycle)
		w->at = w->tail;
}

static enum spin_answer run(struct spin *spin, struct walk *w)
{
	struct state now = state_at(w, w->at);
	enum spin_answer answer = spin_feed(spin, now.pc, &now, false);

	while (answer == SPIN_STEP) {
		walk_on(w);
		now = state_at(w, w->at);
		answer = spin_feed(spin, now.pc, &now, false);
	}
	return answer;
}

static struct state lowest_of(const struct walk *w)
{
	struct state best = state_at(w, w->tail);

	for (uint64_t i = w->tail; i < w->tail + w->cycle; i++) {
		struct state s = state_at(w, i);

		if (s.pc < best.pc || (s.pc == best.pc && memcmp(&s, &best, sizeof(s)) < 0))
			best = s;
	}
	return best;
}

Test(spin, finds_generated_cycles_at_one_point_from_any_start)
{
	struct rng rng;

	rng_init(&rng, 1, "spin test", 0);
	for (int round = 0; round < 2000; round++) {
		struct walk w = { .tail = rng_below(&rng, 50),
				  .cycle = 1 + rng_below(&rng, 60),
				  .seed = rng_u64(&rng) };
		struct state want = lowest_of(&w), got;
		uint64_t tail = w.tail, cycle = w.cycle;
		struct spin spin;

		w.at = rng_below(&rng, w.tail + w.cycle);
		cr_assert_eq(spin_init(&spin, sizeof(struct state), 100000), 0);
		cr_assert_eq(run(&spin, &w), SPIN_FOUND, "round %d", round);
		got = state_at(&w, w.at);
		cr_assert(!memcmp(&got, &want, sizeof(got)), "round %d: not at the canonical point", round);
		cr_assert_eq(spin_cycle_length(&spin), cycle, "round %d", round);
		cr_assert_eq(spin_canonical_pc(&spin), want.pc);
		/* Brent's bound, then one round to measure and at most one to get there. */
		cr_assert(spin.steps <= 3 * (tail + cycle) + 2 * cycle + 2, "round %d: %lu steps", round,
			  (unsigned long)spin.steps);
		spin_deinit(&spin);
	}
}

Test(spin, counter_gives_up_at_the_limit)
{
	struct spin spin;
	struct state s = { .pc = 0x1000 };
	uint64_t fed = 0;

	cr_assert_eq(spin_init(&spin, sizeof(s), 500), 0);
	while (spin_feed(&spin, s.pc, &s, false) == SPIN_STEP) {
		s.value++;
		fed++;
	}
	cr_assert_eq(fed, 500);
	cr_assert_eq(spin_feed(&spin, s.pc, &s, false), SPIN_GIVE_UP, "the answer stays");
	spin_deinit(&spin);
}

Test(spin, recurring_registers_are_no_loop_while_memory_changes)
{
	struct spin spin;
	struct state s = { .pc = 0x1000 };
	enum spin_answer answer;
	int n = 0;

	/* A counter in memory: registers recur every 4 steps, one of them changes memory. */
	cr_assert_eq(spin_init(&spin, sizeof(s), 1000), 0);
	do {
		s.pc = 0x1000 + (uint64_t)(n % 4);
		answer = spin_feed(&spin, s.pc, &s, n % 4 == 3);
		n++;
	} while (answer == SPIN_STEP);
	cr_assert_eq(answer, SPIN_GIVE_UP);
	spin_deinit(&spin);
}

Test(spin, loop_is_found_after_memory_has_come_to_rest)
{
	struct spin spin;
	struct state s = { .pc = 0x1000 };
	enum spin_answer answer;
	int n = 0;

	cr_assert_eq(spin_init(&spin, sizeof(s), 1000), 0);
	do {
		s.pc = 0x1000 + (uint64_t)(n % 4);
		answer = spin_feed(&spin, s.pc, &s, n < 100 && n % 4 == 3);
		n++;
	} while (answer == SPIN_STEP);
	cr_assert_eq(answer, SPIN_FOUND);
	cr_assert(n > 100);
	cr_assert_eq(s.pc, 0x1000, "stands at the lowest address");
	cr_assert_eq(spin_cycle_length(&spin), 4);
	spin_deinit(&spin);
}

Test(spin, change_while_measuring_begins_anew)
{
	struct spin spin;
	struct state s = { .pc = 0 };

	cr_assert_eq(spin_init(&spin, sizeof(s), 1000), 0);
	for (int n = 0; spin.phase == SPIN_SEARCH; n++) {
		s.pc = (uint64_t)(n % 8);
		cr_assert_eq(spin_feed(&spin, s.pc, &s, false), SPIN_STEP);
	}
	cr_assert_eq(spin.phase, SPIN_MEASURE);
	cr_assert_eq(spin_feed(&spin, 99, &s, true), SPIN_STEP);
	cr_assert_eq(spin.phase, SPIN_SEARCH);
	spin_deinit(&spin);
}

Test(spin, jump_to_itself_is_the_shortest_loop)
{
	struct spin spin;
	struct state s = { .pc = 0x400000, .value = 7 };
	int n = 0;

	cr_assert_eq(spin_init(&spin, sizeof(s), 10), 0);
	while (spin_feed(&spin, s.pc, &s, false) == SPIN_STEP)
		n++;
	cr_assert_eq(spin_feed(&spin, s.pc, &s, false), SPIN_FOUND);
	cr_assert_eq(spin_cycle_length(&spin), 1);
	cr_assert_leq(n, 3);
	spin_deinit(&spin);
}

Test(spin, limit_of_nothing_asks_for_no_step)
{
	struct spin spin;

	cr_assert_eq(spin_init(&spin, 1, 0), 0);
	cr_assert_eq(spin_feed(&spin, 0, "x", false), SPIN_GIVE_UP);
	spin_deinit(&spin);
}

Test(spin, budget_bounds_the_share_of_looking)
{
	struct spin_budget b;
	uint64_t ran = 0, looked = 0;

	spin_budget_init(&b, 50000000, 20);
	cr_assert(!spin_budget_due(&b, 49999999));
	/* A CPU-bound thread of 60 s; each look takes 30 ms. */
	for (; ran < 60000000000ull; ran += 1000000)
		if (spin_budget_due(&b, ran)) {
			looked += 30000000;
			spin_budget_spent(&b, ran, 30000000);
		}
	cr_assert(looked > 0);
	cr_assert(looked * 1000 <= ran * 20 + 30000000ull * 1000, "%lu of %lu", (unsigned long)looked,
		  (unsigned long)ran);
	spin_budget_event(&b);
	cr_assert(spin_budget_due(&b, 50000000));
	spin_budget_spent(&b, UINT64_MAX - 1, UINT64_MAX);
	cr_assert(!spin_budget_due(&b, UINT64_MAX - 1), "saturates");
}
