/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256, for content addresses and for checking files of our own. Streams of any length; the state is a plain value. */
#ifndef HS_BASE_HASH_H
#define HS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES    32
#define HASH_HEX_SIZE (2 * HASH_BYTES + 1)

struct hash {
	/* libsodium's state, opaque here; checked for size in hash.c */
	uint64_t opaque[16];
};

void hash_init(struct hash *hash);
void hash_add(struct hash *hash, const void *data, size_t len);
void hash_final(struct hash *hash, unsigned char ret_digest[HASH_BYTES]);

/* The digest of one buffer. */
void hash_buffer(const void *data, size_t len, unsigned char ret_digest[HASH_BYTES]);

/* The digest of a file's content from its beginning; the file offset is not used or moved. 0 or -errno. */
int hash_fd(int fd, unsigned char ret_digest[HASH_BYTES]);

/* Lower-case hexadecimal of len bytes, NUL-terminated: ret_text has room for 2 * len + 1. */
void hash_hex(const unsigned char *bytes, size_t len, char *ret_text);

#endif
