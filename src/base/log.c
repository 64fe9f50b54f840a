/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the tool itself: see log.h. The only globals below cli/. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"

static struct {
	int fd;
	enum log_level level;
	bool json;
	const char *program;
	int unfinished; /* terminal with a line that has no end yet, -1: none */
	int failure;    /* the first of writing, negative */
} sink = { 2, LOG_LEVEL_WARNING, false, "hermit", -1, 0 };

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

void log_setup(int fd, enum log_level level, bool json, const char *program)
{
	sink.fd = fd;
	sink.level = level;
	sink.json = json;
	sink.failure = 0;
	if (program)
		sink.program = program;
}

int log_failure(void)
{
	return sink.failure;
}

int log_level_parse(const char *name)
{
	static const struct {
		const char *name;
		int level;
	} names[] = {
		{ "off", 0 },
		{ "error", LOG_LEVEL_ERROR },
		{ "warn", LOG_LEVEL_WARNING },
		{ "warning", LOG_LEVEL_WARNING },
		{ "info", LOG_LEVEL_INFO },
		{ "debug", LOG_LEVEL_DEBUG },
		{ "trace", LOG_LEVEL_DEBUG },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i].name))
			return names[i].level;
	return -1;
}

bool log_enabled(enum log_level level)
{
	return level <= sink.level;
}

/* Appends text as the inside of a JSON string; what does not fit is cut at a character. */
static size_t append_json(char *out, size_t size, size_t at, const char *text)
{
	char piece[8];
	size_t n;

	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			n = (size_t)snprintf(piece, sizeof(piece), "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			n = (size_t)snprintf(piece, sizeof(piece), "\\u%04x", (unsigned char)*text);
		else
			n = (size_t)snprintf(piece, sizeof(piece), "%c", *text);
		if (at + n + 8 >= size)
			break;
		memcpy(out + at, piece, n);
		at += n;
	}
	return at;
}

static size_t format_json(char *out, size_t size, enum log_level level, const char *text)
{
	struct timespec now = { 0 };
	struct tm tm = { 0 };
	char when[40];
	size_t n;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	n = (size_t)snprintf(out, size, "{\"msg\":\"");
	n = append_json(out, size - 80, n, text);
	n += (size_t)snprintf(out + n, size - n, "\",\"level\":\"%s\",\"time\":\"%s\"}\n", level_names[level], when);
	return n;
}

void log_unfinished(int fd)
{
	sink.unfinished = fd;
}

void log_wipe(void)
{
	static const char wipe[] = "\r\033[K";

	if (sink.unfinished >= 0)
		(void)fd_write_full(sink.unfinished, wipe, sizeof(wipe) - 1);
	sink.unfinished = -1;
}

void log_message(enum log_level level, const char *format, ...)
{
	char text[2048], line[4608];
	va_list ap;
	size_t n;
	int r;

	if (!log_enabled(level))
		return;
	va_start(ap, format);
	(void)vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (sink.json)
		n = format_json(line, sizeof(line), level, text);
	else if (level == LOG_LEVEL_ERROR)
		n = (size_t)snprintf(line, sizeof(line), "%s: %s\n", sink.program, text);
	else
		n = (size_t)snprintf(line, sizeof(line), "%s: %s: %s\n", sink.program, level_names[level], text);
	log_wipe();
	r = fd_write_full(sink.fd, line, n);
	if (r < 0 && !sink.failure)
		sink.failure = r;
}
