/* SPDX-License-Identifier: BSD-3-Clause */
/* Cutting text that the kernel wrote into lines and words. Nothing is copied; the text need not end with a NUL. */
#ifndef HS_ENGINE_PIECE_H
#define HS_ENGINE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct piece {
	const char *at;
	size_t n;
};

/* Printing one with "%.*s". */
#define PIECE_ARG(piece) (int)(piece).n, (piece).at

struct piece piece_of(const char *text);

/* Takes the next line off the rest, without its newline. False at the end. */
bool piece_line(struct piece *rest, struct piece *ret);

/* Takes the next word (by blanks and tabs) off the rest. False when there is none. */
bool piece_word(struct piece *rest, struct piece *ret);

/* Takes what stands before `separator` off the rest, and the separator; all of it when there is none. False at the end. */
bool piece_until(struct piece *rest, char separator, struct piece *ret);

bool piece_is(struct piece piece, const char *text);
bool piece_starts(struct piece piece, const char *text);
bool piece_ends(struct piece piece, const char *text);

/* The whole piece as a number of the base (10 or 16, no prefix). False when it is none. */
bool piece_number(struct piece piece, unsigned base, uint64_t *ret);

/* The whole piece as n bytes of two hexadecimal digits each. False when it is none. */
bool piece_bytes(struct piece piece, uint8_t *ret, size_t n);

/*
 * Does a name match a pattern? '*' stands for any part of one component of a path, "**" at the end for everything that is left.
 */
bool piece_matches(const char *pattern, const char *name);

/* Order of names as people count: numbers by value, before all other names; those by their bytes. As strcmp(). */
int piece_compare_natural(const char *a, const char *b);

#endif
