/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 through libsodium. */
#include "base/hash.h"

#include <errno.h>
#include <sodium.h>
#include <unistd.h>

_Static_assert(sizeof(struct hash) >= sizeof(crypto_hash_sha256_state), "struct hash holds libsodium's state");
_Static_assert(_Alignof(struct hash) >= _Alignof(crypto_hash_sha256_state), "struct hash is aligned as libsodium's state");
_Static_assert(HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

static crypto_hash_sha256_state *state_of(struct hash *hash)
{
	return (crypto_hash_sha256_state *)(void *)hash->opaque;
}

void hash_init(struct hash *hash)
{
	(void)crypto_hash_sha256_init(state_of(hash));
}

void hash_add(struct hash *hash, const void *data, size_t len)
{
	(void)crypto_hash_sha256_update(state_of(hash), data, len);
}

void hash_final(struct hash *hash, unsigned char ret_digest[HASH_BYTES])
{
	(void)crypto_hash_sha256_final(state_of(hash), ret_digest);
}

void hash_buffer(const void *data, size_t len, unsigned char ret_digest[HASH_BYTES])
{
	(void)crypto_hash_sha256(ret_digest, data, len);
}

int hash_fd(int fd, unsigned char ret_digest[HASH_BYTES])
{
	struct hash hash;
	char buf[65536];
	off_t at = 0;
	ssize_t n;

	hash_init(&hash);
	for (;;) {
		n = pread(fd, buf, sizeof(buf), at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		hash_add(&hash, buf, (size_t)n);
		at += n;
	}
	hash_final(&hash, ret_digest);
	return 0;
}

void hash_hex(const unsigned char *bytes, size_t len, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * len] = '\0';
}
