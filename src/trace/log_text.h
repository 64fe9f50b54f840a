/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of a guest, which is any bytes, made fit for JSON and for terminals. */
#ifndef HS_TRACE_LOG_TEXT_H
#define HS_TRACE_LOG_TEXT_H

#include <stddef.h>
#include <stdio.h>

/*
 * Copies text into out (size bytes, at least 1, NUL-terminated) as UTF-8: bytes that are none become \xNN. What does not fit is
 * cut between characters and ends with "..." where there is room for it. Returns the length.
 */
size_t log_text_clean(const char *text, char *out, size_t size);

/* Bytes of the UTF-8 character at text, 0 if it is none. Overlong forms, surrogates and beyond U+10FFFF are none. */
size_t log_text_character(const char *text);

/* Writes UTF-8 text with control characters as \xNN, so that a log cannot drive the terminal it is shown on. */
void log_text_print(FILE *f, const char *text);

/* Writes text as a JSON string, quotes included, safe inside an HTML script element as well. */
void log_text_json(FILE *f, const char *text);

#endif
