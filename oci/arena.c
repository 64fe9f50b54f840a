/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of chunks, each used from its start; big requests get a chunk of their own. See arena.h. */
#include "oci/arena.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 8192
#define ALIGNMENT   _Alignof(max_align_t)

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

struct oci_arena {
	struct chunk *chunks; /* the first one is the one that is filled */
};

struct oci_arena *oci_arena_new(void)
{
	return calloc(1, sizeof(struct oci_arena));
}

struct oci_arena *oci_arena_free(struct oci_arena *arena)
{
	struct chunk *chunk;

	if (!arena)
		return NULL;
	while ((chunk = arena->chunks)) {
		arena->chunks = chunk->next;
		free(chunk);
	}
	free(arena);
	return NULL;
}

static struct chunk *add_chunk(struct oci_arena *arena, size_t size)
{
	struct chunk *chunk;

	chunk = calloc(1, sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk;
}

void *oci_arena_alloc(struct oci_arena *arena, size_t size)
{
	struct chunk *chunk = arena->chunks;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
	if (!chunk || chunk->size - chunk->used < size)
		chunk = add_chunk(arena, size > CHUNK_BYTES ? size : CHUNK_BYTES);
	if (!chunk)
		return NULL;
	p = chunk->data + chunk->used;
	chunk->used += size;
	return p;
}

void *oci_arena_array(struct oci_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return oci_arena_alloc(arena, bytes);
}

char *oci_arena_strndup(struct oci_arena *arena, const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = oci_arena_alloc(arena, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	return copy;
}

char *oci_arena_strdup(struct oci_arena *arena, const char *text)
{
	return oci_arena_strndup(arena, text, strlen(text));
}
