/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures as text: see hex.h. */
#include "netlink/hex.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "netlink/protocols.h"

/* ASCII only, whatever the locale. */
static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool nl_hex_is_text(const void *bytes, size_t len)
{
	const char *c = bytes;

	for (size_t i = 0; i < len; i++)
		if ((c[i] < ' ' || c[i] > '~') && !is_blank(c[i]))
			return false;
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The end of the comment that begins here: the newline, or the end of the text. */
static size_t skip_comment(const char *text, size_t i, size_t len)
{
	while (i < len && text[i] != '\n')
		i++;
	return i;
}

int nl_hex_parse(const char *text, size_t len, struct nl_buf *out, struct error *err)
{
	unsigned line = 1;
	size_t i = 0;

	while (i < len) {
		uint8_t byte;

		if (text[i] == '#') {
			i = skip_comment(text, i, len);
			continue;
		}
		if (is_blank(text[i])) {
			line += text[i++] == '\n';
			continue;
		}
		if (digit(text[i]) < 0)
			return error_set(err, EINVAL, "line %u: '%c' is no hexadecimal digit", line, text[i]);
		if (i + 1 == len || digit(text[i + 1]) < 0)
			return error_set(err, EINVAL, "line %u: a byte has one hexadecimal digit only", line);
		byte = (uint8_t)(digit(text[i]) << 4 | digit(text[i + 1]));
		if (nl_buf_put(out, &byte, 1) < 0)
			return error_errno(err, ENOMEM, "line %u", line);
		i += 2;
	}
	return 0;
}

static const char *find(const char *text, size_t len, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; n <= len && i <= len - n; i++)
		if (memcmp(text + i, key, n) == 0)
			return text + i;
	return NULL;
}

int nl_hex_protocol(const char *text, size_t len)
{
	static const char key[] = "# protocol: ";
	const char *at = find(text, len, key);
	const struct nl_protocol *protocol;
	size_t left;

	if (!at)
		return -1;
	at += strlen(key);
	left = len - (size_t)(at - text);
	for (size_t i = 0; (protocol = nl_protocol_at(i)); i++) {
		size_t n = strlen(protocol->name);

		if (n <= left && memcmp(at, protocol->name, n) == 0 && (n == left || is_blank(at[n])))
			return protocol->number;
	}
	return -1;
}
