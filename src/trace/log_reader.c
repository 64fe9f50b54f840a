/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of event logs: see log_reader.h. */
#include "trace/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"

enum { IN_SIZE = 64 * 1024, MAGIC_SIZE = 4 };

struct log_reader {
	int fd;
	char *name;
	ZSTD_DCtx *zstd; /* NULL: plain */
	bool probed;     /* plain or zstd is known */
	bool tolerate;
	bool finished;   /* the end record was seen */
	bool mid_frame;  /* zstd: the frame has not ended */
	bool held_back;  /* zstd: unpacked bytes did not fit last time */
	struct hash hash;
	uint64_t lines;         /* lines taken so far */
	uint64_t checked_lines; /* lines whose check sum was right */
	char damage[160];
	struct log_record rec; /* for header, check and end records */

	ZSTD_inBuffer packed; /* zstd: bytes read and not yet unpacked, in in_buf */
	char in_buf[IN_SIZE];
	size_t start, end; /* the bytes of buf that are not yet taken */
	char buf[LOG_LINE_MAX + IN_SIZE];
};

/* Reads what the descriptor has: a count, 0 at the end of the file, -errno. */
static ssize_t read_some(struct log_reader *r, void *buf, size_t size, struct error *err)
{
	ssize_t n;

	do
		n = read(r->fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? error_errno(err, errno, "%s", r->name) : n;
}

static int unpack_error(const struct log_reader *r, const char *what, struct error *err)
{
	return error_set(err, EINVAL, "%s:%llu: damaged zstd stream: %s", r->name, (unsigned long long)r->lines + 1, what);
}

/* Adds unpacked bytes to buf: a count, 0 when the file has no more, -errno. */
static ssize_t fill_packed(struct log_reader *r, struct error *err)
{
	ZSTD_outBuffer out = { r->buf + r->end, sizeof(r->buf) - r->end, 0 };
	size_t left;
	ssize_t n;

	while (out.pos == 0) {
		if (r->packed.pos == r->packed.size && !r->held_back) {
			n = read_some(r, r->in_buf, sizeof(r->in_buf), err);
			if (n <= 0)
				return n;
			r->packed = (ZSTD_inBuffer){ r->in_buf, (size_t)n, 0 };
		}
		left = ZSTD_decompressStream(r->zstd, &out, &r->packed);
		if (ZSTD_isError(left))
			return unpack_error(r, ZSTD_getErrorName(left), err);
		r->mid_frame = left != 0;
		r->held_back = out.pos == out.size;
	}
	r->end += out.pos;
	return (ssize_t)out.pos;
}

static ssize_t fill_plain(struct log_reader *r, struct error *err)
{
	ssize_t n;

	n = read_some(r, r->buf + r->end, sizeof(r->buf) - r->end, err);
	if (n > 0)
		r->end += (size_t)n;
	return n;
}

/* Looks at the first bytes. 1: known; 0: too few bytes to tell. */
static int probe(struct log_reader *r, struct error *err)
{
	static const char magic[MAGIC_SIZE] = "\x28\xb5\x2f\xfd";
	ssize_t n;

	while (r->packed.size < MAGIC_SIZE) {
		n = read_some(r, r->in_buf + r->packed.size, MAGIC_SIZE - r->packed.size, err);
		if (n <= 0)
			return (int)n;
		r->packed.size += (size_t)n;
	}
	r->packed.src = r->in_buf;
	r->probed = true;
	if (memcmp(r->in_buf, magic, MAGIC_SIZE) != 0) {
		memcpy(r->buf, r->in_buf, MAGIC_SIZE);
		r->end = MAGIC_SIZE;
		return 1;
	}
	r->zstd = ZSTD_createDCtx();
	return r->zstd ? 1 : error_errno(err, ENOMEM, "%s", r->name);
}

static ssize_t fill(struct log_reader *r, struct error *err)
{
	if (r->start > 0) {
		memmove(r->buf, r->buf + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	return r->zstd ? fill_packed(r, err) : fill_plain(r, err);
}

/* Takes a line off the buffer. LOG_READ_LINE, LOG_READ_SHORT or -errno. */
static int take_line(struct log_reader *r, struct log_line *ret_line, struct error *err)
{
	size_t searched = 0;
	char *newline;
	ssize_t n;

	for (;;) {
		newline = memchr(r->buf + r->start + searched, '\n', r->end - r->start - searched);
		if (newline)
			break;
		searched = r->end - r->start;
		if (searched > LOG_LINE_MAX)
			return error_set(err, EINVAL, "%s:%llu:%d: line is longer than %d bytes", r->name,
					 (unsigned long long)r->lines + 1, LOG_LINE_MAX + 1, LOG_LINE_MAX);
		n = fill(r, err);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return LOG_READ_SHORT;
	}
	ret_line->text = r->buf + r->start;
	ret_line->len = (size_t)(newline - ret_line->text);
	ret_line->number = ++r->lines;
	r->start += ret_line->len + 1;
	return LOG_READ_LINE;
}

int log_reader_parse(const struct log_reader *r, const struct log_line *line, struct log_record *rec, struct error *err)
{
	struct error why = { 0 };
	int ret;

	ret = log_record_parse(rec, line->text, line->len, &why);
	if (ret < 0)
		return error_set(err, -ret, "%s:%llu:%s", r->name, (unsigned long long)line->number, why.text);
	return 0;
}

static int check_header(struct log_reader *r, const struct log_line *line, struct error *err)
{
	struct error why = { 0 };
	const char *format;
	uint64_t version = 0;
	int ret;

	ret = log_record_parse(&r->rec, line->text, line->len, &why);
	if (ret < 0)
		return error_set(err, -ret, "%s:1:%s (is this an event log?)", r->name, why.text);
	format = log_record_text(&r->rec, "format");
	if (r->rec.kind != LOG_HEADER || !format || strcmp(format, LOG_FORMAT_NAME) != 0)
		return error_set(err, EINVAL, "%s:1:1: not an event log: the first line is no header of one", r->name);
	if (!log_record_unsigned(&r->rec, "version", &version) || version != LOG_FORMAT_VERSION)
		return error_set(err, EINVAL, "%s:1:1: event log of version %s, this program reads version %d", r->name,
				 log_record_text(&r->rec, "version") ?: "(none)", LOG_FORMAT_VERSION);
	return 0;
}

/* A line that starts as check records do. */
static bool may_be_check(const struct log_line *line)
{
	static const char start[] = "{\"kind\":\"check\"";

	return line->len >= sizeof(start) - 1 && !memcmp(line->text, start, sizeof(start) - 1);
}

static bool contains(const struct log_line *line, const char *text)
{
	return memmem(line->text, line->len, text, strlen(text)) != NULL;
}

/* The sum that ends this line against the bytes before it. */
static bool sum_matches(const struct log_reader *r, const struct log_line *line)
{
	struct hash copy = r->hash;
	unsigned char digest[HASH_BYTES];
	char hex[HASH_HEX_SIZE], tail[HASH_HEX_SIZE + 16];
	size_t size = strlen(",\"sum\":\"\"}") + HASH_HEX_SIZE - 1;

	if (line->len < size)
		return false;
	hash_add(&copy, line->text, line->len - size);
	hash_final(&copy, digest);
	hash_hex(digest, sizeof(digest), hex);
	(void)snprintf(tail, sizeof(tail), ",\"sum\":\"%s\"}", hex);
	return !memcmp(line->text + line->len - size, tail, size);
}

static int check_sum(struct log_reader *r, const struct log_line *line, struct error *err)
{
	uint64_t lines = 0;

	if (sum_matches(r, line) && log_record_unsigned(&r->rec, "lines", &lines) && lines == line->number - 1) {
		r->checked_lines = line->number;
		return 0;
	}
	if (r->damage[0] == '\0')
		(void)snprintf(r->damage, sizeof(r->damage), "lines %llu to %llu do not match their check sum: damaged or edited",
			       (unsigned long long)r->checked_lines + 1, (unsigned long long)line->number);
	if (r->tolerate)
		return 0;
	return error_set(err, EINVAL, "%s:%llu:1: %s", r->name, (unsigned long long)line->number, r->damage);
}

static void add_to_hash(struct log_reader *r, const struct log_line *line)
{
	hash_add(&r->hash, line->text, line->len);
	hash_add(&r->hash, "\n", 1);
}

/* Header, check and end records. 1: the line is one that the caller does not get; 0; -errno. */
static int check_line(struct log_reader *r, const struct log_line *line, struct error *err)
{
	bool check = may_be_check(line);
	int ret = 0;

	if (line->number == 1) {
		ret = check_header(r, line, err);
	} else if (check || contains(line, "\"kind\":\"end\"")) {
		ret = log_reader_parse(r, line, &r->rec, err);
		if (ret == 0 && (r->rec.kind == LOG_CHECK || r->rec.kind == LOG_FINISH))
			ret = check_sum(r, line, err);
		r->finished = ret == 0 && r->rec.kind == LOG_FINISH;
	}
	if (ret < 0)
		return ret;
	add_to_hash(r, line);
	return check;
}

/* After the end record there is the end of the file. */
static int check_tail(struct log_reader *r, struct error *err)
{
	ssize_t n = 0;

	if (r->start == r->end)
		n = fill(r, err);
	if (n < 0)
		return (int)n;
	if (r->start != r->end)
		return error_set(err, EINVAL, "%s:%llu:1: data after the end record", r->name, (unsigned long long)r->lines + 1);
	if (r->zstd && r->mid_frame)
		return unpack_error(r, "the frame is cut off", err);
	return LOG_READ_END;
}

int log_reader_next(struct log_reader *r, struct log_line *ret_line, struct error *err)
{
	int ret;

	if (!r->probed) {
		ret = probe(r, err);
		if (ret <= 0)
			return ret < 0 ? ret : LOG_READ_SHORT;
	}
	do {
		if (r->finished)
			return check_tail(r, err);
		ret = take_line(r, ret_line, err);
		if (ret != LOG_READ_LINE)
			return ret;
		ret = check_line(r, ret_line, err);
	} while (ret > 0);
	return ret < 0 ? ret : LOG_READ_LINE;
}

int log_reader_short(const struct log_reader *r, struct error *err)
{
	if (!r->probed && r->packed.size == 0)
		return error_set(err, EINVAL, "%s: empty: not an event log", r->name);
	if (!r->probed)
		return error_set(err, EINVAL, "%s:1:1: not an event log: %zu bytes in all", r->name, r->packed.size);
	if (r->start != r->end)
		return error_set(err, EINVAL, "%s:%llu:%zu: the log is cut off inside a line", r->name,
				 (unsigned long long)r->lines + 1, r->end - r->start + 1);
	return error_set(err, EINVAL, "%s:%llu:1: the log ends without an end record: cut off, or its run was killed", r->name,
			 (unsigned long long)r->lines + 1);
}

int log_reader_record(struct log_reader *r, struct log_record *rec, struct error *err)
{
	struct log_line line;
	int ret;

	ret = log_reader_next(r, &line, err);
	if (ret == LOG_READ_SHORT)
		return log_reader_short(r, err);
	if (ret != LOG_READ_LINE)
		return ret;
	ret = log_reader_parse(r, &line, rec, err);
	return ret < 0 ? ret : LOG_READ_LINE;
}

void log_reader_tolerate(struct log_reader *r)
{
	r->tolerate = true;
}

const char *log_reader_name(const struct log_reader *r)
{
	return r->name;
}

/*
 * The kernel gives a read lease on a file that nobody has open for writing (fcntl(2)), and says EAGAIN else; what it says of pipes, of
 * files of others and where there are no leases means nothing, nor of memfd_create(2), whose descriptors are no writers to it. Who opens
 * the file in the moment that we hold it waits for it, and we would get SIGIO.
 */
bool log_reader_is_abandoned(const struct log_reader *r)
{
	void (*before)(int) = signal(SIGIO, SIG_IGN);
	bool abandoned;
	struct stat st;

	abandoned = fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 0 && fcntl(r->fd, F_SETLEASE, F_RDLCK) == 0;
	if (abandoned)
		(void)fcntl(r->fd, F_SETLEASE, F_UNLCK);
	(void)signal(SIGIO, before);
	return abandoned;
}

uint64_t log_reader_line(const struct log_reader *r)
{
	return r->lines;
}

const char *log_reader_damage(const struct log_reader *r)
{
	return r->damage[0] ? r->damage : NULL;
}

int log_reader_new(int fd, const char *name, struct log_reader **ret, struct error *err)
{
	struct log_reader *r;

	r = calloc(1, sizeof(*r));
	if (!r)
		return error_errno(err, ENOMEM, "%s", name);
	r->name = strdup(name);
	if (!r->name) {
		free(r);
		return error_errno(err, ENOMEM, "%s", name);
	}
	r->fd = fd;
	hash_init(&r->hash);
	*ret = r;
	return 0;
}

int log_reader_open(const char *path, struct log_reader **ret, struct error *err)
{
	_cleanup_close_ int fd = -1;
	bool standard = !strcmp(path, "-");
	int r;

	fd = standard ? fd_duplicate(0) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, standard ? -fd : errno, "%s", path);
	r = log_reader_new(fd, standard ? "(standard input)" : path, ret, err);
	if (r < 0)
		return r;
	(void)take_fd(&fd);
	return 0;
}

struct log_reader *log_reader_free(struct log_reader *r)
{
	if (!r)
		return NULL;
	(void)close(r->fd);
	(void)ZSTD_freeDCtx(r->zstd);
	log_record_deinit(&r->rec);
	free(r->name);
	free(r);
	return NULL;
}
