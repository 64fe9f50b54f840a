/* SPDX-License-Identifier: BSD-3-Clause */
/* The detector of spin.h: two remembered states, a journal, and one function per phase. */
#include "engine/sched/spin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"

_Static_assert(SPIN_DIGEST == HASH_BYTES, "digests are hashes");

int spin_init(struct spin *spin, size_t state_size, uint64_t limit, uint64_t turn)
{
	*spin = (struct spin){ .state_size = state_size, .limit = limit, .turn = turn };
	spin->kept.bytes = malloc(state_size ? state_size : 1);
	spin->lowest.bytes = malloc(state_size ? state_size : 1);
	spin->journal = calloc(SPIN_JOURNAL_MAX, sizeof(*spin->journal));
	spin->points = calloc(SPIN_POINTS_MAX, sizeof(*spin->points));
	if (!spin->kept.bytes || !spin->lowest.bytes || !spin->journal || !spin->points) {
		spin_deinit(spin);
		return -ENOMEM;
	}
	return 0;
}

void spin_deinit(struct spin *spin)
{
	free(spin->kept.bytes);
	free(spin->lowest.bytes);
	free(spin->journal);
	free(spin->points);
	*spin = (struct spin){ 0 };
}

/* ---- memory ---- */

static size_t journal_place(const struct spin *spin, uint64_t address)
{
	return LOWER_BOUND(spin->journal, spin->n_journal, address, address);
}

static void journal_byte(struct spin *spin, uint64_t address, unsigned char before, unsigned char after)
{
	size_t at = journal_place(spin, address);
	struct spin_byte *byte = &spin->journal[at];

	if (at == spin->n_journal || byte->address != address) {
		if (spin->n_journal == SPIN_JOURNAL_MAX) {
			spin->lost = true;
			return;
		}
		memmove(byte + 1, byte, (spin->n_journal - at) * sizeof(*byte));
		spin->n_journal++;
		*byte = (struct spin_byte){ .address = address, .then = before, .now = before };
	}
	spin->n_changed -= byte->now != byte->then;
	byte->now = after;
	spin->n_changed += byte->now != byte->then;
}

/* True when a byte is other than it was. */
static bool journal_write(struct spin *spin, const struct spin_write *write)
{
	bool changed = false;

	for (size_t i = 0; i < write->len; i++) {
		if (write->before[i] == write->after[i])
			continue;
		changed = true;
		journal_byte(spin, write->address + i, write->before[i], write->after[i]);
	}
	return changed;
}

/* ---- states ---- */

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

static bool is_kept(const struct spin *spin, uint64_t pc, const void *bytes)
{
	return !spin->lost && spin->n_changed == 0 && compare(spin, &spin->kept, pc, bytes) == 0;
}

static void keep(struct spin *spin, uint64_t pc, const void *bytes)
{
	spin->since_kept = 0;
	spin->n_journal = spin->n_changed = 0;
	spin->lost = false;
	remember(spin, &spin->kept, pc, bytes);
}

static void begin_search(struct spin *spin, uint64_t pc, const void *bytes)
{
	spin->phase = SPIN_SEARCH;
	spin->power = 1;
	keep(spin, pc, bytes);
}

/* From MEASURE on the journal has exactly the bytes that the cycle changes, so that equal digests are equal states of it. */
static struct spin_point point_of(const struct spin *spin, uint64_t pc, const void *bytes)
{
	struct spin_point point = { .pc = pc };
	struct hash hash;

	hash_init(&hash);
	hash_add(&hash, bytes, spin->state_size);
	for (size_t i = 0; i < spin->n_journal; i++)
		hash_add(&hash, &spin->journal[i].now, 1);
	hash_final(&hash, point.digest);
	return point;
}

static int compare_points(const struct spin_point *a, const struct spin_point *b)
{
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return memcmp(a->digest, b->digest, sizeof(a->digest));
}

/* Of more points than there is room for the lowest are kept, whatever order they come in. */
static void add_point(struct spin *spin, const struct spin_point *point)
{
	size_t at = spin->n_points;

	while (at > 0 && compare_points(point, &spin->points[at - 1]) < 0)
		at--;
	if (at == SPIN_POINTS_MAX)
		return;
	spin->n_points += spin->n_points < SPIN_POINTS_MAX;
	memmove(&spin->points[at + 1], &spin->points[at], (spin->n_points - 1 - at) * sizeof(*point));
	spin->points[at] = *point;
}

