/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads files by every call that reads, and says where one of them gets another text than read(2) of the whole. Prints each file's name
 * and text.
 *
 * usage: machine_reads FILE...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 20 };

static int failures;
static int is_moving; /* two looks at this file differ: only how much there is counts */

static void same(const char *path, const char *how, const char *whole, ssize_t n, const char *got, ssize_t m)
{
	if (m == n && (is_moving || !memcmp(whole, got, (size_t)n)))
		return;
	(void)fprintf(stderr, "%s: %s gives %zd bytes, read gives %zd\n", path, how, m, n);
	failures++;
}

/* The first bytes in small pieces. */
static ssize_t by_bytes(int fd, char *buf, ssize_t most)
{
	ssize_t n = 0, got = 1;

	(void)lseek(fd, 0, SEEK_SET);
	for (; n < most && got > 0; n += got)
		got = read(fd, buf + n, 1 + (size_t)n % 7);
	return n == lseek(fd, 0, SEEK_CUR) ? n : -1;
}

static ssize_t by_vectors(int fd, char *buf)
{
	struct iovec parts[3] = { { buf, 10 }, { buf + 10, 1 }, { buf + 11, MOST - 11 } };

	(void)lseek(fd, 0, SEEK_SET);
	return readv(fd, parts, 3);
}

/* Backwards, in pieces of an odd size, with the cursor elsewhere; the text is that of the last look at the start. */
static ssize_t by_offsets(int fd, char *buf, ssize_t n)
{
	enum { PIECE = 13 };
	ssize_t got, total = 0;
	off_t at;

	(void)lseek(fd, 5, SEEK_SET);
	for (at = (n < 5000 ? n - 1 : 5000) / PIECE * PIECE; at >= 0 && n; at -= PIECE) {
		got = pread(fd, buf + at, PIECE, at);
		total += got > 0 ? got : 0;
	}
	if (lseek(fd, 0, SEEK_CUR) != 5 || total < (n < 5000 ? n : 5000))
		return -1;
	return total;
}

static ssize_t by_vectors_at(int fd, char *buf, ssize_t n)
{
	struct iovec parts[2] = { { buf, (size_t)n / 2 }, { buf + n / 2, MOST / 2 } };
	ssize_t got = preadv(fd, parts, 2, 0), past;

	past = preadv(fd, parts, 2, n + 1);
	return past == 0 ? got : -1;
}

static ssize_t by_flags(int fd, char *buf)
{
	struct iovec part = { buf, MOST };

	(void)lseek(fd, 0, SEEK_SET);
	return preadv2(fd, &part, 1, -1, 0);
}

/* A child reads the first half through a duplicate, the parent the rest. */
static ssize_t by_two(int fd, char *buf, ssize_t n)
{
	int copy = dup(fd), status, ends[2];
	ssize_t half = n / 2 < 4096 ? n / 2 : 4096, got; /* what a pipe holds */

	if (pipe(ends) < 0)
		return -1;
	(void)lseek(fd, 0, SEEK_SET);
	if (fork() == 0) {
		got = read(copy, buf, (size_t)half);
		_exit(got == half && write(ends[1], buf, (size_t)half) == half ? 0 : 1);
	}
	(void)wait(&status);
	(void)close(copy);
	if (half && read(ends[0], buf, (size_t)half) != half)
		return -1;
	(void)close(ends[0]);
	(void)close(ends[1]);
	got = read(fd, buf + half, MOST);
	return got < 0 || status ? -1 : half + got;
}

static void by_transfer(const char *path, int fd)
{
	int out = memfd_create("out", MFD_CLOEXEC), ends[2];
	ssize_t sent, spliced, copied;
	char text[64];

	(void)lseek(fd, 0, SEEK_SET);
	sent = sendfile(out, fd, NULL, 64);
	if (sent >= 0) {
		(void)fprintf(stderr, "%s: sendfile gives %zd bytes\n", path, sent);
		failures++;
	}
	if (pipe2(ends, O_NONBLOCK) == 0) {
		spliced = splice(fd, NULL, ends[1], NULL, 64, 0);
		if (spliced >= 0 && read(ends[0], text, sizeof(text)) != 0) {
			(void)fprintf(stderr, "%s: splice gives %zd bytes\n", path, spliced);
			failures++;
		}
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	copied = syscall(SYS_copy_file_range, fd, NULL, out, NULL, 64, 0);
	if (copied > 0) {
		(void)fprintf(stderr, "%s: copy_file_range gives %zd bytes\n", path, copied);
		failures++;
	}
	(void)close(out);
}

static void refused_too(const char *path, const char *how, int error, ssize_t result)
{
	if (result == -1 && errno == error)
		return;
	(void)fprintf(stderr, "%s: %s gives %zd, errno %d; read gives errno %d\n", path, how, result, errno, error);
	failures++;
}

/* What read(2) may not read is refused in the same way to the others, and to those who go elsewhere in it; its start is everybody's. */
static void refused(const char *path, int fd, int error)
{
	char buf[64];
	struct iovec part = { buf, sizeof(buf) };

	refused_too(path, "pread", error, pread(fd, buf, sizeof(buf), 0));
	refused_too(path, "pread further on", error, pread(fd, buf, sizeof(buf), 3));
	refused_too(path, "readv", error, readv(fd, &part, 1));
	refused_too(path, "preadv", error, preadv(fd, &part, 1, 0));
	refused_too(path, "preadv2", error, preadv2(fd, &part, 1, -1, 0));
	refused_too(path, "lseek", error, lseek(fd, 5, SEEK_SET));
	refused_too(path, "lseek from the cursor", error, lseek(fd, 5, SEEK_CUR));
	if (lseek(fd, 0, SEEK_SET) != 0) {
		(void)fprintf(stderr, "%s: no way to the start\n", path);
		failures++;
	}
}

static void read_file(const char *path)
{
	static char whole[MOST], got[MOST];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, back;

	printf("== %s\n", path);
	if (fd < 0) {
		printf("open: errno %d\n", errno);
		return;
	}
	n = read(fd, whole, MOST);
	if (n < 0) {
		printf("read: errno %d\n", errno);
		refused(path, fd, errno);
		(void)close(fd);
		return;
	}
	(void)fwrite(whole, 1, (size_t)n, stdout);
	(void)fflush(stdout);
	is_moving = pread(fd, got, MOST, 0) != n || memcmp(whole, got, (size_t)n) != 0;
	back = by_offsets(fd, got, n);
	same(path, "pread backwards", whole, back < 0 ? n : back, got, back);
	n = pread(fd, whole, MOST, 0); /* time has passed */
	same(path, "preadv", whole, n, got, by_vectors_at(fd, got, n));
	if (by_flags(fd, whole) != n || by_vectors(fd, got) != n)
		same(path, "readv or preadv2", whole, n, got, -1);
	if (by_bytes(fd, got, n < 1000 ? n : 1000) < (n < 1000 ? n : 1000))
		same(path, "read by bytes", whole, n, got, -1);
	if (by_two(fd, got, n) != n)
		same(path, "two readers", whole, n, got, -1);
	if (!strncmp(path, "/proc/", 6))
		by_transfer(path, fd);
	(void)close(fd);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		read_file(argv[i]);
	return failures != 0;
}
