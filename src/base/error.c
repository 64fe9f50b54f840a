/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors for people: see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list ap;

	if (err) {
		err->code = code;
		va_start(ap, format);
		(void)vsnprintf(err->text, sizeof(err->text), format, ap);
		va_end(ap);
	}
	return -code;
}

int error_errno(struct error *err, int code, const char *format, ...)
{
	va_list ap;
	size_t n;

	if (err) {
		err->code = code;
		va_start(ap, format);
		(void)vsnprintf(err->text, sizeof(err->text), format, ap);
		va_end(ap);
		n = strlen(err->text);
		(void)snprintf(err->text + n, sizeof(err->text) - n, ": %s", strerrordesc_np(code) ?: "unknown error");
	}
	return -code;
}

void error_prefix(struct error *err, const char *format, ...)
{
	char rest[sizeof(err->text)];
	va_list ap;
	size_t n;

	if (!err)
		return;
	memcpy(rest, err->text, sizeof(rest));
	va_start(ap, format);
	(void)vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	n = strlen(err->text);
	(void)snprintf(err->text + n, sizeof(err->text) - n, ": %s", rest);
}
