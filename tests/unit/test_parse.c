/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, durations, sizes and times as a person writes them. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/parse.h"

struct row {
	const char *text;
	int result;
	uint64_t value;
};

static void check(int (*parse)(const char *, uint64_t *), const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = 4711;
		int r = parse(rows[i].text, &value);

		cr_assert_eq(r, rows[i].result, "'%s' gave %d", rows[i].text, r);
		cr_assert_eq(value, r < 0 ? 4711 : rows[i].value, "'%s' gave %llu", rows[i].text, (unsigned long long)value);
	}
}

Test(parse, numbers)
{
	static const struct row rows[] = {
		{ "0", 0, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0xff", 0, 255 },
		{ "010", 0, 10 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "0x0x1", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
	};

	check(parse_u64, rows, ARRAY_SIZE(rows));
}

Test(parse, durations)
{
	static const struct row rows[] = {
		{ "2", 0, 2000000000 },
		{ "0.5", 0, 500000000 },
		{ "1.5h", 0, 5400000000000 },
		{ "20ms", 0, 20000000 },
		{ "7us", 0, 7000 },
		{ "3ns", 0, 3 },
		{ "1d", 0, 86400000000000 },
		{ "0.000000001", 0, 1 },
		{ "0.0000000001", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ ".5", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1fortnight", -EINVAL, 0 },
		{ "18446744073.709551615", 0, UINT64_MAX },
		{ "18446744073.709551616", -ERANGE, 0 },
		{ "213504d", -ERANGE, 0 },
	};

	check(parse_duration_ns, rows, ARRAY_SIZE(rows));
}

Test(parse, sizes)
{
	static const struct row rows[] = {
		{ "1000", 0, 1000 },
		{ "1k", 0, 1024 },
		{ "1kB", 0, 1000 },
		{ "2GiB", 0, 2147483648 },
		{ "96m", 0, 100663296 },
		{ "2g", 0, 2147483648 },
		{ "1GB", 0, 1000000000 },
		{ "16777216T", -ERANGE, 0 },
		{ "1.5G", -EINVAL, 0 },
		{ "1 G", -EINVAL, 0 },
		{ "G", -EINVAL, 0 },
	};

	check(parse_bytes, rows, ARRAY_SIZE(rows));
}

Test(parse, times)
{
	static const struct row rows[] = {
		{ "1970-01-01T00:00:00Z", 0, 0 },
		{ "2026-01-01T00:00:00Z", 0, 1767225600000000000 },
		{ "2026-01-01T01:00:00+01:00", 0, 1767225600000000000 },
		{ "2025-12-31T21:30:00.25-02:30", 0, 1767225600250000000 },
		{ "2024-02-29T12:00:00Z", 0, 1709208000000000000 },
		{ "@5.5", 0, 5500000000 },
		{ "2023-02-29T12:00:00Z", -EINVAL, 0 },
		{ "2026-01-01", -EINVAL, 0 },
		{ "2026-01-01T00:00:00", -EINVAL, 0 },
		{ "2026-01-01T00:00:00+1:00", -EINVAL, 0 },
		{ "2026-01-01T00:00:00+01:60", -EINVAL, 0 },
		{ "1969-12-31T23:59:59Z", -ERANGE, 0 },
		{ "2600-01-01T00:00:00Z", -ERANGE, 0 },
		{ "@", -EINVAL, 0 },
	};

	check(parse_time_ns, rows, ARRAY_SIZE(rows));
}

/* Whatever is formatted is read back as the same number. */
Test(parse, format_round_trip)
{
	static const uint64_t values[] = { 0, 1, 999999999, 1000000000, 1500000000, 1767225600000000000, UINT64_MAX };
	char buf[FORMAT_SIZE];
	uint64_t back;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		cr_assert_eq(parse_u64(format_u64(values[i], buf), &back), 0, "%s", buf);
		cr_assert_eq(back, values[i], "%s", buf);
		cr_assert_eq(parse_duration_ns(format_duration_ns(values[i], buf), &back), 0, "%s", buf);
		cr_assert_eq(back, values[i], "%s", buf);
		cr_assert_eq(parse_time_ns(format_time_ns(values[i], buf), &back), 0, "%s", buf);
		cr_assert_eq(back, values[i], "%s", buf);
	}
	cr_assert_str_eq(format_duration_ns(1500000000, buf), "1.5");
	cr_assert_str_eq(format_time_ns(1767225600000000000, buf), "2026-01-01T00:00:00Z");
}
