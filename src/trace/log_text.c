/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of guests: see log_text.h. */
#include "trace/log_text.h"

#include <stdint.h>
#include <string.h>

size_t log_text_character(const char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *c = (const unsigned char *)text;
	uint32_t code;
	size_t n;

	if (c[0] < 0x80)
		return 1;
	n = c[0] >= 0xf8 ? 0 : c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : c[0] >= 0xc0 ? 2 : 0;
	if (n == 0)
		return 0;
	code = c[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

/* One character or escape into piece; how many bytes of text it stands for in *ret_taken. */
static size_t clean_piece(const char *text, char piece[8], size_t *ret_taken)
{
	size_t n;

	n = log_text_character(text);
	*ret_taken = n ? n : 1;
	if (n) {
		memcpy(piece, text, n);
		return n;
	}
	return (size_t)snprintf(piece, 8, "\\x%02x", (unsigned char)*text);
}

size_t log_text_clean(const char *text, char *out, size_t size)
{
	static const char dots[] = "...";
	size_t n, taken, at = 0, cut = 0;
	char piece[8];

	for (; *text; text += taken) {
		n = clean_piece(text, piece, &taken);
		if (at + n + 1 > size)
			break;
		memcpy(out + at, piece, n);
		at += n;
		if (at + sizeof(dots) <= size)
			cut = at;
	}
	if (*text && size >= sizeof(dots)) {
		memcpy(out + cut, dots, sizeof(dots) - 1);
		at = cut + sizeof(dots) - 1;
	}
	out[at] = '\0';
	return at;
}

void log_text_print(FILE *f, const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			(void)fprintf(f, "\\x%02x", (unsigned char)*text);
		else
			(void)fputc(*text, f);
	}
}

void log_text_json(FILE *f, const char *text)
{
	(void)fputc('"', f);
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || strchr("\"\\<>&\x7f", *text))
			(void)fprintf(f, "\\u%04x", (unsigned char)*text);
		else
			(void)fputc(*text, f);
	}
	(void)fputc('"', f);
}