/* ---- phases ---- */

static enum spin_answer end(struct spin *spin, enum spin_answer answer)
{
	spin->phase = SPIN_ENDED;
	spin->answer = answer;
	return answer;
}

static enum spin_answer feed_search(struct spin *spin, uint64_t pc, const void *bytes, bool changed)
{
	(void)changed;
	spin->since_kept++;
	if (is_kept(spin, pc, bytes)) {
		spin->phase = SPIN_MEASURE;
		spin->cycle = spin->since_kept;
		spin->since_kept = 0;
		spin->n_points = 0;
		remember(spin, &spin->lowest, pc, bytes);
		return SPIN_STEP;
	}
	if (spin->since_kept == spin->power) {
		spin->power *= 2;
		keep(spin, pc, bytes);
	}
	return SPIN_STEP;
}

static enum spin_answer feed_reach(struct spin *spin, uint64_t pc, const void *bytes, bool changed)
{
	const struct spin_point *wanted;
	struct spin_point here;

	(void)changed;
	if (!spin->n_points)
		return compare(spin, &spin->lowest, pc, bytes) == 0 ? end(spin, SPIN_FOUND) : SPIN_STEP;
	wanted = &spin->points[spin->turn % spin->n_points];
	if (wanted->pc != pc)
		return SPIN_STEP;
	here = point_of(spin, pc, bytes);
	return compare_points(wanted, &here) == 0 ? end(spin, SPIN_FOUND) : SPIN_STEP;
}

static enum spin_answer feed_measure(struct spin *spin, uint64_t pc, const void *bytes, bool changed)
{
	struct spin_point here;

	spin->since_kept++;
	if (compare(spin, &spin->lowest, pc, bytes) > 0)
		remember(spin, &spin->lowest, pc, bytes);
	if (changed) {
		here = point_of(spin, pc, bytes);
		add_point(spin, &here);
	}
	if (spin->since_kept < spin->cycle)
		return SPIN_STEP;
	/* Once round: the state must be the kept one again, else it was no cycle and the caller's states are
	 * incomplete. */
	if (!is_kept(spin, pc, bytes)) {
		begin_search(spin, pc, bytes);
		return SPIN_STEP;
	}
	spin->phase = SPIN_REACH;
	return feed_reach(spin, pc, bytes, changed);
}

static enum spin_answer (*const feeders[])(struct spin *, uint64_t, const void *, bool) = {
	[SPIN_SEARCH] = feed_search,
	[SPIN_MEASURE] = feed_measure,
	[SPIN_REACH] = feed_reach,
};

enum spin_answer spin_begin(struct spin *spin, uint64_t pc, const void *state)
{
	begin_search(spin, pc, state);
	return spin->limit ? SPIN_STEP : end(spin, SPIN_GIVE_UP);
}

enum spin_answer spin_feed(struct spin *spin, uint64_t pc, const void *state, const struct spin_write *writes, size_t n_writes,
			   bool unknown)
{
	enum spin_answer answer = SPIN_STEP;
	bool changed = false;

	if (spin->phase == SPIN_ENDED)
		return spin->answer;
	spin->steps++;
	for (size_t i = 0; i < n_writes; i++)
		changed |= journal_write(spin, &writes[i]);
	if (unknown)
		begin_search(spin, pc, state);
	else
		answer = feeders[spin->phase](spin, pc, state, changed);
	if (answer == SPIN_STEP && spin->steps >= spin->limit)
		return end(spin, SPIN_GIVE_UP);
	return answer;
}

void spin_digest(const struct spin *spin, uint64_t pc, const void *state, unsigned char ret_digest[SPIN_DIGEST])
{
	struct hash hash;

	hash_init(&hash);
	hash_add(&hash, &pc, sizeof(pc));
	hash_add(&hash, state, spin->state_size);
	for (size_t i = 0; i < spin->n_journal; i++) {
		hash_add(&hash, &spin->journal[i].address, sizeof(spin->journal[i].address));
		hash_add(&hash, &spin->journal[i].now, 1);
	}
	hash_final(&hash, ret_digest);
}

uint64_t spin_cycle_length(const struct spin *spin)
{
	return spin->cycle;
}

size_t spin_points(const struct spin *spin)
{
	return spin->n_points ? spin->n_points : 1;
}

uint64_t spin_point_pc(const struct spin *spin)
{
	return spin->n_points ? spin->points[spin->turn % spin->n_points].pc : spin->lowest.pc;
}
