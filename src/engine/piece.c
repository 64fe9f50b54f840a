/* SPDX-License-Identifier: BSD-3-Clause */
/* See piece.h. */
#include "engine/piece.h"

#include <string.h>

struct piece piece_of(const char *text)
{
	return (struct piece){ .at = text, .n = strlen(text) };
}

static void cut(struct piece *rest, size_t taken, size_t skipped, struct piece *ret)
{
	*ret = (struct piece){ rest->at, taken };
	rest->at += taken + skipped;
	rest->n -= taken + skipped;
}

bool piece_until(struct piece *rest, char separator, struct piece *ret)
{
	const char *found;

	if (!rest->n)
		return false;
	found = memchr(rest->at, separator, rest->n);
	if (found)
		cut(rest, (size_t)(found - rest->at), 1, ret);
	else
		cut(rest, rest->n, 0, ret);
	return true;
}

bool piece_line(struct piece *rest, struct piece *ret)
{
	return piece_until(rest, '\n', ret);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool piece_word(struct piece *rest, struct piece *ret)
{
	size_t n = 0;

	while (rest->n && is_blank(*rest->at)) {
		rest->at++;
		rest->n--;
	}
	while (n < rest->n && !is_blank(rest->at[n]))
		n++;
	cut(rest, n, 0, ret);
	return n > 0;
}

bool piece_is(struct piece piece, const char *text)
{
	return piece.n == strlen(text) && !memcmp(piece.at, text, piece.n);
}

bool piece_starts(struct piece piece, const char *text)
{
	size_t n = strlen(text);

	return piece.n >= n && !memcmp(piece.at, text, n);
}

bool piece_ends(struct piece piece, const char *text)
{
	size_t n = strlen(text);

	return piece.n >= n && !memcmp(piece.at + piece.n - n, text, n);
}

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : UINT8_MAX;
}

bool piece_number(struct piece piece, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < piece.n; i++)
		if (digit(piece.at[i]) >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit(piece.at[i]), &value))
			return false;
	*ret = value;
	return piece.n > 0;
}

bool piece_bytes(struct piece piece, uint8_t *ret, size_t n)
{
	uint64_t byte;

	if (piece.n != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!piece_number((struct piece){ piece.at + 2 * i, 2 }, 16, &byte))
			return false;
		ret[i] = (uint8_t)byte;
	}
	return true;
}

bool piece_matches(const char *pattern, const char *name)
{
	if (pattern[0] == '*' && pattern[1] == '*' && !pattern[2])
		return true;
	if (*pattern == '*') {
		for (; *name && *name != '/'; name++)
			if (piece_matches(pattern + 1, name))
				return true;
		return piece_matches(pattern + 1, name);
	}
	if (*pattern != *name)
		return false;
	return !*pattern || piece_matches(pattern + 1, name + 1);
}

static bool is_number(const char *name)
{
	return *name && strspn(name, "0123456789") == strlen(name);
}

int piece_compare_natural(const char *a, const char *b)
{
	bool na = is_number(a), nb = is_number(b);
	size_t la = strlen(a), lb = strlen(b);

	if (na != nb)
		return na ? -1 : 1;
	if (na && la != lb)
		return la < lb ? -1 : 1;
	return strcmp(a, b);
}
