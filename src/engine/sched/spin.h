/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a thread that makes no events spinning? It is stepped, one instruction at a time, and after each step the detector
 * is told the whole register state and which bytes of memory the step has written. When a state comes back, registers and
 * memory, the loop is idempotent: it will go round for ever until somebody else changes memory, and how often it went round
 * cannot be seen. Preempting it is then deterministic, provided that it is always left at the same place.
 *
 * Where that place is: in a loop that changes no byte, the canonical point, the state with the lowest program counter of the cycle
 * (among equal ones the one whose bytes compare lowest), whatever place the stepping began at. A loop that changes memory and
 * restores it (takes a lock, looks, gives it back) shows others another memory at another place, and at some places nobody else
 * could go on: it has several points, the states just behind a change of memory, in the order of their program counters, and
 * who spins again without success is stopped at the next one (`turn`).
 *
 * Three phases: SEARCH keeps one earlier state and compares (Brent: the kept state is replaced after 1, 2, 4, 8...
 * steps, so a cycle of length n entered after m steps is found within 3 (m + n) steps in constant memory); MEASURE goes
 * round once to find the points; REACH steps on until the thread stands at the one that was asked for. What memory was when the kept
 * state was taken is in a journal of the bytes that have changed since.
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
	SPIN_FOUND,    /* idempotent loop; the thread stands at the point that was asked for now */
	SPIN_GIVE_UP,  /* no verdict within the limit of steps: not (known to be) idempotent */
};

enum spin_phase { SPIN_SEARCH = 0, SPIN_MEASURE, SPIN_REACH, SPIN_ENDED };

enum { SPIN_JOURNAL_MAX = 4096, SPIN_POINTS_MAX = 256, SPIN_DIGEST = 32 };

/* What one step has written: before and after have len bytes. */
struct spin_write {
	uint64_t address;
	size_t len;
	const unsigned char *before, *after;
};

struct spin_state {
	uint64_t pc;
	unsigned char *bytes;
};

/* A byte that was written since the kept state was taken. */
struct spin_byte {
	uint64_t address;
	unsigned char then, now;
};

/* A state of a cycle that changes memory: the digest is that of registers and of all bytes that the cycle changes. */
struct spin_point {
	uint64_t pc;
	unsigned char digest[SPIN_DIGEST];
};

struct spin {
	enum spin_phase phase;
	enum spin_answer answer; /* once SPIN_ENDED */
	size_t state_size;
	uint64_t limit;	     /* steps in all */
	uint64_t turn;	     /* which point is asked for, modulo their number */
	uint64_t steps;	     /* done */
	uint64_t since_kept; /* SEARCH: steps since `kept` was taken; MEASURE: steps of this round */
	uint64_t power;	     /* SEARCH: kept is replaced when since_kept reaches this */
	uint64_t cycle;	     /* length in instructions, from MEASURE on */
	struct spin_state kept, lowest;
	struct spin_byte *journal; /* sorted by address */
	size_t n_journal, n_changed; /* bytes in it; those that are not as they were */
	bool lost;		     /* something was written that the journal does not have */
	struct spin_point *points;   /* sorted; of a cycle that changes memory */
	size_t n_points;
};

/* states have state_size bytes; at most `limit` steps are asked for. 0 or -ENOMEM. */
int spin_init(struct spin *spin, size_t state_size, uint64_t limit, uint64_t turn);
void spin_deinit(struct spin *spin);

/* The state before the first step. */
enum spin_answer spin_begin(struct spin *spin, uint64_t pc, const void *state);
/* The state after a step, and what it has written. `unknown`: perhaps more than that. */
enum spin_answer spin_feed(struct spin *spin, uint64_t pc, const void *state, const struct spin_write *writes, size_t n_writes,
			   bool unknown);

/* After SPIN_FOUND: instructions in one round, at how many places it may be left, and the program counter of this one. */
uint64_t spin_cycle_length(const struct spin *spin);
size_t spin_points(const struct spin *spin);
uint64_t spin_point_pc(const struct spin *spin);

/* Names the state that the thread stands in: registers, and all that the cycle changes. */
void spin_digest(const struct spin *spin, uint64_t pc, const void *state, unsigned char ret_digest[SPIN_DIGEST]);

#endif
