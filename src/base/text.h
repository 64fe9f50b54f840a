/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text built piece by piece in a buffer of the caller. What does not fit is cut off; `len` counts on, so that the caller can see
 * how long the whole would have been. The buffer is NUL-terminated at all times (size > 0).
 */
#ifndef HS_BASE_TEXT_H
#define HS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *buf;
	size_t size;
	size_t len;
};

void text_init(struct text *text, char *buf, size_t size);

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_char(struct text *text, char c);

/* Adds bytes between quotes, everything but plain ASCII escaped as in C. */
void text_add_quoted(struct text *text, const void *data, size_t len);

/* Everything fitted. */
static inline bool text_complete(const struct text *text)
{
	return text->len < text->size;
}

#endif
