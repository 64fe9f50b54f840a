/* SPDX-License-Identifier: BSD-3-Clause */
/* Text to numbers and back: see parse.h. The only place that calls strtoull. */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define NS_PER_SECOND 1000000000ull

/* A run of digits at *text, which is moved behind it. */
static int take_number(const char **text, int base, uint64_t *ret)
{
	unsigned long long value;
	char *end;

	if (!(base == 16 ? isxdigit((unsigned char)**text) : isdigit((unsigned char)**text)))
		return -EINVAL;
	errno = 0;
	value = strtoull(*text, &end, base);
	if (errno == ERANGE)
		return -ERANGE;
	*text = end;
	*ret = value;
	return 0;
}

int parse_u64(const char *text, uint64_t *ret)
{
	int base = 10;
	uint64_t value;
	int r;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		if (!isxdigit((unsigned char)text[0]) || text[1] == 'x' || text[1] == 'X')
			return -EINVAL;
	}
	r = take_number(&text, base, &value);
	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret = value;
	return 0;
}

/* Digits after a point as billionths, at most nine of them; *text is moved behind. */
static int take_fraction_ns(const char **text, uint64_t *ret_ns)
{
	uint64_t value = 0, weight = NS_PER_SECOND / 10;

	if (**text != '.') {
		*ret_ns = 0;
		return 0;
	}
	(*text)++;
	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (; isdigit((unsigned char)**text); (*text)++) {
		if (weight == 0)
			return -EINVAL;
		value += weight * (uint64_t)(**text - '0');
		weight /= 10;
	}
	*ret_ns = value;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit duration_units[] = {
	{ "", NS_PER_SECOND },
	{ "s", NS_PER_SECOND },
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "m", 60 * NS_PER_SECOND },
	{ "h", 3600 * NS_PER_SECOND },
	{ "d", 86400 * NS_PER_SECOND },
};

static const struct unit byte_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "k", 1ull << 10 },
	{ "K", 1ull << 10 },
	{ "KiB", 1ull << 10 },
	{ "m", 1ull << 20 },
	{ "M", 1ull << 20 },
	{ "MiB", 1ull << 20 },
	{ "g", 1ull << 30 },
	{ "G", 1ull << 30 },
	{ "GiB", 1ull << 30 },
	{ "T", 1ull << 40 },
	{ "TiB", 1ull << 40 },
	{ "kB", 1000ull },
	{ "MB", 1000000ull },
	{ "GB", 1000000000ull },
	{ "TB", 1000000000000ull },
};

static const struct unit *unit_find(const struct unit *units, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

int parse_duration_ns(const char *text, uint64_t *ret_ns)
{
	uint64_t whole, fraction_ns;
	const struct unit *unit;
	int r;

	r = take_number(&text, 10, &whole);
	if (r < 0)
		return r;
	r = take_fraction_ns(&text, &fraction_ns);
	if (r < 0)
		return r;
	unit = unit_find(duration_units, ARRAY_SIZE(duration_units), text);
	if (!unit)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit->factor, &whole))
		return -ERANGE;
	/* The fraction is below one unit, and a unit is at most a day: no overflow in 128 bits, none after division. */
	fraction_ns = (uint64_t)((unsigned __int128)fraction_ns * unit->factor / NS_PER_SECOND);
	if (__builtin_add_overflow(whole, fraction_ns, &whole))
		return -ERANGE;
	*ret_ns = whole;
	return 0;
}

int parse_bytes(const char *text, uint64_t *ret_bytes)
{
	const struct unit *unit;
	uint64_t value;
	int r;

	r = take_number(&text, 10, &value);
	if (r < 0)
		return r;
	unit = unit_find(byte_units, ARRAY_SIZE(byte_units), text);
	if (!unit)
		return -EINVAL;
	if (__builtin_mul_overflow(value, unit->factor, &value))
		return -ERANGE;
	*ret_bytes = value;
	return 0;
}

