/* SPDX-License-Identifier: BSD-3-Clause */
/* Event logs as they are written and read back; damage of every kind is an error with its place. */
#include "log_sample.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "trace/log_text.h"

static void write_calls(struct sample_log *log, unsigned n)
{
	char args[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(args, sizeof(args), "%u, ADDR, 4096", i);
		sample_add(log, &(struct sample){ .thread = 1 + i % 3, .call = "read", .args = args, .result = "17" });
	}
}

static int calls_log(unsigned n, bool compress)
{
	struct sample_log log;

	sample_open(&log, compress, NULL);
	write_calls(&log, n);
	return sample_close(&log);
}

/* Reads a log to its end: how many records there are, or -errno with the message. */
static int count_records(int fd, struct error *err)
{
	struct log_reader *r = sample_reader(fd, "LOG");
	struct log_record rec = { 0 };
	int n = 0, ret;

	do {
		ret = log_reader_record(r, &rec, err);
		n += ret == LOG_READ_LINE;
	} while (ret == LOG_READ_LINE);
	log_record_deinit(&rec);
	(void)log_reader_free(r);
	return ret < 0 ? ret : n;
}

static void assert_refused(int fd, const char *message)
{
	struct error err = { 0 };
	int n = count_records(fd, &err);

	cr_assert_lt(n, 0, "read %d records, expected: %s", n, message);
	cr_assert(strstr(err.text, message), "'%s' is not in '%s'", message, err.text);
}

Test(log_writer, format_of_a_record)
{
	static const char expected[] = "{\"kind\":\"header\",\"format\":\"hermit-event-log\",\"version\":1,\"tool\":\"1\",\"config\":"
				       "\"abcd\",\"bytes\":1}\n"
				       "{\"turn\":1,\"time\":1000,\"thread\":3,\"kind\":\"call\",\"call\":\"close\",\"args\":\"5\","
				       "\"result\":\"-EBADF\"}\n";
	struct sample_log log;
	_cleanup_free_ char *text = NULL;
	size_t len;

	sample_open(&log, false, NULL);
	sample_add(&log, &(struct sample){ .thread = 3, .call = "close", .args = "5", .result = "-EBADF" });
	text = sample_bytes(sample_close(&log), &len);
	cr_assert(!strncmp(text, expected, sizeof(expected) - 1), "%s", text);
}

Test(log_writer, hash_of_a_payload_is_sha256)
{
	struct sample_log log;
	_cleanup_free_ char *text = NULL;
	size_t len;

	sample_open(&log, false, NULL);
	log_writer_begin(log.writer, LOG_CALL, 1, 1, 1);
	log_writer_text(log.writer, "call", "write");
	log_writer_hash(log.writer, "in", "abc", 3);
	cr_assert_eq(log_writer_commit(log.writer), 0);
	text = sample_bytes(sample_close(&log), &len);
	/* The first digits of the example in FIPS 180. */
	cr_assert(strstr(text, "\"in\":\"ba7816bf8f01cfea\""), "%s", text);
}

Test(log_writer, values_come_back)
{
	static const char *const texts[] = { "plain", "quote\" back\\ tab\t", "\x01\x1f", "\xc3\xa4\xf0\x9f\x98\x80", "" };
	struct sample_log log;
	struct log_reader *r;
	struct log_record rec = { 0 };
	int64_t number;
	uint64_t size;

	sample_open(&log, false, NULL);
	log_writer_begin(log.writer, LOG_SIGNAL, UINT64_MAX, INT64_MIN, UINT64_MAX - 1);
	log_writer_texts(log.writer, "list", texts, ARRAY_SIZE(texts));
	log_writer_number(log.writer, "low", INT64_MIN);
	log_writer_unsigned(log.writer, "high", UINT64_MAX);
	cr_assert_eq(log_writer_commit(log.writer), 0);
	r = sample_reader(sample_close(&log), "LOG");
	cr_assert_eq(log_reader_record(r, &rec, NULL), LOG_READ_LINE);
	cr_assert_eq(log_reader_record(r, &rec, NULL), LOG_READ_LINE);
	cr_assert(rec.kind == LOG_SIGNAL && rec.turn == UINT64_MAX && rec.thread == INT64_MIN && rec.time_ns == UINT64_MAX - 1);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cr_assert_str_eq(rec.fields[4 + i].text, texts[i]);
		cr_assert_eq(rec.fields[4 + i].index, (int)i);
	}
	cr_assert(log_record_number(&rec, "low", &number) && number == INT64_MIN);
	cr_assert(log_record_unsigned(&rec, "high", &size) && size == UINT64_MAX);
	cr_assert_not(log_record_unsigned(&rec, "low", &size));
	log_record_deinit(&rec);
	(void)log_reader_free(r);
}

