/* SPDX-License-Identifier: BSD-3-Clause */
/* The spin detector on generated programs: a step function on a small state, with known tails and cycles. */
#include "engine/sched/spin.h"

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

static enum spin_answer feed(struct spin *spin, uint64_t pc, const void *state)
{
	return spin_feed(spin, pc, state, NULL, 0, false);
}

/* A step that has changed one byte. */
static enum spin_answer feed_write(struct spin *spin, uint64_t pc, const void *state, uint64_t address, unsigned char before,
				   unsigned char after)
{
	const struct spin_write write = { address, 1, &before, &after };

	return spin_feed(spin, pc, state, &write, 1, false);
}

static enum spin_answer run(struct spin *spin, struct walk *w)
{
	struct state now = state_at(w, w->at);
	enum spin_answer answer = spin_begin(spin, now.pc, &now);

	while (answer == SPIN_STEP) {
		walk_on(w);
		now = state_at(w, w->at);
		answer = feed(spin, now.pc, &now);
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
		cr_assert_eq(spin_init(&spin, sizeof(struct state), 100000, 0), 0);
		cr_assert_eq(run(&spin, &w), SPIN_FOUND, "round %d", round);
		got = state_at(&w, w.at);
		cr_assert(!memcmp(&got, &want, sizeof(got)), "round %d: not at the canonical point", round);
		cr_assert_eq(spin_cycle_length(&spin), cycle, "round %d", round);
		cr_assert_eq(spin_point_pc(&spin), want.pc);
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

	cr_assert_eq(spin_init(&spin, sizeof(s), 500, 0), 0);
	cr_assert_eq(spin_begin(&spin, s.pc, &s), SPIN_STEP);
	do {
		s.value++;
		fed++;
	} while (feed(&spin, s.pc, &s) == SPIN_STEP);
	cr_assert_eq(fed, 500);
	cr_assert_eq(feed(&spin, s.pc, &s), SPIN_GIVE_UP, "the answer stays");
	spin_deinit(&spin);
}

Test(spin, recurring_registers_are_no_loop_while_memory_changes)
{
	struct spin spin;
	struct state s = { .pc = 0x1000 };
	enum spin_answer answer;
	unsigned char counter = 0;

	/* A counter in memory: registers recur every 4 steps, one of them changes memory. */
	cr_assert_eq(spin_init(&spin, sizeof(s), 900, 0), 0);
	answer = spin_begin(&spin, s.pc, &s);
	for (int n = 1; answer == SPIN_STEP; n++) {
		s.pc = 0x1000 + (uint64_t)(n % 4);
		if (n % 4 == 3) {
			answer = feed_write(&spin, s.pc, &s, 0x2000, counter, (unsigned char)(counter + 1));
			counter++;
		} else {
			answer = feed(&spin, s.pc, &s);
		}
	}
	cr_assert_eq(answer, SPIN_GIVE_UP);
	spin_deinit(&spin);
}

Test(spin, loop_is_found_after_memory_has_come_to_rest)
{
	struct spin spin;
	struct state s = { .pc = 0x1000 };
	enum spin_answer answer;
	int n = 0;

	cr_assert_eq(spin_init(&spin, sizeof(s), 1000, 0), 0);
	answer = spin_begin(&spin, s.pc, &s);
	while (answer == SPIN_STEP) {
		n++;
		s.pc = 0x1000 + (uint64_t)(n % 4);
		answer = spin_feed(&spin, s.pc, &s, NULL, 0, n < 100 && n % 4 == 3);
	}
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

	cr_assert_eq(spin_init(&spin, sizeof(s), 1000, 0), 0);
	cr_assert_eq(spin_begin(&spin, s.pc, &s), SPIN_STEP);
	for (int n = 1; spin.phase == SPIN_SEARCH; n++) {
		s.pc = (uint64_t)(n % 8);
		cr_assert_eq(feed(&spin, s.pc, &s), SPIN_STEP);
	}
	cr_assert_eq(spin.phase, SPIN_MEASURE);
	cr_assert_eq(spin_feed(&spin, 99, &s, NULL, 0, true), SPIN_STEP);
	cr_assert_eq(spin.phase, SPIN_SEARCH);
	spin_deinit(&spin);
}

Test(spin, jump_to_itself_is_the_shortest_loop)
{
	struct spin spin;
	struct state s = { .pc = 0x400000, .value = 7 };
	int n = 0;

	cr_assert_eq(spin_init(&spin, sizeof(s), 10, 0), 0);
	cr_assert_eq(spin_begin(&spin, s.pc, &s), SPIN_STEP);
	while (feed(&spin, s.pc, &s) == SPIN_STEP)
		n++;
	cr_assert_eq(feed(&spin, s.pc, &s), SPIN_FOUND);
	cr_assert_eq(spin_cycle_length(&spin), 1);
	cr_assert_leq(n, 3);
	spin_deinit(&spin);
}

Test(spin, limit_of_nothing_asks_for_no_step)
{
	struct spin spin;

	cr_assert_eq(spin_init(&spin, 1, 0, 0), 0);
	cr_assert_eq(spin_begin(&spin, 0, "x"), SPIN_GIVE_UP);
	spin_deinit(&spin);
}

/*
 * A loop of ten instructions that takes a lock (1), counts up a word (4), counts it down (6) and gives the lock back (7). Registers are the same
 * in each round.
 */
struct restoring {
	unsigned char memory[2];
	uint64_t at;
};

static enum spin_answer restoring_step(struct spin *spin, struct restoring *r)
{
	unsigned char old[2];
	uint64_t pc;

