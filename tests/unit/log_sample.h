/* SPDX-License-Identifier: BSD-3-Clause */
/* Synthetic event logs in memory, for the tests of trace/. */
#ifndef HS_TESTS_LOG_SAMPLE_H
#define HS_TESTS_LOG_SAMPLE_H

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "trace/log_reader.h"
#include "trace/log_writer.h"

/* One event of a sample: a call with its result, or a choice when call is NULL. */
struct sample {
	int64_t thread;
	const char *call, *args, *result;
};

struct sample_log {
	int fd;
	struct log_writer *writer;
	uint64_t turn, time_ns;
};

static inline void sample_open(struct sample_log *log, bool compress, const struct log_header *header)
{
	static const struct log_header plain = { .tool = "1", .config = "abcd", .bytes = true };
	struct error err = { 0 };

	log->fd = memfd_create("log", MFD_CLOEXEC);
	cr_assert_geq(log->fd, 0);
	log->turn = 0;
	log->time_ns = 0;
	cr_assert_eq(log_writer_new(log->fd, compress, header ? header : &plain, &log->writer, &err), 0, "%s", err.text);
}

static inline void sample_add(struct sample_log *log, const struct sample *s)
{
	log->turn++;
	log->time_ns += 1000;
	log_writer_begin(log->writer, s->call ? LOG_CALL : LOG_CHOICE, log->turn, s->thread, log->time_ns);
	if (s->call) {
		log_writer_text(log->writer, "call", s->call);
		log_writer_text(log->writer, "args", s->args ? s->args : "");
		log_writer_text(log->writer, "result", s->result ? s->result : "0");
	}
	cr_assert_eq(log_writer_commit(log->writer), 0);
}

/* Ends the log and returns its descriptor, at the start. */
static inline int sample_close(struct sample_log *log)
{
	log_writer_begin(log->writer, LOG_FINISH, log->turn + 1, 0, log->time_ns);
	log_writer_text(log->writer, "status", "0");
	cr_assert_eq(log_writer_finish(log->writer), 0);
	log->writer = log_writer_free(log->writer);
	cr_assert_eq(lseek(log->fd, 0, SEEK_SET), 0);
	return log->fd;
}

static inline int sample_log(const struct sample *events, size_t n)
{
	struct sample_log log;

	sample_open(&log, false, NULL);
	for (size_t i = 0; i < n; i++)
		sample_add(&log, &events[i]);
	return sample_close(&log);
}

static inline struct log_reader *sample_reader(int fd, const char *name)
{
	struct log_reader *r = NULL;

	cr_assert_eq(log_reader_new(fd, name, &r, NULL), 0);
	return r;
}

static inline int sample_text(const char *text, size_t len)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fd_write_full(fd, text, len), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* The bytes of a log; the caller frees. */
static inline char *sample_bytes(int fd, size_t *ret_len)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text;

	cr_assert_geq(size, 0);
	text = malloc((size_t)size + 1);
	cr_assert_not_null(text);
	cr_assert_eq(pread(fd, text, (size_t)size, 0), size);
	text[size] = '\0';
	*ret_len = (size_t)size;
	return text;
}

#endif