Test(log_writer, longest_record_is_read_back)
{
	enum { N = 112, SIZE = 5000 };
	static char text[SIZE + 1];
	const char *texts[N];
	struct sample_log log;
	struct error err = { 0 };

	memset(text, '\x01', SIZE);
	for (size_t i = 0; i < N; i++)
		texts[i] = text;
	sample_open(&log, false, NULL);
	log_writer_begin(log.writer, LOG_CALL, 1, 1, 1);
	log_writer_text(log.writer, "call", "execve");
	log_writer_texts(log.writer, "args", texts, N);
	cr_assert_eq(log_writer_commit(log.writer), 0);
	cr_assert_eq(count_records(sample_close(&log), &err), 3, "%s", err.text);
}

/* Memory that may not grow stands for the disk. */
Test(log_writer, reports_a_full_disk)
{
	struct log_writer *w = NULL;
	int fd = memfd_create("log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = 0;

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, 4096), 0);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	cr_assert_eq(log_writer_new(fd, false, &(struct log_header){ .tool = "1" }, &w, NULL), 0);
	for (int i = 0; i < 10000 && r == 0; i++) {
		log_writer_begin(w, LOG_EXIT, 1, 1, 1);
		r = log_writer_commit(w);
	}
	cr_assert_eq(r, -EPERM);
	w = log_writer_free(w);
	(void)close(fd);
}

struct clean_case {
	const char *what, *text;
	size_t size;
	const char *expected;
};

Test(log_text, cleaning)
{
	static const struct clean_case cases[] = {
		{ "ascii", "abc", 16, "abc" },
		{ "exactly fits", "abcd", 5, "abcd" },
		{ "cut", "abcdefgh", 7, "abc..." },
		{ "no room for dots", "abcdefgh", 3, "ab" },
		{ "stray byte", "a\xff" "b", 16, "a\\xffb" },
		{ "overlong slash", "\xc0\xaf", 16, "\\xc0\\xaf" },
		{ "surrogate", "\xed\xa0\x80", 16, "\\xed\\xa0\\x80" },
		{ "beyond unicode", "\xf4\x90\x80\x80", 32, "\\xf4\\x90\\x80\\x80" },
		{ "last character", "\xf4\x8f\xbf\xbf", 16, "\xf4\x8f\xbf\xbf" },
		{ "cut off character", "\xe2\x82", 16, "\\xe2\\x82" },
		{ "never half a character", "ab\xc3\xa4\xc3\xa4", 6, "ab..." },
	};
	char out[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_assert_eq(log_text_clean(cases[i].text, out, cases[i].size), strlen(cases[i].expected), "%s", cases[i].what);
		cr_assert_str_eq(out, cases[i].expected, "%s", cases[i].what);
	}
}

Test(log_reader, reads_what_was_written)
{
	static const unsigned sizes[] = { 0, 1, 1022, 1023, 1024, 5000 };
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (int compress = 0; compress < 2; compress++)
			cr_assert_eq(count_records(calls_log(sizes[i], compress), &err), (int)sizes[i] + 2, "%u, %d: %s", sizes[i],
				     compress, err.text);
}

Test(log_reader, equal_logs_are_equal_bytes)
{
	for (int compress = 0; compress < 2; compress++) {
		size_t len, other_len;
		_cleanup_free_ char *bytes = sample_bytes(calls_log(3000, compress), &len);
		_cleanup_free_ char *other = sample_bytes(calls_log(3000, compress), &other_len);

		cr_assert(len == other_len && !memcmp(bytes, other, len));
	}
}

