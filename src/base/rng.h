/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named random streams. A stream is a position in the ChaCha20 keystream of a key that is derived from the root seed and the
 * stream's name and number; drawing from one stream never moves another. Nothing here asks the host for randomness.
 */
#ifndef HS_BASE_RNG_H
#define HS_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	unsigned char key[32];
	uint64_t position; /* bytes drawn so far */
};

/* The stream `name`, number `index`, of a run with this seed. */
void rng_init(struct rng *rng, uint64_t seed, const char *name, uint64_t index);

/*
 * A child's stream: derived from the parent's key and the child's number, not from the parent's position; the parent does
 * not move.
 */
void rng_init_child(struct rng *child, const struct rng *parent, uint64_t index);

void rng_bytes(struct rng *rng, void *buf, size_t len);
uint64_t rng_u64(struct rng *rng);

/* Uniform in [0, bound); bound > 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);

/* Bytes of the stream at a position, without moving it. */
void rng_bytes_at(const struct rng *rng, uint64_t position, void *buf, size_t len);

#endif
