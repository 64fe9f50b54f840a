/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event logs are untrusted: two of them, separated by a zero byte (one, when there is none or when it is compressed), are read, compared both ways, printed and
 * exported. Check sums may be wrong, else hardly any input would get far. What must hold: a log does not differ from itself, and
 * what is a difference one way is one the other way.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "trace/log_diff.h"
#include "trace/log_export.h"
#include "trace/log_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

DEFINE_CLEANUP(log_reader, struct log_reader, log_reader_free)

static struct log_reader *open_log(const uint8_t *data, size_t size, bool tolerate)
{
	struct log_reader *r = NULL;
	int fd = memfd_create("log", MFD_CLOEXEC);

	if (fd < 0 || fd_write_full(fd, data, size) < 0 || lseek(fd, 0, SEEK_SET) < 0 || log_reader_new(fd, "LOG", &r, NULL) < 0)
		abort();
	if (tolerate)
		log_reader_tolerate(r);
	return r;
}

/* What became of a comparison: -errno, 0 equal, 1 different. The result is shown, which has to work as well. */
static int compare(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	_cleanup_(cleanup_log_reader) struct log_reader *left = open_log(a, a_size, true);
	_cleanup_(cleanup_log_reader) struct log_reader *right = open_log(b, b_size, true);
	struct log_diff_options options = { .labels = { "log A", "log B" }, .context = 2 };
	struct log_diff_result result;
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int r;

	r = log_diff(left, right, &options, &result, NULL);
	if (r == 0 && f) {
		log_diff_print(f, &result, &options, true);
		log_diff_json(f, &result);
		r = result.kind != LOG_DIFF_NONE;
		if (r && !result.sentence[0])
			abort();
	}
	if (f)
		(void)fclose(f);
	log_diff_result_deinit(&result);
	return r;
}

static void show(const uint8_t *data, size_t size)
{
	struct log_print_options print = { .color = true };
	struct log_export_options export = { .max_events = 1000 };
	_cleanup_free_ char *text = NULL;
	uint64_t records;
	size_t len;
	bool cut;

	for (int i = 0; i < 3; i++) {
		_cleanup_(cleanup_log_reader) struct log_reader *r = open_log(data, size, i > 0);
		FILE *f = open_memstream(&text, &len);

		if (!f)
			abort();
		if (i == 0)
			(void)log_print(r, &print, f, &records, NULL);
		else if (i == 1)
			(void)log_export_perfetto(r, &export, f, &cut, NULL);
		else
			(void)log_export_html(r, &export, "log", f, &cut, NULL);
		(void)fclose(f);
		free(text);
		text = NULL;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size > 0 && data[0] == '{' ? memchr(data, 0, size) : NULL;
	size_t first = zero ? (size_t)(zero - data) : size;
	const uint8_t *second = zero ? zero + 1 : data;
	size_t second_size = zero ? size - first - 1 : size;

	show(data, first);
	if (compare(data, first, data, first) > 0)
		abort();
	if (zero && compare(data, first, second, second_size) != compare(second, second_size, data, first) &&
	    compare(data, first, second, second_size) >= 0)
		abort();
	return 0;
}