	memcpy(old, r->memory, sizeof(old));
	r->memory[0] = (unsigned char)(r->at == 1 ? 1 : r->at == 7 ? 0 : r->memory[0]);
	r->memory[1] = (unsigned char)(r->memory[1] + (r->at == 4) - (r->at == 6));
	r->at = (r->at + 1) % 10;
	pc = 0x1000 + r->at;
	return spin_feed(spin, pc, &pc, (const struct spin_write[]){ { 0x2000, 2, old, r->memory } }, 1, false);
}

Test(spin, loop_that_restores_memory_has_a_point_behind_each_change)
{
	static const uint64_t places[] = { 2, 5, 7, 8, 2 };

	for (uint64_t turn = 0; turn < sizeof(places) / sizeof(places[0]); turn++)
		for (uint64_t start = 0; start < 10; start++) {
			struct restoring r = { .memory = { start > 1 && start < 8, (unsigned char)(17 + (start == 5 || start == 6)) },
					       .at = start };
			uint64_t pc = 0x1000 + start;
			enum spin_answer answer;
			struct spin spin;

			cr_assert_eq(spin_init(&spin, sizeof(pc), 1000, turn), 0);
			answer = spin_begin(&spin, pc, &pc);
			while (answer == SPIN_STEP)
				answer = restoring_step(&spin, &r);
			cr_assert_eq(answer, SPIN_FOUND);
			cr_assert_eq(spin_points(&spin), 4);
			cr_assert_eq(spin_cycle_length(&spin), 10);
			cr_assert_eq(r.at, places[turn], "turn %lu from %lu: at %lu", (unsigned long)turn, (unsigned long)start,
				     (unsigned long)r.at);
			cr_assert_eq(spin_point_pc(&spin), 0x1000 + places[turn]);
			spin_deinit(&spin);
		}
}

Test(spin, more_bytes_than_the_journal_holds_are_a_change)
{
	unsigned char byte = 0;
	enum spin_answer answer;
	struct spin spin;

	/* A sweep over more memory than there is room for: sets all bytes, clears them again. */
	cr_assert_eq(spin_init(&spin, 1, 100000, 0), 0);
	answer = spin_begin(&spin, 0, &byte);
	for (uint64_t n = 0; answer == SPIN_STEP; n++) {
		unsigned char before = (unsigned char)(n / 8192 % 2);

		answer = feed_write(&spin, 0, &byte, 0x2000 + n % 8192, before, (unsigned char)!before);
	}
	cr_assert_eq(answer, SPIN_GIVE_UP);
	spin_deinit(&spin);
}
