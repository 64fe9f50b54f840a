/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a thread that makes no events spinning? It is stepped, one instruction at a time, and after each step the detector
 * is told the whole register state and whether a byte of memory has changed. When a state comes back and no byte
 * changed in between, the loop is idempotent: it will go round for ever until somebody else changes memory, and how
 * often it went round cannot be seen. Preempting it is then deterministic, provided that it is always left at the same
 * place: the canonical point, the state with the lowest program counter of the cycle (among equal ones the one whose
 * bytes compare lowest), whatever place the stepping began at.
 *
 * Three phases: SEARCH keeps one earlier state and compares (Brent: the kept state is replaced after 1, 2, 4, 8...
 * steps, so a cycle of length n entered after m steps is found within 3 (m + n) steps in constant memory); MEASURE goes
 * round once to find the canonical point; REACH steps on until the thread stands there. Any change of memory begins
 * SEARCH anew.
 *
 * Pure: states are bytes, compared, never interpreted. The caller puts into them all that the next instruction can
 * depend on (general, flag, segment base, vector and x87 registers) and nothing else, and must not use the detector
 * across an event, a signal or a memory write by somebody else.
 */
#ifndef HS_ENGINE_SPIN_H
#define HS_ENGINE_SPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spin_answer {
	SPIN_STEP = 0, /* step once more */
	SPIN_FOUND,    /* idempotent loop; the thread stands at its canonical point now */
	SPIN_GIVE_UP,  /* no verdict within the limit of steps: not (known to be) idempotent */
};

enum spin_phase { SPIN_SEARCH = 0, SPIN_MEASURE, SPIN_REACH, SPIN_ENDED };

struct spin_state {
	uint64_t pc;
	unsigned char *bytes;
};

struct spin {
	enum spin_phase phase;
	enum spin_answer answer; /* once SPIN_ENDED */
	size_t state_size;
	uint64_t limit;	     /* steps in all */
	uint64_t steps;	     /* done */
	uint64_t since_kept; /* SEARCH: steps since `kept` was taken; MEASURE: steps of this round */
	uint64_t power;	     /* SEARCH: kept is replaced when since_kept reaches this */
	uint64_t cycle;	     /* length in instructions, from MEASURE on */
	struct spin_state kept, lowest;
};

/* states have state_size bytes; at most `limit` steps are asked for. 0 or -ENOMEM. */
int spin_init(struct spin *spin, size_t state_size, uint64_t limit);
void spin_deinit(struct spin *spin);

/*
 * The state before the first step, then the state after each one. memory_changed: the step left a byte of memory other
 * than it was (writing the value that was there changes nothing), or whether it did is not known.
 */
enum spin_answer spin_feed(struct spin *spin, uint64_t pc, const void *state, bool memory_changed);

/* After SPIN_FOUND: instructions in one round, and the program counter of the canonical point. */
uint64_t spin_cycle_length(const struct spin *spin);
uint64_t spin_canonical_pc(const struct spin *spin);

/*
 * When to look at all. Stepping is four orders of magnitude slower than running, so that looking is paid for in
 * advance: the first look is due after first_ns without an event, and each look that cost c is followed by at least
 * 1000 / permille * c of running. Real time goes in here, and that is sound: when an idempotent loop is noticed cannot
 * be seen by anybody.
 */
struct spin_budget {
	uint64_t first_ns;
	uint64_t permille; /* of the time since the last event that may be spent on looking */
	uint64_t next_ns;  /* running time since the last event at which the next look is due */
};

void spin_budget_init(struct spin_budget *budget, uint64_t first_ns, uint64_t permille);
/* An event happened: the thread is not spinning. */
void spin_budget_event(struct spin_budget *budget);
bool spin_budget_due(const struct spin_budget *budget, uint64_t ran_ns);
/* A look that ended with SPIN_GIVE_UP at ran_ns took cost_ns. */
void spin_budget_spent(struct spin_budget *budget, uint64_t ran_ns, uint64_t cost_ns);

#endif
