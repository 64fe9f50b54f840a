/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer of event logs: see log_writer.h. */
#include "trace/log_writer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "trace/log_text.h"

enum {
	OUT_SIZE = 64 * 1024,
	ZSTD_LEVEL = 3,
	RECORD_TEXT = 40000, /* bytes of text in a record; six times that (all escaped) and the keys fit into LOG_LINE_MAX */
	TEXTS_MAX = LOG_FIELDS_MAX - 16,
};

struct log_writer {
	int fd;
	int error; /* sticky, negative */
	yajl_gen gen;
	ZSTD_CCtx *zstd; /* NULL: plain */
	struct hash hash;
	uint64_t lines, records;
	bool open;     /* between begin and commit */
	bool finished; /* the frame is closed */
	size_t budget; /* bytes of text that the record may still take */
	size_t used;
	char out[OUT_SIZE];
	char packed[OUT_SIZE];
};

static void fail(struct log_writer *w, int error)
{
	if (!w->error)
		w->error = error;
}

static void check_gen(struct log_writer *w, yajl_gen_status status)
{
	if (status != yajl_gen_status_ok)
		fail(w, -ENOMEM);
}

/* Hands bytes to the frame; `mode` ZSTD_e_end closes it. */
static void compress_out(struct log_writer *w, ZSTD_EndDirective mode)
{
	ZSTD_inBuffer in = { w->out, w->used, 0 };
	ZSTD_outBuffer out;
	size_t left;
	int r;

	do {
		out = (ZSTD_outBuffer){ w->packed, sizeof(w->packed), 0 };
		left = ZSTD_compressStream2(w->zstd, &out, &in, mode);
		if (ZSTD_isError(left)) {
			fail(w, -EIO);
			return;
		}
		r = fd_write_full(w->fd, w->packed, out.pos);
		if (r < 0) {
			fail(w, r);
			return;
		}
	} while (in.pos < in.size || (mode != ZSTD_e_continue && left > 0));
}

static void write_out(struct log_writer *w, ZSTD_EndDirective mode)
{
	int r;

	if (w->error)
		return;
	if (w->zstd) {
		compress_out(w, mode);
	} else {
		r = fd_write_full(w->fd, w->out, w->used);
		if (r < 0)
			fail(w, r);
	}
	w->used = 0;
}

static void put(struct log_writer *w, const void *data, size_t len)
{
	const char *at = data;
	size_t n;

	while (len > 0 && !w->error) {
		n = sizeof(w->out) - w->used;
		if (n > len)
			n = len;
		memcpy(w->out + w->used, at, n);
		w->used += n;
		at += n;
		len -= n;
		if (w->used == sizeof(w->out))
			write_out(w, ZSTD_e_continue);
	}
}

/* Ends the line that is in the generator. */
static void put_line(struct log_writer *w)
{
	const unsigned char *text;
	size_t len;

	check_gen(w, yajl_gen_map_close(w->gen));
	check_gen(w, yajl_gen_get_buf(w->gen, &text, &len));
	if (w->error)
		return;
	assert(len <= LOG_LINE_MAX);
	hash_add(&w->hash, text, len);
	hash_add(&w->hash, "\n", 1);
	put(w, text, len);
	put(w, "\n", 1);
	w->lines++;
	yajl_gen_clear(w->gen);
	yajl_gen_reset(w->gen, NULL);
}

static void put_key(struct log_writer *w, const char *key)
{
	check_gen(w, yajl_gen_string(w->gen, (const unsigned char *)key, strlen(key)));
}

void log_writer_text(struct log_writer *w, const char *key, const char *text)
{
	log_writer_texts(w, key, &text, 0);
}

static void put_text(struct log_writer *w, const char *text)
{
	char clean[LOG_TEXT_MAX + 1];
	size_t len;

	len = log_text_clean(text, clean, w->budget < LOG_TEXT_MAX ? w->budget + 1 : sizeof(clean));
	w->budget -= len;
	check_gen(w, yajl_gen_string(w->gen, (const unsigned char *)clean, len));
}

/* n == 0 is not an array but the one text. */
void log_writer_texts(struct log_writer *w, const char *key, const char *const *texts, size_t n)
{
	put_key(w, key);
	if (n == 0) {
		put_text(w, texts[0]);
		return;
	}
	assert(n <= TEXTS_MAX);
	check_gen(w, yajl_gen_array_open(w->gen));
	for (size_t i = 0; i < n; i++)
		put_text(w, texts[i]);
	check_gen(w, yajl_gen_array_close(w->gen));
}

void log_writer_number(struct log_writer *w, const char *key, int64_t value)
{
	char text[24];
	int n;

	put_key(w, key);
	n = snprintf(text, sizeof(text), "%lld", (long long)value);
	check_gen(w, yajl_gen_number(w->gen, text, (size_t)n));
}