Test(log_reader, compressed_is_smaller)
{
	size_t plain, packed;

	free(sample_bytes(calls_log(3000, false), &plain));
	free(sample_bytes(calls_log(3000, true), &packed));
	cr_assert_lt(packed * 5, plain);
}

struct bad_case {
	const char *text, *message;
};

#define HEADER "{\"kind\":\"header\",\"format\":\"hermit-event-log\",\"version\":1,\"bytes\":0}\n"
#define EVENT  "{\"turn\":1,\"time\":1,\"thread\":1,\"kind\":\"exit\"}\n"

Test(log_reader, bad_lines_have_a_place)
{
	static const struct bad_case cases[] = {
		{ "", "LOG: empty" },
		{ "ab", "LOG:1:1: not an event log: 2 bytes in all" },
		{ "hello world\n", "LOG:1:1: not a record" },
		{ "{\"a\":1}\n", "LOG:1:1: not a record: no \"kind\"" },
		{ "{\"kind\":\"header\"}\n", "LOG:1:1: not an event log" },
		{ "{\"kind\":\"header\",\"format\":\"hermit-event-log\",\"version\":2}\n", "LOG:1:1: event log of version 2" },
		{ "{\"kind\":\"header\",\"format\":\"hermit-event-log\"}\n", "LOG:1:1: event log of version (none)" },
		{ HEADER, "LOG:2:1: the log ends without an end record" },
		{ HEADER EVENT "{\"turn\":1,", "LOG:3:11: the log is cut off inside a line" },
		{ HEADER "\n", "LOG:2:1: not a record" },
		{ HEADER "[1]\n", "LOG:2:1: not a record: a record is an object" },
		{ HEADER "5\n", "LOG:2:1: not a record: a record is an object" },
		{ HEADER "{\"turn\":1}{\n", "LOG:2:" },
		{ HEADER "{\"turn\":null}\n", "not a record: null is no value" },
		{ HEADER "{\"turn\":{}}\n", "not a record: an object inside a record" },
		{ HEADER "{\"turn\":[[1]]}\n", "not a record: an array inside an array" },
		{ HEADER "{\"turn\":1,\"turn\":2}\n", "not a record: the same key twice" },
		{ HEADER "{\"turn\":\"a\\u0000b\"}\n", "U+0000" },
		{ HEADER "{\"turn\":1,\"time\":1,\"thread\":1,\"kind\":\"party\"}\n", "a \"kind\" that this version does not know" },
		{ HEADER "{\"turn\":-1,\"time\":1,\"thread\":1,\"kind\":\"exit\"}\n", "no \"turn\"" },
		{ HEADER "{\"turn\":1.5,\"time\":1,\"thread\":1,\"kind\":\"exit\"}\n", "no \"turn\"" },
		{ HEADER "{\"turn\":18446744073709551616,\"time\":1,\"thread\":1,\"kind\":\"exit\"}\n", "no \"turn\"" },
		{ HEADER "{\"turn\":1,\"time\":1,\"thread\":1,\"kind\":\"call\"}\n", "no \"call\"" },
		{ HEADER EVENT "{\"turn\":1,\"time\":1,\"thread\":1,\"kind\":\"end\",\"lines\":2,\"sum\":\"00\"}\n",
		  "LOG:3:1: lines 1 to 3 do not match their check sum" },
		{ HEADER "{\"turn\":1,\"time\":2,\"thr\xff" "ead\":1}\n", "LOG:2:2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_refused(sample_text(cases[i].text, strlen(cases[i].text)), cases[i].message);
}

Test(log_reader, too_many_values)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	cr_assert_not_null(f);
	(void)fputs(HEADER "{\"a\":[0", f);
	for (int i = 0; i < LOG_FIELDS_MAX; i++)
		(void)fputs(",1", f);
	(void)fputs("]}\n", f);
	(void)fclose(f);
	assert_refused(sample_text(text, size), "too many values");
}

Test(log_reader, overlong_line)
{
	size_t size = sizeof(HEADER) - 1 + LOG_LINE_MAX + 10;
	_cleanup_free_ char *text = malloc(size);

	cr_assert_not_null(text);
	memset(text, ' ', size);
	memcpy(text, HEADER, sizeof(HEADER) - 1);
	assert_refused(sample_text(text, size), "LOG:2:262145: line is longer than 262144 bytes");
}

Test(log_reader, data_after_the_end)
{
	int fd = calls_log(3, false);

	cr_assert_geq(lseek(fd, 0, SEEK_END), 0);
	cr_assert_eq(fd_write_full(fd, EVENT, sizeof(EVENT) - 1), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	assert_refused(fd, "LOG:6:1: data after the end record");
}

/* Every truncation of a log is refused. */
Test(log_reader, any_truncation_is_seen)
{
	for (int compress = 0; compress < 2; compress++) {
		size_t len;
		_cleanup_free_ char *bytes = sample_bytes(calls_log(20, compress), &len);

		for (size_t n = 0; n < len; n++)
			assert_refused(sample_text(bytes, n), "LOG");
	}
}

/* Every single flipped bit of a log is refused. */
Test(log_reader, any_flipped_bit_is_seen)
{
	size_t len;
	_cleanup_free_ char *bytes = sample_bytes(calls_log(20, false), &len);

	for (size_t bit = 0; bit < len * 8; bit++) {
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
		assert_refused(sample_text(bytes, len), "LOG");
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
	}
}

/* A zstd frame has bits that mean nothing (window size, reserved ones): a flipped one of these gives the very same log, which the check sum proves. */
Test(log_reader, flipped_bits_of_a_frame_are_seen)
{
	size_t len, harmless = 0;
	_cleanup_free_ char *bytes = sample_bytes(calls_log(20, true), &len);

	for (size_t bit = 0; bit < len * 8; bit++) {
		struct error err = { 0 };
		int n;

		bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
		n = count_records(sample_text(bytes, len), &err);
		cr_assert(n == 22 || (n < 0 && !strncmp(err.text, "LOG:", 4)), "bit %zu: %d %s", bit, n, err.text);
		harmless += n >= 0;
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
	}
	cr_assert_lt(harmless, 32, "%zu of %zu", harmless, len * 8);
}

/* Damage is found at the next check record, not at the end of the log. */
Test(log_reader, damage_is_placed)
{
	size_t len;
	_cleanup_free_ char *bytes = sample_bytes(calls_log(5000, false), &len);
	char *at = strstr(bytes, "\"args\":\"1500, ADDR");

	cr_assert_not_null(at);
	at[9] = '7';
	assert_refused(sample_text(bytes, len), "LOG:2049:1: lines 1026 to 2049 do not match their check sum");
}

Test(log_reader, damage_can_be_tolerated)
{
	size_t len;
	_cleanup_free_ char *bytes = sample_bytes(calls_log(50, false), &len);
	struct log_record rec = { 0 };
	struct log_reader *r;
	int n = 0, ret;

	strstr(bytes, "4096")[0] = '5';
	r = sample_reader(sample_text(bytes, len), "LOG");
	log_reader_tolerate(r);
	while ((ret = log_reader_record(r, &rec, NULL)) == LOG_READ_LINE)
		n++;
	cr_assert(ret == LOG_READ_END && n == 52);
	cr_assert_str_eq(log_reader_damage(r), "lines 1 to 52 do not match their check sum: damaged or edited");
	log_record_deinit(&rec);
	(void)log_reader_free(r);
}

Test(log_reader, follows_a_growing_log)
{
	struct sample_log log;
	struct log_reader *r;
	struct log_line line;
	char path[64];

	sample_open(&log, false, NULL);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", log.fd);
	cr_assert_eq(log_reader_open(path, &r, NULL), 0);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_SHORT);
	cr_assert_eq(log_writer_flush(log.writer), 0);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_LINE);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_SHORT);
	write_calls(&log, 2);
	cr_assert_eq(log_writer_flush(log.writer), 0);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_LINE);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_LINE);
	cr_assert_eq(line.number, 3);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_SHORT);
	(void)sample_close(&log);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_LINE);
	cr_assert_eq(log_reader_next(r, &line, NULL), LOG_READ_END);
	(void)log_reader_free(r);
}
