/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void text_init(struct text *text, char *buf, size_t size)
{
	text->buf = buf;
	text->size = size;
	text->len = 0;
	if (size > 0)
		buf[0] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
	size_t used = text->len < text->size ? text->len : text->size;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->buf + used, text->size - used, format, args);
	va_end(args);
	if (n > 0)
		text->len += (size_t)n;
}

void text_add_char(struct text *text, char c)
{
	if (text->len + 1 < text->size) {
		text->buf[text->len] = c;
		text->buf[text->len + 1] = '\0';
	}
	text->len++;
}

static void add_escaped(struct text *text, unsigned char c, bool digit_follows)
{
	static const char *const names[256] = {
		['\n'] = "\\n", ['\t'] = "\\t", ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\",
	};

	if (names[c])
		text_add(text, "%s", names[c]);
	else if (c >= ' ' && c < 0x7f)
		text_add_char(text, (char)c);
	else
		text_add(text, digit_follows ? "\\%03o" : "\\%o", c);
}

void text_add_quoted(struct text *text, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	text_add_char(text, '"');
	for (size_t i = 0; i < len; i++)
		add_escaped(text, bytes[i], i + 1 < len && bytes[i + 1] >= '0' && bytes[i + 1] <= '9');
	text_add_char(text, '"');
}
