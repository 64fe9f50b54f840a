/* SPDX-License-Identifier: BSD-3-Clause */
/* The detector of spin.h: two remembered states, and one function per phase. */
#include "engine/spin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int spin_init(struct spin *spin, size_t state_size, uint64_t limit)
{
	*spin = (struct spin){ .state_size = state_size, .limit = limit };
	spin->kept.bytes = malloc(state_size ? state_size : 1);
	spin->lowest.bytes = malloc(state_size ? state_size : 1);
	if (!spin->kept.bytes || !spin->lowest.bytes) {
		spin_deinit(spin);
		return -ENOMEM;
	}
	return 0;
}

void spin_deinit(struct spin *spin)
{
	free(spin->kept.bytes);
	free(spin->lowest.bytes);
	spin->kept.bytes = NULL;
	spin->lowest.bytes = NULL;
}

static void remember(const struct spin *spin, struct spin_state *to, uint64_t pc, const void *bytes)
{
	to->pc = pc;
	memcpy(to->bytes, bytes, spin->state_size);
}

/* Orders states by program counter, then by bytes. */
static int compare(const struct spin *spin, const struct spin_state *a, uint64_t pc, const void *bytes)
{
	if (a->pc != pc)
		return a->pc < pc ? -1 : 1;
	return memcmp(a->bytes, bytes, spin->state_size);
}

static void begin_search(struct spin *spin, uint64_t pc, const void *bytes)
{
	spin->phase = SPIN_SEARCH;
	spin->since_kept = 0;
	spin->power = 1;
	remember(spin, &spin->kept, pc, bytes);
}

static enum spin_answer end(struct spin *spin, enum spin_answer answer)
{
	spin->phase = SPIN_ENDED;
	spin->answer = answer;
	return answer;
}

static enum spin_answer feed_search(struct spin *spin, uint64_t pc, const void *bytes)
{
	spin->since_kept++;
	if (compare(spin, &spin->kept, pc, bytes) == 0) {
		spin->phase = SPIN_MEASURE;
		spin->cycle = spin->since_kept;
		spin->since_kept = 0;
		remember(spin, &spin->lowest, pc, bytes);
		return SPIN_STEP;
	}
	if (spin->since_kept == spin->power) {
		spin->power *= 2;
		spin->since_kept = 0;
		remember(spin, &spin->kept, pc, bytes);
	}
	return SPIN_STEP;
}

static enum spin_answer feed_reach(struct spin *spin, uint64_t pc, const void *bytes)
{
	return compare(spin, &spin->lowest, pc, bytes) == 0 ? end(spin, SPIN_FOUND) : SPIN_STEP;
}

static enum spin_answer feed_measure(struct spin *spin, uint64_t pc, const void *bytes)
{
	spin->since_kept++;
	if (compare(spin, &spin->lowest, pc, bytes) > 0)
		remember(spin, &spin->lowest, pc, bytes);
	if (spin->since_kept < spin->cycle)
		return SPIN_STEP;
	/* Once round: the state must be the kept one again, else it was no cycle and the caller's states are
	 * incomplete. */
	if (compare(spin, &spin->kept, pc, bytes) != 0) {
		begin_search(spin, pc, bytes);
		return SPIN_STEP;
	}
	spin->phase = SPIN_REACH;
	return feed_reach(spin, pc, bytes);
}

static enum spin_answer feed_phase(struct spin *spin, uint64_t pc, const void *bytes)
{
	switch (spin->phase) {
	case SPIN_SEARCH:
		return feed_search(spin, pc, bytes);
	case SPIN_MEASURE:
		return feed_measure(spin, pc, bytes);
	case SPIN_REACH:
		return feed_reach(spin, pc, bytes);
	case SPIN_ENDED:
		break;
	}
	return spin->answer;
}

enum spin_answer spin_feed(struct spin *spin, uint64_t pc, const void *state, bool memory_changed)
{
	enum spin_answer answer;
	bool first = spin->steps == 0 && spin->power == 0;

	if (spin->phase == SPIN_ENDED)
		return spin->answer;
	if (first) {
		begin_search(spin, pc, state);
		return spin->limit ? SPIN_STEP : end(spin, SPIN_GIVE_UP);
	}

	spin->steps++;
	answer = SPIN_STEP;
	if (memory_changed)
		begin_search(spin, pc, state);
	else
		answer = feed_phase(spin, pc, state);
	if (answer == SPIN_STEP && spin->steps >= spin->limit)
		return end(spin, SPIN_GIVE_UP);
	return answer;
}

uint64_t spin_cycle_length(const struct spin *spin)
{
	return spin->cycle;
}

uint64_t spin_canonical_pc(const struct spin *spin)
{
	return spin->lowest.pc;
}

void spin_budget_init(struct spin_budget *budget, uint64_t first_ns, uint64_t permille)
{
	*budget =
		(struct spin_budget){ .first_ns = first_ns, .permille = permille ? permille : 1, .next_ns = first_ns };
}

void spin_budget_event(struct spin_budget *budget)
{
	budget->next_ns = budget->first_ns;
}

bool spin_budget_due(const struct spin_budget *budget, uint64_t ran_ns)
{
	return ran_ns >= budget->next_ns;
}

void spin_budget_spent(struct spin_budget *budget, uint64_t ran_ns, uint64_t cost_ns)
{
	uint64_t pause;

	if (__builtin_mul_overflow(cost_ns, 1000 / budget->permille, &pause) ||
	    __builtin_add_overflow(ran_ns, pause, &budget->next_ns))
		budget->next_ns = UINT64_MAX;
}
