/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is given back all at once: everything that a parsed document consists of. Zero-filled and aligned for any
 * type. An arena that ran out of memory stays usable and may be freed; every function that failed returned NULL.
 */
#ifndef HS_OCI_ARENA_H
#define HS_OCI_ARENA_H

#include <stddef.h>

struct oci_arena;

struct oci_arena *oci_arena_new(void);

/* NULL is fine; returns NULL. */
struct oci_arena *oci_arena_free(struct oci_arena *arena);

void *oci_arena_alloc(struct oci_arena *arena, size_t size);

/* Room for count elements; NULL too if the product overflows. */
void *oci_arena_array(struct oci_arena *arena, size_t count, size_t size);

/* Copies len bytes and adds a NUL. */
char *oci_arena_strndup(struct oci_arena *arena, const char *text, size_t len);
char *oci_arena_strdup(struct oci_arena *arena, const char *text);

#endif