void log_writer_unsigned(struct log_writer *w, const char *key, uint64_t value)
{
	char text[24];
	int n;

	put_key(w, key);
	n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	check_gen(w, yajl_gen_number(w->gen, text, (size_t)n));
}

void log_writer_digest(struct log_writer *w, const char *key, const unsigned char *digest, size_t len)
{
	char text[HASH_HEX_SIZE];

	assert(len <= HASH_BYTES);
	hash_hex(digest, len, text);
	log_writer_text(w, key, text);
}

void log_writer_hash(struct log_writer *w, const char *key, const void *data, size_t len)
{
	unsigned char digest[HASH_BYTES];

	hash_buffer(data, len, digest);
	log_writer_digest(w, key, digest, LOG_HASH_HEX / 2);
}

/* The digest of everything before, in this line as well. */
static void put_sum(struct log_writer *w)
{
	struct hash copy = w->hash;
	unsigned char digest[HASH_BYTES];
	const unsigned char *text;
	size_t len;

	log_writer_unsigned(w, "lines", w->lines);
	check_gen(w, yajl_gen_get_buf(w->gen, &text, &len));
	if (w->error)
		return;
	hash_add(&copy, text, len);
	hash_final(&copy, digest);
	log_writer_digest(w, "sum", digest, sizeof(digest));
}

static void open_line(struct log_writer *w)
{
	w->budget = RECORD_TEXT;
	check_gen(w, yajl_gen_map_open(w->gen));
}

static void put_check(struct log_writer *w)
{
	open_line(w);
	log_writer_text(w, "kind", log_kind_name(LOG_CHECK));
	put_sum(w);
	put_line(w);
}

void log_writer_begin(struct log_writer *w, enum log_kind kind, uint64_t turn, int64_t thread, uint64_t time_ns)
{
	assert(!w->open);
	w->open = true;
	if (w->lines % LOG_CHECK_LINES == 0)
		put_check(w);
	open_line(w);
	log_writer_unsigned(w, "turn", turn);
	log_writer_unsigned(w, "time", time_ns);
	log_writer_number(w, "thread", thread);
	log_writer_text(w, "kind", log_kind_name(kind));
}

int log_writer_commit(struct log_writer *w)
{
	assert(w->open);
	w->open = false;
	put_line(w);
	w->records++;
	return w->error;
}

int log_writer_flush(struct log_writer *w)
{
	if (!w->zstd)
		write_out(w, ZSTD_e_continue);
	return w->error;
}

int log_writer_finish(struct log_writer *w)
{
	put_sum(w);
	(void)log_writer_commit(w);
	write_out(w, ZSTD_e_end);
	w->finished = true;
	return w->error;
}

uint64_t log_writer_records(const struct log_writer *w)
{
	return w->records;
}

static void put_header(struct log_writer *w, const struct log_header *header)
{
	size_t n = 0;

	open_line(w);
	log_writer_text(w, "kind", log_kind_name(LOG_HEADER));
	log_writer_text(w, "format", LOG_FORMAT_NAME);
	log_writer_number(w, "version", LOG_FORMAT_VERSION);
	if (header->tool)
		log_writer_text(w, "tool", header->tool);
	if (header->config)
		log_writer_text(w, "config", header->config);
	while (header->options && header->options[n])
		n++;
	if (n > TEXTS_MAX)
		fail(w, -E2BIG);
	else if (n > 0)
		log_writer_texts(w, "options", header->options, n);
	log_writer_number(w, "bytes", header->bytes);
	put_line(w);
}

static int init(struct log_writer *w, bool compress, struct error *err)
{
	w->gen = yajl_gen_alloc(NULL);
	if (!w->gen)
		return error_errno(err, ENOMEM, "event log");
	if (compress) {
		w->zstd = ZSTD_createCCtx();
		if (!w->zstd)
			return error_errno(err, ENOMEM, "event log");
		(void)ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		(void)ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	}
	hash_init(&w->hash);
	return 0;
}

DEFINE_CLEANUP(log_writer, struct log_writer, log_writer_free)

int log_writer_new(int fd, bool compress, const struct log_header *header, struct log_writer **ret, struct error *err)
{
	_cleanup_(cleanup_log_writer) struct log_writer *w = NULL;
	int r;

	w = calloc(1, sizeof(*w));
	if (!w)
		return error_errno(err, ENOMEM, "event log");
	w->fd = fd;
	w->finished = true;
	r = init(w, compress, err);
	if (r < 0)
		return r;
	w->finished = false;
	put_header(w, header);
	if (w->error)
		return error_errno(err, -w->error, "event log: cannot write the header");
	*ret = take_ptr(w);
	return 0;
}

struct log_writer *log_writer_free(struct log_writer *w)
{
	if (!w)
		return NULL;
	if (!w->finished)
		write_out(w, ZSTD_e_end);
	if (w->gen)
		yajl_gen_free(w->gen);
	(void)ZSTD_freeCCtx(w->zstd);
	free(w);
	return NULL;
}
