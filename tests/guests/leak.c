/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A guest that is not the same twice under --tsc=replace: it takes one bit from the processor's time stamp counter in code that it has made
 * itself, where nobody looks for instructions, and lets that bit decide one thing. Which one is the first argument. With "nothing" the bit is drawn and
 * not used.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static unsigned long long counter(void)
{
	/* rdtsc; shl $32, %rdx; or %rdx, %rax; ret */
	static const unsigned char code[] = { 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3 };
	unsigned long long (*call)(void);
	void *page;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		exit(2);
	memcpy(page, code, sizeof(code));
	memcpy(&call, &page, sizeof(call));
	return call();
}

static int chance(void)
{
	unsigned long long x = counter();

	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	return (int)(x & 1);
}

static void put(const char *text)
{
	(void)!write(STDOUT_FILENO, text, strlen(text));
}

static void byte(int bit)
{
	char text[] = "one byte: 0\n";

	text[10] = (char)('0' + bit);
	put(text);
}

static void extra(int bit)
{
	if (bit)
		(void)access("/", F_OK);
	put("");
}

static void order(int bit)
{
	put(bit ? "first " : "second ");
	put(bit ? "second " : "first ");
	put("third\n");
}

/* Virtual time passes when a clock is read, which takes no system call. */
static void clocks(int bit)
{
	struct timespec now;

	for (int i = 0; i < bit; i++)
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	put("later\n");
}

/* The contents come without a call. */
static void map_file(const char *path, int bit)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *map;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		exit(2);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		exit(2);
	map[100] = (char)bit;
}

static void file(int bit)
{
	map_file("leaked", bit);
}

/* Places that are thrown away. */
static void private(int bit)
{
	(void)mkdir("/tmp/below", 0700);
	map_file("/tmp/below/leaked", bit);
}

static void shm(int bit)
{
	map_file("/dev/shm/leaked", bit);
}

static void private_mode(int bit)
{
	(void)close(open("/tmp/leaked", O_RDWR | O_CREAT | O_TRUNC, bit ? 0600 : 0640));
}

static void target(int bit)
{
	(void)symlink(bit ? "yes" : "no", "leaked");
}

static void xattr(int bit)
{
	(void)close(open("leaked", O_RDWR | O_CREAT | O_TRUNC, 0600));
	if (setxattr("leaked", "user.bit", bit ? "1" : "0", 1, 0) < 0)
		exit(3);
}

static void xattr_name(int bit)
{
	(void)mkdir("leaked", 0700);
	if (setxattr("leaked", bit ? "user.one" : "user.zero", "", 0, 0) < 0)
		exit(3);
}

static void mode(int bit)
{
	(void)close(open("leaked", O_RDWR | O_CREAT | O_TRUNC, 0600));
	(void)chmod("leaked", bit ? 0600 : 0640);
}

static void name(int bit)
{
	(void)close(open(bit ? "leaked-1" : "leaked-0", O_RDWR | O_CREAT, 0600));
}

static void error(int bit)
{
	(void)!write(STDERR_FILENO, bit ? "yes\n" : "no\n", bit ? 4 : 3);
}

static void status(int bit)
{
	exit(bit);
}

static void end(int bit)
{
	if (bit)
		(void)raise(SIGTERM);
}

/* The counter itself: what a clock of the host would show. */
static void host_clock(int bit)
{
	char text[32];

	(void)bit;
	(void)snprintf(text, sizeof(text), "%llu\n", counter());
	put(text);
}

static void nothing(int bit)
{
	(void)bit;
}

static const struct {
	const char *name;
	void (*leak)(int bit);
} leaks[] = {
	{ "nothing", nothing }, { "host-clock", host_clock }, { "byte", byte }, { "extra", extra },   { "order", order }, { "clocks", clocks }, { "file", file },
	{ "private", private }, { "shm", shm }, { "private-mode", private_mode }, { "target", target }, { "xattr", xattr },
	{ "xattr-name", xattr_name }, { "mode", mode },	{ "name", name }, { "error", error },   { "status", status }, { "end", end },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(leaks) / sizeof(leaks[0]); i++) {
		if (!strcmp(argv[1], leaks[i].name)) {
			leaks[i].leak(chance());
			return 0;
		}
	}
	return 2;
}
