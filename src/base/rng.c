/* SPDX-License-Identifier: BSD-3-Clause */
/* Named random streams: see rng.h. */
#include "base/rng.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static const unsigned char zero_nonce[crypto_stream_chacha20_NONCEBYTES];

void rng_init(struct rng *rng, uint64_t seed, const char *name, uint64_t index)
{
	char text[160];
	int n;

	n = snprintf(text, sizeof(text), "hermit stream 1/%016llx/%s/%llu", (unsigned long long)seed, name,
		     (unsigned long long)index);
	assert(n > 0 && (size_t)n < sizeof(text));
	(void)crypto_hash_sha256(rng->key, (const unsigned char *)text, (unsigned long long)n);
	rng->position = 0;
}

void rng_init_child(struct rng *child, const struct rng *parent, uint64_t index)
{
	unsigned char text[32 + 8];

	memcpy(text, parent->key, 32);
	for (int i = 0; i < 8; i++)
		text[32 + i] = (unsigned char)(index >> (8 * i));
	(void)crypto_hash_sha256(child->key, text, sizeof(text));
	child->position = 0;
}

void rng_bytes_at(const struct rng *rng, uint64_t position, void *buf, size_t len)
{
	unsigned char block[64], *out = buf;
	size_t skip = position % 64, n;
	uint64_t counter = position / 64;

	if (skip) {
		memset(block, 0, sizeof(block));
		(void)crypto_stream_chacha20_xor_ic(block, block, 64, zero_nonce, counter++, rng->key);
		n = 64 - skip < len ? 64 - skip : len;
		memcpy(out, block + skip, n);
		out += n;
		len -= n;
	}
	if (len) {
		memset(out, 0, len);
		(void)crypto_stream_chacha20_xor_ic(out, out, len, zero_nonce, counter, rng->key);
	}
}

void rng_bytes(struct rng *rng, void *buf, size_t len)
{
	rng_bytes_at(rng, rng->position, buf, len);
	rng->position += len;
}

uint64_t rng_u64(struct rng *rng)
{
	unsigned char b[8];
	uint64_t v = 0;

	rng_bytes(rng, b, sizeof(b));
	for (int i = 7; i >= 0; i--)
		v = v << 8 | b[i];
	return v;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
	uint64_t limit, v;

	assert(bound > 0);
	limit = UINT64_MAX - UINT64_MAX % bound;
	do {
		v = rng_u64(rng);
	} while (v >= limit);
	return v % bound;
}