/* "Z", "+01:00", "-02:30": seconds to subtract. */
static int parse_zone(const char *text, int64_t *ret_seconds)
{
	int hours, minutes, n = 0;

	if (!strcmp(text, "Z") || !strcmp(text, "z")) {
		*ret_seconds = 0;
		return 0;
	}
	if (strlen(text) != 6 || !isdigit((unsigned char)text[1]) || !isdigit((unsigned char)text[4]) ||
	    sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &n) != 2 || n != 5)
		return -EINVAL;
	if ((text[0] != '+' && text[0] != '-') || hours > 23 || minutes > 59)
		return -EINVAL;
	*ret_seconds = (text[0] == '+' ? 1 : -1) * (hours * 3600 + minutes * 60);
	return 0;
}

/* timegm() accepts February 30th and moves it; a person who writes that has made a mistake. */
static int seconds_of_date(const struct tm *wanted, int64_t *ret)
{
	struct tm tm = *wanted;
	time_t seconds = timegm(&tm);

	if (tm.tm_mon != wanted->tm_mon || tm.tm_mday != wanted->tm_mday || tm.tm_hour != wanted->tm_hour ||
	    tm.tm_min != wanted->tm_min || tm.tm_sec != wanted->tm_sec)
		return -EINVAL;
	*ret = seconds;
	return 0;
}

static int time_from(int64_t seconds, uint64_t fraction_ns, uint64_t *ret_ns)
{
	uint64_t ns;

	if (seconds < 0 || __builtin_mul_overflow((uint64_t)seconds, NS_PER_SECOND, &ns) ||
	    __builtin_add_overflow(ns, fraction_ns, &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

int parse_time_ns(const char *text, uint64_t *ret_ns)
{
	uint64_t fraction_ns, since;
	struct tm tm = { 0 };
	int64_t seconds, zone;
	int r;

	if (text[0] == '@') {
		text++;
		r = take_number(&text, 10, &since);
		if (r < 0)
			return r;
		r = take_fraction_ns(&text, &fraction_ns);
		if (r < 0)
			return r;
		if (*text)
			return -EINVAL;
		return since > INT64_MAX ? -ERANGE : time_from((int64_t)since, fraction_ns, ret_ns);
	}
	text = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!text)
		return -EINVAL;
	r = take_fraction_ns(&text, &fraction_ns);
	if (r < 0)
		return r;
	r = parse_zone(text, &zone);
	if (r < 0)
		return r;
	r = seconds_of_date(&tm, &seconds);
	if (r < 0)
		return r;
	return time_from(seconds - zone, fraction_ns, ret_ns);
}

char *format_u64(uint64_t value, char buf[FORMAT_SIZE])
{
	(void)snprintf(buf, FORMAT_SIZE, "%llu", (unsigned long long)value);
	return buf;
}

/* Adds ".5" for half a second, nothing for none. */
static void append_fraction(char *buf, uint64_t fraction_ns)
{
	size_t n = strlen(buf);

	if (fraction_ns == 0)
		return;
	n += (size_t)snprintf(buf + n, FORMAT_SIZE - n, ".%09llu", (unsigned long long)fraction_ns);
	while (buf[n - 1] == '0')
		buf[--n] = '\0';
}

char *format_duration_ns(uint64_t ns, char buf[FORMAT_SIZE])
{
	(void)format_u64(ns / NS_PER_SECOND, buf);
	append_fraction(buf, ns % NS_PER_SECOND);
	return buf;
}

char *format_time_ns(uint64_t ns, char buf[FORMAT_SIZE])
{
	time_t seconds = (time_t)(ns / NS_PER_SECOND);
	struct tm tm = { 0 };
	size_t n;

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(buf, FORMAT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	append_fraction(buf, ns % NS_PER_SECOND);
	n = strlen(buf);
	(void)snprintf(buf + n, FORMAT_SIZE - n, "Z");
	return buf;
}
